// Finds the program of a package runner in node_modules, as npx does before it downloads a package.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject, type InstallableProgram } from "../model/index.ts";
import { lookUpProgram } from "../process/index.ts";
import { isWritableByServers, projectFolders } from "../sandbox/index.ts";
import type { LaunchRequest } from "./prepare.ts";

type NpmProgram = Extract<InstallableProgram, { kind: "npm" }>;

/**
 * Replaces `npx NAME` by the program of this name in the project's `node_modules`. The store is used instead if another
 * server can write there: the other server could replace the program, and get the rights of this one.
 */
export async function preferLocal(
  program: InstallableProgram,
  { endpoint: { cwd = process.cwd() }, context, server }: LaunchRequest,
): Promise<InstallableProgram> {
  if (program.kind !== "npm" || program.prefersLocal !== true) return program;
  const found = await findLocalProgram(program, cwd);
  if (found === undefined) return program;
  const others = (context?.servers ?? []).filter(({ alias }) => alias !== server);
  if (await isWritableByServers(found, others)) return program;
  return { kind: "binary", command: found, args: program.args };
}

/** The hint for a program that is not on the PATH but in `node_modules`. */
export async function localHint(
  command: string,
  args: readonly string[],
  cwd: string,
): Promise<string | undefined> {
  for (const folder of await projectFolders(cwd)) {
    const path = await binOf(folder, command);
    if (path === undefined) continue;
    const words = [command, ...args].map((word) => JSON.stringify(word)).join(", ");
    return `The program is in ${path}: write command: npx, args: [${words}].`;
  }
  return undefined;
}

async function findLocalProgram({ name, bin }: NpmProgram, cwd: string): Promise<string | undefined> {
  for (const folder of await projectFolders(cwd)) {
    // `npx tsc` names a program of the package typescript; `npx -p typescript tsc` names both.
    const named = name.includes("/") || bin !== undefined ? undefined : await binOf(folder, name);
    const program = named === undefined ? await programOf(folder, name, bin) : undefined;
    const found = named ?? (program === undefined ? undefined : await binOf(folder, program));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The path of a program in `node_modules/.bin`. */
async function binOf(folder: string, program: string): Promise<string | undefined> {
  return /[/\\]/.test(program) ? undefined : lookUpProgram(join(folder, "node_modules", ".bin", program));
}

/** The program of an installed package that npx would run: the named one, the one with the package's name, or the only one. */
async function programOf(
  folder: string,
  name: string,
  wanted: string | undefined,
): Promise<string | undefined> {
  const text = await readFile(join(folder, "node_modules", name, "package.json"), "utf8").catch(
    () => undefined,
  );
  if (text === undefined || wanted !== undefined) return text === undefined ? undefined : wanted;
  const short = name.replace(/^@[^/]*\//, "");
  const bin = binField(text);
  if (typeof bin === "string") return short;
  const programs = isObject(bin) ? Object.keys(bin) : [];
  if (programs.includes(short)) return short;
  return programs.length === 1 ? programs[0] : undefined;
}

function binField(text: string): unknown {
  try {
    const manifest: unknown = JSON.parse(text);
    return isObject(manifest) ? manifest.bin : undefined;
  } catch {
    return undefined;
  }
}
