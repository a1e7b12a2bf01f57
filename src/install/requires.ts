// Checks whether this machine meets a server's requirements, before anything is downloaded.

import { statfs } from "node:fs/promises";
import { homedir, totalmem } from "node:os";
import { dirname } from "node:path";
import { PortolanError } from "../errors/index.ts";
import type { LaunchSettings } from "../model/index.ts";

const MB = 1024 * 1024;
const SYSTEMS: Readonly<Record<string, string>> = {
  macos: "darwin",
  mac: "darwin",
  osx: "darwin",
  windows: "win32",
  win: "win32",
};
const PROCESSORS: Readonly<Record<string, string>> = {
  amd64: "x64",
  x86_64: "x64",
  "x86-64": "x64",
  aarch64: "arm64",
  arm64e: "arm64",
  x86: "ia32",
  i386: "ia32",
  i686: "ia32",
  armv7: "arm",
  armv7l: "arm",
};

export async function checkRequires(
  requires: LaunchSettings["requires"],
  { server, platform = process.platform, arch = process.arch, memory, folder }: Machine = {},
): Promise<void> {
  check("operating system", requires?.os, platform, SYSTEMS, server);
  check("processor", requires?.arch, arch, PROCESSORS, server);
  const { memoryBytes, diskBytes } = requires ?? {};
  if (memoryBytes !== undefined)
    enough(
      "memory",
      memoryBytes,
      memory ?? totalmem(),
      server,
      "Run the server on a machine with more memory.",
    );
  if (diskBytes === undefined) return;
  const place = folder ?? homedir();
  const free = await freeAt(place);
  const hint = `Free disk space on the disk of ${place}, or run the server on a machine with more.`;
  // Some file systems do not report free space.
  if (free !== undefined) enough("free disk space", diskBytes, free, server, hint);
}

interface Machine {
  readonly server?: string;
  readonly platform?: string;
  readonly arch?: string;
  readonly memory?: number;
  /** The folder of installations, which need not exist yet. */
  readonly folder?: string;
}

function enough(what: string, wanted: number, here: number, server: string | undefined, hint: string): void {
  if (here >= wanted) return;
  const mb = (bytes: number): string => `${Math.floor(bytes / MB)} MB`;
  throw new PortolanError(
    "PLATFORM_UNSUPPORTED",
    `The server needs ${mb(wanted)} of ${what}, but this machine has only ${mb(here)}.`,
    { server, data: { wanted, here }, hint },
  );
}

async function freeAt(folder: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return dirname(folder) === folder ? undefined : freeAt(dirname(folder));
  }
}

function check(
  what: string,
  wanted: readonly string[] | undefined,
  here: string,
  names: Readonly<Record<string, string>>,
  server: string | undefined,
): void {
  if (wanted === undefined || wanted.length === 0) return;
  const known = wanted.map((name) => name.toLowerCase()).map((name) => names[name] ?? name);
  if (known.includes(here) || known.includes("*") || known.includes("any")) return;
  throw new PortolanError(
    "PLATFORM_UNSUPPORTED",
    `The server supports only the ${what} ${wanted.join(" or ")}, but this machine has ${here}.`,
    { server, data: { wanted, here } },
  );
}
