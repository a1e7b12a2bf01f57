// Texts about sandboxes in messages: resource limits as config files write them, and paths that a sandbox hides.

import { shellWord } from "../../base/text/command-line.ts";
import { IN_PROGRAM } from "./grant-command.ts";
import type { ResourceLimits } from "./sandbox.ts";

export const LIMIT_NAMES: Readonly<Record<keyof ResourceLimits, string>> = {
  memoryBytes: "memory",
  processes: "processes",
  openFiles: "open_files",
  cpuSeconds: "cpu",
  fileBytes: "file_size",
  niceness: "niceness",
};

const SIZES: readonly (readonly [string, number])[] = [
  ["GB", 1e9],
  ["GiB", 2 ** 30],
  ["MB", 1e6],
  ["MiB", 2 ** 20],
  ["KB", 1e3],
  ["KiB", 2 ** 10],
];

/** Returns a size in the largest unit that divides it. */
export function writtenSize(bytes: number): string | number {
  for (const [unit, size] of SIZES) if (bytes % size === 0) return `${bytes / size}${unit}`;
  return bytes;
}

/** Such as `limits.memory: 512MB`. */
export function limitRule(name: keyof ResourceLimits, value: number | undefined): string {
  const written =
    value === undefined
      ? ""
      : name === "memoryBytes" || name === "fileBytes"
        ? writtenSize(value)
        : name === "cpuSeconds"
          ? `${value}s`
          : value;
  return `limits.${LIMIT_NAMES[name]}: ${written}`;
}

/** A path that a sandbox hides or protects, as far as a message needs it. */
export interface DeniedPath {
  readonly path: string;
  /** Where the path is named: `args[1]`, `the arguments of a call`. */
  readonly where: string;
  readonly isNew?: boolean;
  /** The script that an interpreter should run. */
  readonly isScript?: boolean;
  /** The path may be read, and not written. */
  readonly isReadOnly?: boolean;
  /** The server only wanted to read it. */
  readonly isForReading?: boolean;
  /** The reason why it is always read-only: no grant changes that. */
  readonly protectedAs?: string;
  /** The path to grant, if it is another one: the folder of a new file. */
  readonly grant?: string;
}

/** Message at a start, of a call and in `portolan validate` about a path that the sandbox hides or protects. */
export function hiddenPathMessage(
  server: string,
  { path, where, isNew = false, isScript = false, isReadOnly = false, protectedAs }: DeniedPath,
): string {
  if (isNew && isScript) return `There is no file ${path}, which server "${server}" should run (${where}).`;
  if (protectedAs !== undefined)
    return `The sandbox of server "${server}" protects ${path}, named in ${where}: it is ${protectedAs}, which the server can only read.`;
  if (isReadOnly)
    return `The sandbox of server "${server}" grants ${path}, named in ${where}, for reading only: the server cannot write it.`;
  const state = isNew ? ", which does not exist yet" : "";
  return `The sandbox of server "${server}" hides ${path}, named in ${where}${state}: the server can neither read nor write it.`;
}

/**
 * Returns how to allow a denied path: the command that grants it, or, for a server that no config file declares, the
 * options and the config. Undefined if no grant would help.
 */
export function pathGrant(
  denied: Omit<DeniedPath, "where">,
  command: string | undefined,
): string | undefined {
  const { path, isNew = false, isScript = false, isReadOnly = false, protectedAs, grant = path } = denied;
  const { isForReading = isScript } = denied;
  if (protectedAs !== undefined || (isNew && isScript)) return undefined;
  const word = shellWord(grant);
  const first = isNew && grant === path ? "create it first, then " : "";
  const readsOnly = isForReading && !isReadOnly;
  if (command === IN_PROGRAM) return `${first}${fsField(readsOnly ? "read" : "write", grant)}`;
  if (command !== undefined)
    return readsOnly
      ? `${first}${command} --read ${word} (or --write, to write it, too)`
      : `${first}${command} --write ${word}${isReadOnly ? "" : " (or --read, to read it only)"}`;
  const inYaml = word === grant ? grant : JSON.stringify(grant);
  if (readsOnly)
    return `${first}--allow-read ${word}, or sandbox: { fs: { read: [${inYaml}] } } in its config.`;
  const options = isReadOnly ? `--allow-write ${word}` : `--allow-read ${word} or --allow-write ${word}`;
  const only = isReadOnly ? "" : " (read: to read it only)";
  return `${first}${options}, or sandbox: { fs: { write: [${inYaml}] } } in its config${only}.`;
}

/** Hint about a script that does not exist. */
export const MISSING_SCRIPT_HINT = "Correct the path in the server's command. No grant helps.";

/** As a program writes it in the config of a server. */
function fsField(access: "read" | "write", path: string): string {
  return `sandbox: { fs: { ${access}: [${JSON.stringify(path)}] } }`;
}

/** The hint of a message about a denied path. */
export function pathGrantHint(denied: DeniedPath, command: string | undefined): string {
  if (denied.isNew === true && denied.isScript === true) return MISSING_SCRIPT_HINT;
  const how = pathGrant(denied, command);
  return how === undefined ? "Configure another file; no grant allows this one." : `Grant it with: ${how}`;
}

/** The hint about a path that the server refuses by itself, too: it was not started with that folder. */
export function ownFoldersHint({ path, grant = path }: DeniedPath, command: string | undefined): string {
  if (command === IN_PROGRAM)
    return `The server refuses it by itself, too. Add its folder to args of the server, and grant it with: ${fsField("read", grant)} (write: to write it)`;
  const how = `${command ?? "the option"} ${command === undefined ? "--allow-read" : "--read"} ${shellWord(grant)}`;
  return `The server refuses it by itself, too. Add its folder to the server's arguments in its config, and grant it with: ${how} (or --${command === undefined ? "allow-" : ""}write, to write it)`;
}
