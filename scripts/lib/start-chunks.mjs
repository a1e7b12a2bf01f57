// Decides which modules share a file of dist/, so that each quick start loads only modules that it needs, in few files.
//
// Modules that the same starts need go into one file. A module is needed by at least the starts that need the modules which
// import it, so files import each other in one direction only, and modules are evaluated in the right order.

import { existsSync, readdirSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";

const STDIO = ["launch/index", "upstream/transports/stdio"];
/** The backend of most servers on Linux, and what it imports before it starts a server. */
const SANDBOX = ["sandbox/index", "sandbox/bubblewrap/backend", "sandbox/egress/name-listener"];
const WORKSPACE = ["catalog/index", "formats/workspace/index", "hub/index", "process/index", ...SANDBOX];
const COMMAND = ["cli/start", "cli/run-command"];
const CALL = [...COMMAND, "cli/call/command", "cli/call/call", ...STDIO];
const CALL_ONCE = [...CALL, "cli/grants/notice", "client/index"];

/** The definitions of all commands, which the list of commands needs. */
const DEFINITIONS = readdirSync(new URL("../../src/cli", import.meta.url))
  .filter((folder) => existsSync(new URL(`../../src/cli/${folder}/command.ts`, import.meta.url)))
  .map((folder) => `cli/${folder}/command`);

/** For each start of the command, the modules that it begins with, and those that it imports with `import()` on every run. */
export const COMMAND_STARTS = {
  command: ["cli/start"],
  help: ["cli/start", ...DEFINITIONS],
  once: CALL_ONCE,
  sandboxed: [...CALL_ONCE, ...SANDBOX],
  call: [...CALL, ...WORKSPACE, "control/index"],
  list: [...COMMAND, "cli/list/command", "cli/list/list", ...STDIO, ...WORKSPACE, "control/index"],
  serve: [
    ...[...COMMAND, "cli/serve/command", "cli/serve/serve", "cli/serve/own-servers", "console/console"],
    ...["control/server/control-server", ...WORKSPACE, ...STDIO],
  ],
};

export const LIBRARY_STARTS = { library: ["index"], gateway: ["gateway"] };

/** Returns the plugin that finds the modules, and the groups for the bundler. Entries (paths) keep files of their own. */
export function startChunks(root, starts, entries) {
  const source = (name) => join(root, "src", `${name}.ts`);
  const names = Object.keys(starts);
  /** One bit per start that needs the module. */
  const needed = new Map();
  const plugin = {
    name: "start-chunks",
    buildEnd() {
      for (const [bit, name] of names.entries()) {
        const found = new Set(starts[name].map(source));
        for (const id of found) {
          const info = this.getModuleInfo(id);
          if (!info && !isBuiltin(id))
            throw new Error(`The start "${name}" names ${id}, which is not bundled.`);
          needed.set(id, (needed.get(id) ?? 0) | (1 << bit));
          for (const imported of info?.importedIds ?? []) found.add(imported);
        }
      }
      for (const entry of entries) needed.delete(join(root, entry));
    },
  };
  const groups = Array.from({ length: 2 ** names.length - 1 }, (_, index) => {
    const bits = index + 1;
    const own = names.filter((_name, bit) => (bits >> bit) & 1);
    // The bundler adds to a group everything that its modules import, unless an earlier group has it.
    return { name: own.join("-"), test: (id) => needed.get(id) === bits, priority: 1_000 + own.length };
  });
  return { plugin, groups };
}
