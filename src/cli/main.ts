#!/usr/bin/env node
// Entry point of the `portolan` command: lets Node keep the compiled code for the next run, and starts the command.

import module from "node:module";
import { join } from "node:path";

interface CompileCache {
  /** From Node 22.8 on. An error, such as a folder that cannot be written, is returned and not thrown. */
  readonly enableCompileCache?: (folder: string) => unknown;
}

const { enableCompileCache } = module as CompileCache;
if (enableCompileCache !== undefined) {
  // The default of Node is in the folder for temporary files, where other users could put code.
  const { default: envPaths } = await import("env-paths");
  enableCompileCache(join(envPaths("portolan", { suffix: "" }).cache, "compiled"));
}
const { start } = await import("./start.ts");
await start();
