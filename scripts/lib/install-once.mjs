// Tools that are too heavy for devDependencies are installed on demand into .cache/<name>, at pinned versions and without install scripts.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** npm can search for hours when no set of versions fits. */
const NPM_TIMEOUT_MS = 10 * 60_000;

export const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Installs `packages` (name to exact version) once and returns the node_modules folder that holds them.
 * `anyNode`: they will run under another Node than this one, so what they demand of it is not checked.
 */
export function installOnce(name, packages, { anyNode = false } = {}) {
  const folder = join(root, ".cache", name);
  const modules = join(folder, "node_modules");
  const stamp = join(folder, "installed.json");
  const wanted = JSON.stringify(packages);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return modules;

  console.log(
    `Installing ${Object.entries(packages)
      .map((entry) => entry.join("@"))
      .join(", ")} into .cache/${name} ...`,
  );
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "package.json"),
    `${JSON.stringify({ name: `portolan-${name}`, private: true, dependencies: packages }, null, 2)}\n`,
  );
  runNpm(
    [
      "install",
      "--ignore-scripts",
      `--engine-strict=${!anyNode}`,
      "--no-audit",
      "--no-fund",
      "--prefer-offline",
      "--loglevel=error",
    ],
    folder,
  );
  writeFileSync(stamp, wanted);
  return modules;
}

/** Runs npm and throws with its output when it fails; returns what it printed. */
export function runNpm(args, cwd = root) {
  // Under `npm run` the npm in use names itself; otherwise the one on PATH (a .cmd on Windows, which needs a shell).
  const npm = process.env.npm_execpath;
  const result = npm?.endsWith(".js")
    ? spawnSync(process.execPath, [npm, ...args], { cwd, encoding: "utf8", timeout: NPM_TIMEOUT_MS })
    : spawnSync("npm", args, {
        ...{ cwd, encoding: "utf8", timeout: NPM_TIMEOUT_MS },
        shell: process.platform === "win32",
      });
  if (result.error) throw result.error;
  if (result.status !== 0) {
    throw new Error(
      `npm ${args[0]} failed with exit code ${result.status}:\n${result.stdout}${result.stderr}`,
    );
  }
  return result.stdout;
}
