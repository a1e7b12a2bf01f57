// Finds the folder of a module that a program of Python or Node.js cannot import: modules of the user are outside of the
// folders that a sandbox shows.

import { existsSync, readdirSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { PortolanError } from "../../errors/index.ts";
import type { LaunchPlan } from "../../launch/index.ts";
import { type DeniedPath, pathGrantCommand, pathGrantHint } from "../../model/index.ts";
import { missingNodePackage } from "./missing-files.ts";

/** Python: ModuleNotFoundError: No module named 'a.b'; python3 -m: /usr/bin/python3: No module named a */
const PYTHON = /\bNo module named (?:'([\w.]{1,200})'|([\w.]{1,200}))/;
/** The ending of the file of a module; "" is the folder of a package. */
const IS_MODULE = /^(?:\.py|\.pyc|(?:\.[\w-]+)?\.(?:so|pyd))?$/;

export interface MissingModule {
  readonly name: string;
  /** Folders of this machine that contain the module. The sandbox may hide them. */
  readonly folders: readonly string[];
}

/** The module that the program could not import; undefined if stderr names none, or no known folder contains it. */
export function missingModule(
  plan: LaunchPlan | undefined,
  { code, stderr = "" }: PortolanError,
  home: string,
): MissingModule | undefined {
  if (plan === undefined || (code !== "SERVER_START_FAILED" && code !== "SERVER_CRASHED")) return undefined;
  const configured = (name: string): string[] =>
    plan.notGranted.flatMap(({ path, where }) => (where === `env.${name}` ? [path] : []));
  const [, quoted, bare] = PYTHON.exec(stderr) ?? [];
  const module = quoted ?? bare;
  if (module !== undefined) {
    const folders = [...configured("PYTHONPATH"), ...userSites(plan, stderr, home)];
    return found(module, folders, (folder) => hasPythonModule(folder, module));
  }
  const missing = missingNodePackage(stderr);
  if (missing === undefined) return undefined;
  const { packageName, from } = missing;
  const folders = [...configured("NODE_PATH"), ...(from === undefined ? [] : nodeFolders(from))];
  return found(packageName, folders, (folder) => existsSync(join(folder, packageName)));
}

/** The hint for a module in a folder that the sandbox hides. */
export function hiddenModuleHint(
  name: string,
  denied: DeniedPath | undefined,
  command: string | undefined,
): string | undefined {
  if (denied === undefined) return undefined;
  const read = { ...denied, isForReading: true };
  const how = pathGrantCommand(read, command);
  const hint = how === undefined ? pathGrantHint(read, command) : `Grant it with: ${how}`;
  return `The module ${name} is installed in ${denied.path}, which the sandbox of the server hides. ${hint}`;
}

function found(
  name: string,
  folders: readonly string[],
  contains: (folder: string) => boolean,
): MissingModule | undefined {
  const containing = folders.filter(contains);
  return containing.length === 0 ? undefined : { name, folders: containing };
}

/** The folders of `pip install --user`, the one of the program's own version of Python first. */
function userSites({ program }: LaunchPlan, stderr: string, home: string): string[] {
  // A virtual environment does not use them.
  if (existsSync(join(dirname(program), "..", "pyvenv.cfg"))) return [];
  const sites = [
    ...namesIn(join(home, ".local/lib")).flatMap((name) =>
      name.startsWith("python3") ? [join(home, ".local/lib", name, "site-packages")] : [],
    ),
    ...namesIn(join(home, "Library/Python")).map((version) =>
      join(home, "Library/Python", version, "lib/python/site-packages"),
    ),
  ];
  const version =
    /(?:^|\/)python(3\.\d+)/.exec(basename(realOf(program)))?.[1] ??
    /\/python(3\.\d+)\//.exec(stderr)?.[1] ??
    "";
  const isOwn = (site: string): boolean => version !== "" && new RegExp(`\\D${version}/`).test(site);
  return [...sites.filter(isOwn), ...sites.filter((site) => !isOwn(site))];
}

function hasPythonModule(site: string, module: string): boolean {
  const parts = module.split(".");
  const last = parts.pop() ?? "";
  return namesIn(join(site, ...parts)).some(
    (name) => name.startsWith(last) && IS_MODULE.test(name.slice(last.length)),
  );
}

/** The folders in which Node.js looks for a package. */
function nodeFolders(from: string): string[] {
  const folders: string[] = [];
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    folders.push(join(folder, "node_modules"));
    if (dirname(folder) === folder) return folders;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
