// Builds dist/: made beside it and swapped in whole, so a failed or a parallel build never leaves half of one.
// Types come from the compiler, code from the bundler: loading a few files instead of a hundred makes every start 20 ms shorter.

import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { reachableFiles } from "./lib/declarations.mjs";
import { directImports } from "./lib/direct-imports.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const fresh = join(root, `.dist-${process.pid}`);
const old = join(root, `.dist-${process.pid}-old`);
const dist = join(root, "dist");

const { bin, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** The public entries, by the exports of package.json: `./dist/gateway.js` is built from `src/gateway.ts`. */
const entries = Object.values(exports).flatMap((entry) =>
  typeof entry === "string" ? [] : [entry.default.replace(/^\.\/dist\/|\.js$/g, "")],
);

try {
  process.exitCode = declareTypes();
  if (process.exitCode === 0) {
    removeInternalTypes();
    await bundle();
    copyPrograms();
    markExecutable();
    swap();
  }
} finally {
  rmSync(fresh, { recursive: true, force: true });
  rmSync(old, { recursive: true, force: true });
}

function declareTypes() {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const result = spawnSync(
    process.execPath,
    [tsc, "-p", "tsconfig.build.json", "--emitDeclarationOnly", "--outDir", fresh],
    {
      cwd: root,
      stdio: "inherit",
    },
  );
  if (result.error) throw result.error;
  return result.status ?? 1;
}

/** Keeps only the types that the public entries mention: nobody can import the others. */
function removeInternalTypes() {
  const needed = reachableFiles(entries.map((name) => join(fresh, `${name}.d.ts`)));
  const found = readdirSync(fresh, { recursive: true, encoding: "utf8" }).map((name) => join(fresh, name));
  for (const file of found) if (file.endsWith(".d.ts") && !needed.has(file)) rmSync(file);
}

async function bundle() {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries([...entries, "cli/main"].map((name) => [name, `src/${name}.ts`])),
    platform: "node",
    plugins: [directImports()],
    external: (id) => !id.startsWith(".") && !id.startsWith("/"),
    onLog: (level, log) => {
      // The plugin keeps the lines, so that the source maps fit without one of its own.
      if (level === "warn" && log.code !== "SOURCEMAP_BROKEN") console.warn(log.message);
    },
  });
  await build.write({
    dir: fresh,
    format: "esm",
    sourcemap: true,
    chunkFileNames: "chunks/[name]-[hash].js",
  });
  await build.close();
}

// Files that Node loads by their path, the relay inside of sandboxes and the module hooks: looked for beside the code that uses
// them, and one folder above that.
function copyPrograms() {
  for (const file of [
    "sandbox/egress/relay.cjs",
    "hub/drivers/driver-hooks.mjs",
    "hub/drivers/register-driver-hooks.mjs",
  ])
    copyFileSync(join(root, "src", file), join(fresh, basename(file)));
}

function markExecutable() {
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
