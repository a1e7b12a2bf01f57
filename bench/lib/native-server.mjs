// The compiled stdio server: what a command spends on it is next to nothing, so that the rest is the client's own start.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../../scripts/lib/install-once.mjs";

const SOURCE = fileURLToPath(new URL("../servers/native.c", import.meta.url));
const FOLDER = join(root, ".cache", "bench-native");
const PROGRAM = join(FOLDER, "server");

/** The path of the program, compiled once; undefined where there is no C compiler. */
export function findNativeServer() {
  if (existsSync(PROGRAM) && statSync(PROGRAM).mtimeMs > statSync(SOURCE).mtimeMs) return PROGRAM;
  mkdirSync(FOLDER, { recursive: true });
  const fresh = `${PROGRAM}-${process.pid}`;
  if (spawnSync("cc", ["-O2", "-o", fresh, SOURCE]).status !== 0) return undefined;
  renameSync(fresh, PROGRAM);
  return PROGRAM;
}

export const isNativeServer = (program) => program === PROGRAM;
