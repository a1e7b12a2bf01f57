// A Node 24 for what Node 20 cannot run: the conformance suite, and the second round of the unit tests.
// Run as a program it prints the path of the executable.

import { chmodSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installOnce } from "./install-once.mjs";

const VERSION = "24.21.0";

export function findNode24() {
  if (Number(process.versions.node.split(".")[0]) >= 24) return process.execPath;
  const onWindows = process.platform === "win32";
  const family = process.platform === "darwin" && process.arch === "arm64" ? "node-bin" : "node";
  const name = `${family}-${onWindows ? "win" : process.platform}-${process.arch}`;
  const executable = join(
    installOnce("node24", { [name]: VERSION }),
    name,
    "bin",
    onWindows ? "node.exe" : "node",
  );
  chmodSync(executable, 0o755);
  return executable;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // Progress goes to stderr, so that `$(node scripts/lib/node24.mjs)` is the path alone.
  console.log = console.error;
  process.stdout.write(`${findNode24()}\n`);
}
