// Texts about sandboxes in messages: resource limits as config files write them, and paths that a sandbox hides.

import { shellWord } from "../../base/text/command-line.ts";
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

/** Message at a start and in `portolan validate` about a path that a config names and the sandbox hides. */
export function hiddenPathMessage(
  server: string,
  { path, where, isNew = false }: { path: string; where: string; isNew?: boolean },
): string {
  const state = isNew ? ", which does not exist yet" : "";
  return `The sandbox of server "${server}" hides ${path}, named in ${where}${state}: the server can neither read nor write it.`;
}

/** Returns the options and the config that would allow a hidden path. */
export function pathGrant(path: string, isNew = false): string {
  const word = shellWord(path);
  const inYaml = word === path ? path : JSON.stringify(path);
  const first = isNew ? "create it first, then " : "";
  return `${first}--allow-read ${word} or --allow-write ${word}, or sandbox: { fs: { write: [${inYaml}] } } in its config (read: to read it only).`;
}
