// Hints for programs that end because a file or a package of their own is missing, which no sandbox setting mends.

import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import type { PortolanError } from "../../errors/index.ts";
import type { LaunchPlan } from "../../launch/index.ts";

/** Node.js: Cannot find module '/srv/server.js'; Cannot find package 'zod' imported from /srv/server.js */
const NODE = /Cannot find (?:module|package) '([^'\n]{1,1000})'(?: imported from (\/[^\n]{1,1000}))?/;
/** Node.js prints the file that requires a missing one in the next lines. */
const REQUIRED_BY = /^Require stack:\n- (\/[^\n]{1,1000})/m;
/** Python: can't open file '/srv/server.py': [Errno 2] No such file or directory */
const PYTHON = /can't open file '(\/[^'\n]{1,1000})': \[Errno 2\]/;
const IS_RELATIVE = /^\.{1,2}(?:\/|$)/;
/** A module without an extension may be a file or a folder. */
const ENDINGS = ["", ".js", ".cjs", ".mjs", ".json", ".node", ".ts"];

/**
 * For a program that cannot load a file or a package that does not exist on this machine. Undefined if it exists, because the
 * sandbox then hides it.
 */
export function missingFileHint(plan: LaunchPlan | undefined, error: PortolanError): string | undefined {
  if (plan === undefined || error.code !== "SERVER_START_FAILED") return undefined;
  const stderr = error.stderr ?? "";
  const [, script] = PYTHON.exec(stderr) ?? [];
  if (script !== undefined) return existsSync(script) ? undefined : fileHint(plan, script);
  const [, name = "", importer] = NODE.exec(stderr) ?? [];
  const from = importer ?? REQUIRED_BY.exec(stderr)?.[1];
  if (name === "" || name.startsWith("node:")) return undefined;
  if (isAbsolute(name)) return exists(name) ? undefined : fileHint(plan, name);
  if (from === undefined) return undefined;
  const path = resolve(dirname(from), name);
  if (IS_RELATIVE.test(name)) return exists(path) ? undefined : fileHint(plan, path);
  return isInstalledFor(from, packageNameOf(name)) ? undefined : packageHint(plan, name, from);
}

/** The package that a program of Node.js could not load, and the file that imports it. */
export function missingNodePackage(
  stderr: string,
): { readonly packageName: string; readonly from: string | undefined } | undefined {
  const [, name = "", importer] = NODE.exec(stderr) ?? [];
  if (name === "" || name.startsWith("node:") || isAbsolute(name) || IS_RELATIVE.test(name)) return undefined;
  return { packageName: packageNameOf(name), from: importer ?? REQUIRED_BY.exec(stderr)?.[1] };
}

/** `@scope/name` of `@scope/name/file`. */
function packageNameOf(name: string): string {
  const [first = "", second = ""] = name.split("/");
  return first.startsWith("@") ? join(first, second) : first;
}

function exists(path: string): boolean {
  return ENDINGS.some((ending) => existsSync(path + ending));
}

/** Whether a folder above the file has the package, as Node.js looks for it. */
function isInstalledFor(from: string, packageName: string): boolean {
  let folder = dirname(from);
  while (!existsSync(join(folder, "node_modules", packageName))) {
    const above = dirname(folder);
    if (above === folder) return false;
    folder = above;
  }
  return true;
}

function fileHint({ kind, source, args }: LaunchPlan, path: string): string {
  const fact = `There is no file ${path}.`;
  if (kind === "npm")
    return `${fact} The package ${source} is incomplete. Try another version of the package.`;
  const isArgument = args.some((word) => word !== "" && (path === word || path.endsWith(`/${word}`)));
  return isArgument
    ? `${fact} Correct the path in the arguments of the server.`
    : `${fact} The server may have to be built or installed first.`;
}

function packageHint({ kind, source }: LaunchPlan, name: string, from: string): string {
  const fact = `The package ${name} is not installed for ${from}.`;
  return kind === "npm"
    ? `${fact} The package ${source} does not list ${name} as a dependency. Try another version of ${source}.`
    : `${fact} Install the dependencies of the server, for example with npm install in its folder.`;
}
