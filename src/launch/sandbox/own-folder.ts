// What a plain command needs of its own: the folder its program is installed in, and that of the script it is to run. Never more.

import { access, readFile, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { isInside } from "./paths.ts";
import { interpretersOf, isSystem } from "./system.ts";

const INTERPRETER =
  /^(?:node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|pypy[\d.]*|ruby[\d.]*|perl[\d.]*|php[\d.]*|java|lua[\d.]*|Rscript|sh|bash|dash|zsh|fish)$/;

/** `node -e`, `python -c`, `python -m`, `deno eval`, `sh -c`. */
const CODE_OPTION = /^(?:-[a-z]*[cempE]|--eval|--print|--command|eval)(?:=|$)/;

/** A file that says: from here down it is one project. */
const MARKS = ["package.json", "pyproject.toml", "setup.py", "deno.json", "Gemfile", "composer.json"].concat([
  "go.mod",
  "Cargo.toml",
  "pyvenv.cfg",
]);

/** Read-only folders and files, real paths; empty when everything is part of the system. */
export async function ownFolders(
  file: string,
  args: readonly string[],
  cwd: string | undefined,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<string[]> {
  const found = new Set<string>();
  const add = async (path: string): Promise<void> => {
    for (const one of await ofProgram(path)) if (!(await isSystem(one))) found.add(one);
  };
  await add(file);
  const real = await realpath(file).catch(() => file);
  for (const interpreter of await interpretersOf(real, environment["PATH"])) await add(interpreter);
  if (INTERPRETER.test(basename(file)) || INTERPRETER.test(basename(real))) {
    const script = await scriptOf(args, cwd ?? process.cwd());
    if (script !== undefined && !(await isSystem(script))) found.add(await ofScript(script));
  }
  return [...found].filter((path) => ![...found].some((other) => other !== path && isInside(path, other)));
}

/** The folders of a program outside of the system, or nothing. */
async function ofProgram(file: string): Promise<string[]> {
  const real = await realpath(file).catch(() => undefined);
  if (real === undefined) return [];
  const folders = await homeOfProgram(real);
  // `.venv/bin/python` is a link to another installation; the link's own folder holds the packages.
  if (real !== file) {
    const written = join(await realpath(dirname(file)), basename(file));
    folders.push(...(await homeOfProgram(written)).filter((folder) => folder !== written));
  }
  const bases = await Promise.all(folders.map((folder) => basesOfVenv(folder)));
  return [...folders, ...bases.flat()];
}

/** `<prefix>/bin/program` belongs to its prefix, if that looks like one; otherwise to its package; otherwise it stands alone. */
async function homeOfProgram(file: string): Promise<string[]> {
  const folder = dirname(file);
  const prefix = dirname(folder);
  // A shim looks for the real program somewhere beside itself.
  if (basename(folder) === "shims" && !isTooWide(prefix)) return [prefix];
  if (basename(folder) === "bin" && prefix === join(homedir(), ".local")) {
    // Next to the libraries lie keyrings.
    return (await exists(join(prefix, "lib"))) ? [file, join(prefix, "lib")] : [file];
  }
  if (basename(folder) === "bin" && !isTooWide(prefix)) {
    for (const mark of ["pyvenv.cfg", "lib", "lib64", "libexec", "jre"]) {
      if (await exists(join(prefix, mark))) return [prefix];
    }
  }
  return [(await packageOf(file)) ?? file];
}

/** A script's package. Without one, its neighbours may be parts of it, unless the folder is one where everything lands. */
async function ofScript(script: string): Promise<string> {
  const isFolder = (await stat(script)).isDirectory();
  const found = await packageOf(isFolder ? join(script, "index") : script);
  if (found !== undefined) return found;
  const folder = isFolder ? script : dirname(script);
  const isMixed =
    dirname(folder) === homedir() && /^(?:\..*|bin|Downloads|Documents|Desktop)$/.test(basename(folder));
  return isTooWide(folder) || isMixed ? script : folder;
}

/** A venv names the installation that it stands on. */
async function basesOfVenv(prefix: string): Promise<string[]> {
  const text = await readFile(join(prefix, "pyvenv.cfg"), "utf8").catch(() => "");
  const base = /^home\s*=\s*(.+)$/m.exec(text)?.[1]?.trim();
  if (base === undefined || !isAbsolute(base)) return [];
  const real = await realpath(base).catch(() => undefined);
  if (real === undefined || basename(real) !== "bin" || isTooWide(dirname(real))) return [];
  // The file may have been written by the server itself, to be given some other folder at the next start.
  const pythons = await Promise.all(["python", "python3", "pypy3"].map((name) => exists(join(real, name))));
  return pythons.includes(true) ? [dirname(real)] : [];
}

/** The first argument that is a file, with the options before it passed over. */
async function scriptOf(args: readonly string[], cwd: string): Promise<string | undefined> {
  for (const argument of args) {
    // The code stands on the command line itself, so that what follows are its arguments.
    if (CODE_OPTION.test(argument)) return undefined;
    if (argument.startsWith("-") || argument.includes("\0")) continue;
    const real = await realpath(resolve(cwd, argument)).catch(() => undefined);
    if (real !== undefined) return real;
  }
  return undefined;
}

/** The nearest folder with a mark of a project, or the outermost node_modules around it. */
async function packageOf(file: string): Promise<string | undefined> {
  const names = file.split(sep);
  const modules = names.indexOf("node_modules");
  if (modules > 0) return names.slice(0, modules + 1).join(sep);
  for (let folder = dirname(file); !isTooWide(folder); folder = dirname(folder)) {
    for (const mark of MARKS) if (await exists(join(folder, mark))) return folder;
  }
  return undefined;
}

/** The user's home, what lies above it, and what everybody shares. */
function isTooWide(folder: string): boolean {
  const shared = ["/tmp", "/var/tmp", "/opt", "/srv", "/home", "/root", "/mnt", "/media", "/var", "/run"];
  return isInside(homedir(), folder) || shared.includes(folder) || folder === dirname(folder);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
