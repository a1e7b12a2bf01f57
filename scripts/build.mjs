// Builds dist/: made beside it and swapped in whole, so a failed or a parallel build never leaves half of one.
// Types come from the compiler, code from the bundler: a start loads about twenty files instead of some hundred, and little that it does not need.

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { isBuiltin } from "node:module";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { reachableFiles } from "./lib/declarations.mjs";
import { builtinsWithoutFacade } from "./lib/builtins.mjs";
import { directImports } from "./lib/direct-imports.mjs";
import { startChunks } from "./lib/start-chunks.mjs";
import { thirdPartyNotices } from "./lib/third-party.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const fresh = join(root, `.dist-${process.pid}`);
const old = join(root, `.dist-${process.pid}-old`);
const dist = join(root, "dist");

const { bin, dependencies, optionalDependencies, exports } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
);
/** The public entries, by the exports of package.json: `./dist/gateway.js` is built from `src/gateway.ts`. */
const entries = Object.values(exports).flatMap((entry) =>
  typeof entry === "string" ? [] : [entry.default.replace(/^\.\/dist\/|\.js$/g, "")],
);

const STARTS = ["cli/main", ...entries];

/** Packages that most commands load: each has many small files, so that they are bundled. Their types still come from npm. */
const BUNDLED = new Set([
  "@cfworker/json-schema",
  "chokidar",
  "commander",
  "cross-spawn",
  "env-paths",
  "jsonc-parser",
  "semver",
  "smol-toml",
  "yaml",
]);
/** Packages that are loaded from node_modules, when they are needed. */
const LOADED = Object.keys({ ...dependencies, ...optionalDependencies }).filter((name) => !BUNDLED.has(name));

/**
 * Of the modules that no quick start needs, those that at least so many entries (commands, public entries, dynamic imports) need together go into one file, with
 * everything that they import: so no file imports a later one, and modules are evaluated in the right order.
 */
const SHARED_BY = [40, 20, 8, 3];

const EXPECTED_WARNINGS = new Set([
  // Our plugin keeps the lines, so that the source maps fit without one of its own.
  "SOURCEMAP_BROKEN",
  // A dynamic import of a room that most commands load anyway.
  "INEFFECTIVE_DYNAMIC_IMPORT",
]);

try {
  process.exitCode = declareTypes();
  if (process.exitCode === 0) {
    removeInternalTypes();
    const modules = [...(await bundle()), ...(await buildConsole())];
    writeFileSync(join(fresh, "THIRD-PARTY-NOTICES.txt"), thirdPartyNotices(modules));
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

/** Returns the paths of the bundled modules. */
async function bundle() {
  const { plugin, groups } = startChunks(root, STARTS);
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(STARTS.map((name) => [name, `src/${name}.ts`])),
    platform: "node",
    plugins: [directImports(), plugin, builtinsWithoutFacade()],
    // ES modules, of which only the used parts are bundled. (The `main` of jsonc-parser cannot be bundled.)
    resolve: { mainFields: ["module", "main"] },
    external: (id) => isBuiltin(id) || LOADED.some((name) => id === name || id.startsWith(`${name}/`)),
    onLog: (level, log) => {
      if (level === "warn" && !EXPECTED_WARNINGS.has(log.code)) console.warn(log.message);
    },
  });
  const { output } = await build.write({
    dir: fresh,
    format: "esm",
    sourcemap: true,
    comments: { annotation: true, jsdoc: false, legal: true },
    chunkFileNames: "chunks/[name]-[hash].js",
    codeSplitting: {
      groups: [
        ...groups,
        ...SHARED_BY.map((count) => ({ name: `shared-${count}`, minShareCount: count, priority: count })),
      ],
    },
  });
  await build.close();
  return output.flatMap(({ moduleIds = [] }) => moduleIds);
}

/**
 * The page of the console, with compressed copies of its files: the gateway sends them as they are. Returns the paths of the
 * bundled modules.
 */
async function buildConsole() {
  const { build } = await import("vite");
  const outDir = join(fresh, "console");
  const { output } = await build({
    configFile: join(root, "console", "vite.config.ts"),
    build: { outDir, emptyOutDir: true },
  });
  for (const name of readdirSync(outDir, { recursive: true, encoding: "utf8" })) {
    const file = join(outDir, name);
    if (!/\.(?:js|css|html)$/.test(name)) continue;
    const content = readFileSync(file);
    writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
    writeFileSync(`${file}.br`, brotliCompressSync(content));
  }
  return output.flatMap(({ moduleIds = [] }) => moduleIds);
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
