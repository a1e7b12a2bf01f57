// Infers the folders that a local command needs: where its program is installed, and where its script is. Paths
// that the server itself could have changed grant nothing.

import { existsSync } from "node:fs";
import { access, readFile, realpath, stat, open } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { withRealPaths, isInside, isSteered, resolveLinks, type Resolved } from "../paths/paths.ts";
import { isSystem, findProgram } from "./system-paths.ts";

/** `node -e`, `python -c`, `python -m`, `deno eval`, `sh -c`. */
const CODE_OPTION = /^(?:-[a-z]*[cempE]|--eval|--print|--command|eval)(?:=|$)/;

/** Options of interpreters whose value may be another file than the script. */
const WITH_FILE = /^(?:-[rICWX]|--require|--import|--loader|--env-file|--config|--preload)$/;

/** `deno run`, `bun run`, `tsx watch`. */
const COMMAND = /^(?:run|serve|watch)$/;

/** Programs that run a script of the nearest package.json: `npm run x`, `yarn start`. */
const PACKAGE_MANAGER = /^(?:npm|pnpm|yarn|bun)$/;

/** Options of package managers that name another project folder. */
const WITH_FOLDER = /^(?:--prefix|--dir|--cwd|-C)$/;

/** File endings that interpreters add. */
const ENDINGS = ["", ".js", ".cjs", ".mjs", ".ts", ".tsx", ".jsx", ".json", ".node"];

/** Files that mark the top folder of a project. */
const MARKS = ["package.json", "pyproject.toml", "setup.py", "deno.json", "Gemfile", "composer.json"].concat([
  "go.mod",
  "Cargo.toml",
  "pyvenv.cfg",
]);

/** Folders of version managers below a home, which contain interpreters and no private files. */
const STORES = [".local/share/uv/python", ".pyenv/versions", ".nvm/versions", ".volta/tools/image"].concat([
  ".asdf/installs",
  ".local/share/mise/installs",
  ".local/share/fnm/node-versions",
  ".rbenv/versions",
  ".nodenv/versions",
]);

export interface OwnOptions {
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /**
   * Folders that the server may write, as written and as real paths. A file or link in them grants nothing,
   * because the server may have created it to get more at its next start.
   */
  readonly writable?: readonly string[];
}

interface Ground {
  /** The user's home, as written and as a real path. */
  readonly homes: readonly string[];
  readonly writable: readonly string[];
}

/** Folders and files to grant read-only; empty if everything belongs to the system. */
export async function programFolders(
  file: string,
  args: readonly string[],
  cwd: string | undefined,
  { environment = process.env, writable = [] }: OwnOptions = {},
): Promise<string[]> {
  const found = new Set<string>();
  const ground: Ground = { homes: await withRealPaths([homedir()]), writable };
  const add = async (path: string): Promise<void> => {
    for (const one of await ofProgram(path, ground)) if (!(await isSystem(one))) found.add(one);
  };
  await add(file);
  const program = await resolveLinks(file);
  const real = program?.real ?? file;
  const isOurs = program !== undefined && !isSteered(program, writable);
  const named = isOurs ? interpretersOf : usualInterpretersOf;
  for (const interpreter of await named(real, environment["PATH"])) await add(interpreter);
  if (INTERPRETER.test(basename(file)) || INTERPRETER.test(basename(real))) {
    for (const one of await ofScriptAmong(args, cwd ?? process.cwd(), ground)) found.add(one);
  }
  if (PACKAGE_MANAGER.test(basename(file))) {
    for (const one of await ofProject(args, cwd ?? process.cwd(), ground)) found.add(one);
  }
  return outermost(found);
}

/** The project of a package's script: `tsx server.ts`, where tsx is a package that is itself an interpreter. */
export async function scriptFolders(
  interpreter: string,
  args: readonly string[],
  cwd: string | undefined,
  writable: readonly string[],
): Promise<string[]> {
  if (!INTERPRETER.test(interpreter)) return [];
  const ground: Ground = { homes: await withRealPaths([homedir()]), writable };
  return ofScriptAmong(args, cwd ?? process.cwd(), ground);
}

