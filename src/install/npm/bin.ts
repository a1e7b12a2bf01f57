// Finds the program file of an installed package, and the interpreter that runs it.

import { open, readFile, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { binAmong, readLock } from "./lock.ts";

export interface BinCommand {
  readonly file: string;
  readonly args: readonly string[];
}

const HEAD_BYTES = 256;
/** Node options that programs put into their first line. */
const NODE_SWITCH = /^--(?:no-|trace-|experimental-|enable-|max-|stack-|unhandled-)[\w-]+(?:=[\w.-]+)?$/;

/** `folder` is an entry of the store, `name` the package in it. */
export async function findBin(folder: string, name: string, bin: string | undefined): Promise<BinCommand> {
  const own = join(folder, "node_modules", ...name.split("/"));
  const path = await chooseBin(folder, own, name, bin);
  const real = await realpath(path).catch(() => undefined);
  const top = await realpath(folder).catch(() => folder);
  if (real === undefined)
    throw new PortolanError(
      "INSTALL_FAILED",
      `The package ${name} does not contain the file of its program: ${relative(own, path)}`,
      {
        hint: "Report this to the author of the package.",
        data: { package: name, missing: true },
      },
    );
  if (!isInside(top, real))
    throw new PortolanError("INSTALL_FAILED", `The program of ${name} is outside of the package.`, {
      hint: "Do not trust this package, and report it to the operator of the npm registry.",
    });
  // The path below `folder` as it was given, so that one mount shows both.
  const shown = join(folder, relative(top, real));
  const switches = await nodeSwitches(real);
  return switches === undefined
    ? { file: shown, args: [] }
    : { file: process.execPath, args: [...switches, shown] };
}

async function chooseBin(
  folder: string,
  own: string,
  name: string,
  wanted: string | undefined,
): Promise<string> {
  const bins = await readBins(own, name);
  const short = name.replace(/^@[^/]*\//, "");
  const named = bins.get(wanted ?? short);
  if (named !== undefined) return join(own, named);
  const files = new Set(bins.values());
  const [only] = files;
  if (wanted === undefined && files.size === 1 && only !== undefined) return join(own, only);
  if (wanted !== undefined && !/[/\\]/.test(wanted)) {
    // `npx -p a b`: the program b may belong to a dependency of a.
    const lock = await readLock(join(folder, "package-lock.json")).catch(() => undefined);
    const path = lock === undefined ? undefined : binAmong(lock, wanted);
    if (path !== undefined) return join(folder, path);
  }
  // The metadata of a package may name a file of it.
  if (wanted !== undefined && (await isFile(join(own, wanted)))) return join(own, wanted);
  const there = [...bins.keys()].join(", ") || "none";
  throw new PortolanError(
    "INSTALL_FAILED",
    wanted === undefined
      ? bins.size === 0
        ? `${name} has no program to run.`
        : `${name} does not say which of its programs to run (it has: ${there}).`
      : `${name} has no program "${wanted}" (it has: ${there}).`,
    {
      hint:
        bins.size === 0
          ? "Use a package that contains a program; this one may be a library."
          : `Name one of them: bin: PROGRAM beside npm: ${name} in a server config, or npx -p ${name} PROGRAM as a command.`,
      data: { package: name, programs: [...bins.keys()] },
    },
  );
}

async function readBins(own: string, name: string): Promise<Map<string, string>> {
  const text = await readFile(join(own, "package.json"), "utf8").catch(() => undefined);
  if (text === undefined)
    throw new PortolanError(
      "INSTALL_FAILED",
      `The installed files of ${name} are not complete: its package.json is missing.`,
      {
        data: { missing: true },
      },
    );
  let manifest: unknown;
  try {
    manifest = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    throw new PortolanError("INSTALL_FAILED", `The package.json of ${name} is not valid JSON.`, {
      hint: "Report this to the author of the package.",
    });
  }
  const bin = isObject(manifest) ? manifest.bin : undefined;
  if (typeof bin === "string") return new Map([[name.replace(/^@[^/]*\//, ""), bin]]);
  const entries = isObject(bin) ? Object.entries(bin) : [];
  return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

/** The command that runs a file: itself, or the Node that its first line or `isNode` names. */
export async function interpreterOf(
  path: string,
  isNode: boolean,
): Promise<{ readonly command: string; readonly args: readonly string[] }> {
  const switches = (await nodeSwitches(path)) ?? (isNode ? [] : undefined);
  return switches === undefined
    ? { command: path, args: [] }
    : { command: process.execPath, args: [...switches, path] };
}

/** Undefined: the file is an executable of its own, not for Node. */
async function nodeSwitches(path: string): Promise<string[] | undefined> {
  const first = await firstLine(path);
  const words = first.startsWith("#!") ? first.slice(2).trim().split(/\s+/) : [];
  if (words.length === 0) return /\.[cm]?js$/i.test(path) ? [] : undefined;
  const node = words.findIndex((word) => /(?:^|\/)node(?:js)?$/.test(word));
  if (node === -1) return undefined;
  return words.slice(node + 1).filter((word) => NODE_SWITCH.test(word));
}

async function firstLine(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead).toString("latin1").split("\n", 1)[0] ?? "";
  } finally {
    await file.close();
  }
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
