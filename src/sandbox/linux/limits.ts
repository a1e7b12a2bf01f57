// Resource limits as a `prlimit` command. It runs inside of the sandbox, so that other processes of the user do
// not count.

import { readFileSync } from "node:fs";
import { release } from "node:os";
import type { ResourceLimits } from "../../model/index.ts";

interface Limit {
  readonly option: string;
  /** The line of /proc/self/limits. */
  readonly line: string;
}

const PRLIMIT: Readonly<Partial<Record<keyof ResourceLimits, Limit>>> = {
  memoryBytes: { option: "--data", line: "Max data size" },
  processes: { option: "--nproc", line: "Max processes" },
  openFiles: { option: "--nofile", line: "Max open files" },
  cpuSeconds: { option: "--cpu", line: "Max cpu time" },
  fileBytes: { option: "--fsize", line: "Max file size" },
};

export const LIMITS_OF_PRLIMIT: readonly (keyof ResourceLimits)[] = Object.keys(
  PRLIMIT,
) as (keyof ResourceLimits)[];

/** The words before the program. Core files are always disabled. */
export function limitWords(prlimit: string, limits: ResourceLimits, countsProcesses: boolean): string[] {
  const words = [prlimit, "--core=0"];
  for (const name of LIMITS_OF_PRLIMIT) {
    const limit = PRLIMIT[name];
    const wanted = limits[name];
    if (limit === undefined || wanted === undefined || (name === "processes" && !countsProcesses)) continue;
    words.push(`${limit.option}=${settableLimit(name, wanted)}`);
  }
  return words;
}

/** A limit cannot be raised above Portolan's own hard limit, and a lower one satisfies the config as well. */
export function settableLimit(name: keyof ResourceLimits, wanted: number): number {
  const line = PRLIMIT[name]?.line;
  return line === undefined ? wanted : Math.min(wanted, hardLimit(line));
}

/** Why a limit on processes has no effect here; undefined if it has. */
export function processLimitProblem(
  uid: number | undefined = process.getuid?.(),
  kernel: string = release(),
): { readonly problem: string; readonly remedy: string } | undefined {
  // A user namespace changes nothing, because the kernel counts by the user id outside of it.
  if (uid === 0) {
    return {
      problem: "the kernel does not count the processes of root, so this limit has no effect",
      remedy: "Run portolan as an ordinary user.",
    };
  }
  const [major = 0, minor = 0] = kernel.split(".").map((part) => Number.parseInt(part, 10));
  if (major > 5 || (major === 5 && minor >= 14)) return undefined;
  return {
    problem: `Linux ${kernel} counts all processes of this user, not those of one sandbox`,
    remedy: "Update the kernel to 5.14 or newer.",
  };
}

/** Portolan's own limits, read once: it does not change them. */
let own: string | undefined;

function hardLimit(line: string): number {
  own ??= readFileSync("/proc/self/limits", "latin1");
  const words = own.split("\n").find((one) => one.startsWith(line));
  const hard = words?.slice(line.length).trim().split(/\s+/)[1];
  return hard === undefined || hard === "unlimited" ? Number.POSITIVE_INFINITY : Number(hard);
}
