// Builds dist/: compiled beside it and swapped in whole, so a failed or a parallel build never leaves half of one.

import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const fresh = join(root, `.dist-${process.pid}`);
const old = join(root, `.dist-${process.pid}-old`);
const dist = join(root, "dist");

try {
  process.exitCode = compile();
  if (process.exitCode === 0) {
    markExecutable();
    swap();
  }
} finally {
  rmSync(fresh, { recursive: true, force: true });
  rmSync(old, { recursive: true, force: true });
}

function compile() {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const result = spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json", "--outDir", fresh], {
    cwd: root,
    stdio: "inherit",
  });
  if (result.error) throw result.error;
  return result.status ?? 1;
}

function markExecutable() {
  const { bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const path of Object.values(bin)) {
    const file = join(fresh, path.replace(/^(\.\/)?dist\//, ""));
    if (existsSync(file)) chmodSync(file, 0o755);
  }
}

// Another build may put its dist/ in place between our two renames; then ours goes on top of it.
function swap() {
  for (let attempt = 1; ; attempt += 1) {
    rmSync(old, { recursive: true, force: true });
    if (existsSync(dist)) renameSync(dist, old);
    try {
      renameSync(fresh, dist);
      return;
    } catch (error) {
      if (attempt === 5 || !["ENOTEMPTY", "EEXIST", "EPERM"].includes(error.code)) throw error;
    }
  }
}
