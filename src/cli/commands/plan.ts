// `portolan why --plan`: how a server would be started, without starting it.

import { PortolanError } from "../../errors/index.ts";
import type { PlannedCommand } from "../../invoke/index.ts";
import type { DeclaredServer } from "../../model/index.ts";
import { type Cli, takeTarget, type Words } from "../connect.ts";
import { allWouldStart, commandsJson, describeCommands } from "../invoked-plan.ts";
import { describePlan, planJson, wouldStart } from "../plan-view.ts";
import { plainLine } from "../plain-text.ts";
import { driverNamed, noProgram, programOf } from "../programs.ts";
import { workspaceSandbox } from "../sandbox-modes.ts";
import { rootFolders } from "../server-config.ts";
import { targetServer } from "../target-server.ts";
import { computerOf, pathLabel } from "../workspace-folder.ts";
import { loadSource, serverNamed } from "../workspace-source.ts";

/** As for a server that cannot be started. */
const NOT_HELD = 3;

/** A server of the workspace by its name, or a command after `--`. */
export async function plan(cli: Cli, { words, server }: Words): Promise<number> {
  const { io, output, options } = cli;
  const declared = await chosen(cli, { words, server });
  const program = programOf(declared);
  const computer = computerOf(io, io.cwd);
  const view = {
    colors: output.colors,
    width: output.width,
    label: (path: string) => pathLabel(path, computer),
  };
  const commands = await commandsOf(declared);
  if (commands.length > 0) {
    if (output.form === "json") output.json(commandsJson(declared.alias, commands));
    else output.print(describeCommands(declared.alias, commands, view));
    return allWouldStart(commands) ? 0 : NOT_HELD;
  }
  if (program === undefined) {
    const reason = noProgram(declared);
    if (output.form === "json") output.json({ server: declared.alias, kind: "none", reason });
    else output.print(`${plainLine(declared.alias, 100)} ${reason}.`);
    return 0;
  }
  const { planLaunch } = await import("../../launch/index.ts");
  const found = await planLaunch({
    server: declared.alias,
    endpoint: program,
    settings: declared.launch,
    roots: rootFolders(options.roots, io.cwd),
  });
  if (output.form === "json") output.json(planJson(found));
  else output.print(describePlan(found, view));
  return wouldStart(found) ? 0 : NOT_HELD;
}

/** Of a server that is carried out here: its commands are programs all the same. */
async function commandsOf({ alias, endpoint }: DeclaredServer): Promise<PlannedCommand[]> {
  if (endpoint.transport !== "invoke") return [];
  const { planCommands } = await import("../../invoke/index.ts");
  return planCommands(endpoint.server, alias);
}

async function chosen(cli: Cli, { words, server }: Words): Promise<DeclaredServer> {
  const [alias, extra] = words;
  if (server !== undefined && alias !== undefined)
    throw new PortolanError("USAGE", "A server is given both before and after --.", {
      hint: "Leave out one of them.",
    });
  if (server !== undefined)
    return targetServer(takeTarget({ words: [], server }, cli).target, cli.options, cli.io.cwd);
  if (alias === undefined || extra !== undefined)
    throw new PortolanError("USAGE", alias === undefined ? "No server is given." : "why takes one server.", {
      hint: "portolan why --plan <server>, or portolan why --plan -- <command...>",
    });
  const source = await loadSource(cli);
  const driver = driverNamed(source, alias);
  if (driver !== undefined) return driver;
  const declared = serverNamed(source, alias);
  const modes = workspaceSandbox(cli.options.sandbox, source);
  return modes?.[alias] === undefined
    ? declared
    : { ...declared, launch: { ...declared.launch, sandboxOverride: modes[alias] } };
}
