// Arguments that name something of this machine which is not in the box: the likeliest reason why a server does not start in it.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { FoundProgram } from "./program.ts";
import { isInside } from "./sandbox/paths.ts";
import type { Box } from "./types.ts";

/** As absolute paths, each once. */
export function notGranted({ args, cwd, docker }: FoundProgram, { mounts, home }: Box): string[] {
  // What is in an image is not of this machine.
  if (docker !== undefined) return [];
  const visible = mounts.filter(({ access }) => access !== "hidden").map(({ path }) => path);
  const isMissing = (path: string): boolean =>
    path !== home && !visible.some((folder) => isInside(path, folder)) && existsSync(path);
  const paths = args.flatMap((word) => pathIn(word, cwd) ?? []);
  return [...new Set(paths)].filter(isMissing);
}

/** `--data=./notes` names a path as well. What is relative begins where the server runs. */
function pathIn(word: string, cwd: string | undefined): string | undefined {
  const value = word.startsWith("-") ? /^-[^=]*=(.+)$/s.exec(word)?.[1] : word;
  if (value === undefined || value === "" || value.includes("\0")) return undefined;
  if (value.startsWith("/")) return resolve(value);
  return cwd === undefined ? undefined : resolve(cwd, value);
}
