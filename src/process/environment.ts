// The environment that a program is started with: what it needs to run at all, what was declared, and whose it is.

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

/** Variables that name certificates: one file each or, with `PATH` or `DIR` at their end, folders with a colon between them. */
export const CERTIFICATE_VARIABLES: readonly string[] = [
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"],
  ...["GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "AWS_CA_BUNDLE", "PIP_CERT", "DENO_CERT", "NIX_SSL_CERT_FILE"],
  ...["CARGO_HTTP_CAINFO", "HTTPLIB2_CA_CERTS", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"],
];

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
