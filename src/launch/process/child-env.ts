// The environment that a program is started with: what it needs to run at all, what was declared, and whose it is.

import { CERTIFICATE_VARIABLES } from "../certificates.ts";
import { OWNER_VARIABLE, ownerTag } from "./orphans.ts";

/** Names that a program needs to run at all; everything else must be declared. */
const INHERITED =
  process.platform === "win32"
    ? [
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
      ].concat(["PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE"])
    : ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"];

export function childEnvironment(
  declared: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of [...INHERITED, ...CERTIFICATE_VARIABLES]) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return Object.assign(env, declared, { [OWNER_VARIABLE]: ownerTag() });
}

/** What a program in a box gets unasked: how to find others, how to write to its user. */
const IN_A_BOX = ["LANG", "LC_ALL", "PATH", "TZ"];

/** Nothing of it says whose program this is, or where it lives. */
export function boxEnvironment(
  home: string,
  declared: Readonly<Record<string, string>>,
): Record<string, string> {
  const env: Record<string, string> = { HOME: home, TMPDIR: "/tmp" };
  for (const name of IN_A_BOX) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return Object.assign(env, declared);
}
