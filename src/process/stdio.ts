// File descriptors of child processes. A child inherits none of the descriptors that Portolan was started with:
// one open folder would be a way out of every sandbox.

import { openSync, readdirSync, readFileSync } from "node:fs";
import type { IOType } from "node:child_process";
import { readText } from "./proc.ts";

const CLOSE_ON_EXEC = 0o2000000;

/** Found once: these descriptors belong to this process, and Portolan opens none that a child would inherit. */
let leaking: { readonly closable: readonly number[]; readonly beyond: readonly number[] } | undefined;
/** /dev/null, opened once. */
let nothing: number | undefined;

/** The `stdio` option for `spawn`: the given descriptors, and /dev/null at every number that a child would inherit. */
export function stdioOf(...own: (IOType | number)[]): (IOType | number)[] {
  const stdio = [...own];
  for (const fd of leaks().closable) {
    if (fd < own.length) continue;
    // The numbers in between stay closed.
    while (stdio.length < fd) stdio.push("ignore");
    nothing ??= openSync("/dev/null", "r");
    stdio[fd] = nothing;
  }
  return stdio;
}

/** Inherited descriptors above the limit of open files, which cannot be closed for children. */
export function unclosable(): readonly number[] {
  return leaks().beyond;
}

function leaks(): NonNullable<typeof leaking> {
  if (leaking === undefined) {
    const all = inheritable();
    const limit = all.length === 0 ? 0 : openFilesLimit();
    leaking = { closable: all.filter((fd) => fd < limit), beyond: all.filter((fd) => fd >= limit) };
  }
  return leaking;
}

function openFilesLimit(): number {
  const limit = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
  return limit === undefined ? Number.MAX_SAFE_INTEGER : Number(limit);
}

/** Node closes its own descriptors in children, but inherited ones only up to the first gap. */
function inheritable(): number[] {
  try {
    return readdirSync("/proc/self/fd")
      .map(Number)
      .filter((fd) => fd > 2 && isInheritable(fd))
      .sort((a, b) => a - b);
  } catch {
    // This is not Linux, where descriptors are no way out of a sandbox.
    return [];
  }
}

function isInheritable(fd: number): boolean {
  const flags = /^flags:\s*([0-7]+)/m.exec(readText(`/proc/self/fdinfo/${fd}`))?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
}
