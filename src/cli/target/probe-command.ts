// Checks whether the program of a command exists and can be executed.

import { accessSync, constants, statSync } from "node:fs";
import { extname, isAbsolute, join, resolve } from "node:path";
import { DEFAULT_SEARCH_PATH, searchFolders, windowsEndings } from "../../base/process/program-path.ts";
import type { CommandState } from "./target.ts";

export interface ProbeContext {
  readonly cwd: string;
  readonly path: string | undefined;
  readonly windows: boolean;
  /** Windows only: the file extensions of programs. */
  readonly pathExtensions?: string;
}

export function probeCommand(command: string, context: ProbeContext): CommandState {
  const endings = context.windows ? windowsEndings(command, context.pathExtensions) : [""];
  const isPath = command.includes("/") || (context.windows && command.includes("\\")) || isAbsolute(command);
  const folders = isPath ? [""] : searchFolders(context.path ?? DEFAULT_SEARCH_PATH);
  let best: CommandState = "missing";
  for (const folder of folders) {
    for (const ending of endings) {
      const state = probeFile(resolve(context.cwd, join(folder, command + ending)), context.windows);
      if (state === "found") return state;
      if (isPath && best === "missing") best = state;
    }
  }
  if (best === "missing" && !isPath) {
    const here = probeFile(resolve(context.cwd, command), context.windows);
    if (here === "directory" || (here !== "missing" && extname(command) !== ""))
      return here === "found" ? "missing" : here;
  }
  return best;
}

function probeFile(path: string, windows: boolean): CommandState {
  try {
    if (statSync(path).isDirectory()) return "directory";
    if (!windows) accessSync(path, constants.X_OK);
    return "found";
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === "EACCES" ? "not-executable" : "missing";
  }
}