/** The folder and the folders above it that may belong to one project: neither the home nor a shared folder. */
export async function projectFolders(folder: string): Promise<string[]> {
  const homes = await withRealPaths([homedir()]);
  const found: string[] = [];
  for (let at = resolve(folder); !isTooWide(at, homes); at = dirname(at)) found.push(at);
  return found;
}

/** The folders, outside of these program folders, with the packages of a workspace that the program uses. Read-only. */
export async function workspaceFolders(
  programs: readonly string[],
  { writable = [] }: Pick<OwnOptions, "writable"> = {},
): Promise<string[]> {
  const ground: Ground = { homes: await withRealPaths([homedir()]), writable };
  const found = (await Promise.all(programs.map((folder) => ofWorkspace(folder, ground)))).flat();
  const ofSystem = await Promise.all(found.map((path) => isSystem(path)));
  const others = found.filter((_, index) => ofSystem[index] !== true);
  return outermost(new Set([...programs, ...others])).filter((path) => !programs.includes(path));
}

function outermost(found: ReadonlySet<string>): string[] {
  return [...found].filter((path) => ![...found].some((other) => other !== path && isInside(path, other)));
}

/** The folders of a program outside of the system. */
async function ofProgram(file: string, ground: Ground): Promise<string[]> {
  const resolved = await resolveLinks(file);
  if (resolved === undefined) return [];
  const { real } = resolved;
  if (isSteered(resolved, ground.writable)) {
    // The python of a virtual environment in a project is a link, which must lead to an interpreter of a version
    // manager.
    if (!isKept(real, ground)) return [];
    const ways = resolved.links.map(({ path }) => path);
    return [...(await homeOfProgram(real, ground)), ...ways].filter((path) => isKept(path, ground));
  }
  const folders = await homeOfProgram(real, ground);
  // `.venv/bin/python` links to another installation; the folder of the link contains the packages.
  if (real !== file) {
    const written = join(await realpath(dirname(file)), basename(file));
    folders.push(...(await homeOfProgram(written, ground)).filter((folder) => folder !== written));
  }
  const bases = await Promise.all(folders.map((folder) => basesOfVenv(folder, ground)));
  return [...folders, ...bases.flat()];
}

/** Whether the path is inside of a version manager's folder that the server cannot write. */
function isKept(path: string, { homes, writable }: Ground): boolean {
  const stores = homes.flatMap((home) => STORES.map((store) => join(home, store)));
  return (
    stores.some((store) => path !== store && isInside(path, store)) &&
    !writable.some((folder) => isInside(path, folder))
  );
}

/** `<prefix>/bin/program` belongs to its prefix if that looks like one, else to its package, else it stands alone. */
async function homeOfProgram(file: string, { homes }: Ground): Promise<string[]> {
  const folder = dirname(file);
  const prefix = dirname(folder);
  // A shim searches for the real program beside itself.
  if (basename(folder) === "shims" && !isTooWide(prefix, homes)) return [prefix];
  if (basename(folder) === "bin" && homes.some((home) => prefix === join(home, ".local"))) {
    // Other folders beside the libraries contain keyrings.
    return (await exists(join(prefix, "lib"))) ? [file, join(prefix, "lib")] : [file];
  }
  if (basename(folder) === "bin" && !isTooWide(prefix, homes)) {
    for (const mark of ["pyvenv.cfg", "lib", "lib64", "libexec", "jre"]) {
      if (await exists(join(prefix, mark))) return [prefix];
    }
  }
  return [packageOf(file, homes) ?? file];
}

/** The package of the script, and the path of the script if it contains links. */
async function ofScriptAmong(args: readonly string[], cwd: string, ground: Ground): Promise<string[]> {
  const script = await scriptOf(args, cwd);
  if (script === undefined || isSteered(script, ground.writable) || (await isSystem(script.real))) return [];
  const folder = await ofScript(script.real, ground.homes);
  return script.links.length === 0 ? [folder] : [folder, script.written];
}

