// Builds dist/: made beside it and swapped in whole, so a failed or a parallel build never leaves half of one.
// Types come from the compiler, code from the bundler: a start loads about twenty files instead of some hundred, and little that it does not need.
// The library consists of ES modules. The command is built apart from it, as scripts that its loader runs with stored compiled code.

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
import { loaderFormat } from "./lib/loader-format.mjs";
import { COMMAND_STARTS, LIBRARY_STARTS, startChunks } from "./lib/start-chunks.mjs";
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

/** Packages that most programs load: each has many small files, so that they are bundled. Their types still come from npm. */
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
/** Packages that only the command bundles: their compiled code is stored with that of the command. */
const BUNDLED_BY_COMMAND = new Set([...BUNDLED, "@clack/prompts", "modern-tar", "undici", "ws"]);

/** Packages that are loaded from node_modules, when they are needed. */
function loadedPackages(bundled) {
  return Object.keys({ ...dependencies, ...optionalDependencies }).filter((name) => !bundled.has(name));
}

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
    const files = [...(await bundleLibrary()), ...(await bundleCommand()), ...(await buildConsole())];
    const modules = files.flatMap(({ moduleIds = [] }) => moduleIds);
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

async function bundleLibrary() {
  return bundle({
    input: Object.fromEntries(entries.map((name) => [name, `src/${name}.ts`])),
    starts: LIBRARY_STARTS,
    folder: fresh,
    names: "chunks/[name]-[hash].js",
    bundled: BUNDLED,
    plugins: [],
  });
}

/** The loader of the command, and the files that it loads. */
async function bundleCommand() {
  const files = await bundle({
    input: { start: "src/cli/start.ts" },
    starts: COMMAND_STARTS,
    folder: join(fresh, "command"),
    entryNames: "[name]-[hash].js",
    names: "[name]-[hash].js",
    bundled: BUNDLED_BY_COMMAND,
    plugins: [loaderFormat()],
  });
  const first = files.find(({ isEntry }) => isEntry).fileName;
  const loader = readFileSync(join(root, "src", "cli", "main.cjs"), "utf8");
  writeFileSync(join(fresh, "cli", "main.js"), loader.replace('"start.js"', JSON.stringify(first)));
  writeFileSync(join(fresh, "cli", "package.json"), '{ "type": "commonjs" }\n');
  return files;
}

async function bundle({ input, starts, folder, entryNames = "[name].js", names, bundled, plugins }) {
  const loaded = loadedPackages(bundled);
  const { plugin, groups } = startChunks(root, starts, Object.values(input));
  const build = await rolldown({
    cwd: root,
    input,
    platform: "node",
    plugins: [directImports(), plugin, builtinsWithoutFacade(), ...plugins],
    // ES modules, of which only the used parts are bundled. (The `main` of jsonc-parser cannot be bundled.)
    resolve: { mainFields: ["module", "main"] },
    external: (id) => isBuiltin(id) || loaded.some((name) => id === name || id.startsWith(`${name}/`)),
    onLog: (level, log) => {
      if (level === "warn" && !EXPECTED_WARNINGS.has(log.code)) console.warn(log.message);
    },
  });
  const { output } = await build.write({
    dir: folder,
    format: "esm",
    sourcemap: true,
    comments: { annotation: true, jsdoc: false, legal: true },
    entryFileNames: entryNames,
    chunkFileNames: names,
    codeSplitting: {
      groups: [
        ...groups,
        ...SHARED_BY.map((count) => ({ name: `shared-${count}`, minShareCount: count, priority: count })),
      ],
    },
  });
  await build.close();
  return output;
}

/**
 * The page of the console, with compressed copies of its files: the gateway sends them as they are.
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
  return output;
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
