// Whether a server is made for this machine at all, said before anything is fetched.

import { PortolanError } from "../../errors/index.ts";
import type { LaunchSettings } from "../../model/index.ts";

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

export function checkRequires(
  requires: LaunchSettings["requires"],
  { server, platform = process.platform, arch = process.arch }: Machine = {},
): void {
  check("operating system", requires?.os, platform, SYSTEMS, server);
  check("processor", requires?.arch, arch, PROCESSORS, server);
}

interface Machine {
  readonly server?: string | undefined;
  readonly platform?: string | undefined;
  readonly arch?: string | undefined;
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
    `It is made for the ${what} ${wanted.join(" or ")}, and this machine has ${here}.`,
    { server, data: { wanted, here } },
  );
}