/** The project whose package.json a package manager reads. */
async function ofProject(args: readonly string[], cwd: string, ground: Ground): Promise<string[]> {
  const at = args.findIndex((word) => WITH_FOLDER.test(word));
  const named = at === -1 ? args.find((word) => /^--(?:prefix|dir|cwd)=/.test(word)) : undefined;
  const folder = at === -1 ? (named?.slice(named.indexOf("=") + 1) ?? ".") : (args[at + 1] ?? ".");
  for (let project = resolve(cwd, folder); !isTooWide(project, ground.homes); project = dirname(project)) {
    const manifest = await resolveLinks(join(project, "package.json"));
    if (manifest === undefined) continue;
    return isSteered(manifest, ground.writable) || (await isSystem(project)) ? [] : [project];
  }
  return [];
}

/**
 * The package of a script. Without a package its folder, because neighbouring files may be part of it, unless the
 * folder is a general one.
 */
async function ofScript(script: string, homes: readonly string[]): Promise<string> {
  const isFolder = (await stat(script)).isDirectory();
  const found = packageOf(isFolder ? join(script, "index") : script, homes);
  if (found !== undefined) return found;
  const folder = isFolder ? script : dirname(script);
  const isMixed =
    homes.includes(dirname(folder)) && /^(?:\..*|bin|Downloads|Documents|Desktop)$/.test(basename(folder));
  return isTooWide(folder, homes) || isMixed ? script : folder;
}

/** The installation that a virtual environment is based on. */
async function basesOfVenv(prefix: string, { homes, writable }: Ground): Promise<string[]> {
  const text = await readFile(join(prefix, "pyvenv.cfg"), "utf8").catch(() => "");
  const base = /^home\s*=\s*(.+)$/m.exec(text)?.[1]?.trim();
  if (base === undefined || !isAbsolute(base)) return [];
  const resolved = await resolveLinks(base);
  if (resolved === undefined || isSteered(resolved, writable)) return [];
  const { real } = resolved;
  if (basename(real) !== "bin" || isTooWide(dirname(real), homes)) return [];
  // The server may have written this file to be granted another folder, so that it must contain a python.
  const pythons = await Promise.all(["python", "python3", "pypy3"].map((name) => exists(join(real, name))));
  return pythons.includes(true) ? [dirname(real)] : [];
}

/** The first argument that is a file, after options. */
async function scriptOf(
  args: readonly string[],
  cwd: string,
): Promise<(Resolved & { readonly written: string }) | undefined> {
  for (const argument of args) {
    // The code is on the command line, so that the next words are its arguments.
    if (CODE_OPTION.test(argument)) return undefined;
    if (argument.startsWith("-") || argument.includes("\0")) continue;
    for (const ending of ENDINGS) {
      const written = resolve(cwd, argument) + ending;
      const resolved = await resolveLinks(written);
      if (resolved !== undefined) return { ...resolved, written };
    }
  }
  return undefined;
}

/**
 * The argument of an interpreter that names its script: the first one after options and words such as `run`. The file
 * may be missing.
 */
export function scriptWord(file: string, args: readonly string[]): string | undefined {
  if (!INTERPRETER.test(basename(file))) return undefined;
  for (const [index, argument] of args.entries()) {
    if (CODE_OPTION.test(argument)) return undefined;
    const isOfOption = argument.startsWith("-") || WITH_FILE.test(args[index - 1] ?? "");
    if (!isOfOption && !COMMAND.test(argument)) return argument;
  }
  return undefined;
}

/** The nearest folder with a project marker, or the outermost node_modules. */
function packageOf(file: string, homes: readonly string[]): string | undefined {
  const names = file.split(sep);
  const modules = names.indexOf("node_modules");
  if (modules > 0) return names.slice(0, modules + 1).join(sep);
  for (let folder = dirname(file); !isTooWide(folder, homes); folder = dirname(folder)) {
    // Up to 40 files: as asynchronous calls, they would take ten times as long.
    if (MARKS.some((mark) => existsSync(join(folder, mark)))) return folder;
  }
  return undefined;
}

/**
 * The packages that a package of an npm, pnpm or Yarn workspace uses: the node_modules folder of the workspace, and the
 * packages of the workspace among its dependencies, to which node_modules has links only.
 */
