// Names and values of resource limits as config files write them, for messages.

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
