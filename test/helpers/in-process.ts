// The `portolan` command in the test's own process, with real files and servers: much quicker than a process for each run.

import { EventEmitter } from "node:events";
import { loadCatalog } from "../../src/catalog/index.ts";
import { run } from "../../src/cli/program.ts";
import { findAllGateways, findGateways, openRemoteWorkspace } from "../../src/control/index.ts";
import { openWorkspaceWith } from "../../src/hub/index.ts";
import { findPackagedDrivers } from "../../src/packages/index.ts";
import { connectMcp } from "../../src/client/index.ts";
import type { Ran } from "./cli.ts";

/** Runs the command in a folder, as with pipes for stdin, stdout and stderr. */
export async function runHere(
  words: readonly string[],
  cwd: string,
  env: Record<string, string>,
): Promise<Ran> {
  let out = "";
  let err = "";
  const signals = Object.assign(new EventEmitter(), { exit: () => {} });
  const code = await run([...words], {
    stdin: {
      async *[Symbol.asyncIterator]() {
        yield "";
      },
    },
    stdout: { write: (text) => ((out += text), true) },
    stderr: { write: (text) => ((err += text), true) },
    env: { PATH: process.env["PATH"], ...env },
    cwd,
    platform: process.platform,
    version: "0.0.0",
    signals,
    connect: connectMcp,
    openWorkspace: (source, options) => openWorkspaceWith(source, { ...options, snapshots: false }),
    findGateways,
    findAllGateways,
    openRunning: openRemoteWorkspace,
    loadCatalog: (path, options) => loadCatalog(path, { packagedDrivers: findPackagedDrivers, ...options }),
    importClients: async () => [],
    beginServing: () => {},
    hasTerminal: () => false,
    createPrompter: () => Promise.reject(new Error("Nobody can answer here.")),
    openBrowser: async () => false,
  });
  return { code, out, err };
}
