// Parses the arguments of `npx`, `npm exec`, `bunx`, `pnpm dlx` and `yarn dlx`: the package, its program, and the
// program's arguments.

import { type PackageSpec, parsePackageSpec } from "./package-spec.ts";

/** All of them run packages of npm's registry and share these options. */
export type PackageRunner = "npx" | "npm exec" | "bunx" | "pnpm dlx" | "yarn dlx";

export interface NpxCommand extends PackageSpec {
  /** The program, if it is named apart from the package. */
  readonly bin?: string;
  readonly args: readonly string[];
  /** The command names neither a version nor a registry, so that an installed package in node_modules is used first. */
  readonly prefersLocal?: boolean;
}

/** Options that change the output of the package manager, not what it runs. */
const HARMLESS = new Set([
  "--yes",
  "--quiet",
  "--silent",
  "--verbose",
  "--prefer-offline",
  "--prefer-online",
  "--ignore-scripts",
  "--no-audit",
  "--no-fund",
  "--no-progress",
  "--no-update-notifier",
]);
/** Options of the same kind with a value. */
const HARMLESS_VALUES = new Set(["--loglevel", "--reporter"]);
const SHORT: Readonly<Record<string, string>> = {
  "-y": "--yes",
  "-q": "--quiet",
  "-s": "--silent",
  "-d": "--verbose",
  "-p": "--package",
  "-c": "--call",
};

/** Returns the reason as a text if only the package manager itself could run it. */
export function parseNpx(words: readonly string[], runner: PackageRunner): NpxCommand | string {
  const packages: string[] = [];
  const rest: string[] = [];
  let registry: string | undefined;
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] as string;
    if (word === "--") {
      rest.push(...words.slice(at + 1));
      break;
    }
    if (!word.startsWith("-") || word === "-") {
      // After the first plain word, all words belong to the program, except with `npm exec`.
      if (runner !== "npm exec") {
        rest.push(...words.slice(at));
        break;
      }
      rest.push(word);
      continue;
    }
    const [flag, inline] = splitFlag(word);
    if (flag === "--call" || flag === "--shell-mode") return `"${word}" runs a line in a shell`;
    if (flag === "--package" || flag === "--registry" || HARMLESS_VALUES.has(flag)) {
      const value = inline ?? words[(at += 1)];
      if (value === undefined) return `"${word}" needs a value`;
      if (flag === "--package") packages.push(value);
      else if (flag === "--registry") registry = value;
    } else if (!HARMLESS.has(flag) || (inline !== undefined && inline !== "true"))
      return `the option "${word}" is not supported`;
  }
  if (packages.length > 1) return "it names more than one package";
  const [named] = packages;
  const [first, ...args] = rest;
  if (first === undefined) return named === undefined ? "it names no package" : "it names no program";
  const spec = parsePackageSpec(
    `${named ?? first}${registry === undefined ? "" : ` --registry=${registry}`}`,
  );
  if (typeof spec === "string") return spec;
  // `pnpm dlx` and `yarn dlx` never use installed packages.
  const isLocal =
    (runner === "npx" || runner === "npm exec" || runner === "bunx") &&
    registry === undefined &&
    (named ?? first) === spec.name;
  const found = isLocal ? { ...spec, args, prefersLocal: true } : { ...spec, args };
  if (named === undefined) return found;
  return isProgramName(first) ? { ...found, bin: first } : `"${first}" is not the name of a program`;
}

export function isProgramName(text: string): boolean {
  return /^[\w@+~][\w.@+~-]{0,200}$/.test(text);
}

function splitFlag(word: string): [string, string | undefined] {
  const equals = word.indexOf("=");
  const flag = equals === -1 ? word : word.slice(0, equals);
  return [SHORT[flag] ?? flag, equals === -1 ? undefined : word.slice(equals + 1)];
}