async function ofWorkspace(folder: string, ground: Ground): Promise<string[]> {
  const root = (await exists(join(folder, "package.json"))) ? await workspaceOf(folder, ground) : undefined;
  if (root === undefined) return [];
  const shared = join(root, "node_modules");
  const siblings = new Set([folder]);
  for (const one of siblings) {
    for (const name of await dependenciesOf(one)) {
      for (const modules of [join(one, "node_modules"), shared]) {
        const resolved = await resolveLinks(join(modules, name));
        if (resolved === undefined || isSteered(resolved, ground.writable)) continue;
        const { real } = resolved;
        const isSibling = isInside(real, root) && !isInside(folder, real) && !real.includes("/node_modules/");
        if (isSibling && (await exists(join(real, "package.json")))) siblings.add(real);
      }
    }
  }
  siblings.delete(folder);
  const resolved = await resolveLinks(shared);
  const isKnown = resolved?.links.length === 0 && !isSteered(resolved, ground.writable);
  return isKnown ? [shared, ...siblings] : [...siblings];
}

/** The nearest folder above that declares a workspace. */
async function workspaceOf(folder: string, { homes }: Ground): Promise<string | undefined> {
  for (let root = dirname(folder); !isTooWide(root, homes); root = dirname(root)) {
    const isRoot =
      "workspaces" in (await manifestOf(root)) || (await exists(join(root, "pnpm-workspace.yaml")));
    if (isRoot) return root;
  }
  return undefined;
}

async function dependenciesOf(folder: string): Promise<string[]> {
  const manifest = await manifestOf(folder);
  return ["dependencies", "optionalDependencies", "peerDependencies"].flatMap((field) =>
    Object.keys(manifest[field] ?? {}),
  );
}

async function manifestOf(folder: string): Promise<Record<string, object | null | undefined>> {
  try {
    const manifest: unknown = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    return typeof manifest === "object" && manifest !== null ? { ...manifest } : {};
  } catch {
    return {};
  }
}

/** The user's home, the folders above it, and shared folders. */
function isTooWide(folder: string, homes: readonly string[]): boolean {
  const shared = ["/tmp", "/var/tmp", "/opt", "/srv", "/home", "/root", "/mnt", "/media", "/var", "/run"];
  return (
    homes.some((home) => isInside(home, folder)) || shared.includes(folder) || folder === dirname(folder)
  );
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

const INTERPRETER: RegExp =
  /^(?:node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|pypy[\d.]*|ruby[\d.]*|perl[\d.]*|php[\d.]*|java|lua[\d.]*|Rscript|sh|bash|dash|zsh|fish)$/;

const ALONE = /^(?:-|-[iv]*S|-[iv]+|--split-string|--ignore-environment|--debug|-[uCa].+|--\w+=.*)$/;
const WITH_OPERAND = /^(?:-[uCa]|--unset|--chdir|--argv0)$/;

/** The interpreter in the first line of a script, including the program that `env` starts. */
export async function interpretersOf(path: string, searchPath: string | undefined): Promise<string[]> {
  const line = await firstLineOf(path);
  if (line === undefined) return [];
  const { program, name } = line;
  const wanted = name === undefined ? undefined : await findProgram(name, searchPath);
  return wanted === undefined ? [program] : [program, wanted];
}

/** For a script that the server can rewrite: only a well-known interpreter, which `env` looks up by name. */
async function usualInterpretersOf(path: string, searchPath: string | undefined): Promise<string[]> {
  const name = (await firstLineOf(path))?.name;
  const wanted =
    name !== undefined && INTERPRETER.test(name) ? await findProgram(name, searchPath) : undefined;
  return wanted === undefined ? [] : [wanted];
}

interface FirstLine {
  readonly program: string;
  readonly name: string | undefined;
}

async function firstLineOf(path: string): Promise<FirstLine | undefined> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(256), 0, 256, 0);
    const line = /^#!\s*(.+)/.exec(buffer.toString("latin1", 0, bytesRead))?.[1];
    if (line === undefined) return undefined;
    const [program = "", ...words] = line.trim().split(/\s+/);
    return { program, name: basename(program) === "env" ? nameAmong(words) : undefined };
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}

/**
 * The program among the arguments of `env`. Operands of options are skipped; an unknown option may have operands,
 * so that it ends the search.
 */
function nameAmong(words: readonly string[]): string | undefined {
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? "";
    if (WITH_OPERAND.test(word)) at += 1;
    else if (!ALONE.test(word) && !/^[^-].*=/.test(word)) return word.startsWith("-") ? undefined : word;
  }
  return undefined;
}
