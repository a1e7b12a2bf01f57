// Sandbox profile for macOS: the text that `sandbox-exec` enforces, from a policy. Of two rules that fit, the later
// one wins, as of two mounts.

import { dirname } from "node:path";
import { isInside, pinnedFolders } from "../paths/paths.ts";
import type { Mount, SandboxPolicy } from "../types.ts";

/** Every program needs these to start: the loader, frameworks, time zones, certificates, the shell that is selected. */
const SYSTEM = [
  ...["/System", "/usr/lib", "/usr/share", "/usr/bin", "/usr/sbin", "/usr/libexec", "/bin", "/sbin"],
  ...["/Library/Apple", "/Library/Frameworks", "/Library/Developer/CommandLineTools", "/opt/homebrew"],
  ...["/usr/local", "/private/etc/ssl", "/private/etc/localtime", "/private/var/db/timezone"],
  ...["/private/var/db/dyld", "/private/var/select"],
];
const READ_DEVICES = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/fd"];
const WRITTEN_DEVICES = ["/dev/null", "/dev/zero"];
/** Links of the system. The kernel compares paths after it has followed them. */
const LINKED = ["/tmp", "/var", "/etc"];
/** Accounts, and power states that runtimes ask for. No service that acts on files or the network is among them. */
const SERVICES = [
  "com.apple.system.opendirectoryd.libinfo",
  "com.apple.system.opendirectoryd.membership",
  "com.apple.PowerManagement.control",
];

export interface ProfileRequest {
  readonly policy: SandboxPolicy;
  /** Folders of this start, which the server may write: its HOME and the temporary files. */
  readonly own: readonly string[];
}

export function sandboxProfile({ policy, own }: ProfileRequest): string {
  const { exec, cwd } = policy;
  const shown = policy.mounts.filter(({ access }) => access !== "hidden");
  const written: Mount[] = own.map((path) => ({ path, access: "write", reason: "own" }));
  const pinned = pinnedFolders(shown, policy.mounts).filter((mount) => !shown.includes(mount));
  const entered = [...shown, ...written].map(({ path }) => path).concat(cwd === undefined ? [] : [cwd]);
  return [
    "(version 1)",
    "(deny default)",
    exec.spawn ? "(allow process-fork)" : "(deny process-fork)",
    "(allow process-exec)",
    "(allow signal (target same-sandbox))",
    "(allow process-info* (target same-sandbox))",
    "(allow sysctl-read)",
    "(allow mach-host*)",
    "(allow ipc-posix-sem)",
    "(allow system-socket (socket-domain AF_UNIX))",
    `(allow mach-lookup${SERVICES.map((name) => ` (global-name ${text(name)})`).join("")})`,
    rule("allow file-read*", "literal", ["/", ...READ_DEVICES]),
    rule("allow file-write-data", "literal", WRITTEN_DEVICES),
    rule("allow file-read-metadata", "literal", [...LINKED, ...above(entered)]),
    rule("allow file-read*", "subpath", SYSTEM),
    ...[...policy.mounts, ...written].map((mount) => mountRule(mount)),
    // If the server renamed a folder above a protected path, the path would be unprotected at the next start.
    ...pinned.map(({ path }) => rule("deny file-write-unlink", "literal", [real(path)])),
    "",
  ].join("\n");
}

function mountRule({ path, access }: Mount): string {
  const where = [real(path)];
  if (access === "write") return rule("allow file-read* file-write*", "subpath", where);
  if (access === "hidden") return rule("deny file-read* file-write*", "subpath", where);
  // A folder that may only be read can be inside of one that may be written.
  return [rule("allow file-read*", "subpath", where), rule("deny file-write*", "subpath", where)].join("\n");
}

function rule(action: string, filter: "literal" | "subpath", paths: readonly string[]): string {
  return `(${action}${[...new Set(paths)].map((path) => ` (${filter} ${text(path)})`).join("")})`;
}

/** The folders on the way to each path, which programs look up to find where they are. */
function above(paths: readonly string[]): string[] {
  const found = new Set<string>();
  for (const path of paths)
    for (const start of new Set([path, real(path)]))
      for (let folder = start; folder !== dirname(folder); folder = dirname(folder)) found.add(folder);
  return [...found].toSorted();
}

/** The path behind the links of the system. */
export function real(path: string): string {
  return LINKED.some((link) => isInside(path, link)) ? `/private${path}` : path;
}

/** A string of the profile's language, in which two characters have a meaning. */
export function text(value: string): string {
  return `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}
