// Programs of util-linux and coreutils that create a sandbox.

import { realpath } from "node:fs/promises";
import { basename } from "node:path";
import { findProgram } from "../policy/system-paths.ts";

/** Programs without which there is no sandbox. */
const NEEDED = [
  ...(["unshare", "setpriv", "setsid", "mount", "umount", "pivot_root"] as const),
  ...(["sh", "mkdir", "ln"] as const),
];
/** Programs without which a part of it is missing. */
const OPTIONAL = ["prlimit", "nice", "ip", "hostname", "perl", "env"] as const;

/** System administration tools are not on the PATH of every user. */
const FOLDERS = "/usr/sbin:/usr/bin:/sbin:/bin";

export type Programs = Readonly<Record<(typeof NEEDED)[number], string>> &
  Readonly<Partial<Record<(typeof OPTIONAL)[number], string>>>;

export interface FoundPrograms {
  /** Undefined if one is missing. */
  readonly programs: Programs | undefined;
  readonly missing: readonly string[];
  readonly optional: Readonly<Partial<Record<(typeof OPTIONAL)[number], string>>>;
}

/** Looks in the folders of the system first, because a program of the user may have the same name. */
export async function findPrograms(path: string | undefined): Promise<FoundPrograms> {
  const search = [FOLDERS, ...(path === undefined || path === "" ? [] : [path])].join(":");
  const find = async (name: string): Promise<readonly [string, string | undefined]> => {
    const file = await findProgram(name, search);
    return [name, file !== undefined && (await isComplete(name, file)) ? file : undefined];
  };
  const needed = await Promise.all(NEEDED.map(find));
  const optional = Object.fromEntries(await Promise.all(OPTIONAL.map(find)));
  const missing = needed.flatMap(([name, file]) => (file === undefined ? [name] : []));
  const programs = { ...Object.fromEntries(needed), ...optional } as Programs;
  return { programs: missing.length === 0 ? programs : undefined, missing, optional };
}

/** The variants of BusyBox lack options. Any shell is good enough. */
async function isComplete(name: string, file: string): Promise<boolean> {
  if (name === "sh") return true;
  const real = await realpath(file).catch(() => file);
  return !/^(?:busybox|toybox)/.test(basename(real));
}
