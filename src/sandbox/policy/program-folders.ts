// What a plain command needs of its own: the folder its program is installed in, and that of the script it is to run. Never more, and nothing that the server itself could have steered.

import { access, readFile, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { INTERPRETER, interpretersOf, usualInterpretersOf } from "./interpreters.ts";
import { bothWays, isInside, isSteered, type Resolved, resolveLinks } from "../paths/paths.ts";
import { isSystem } from "./system-paths.ts";

/** `node -e`, `python -c`, `python -m`, `deno eval`, `sh -c`. */
const CODE_OPTION = /^(?:-[a-z]*[cempE]|--eval|--print|--command|eval)(?:=|$)/;

/** What interpreters try when there is no file of the very name. */
const ENDINGS = ["", ".js", ".cjs", ".mjs", ".ts", ".tsx", ".jsx", ".json", ".node"];

/** A file that says: from here down it is one project. */
const MARKS = ["package.json", "pyproject.toml", "setup.py", "deno.json", "Gemfile", "composer.json"].concat([
  "go.mod",
  "Cargo.toml",
  "pyvenv.cfg",
]);

/** Where version managers keep interpreters, and nothing of their owner, seen from a home. */
const STORES = [".local/share/uv/python", ".pyenv/versions", ".nvm/versions", ".volta/tools/image"].concat([
  ".asdf/installs",
  ".local/share/mise/installs",
  ".local/share/fnm/node-versions",
  ".rbenv/versions",
  ".nodenv/versions",
]);

export interface OwnOptions {
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** Folders that the server may write, in both spellings. From a file or a link in there nothing is inferred: the server may have put it there, to get more at its next start. */
  readonly writable?: readonly string[] | undefined;
}

interface Ground {
  /** The user's home, as it is written and where it really lies. */
  readonly homes: readonly string[];
  readonly writable: readonly string[];
}

/** Read-only folders and files; empty when everything is part of the system. */
export async function ownFolders(
  file: string,
  args: readonly string[],
  cwd: string | undefined,
  { environment = process.env, writable = [] }: OwnOptions = {},
): Promise<string[]> {
  const found = new Set<string>();
  const ground: Ground = { homes: await bothWays([homedir()]), writable };
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
  return [...found].filter((path) => ![...found].some((other) => other !== path && isInside(path, other)));
}

/** The folders of a program outside of the system, or nothing. */
async function ofProgram(file: string, ground: Ground): Promise<string[]> {
  const resolved = await resolveLinks(file);
  if (resolved === undefined) return [];
  const { real } = resolved;
  if (isSteered(resolved, ground.writable)) {
    // A venv in a project: its python is a link, and must lead to a python; by way of further links, perhaps.
    if (!isKept(real, ground)) return [];
    const ways = resolved.links.map(({ path }) => path);
    return [...(await homeOfProgram(real, ground)), ...ways].filter((path) => isKept(path, ground));
  }
  const folders = await homeOfProgram(real, ground);
  // `.venv/bin/python` is a link to another installation; the link's own folder holds the packages.
  if (real !== file) {
    const written = join(await realpath(dirname(file)), basename(file));
    folders.push(...(await homeOfProgram(written, ground)).filter((folder) => folder !== written));
  }
  const bases = await Promise.all(folders.map((folder) => basesOfVenv(folder, ground)));
  return [...folders, ...bases.flat()];
}

/** Inside of one of the stores, and not where the server may write. */
function isKept(path: string, { homes, writable }: Ground): boolean {
  const stores = homes.flatMap((home) => STORES.map((store) => join(home, store)));
  return (
    stores.some((store) => path !== store && isInside(path, store)) &&
    !writable.some((folder) => isInside(path, folder))
  );
}

/** `<prefix>/bin/program` belongs to its prefix, if that looks like one; otherwise to its package; otherwise it stands alone. */
async function homeOfProgram(file: string, { homes }: Ground): Promise<string[]> {
  const folder = dirname(file);
  const prefix = dirname(folder);
  // A shim looks for the real program somewhere beside itself.
  if (basename(folder) === "shims" && !isTooWide(prefix, homes)) return [prefix];
  if (basename(folder) === "bin" && homes.some((home) => prefix === join(home, ".local"))) {
    // Next to the libraries lie keyrings.
    return (await exists(join(prefix, "lib"))) ? [file, join(prefix, "lib")] : [file];
  }
  if (basename(folder) === "bin" && !isTooWide(prefix, homes)) {
    for (const mark of ["pyvenv.cfg", "lib", "lib64", "libexec", "jre"]) {
      if (await exists(join(prefix, mark))) return [prefix];
    }
  }
  return [(await packageOf(file, homes)) ?? file];
}

/** The script's package; and the path by which it is called, when that leads through links. */
async function ofScriptAmong(args: readonly string[], cwd: string, ground: Ground): Promise<string[]> {
  const script = await scriptOf(args, cwd);
  if (script === undefined || isSteered(script, ground.writable) || (await isSystem(script.real))) return [];
  const folder = await ofScript(script.real, ground.homes);
  return script.links.length === 0 ? [folder] : [folder, script.written];
}

/** A script's package. Without one, its neighbours may be parts of it, unless the folder is one where everything lands. */
async function ofScript(script: string, homes: readonly string[]): Promise<string> {
  const isFolder = (await stat(script)).isDirectory();
  const found = await packageOf(isFolder ? join(script, "index") : script, homes);
  if (found !== undefined) return found;
  const folder = isFolder ? script : dirname(script);
  const isMixed =
    homes.includes(dirname(folder)) && /^(?:\..*|bin|Downloads|Documents|Desktop)$/.test(basename(folder));
  return isTooWide(folder, homes) || isMixed ? script : folder;
}

/** A venv names the installation that it stands on. */
async function basesOfVenv(prefix: string, { homes, writable }: Ground): Promise<string[]> {
  const text = await readFile(join(prefix, "pyvenv.cfg"), "utf8").catch(() => "");
  const base = /^home\s*=\s*(.+)$/m.exec(text)?.[1]?.trim();
  if (base === undefined || !isAbsolute(base)) return [];
  const resolved = await resolveLinks(base);
  if (resolved === undefined || isSteered(resolved, writable)) return [];
  const { real } = resolved;
  if (basename(real) !== "bin" || isTooWide(dirname(real), homes)) return [];
  // The file may have been written by the server itself, to be given some other folder at the next start.
  const pythons = await Promise.all(["python", "python3", "pypy3"].map((name) => exists(join(real, name))));
  return pythons.includes(true) ? [dirname(real)] : [];
}

/** The first argument that is a file, with the options before it passed over. */
async function scriptOf(
  args: readonly string[],
  cwd: string,
): Promise<(Resolved & { readonly written: string }) | undefined> {
  for (const argument of args) {
    // The code stands on the command line itself, so that what follows are its arguments.
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

/** The nearest folder with a mark of a project, or the outermost node_modules around it. */
async function packageOf(file: string, homes: readonly string[]): Promise<string | undefined> {
  const names = file.split(sep);
  const modules = names.indexOf("node_modules");
  if (modules > 0) return names.slice(0, modules + 1).join(sep);
  for (let folder = dirname(file); !isTooWide(folder, homes); folder = dirname(folder)) {
    for (const mark of MARKS) if (await exists(join(folder, mark))) return folder;
  }
  return undefined;
}

/** The user's home, what lies above it, and what everybody shares. */
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
