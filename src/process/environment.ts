// Environment variables of child processes: the few that every program needs, those of the server config, and the
// owner tag.

import { OWNER_VARIABLE, ownerTag } from "./orphans.ts";

/** Variables that a program needs to run at all; all others must be in the server config. */
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

/** Variables that a sandboxed program inherits: the search path and the locale. */
const IN_SANDBOX = ["LANG", "LC_ALL", "PATH", "TZ"];

/** The environment of a sandboxed program contains nothing about the user or the machine. */
export function sandboxEnvironment(
  home: string,
  declared: Readonly<Record<string, string>>,
): Record<string, string> {
  const env: Record<string, string> = { HOME: home, TMPDIR: "/tmp" };
  for (const name of IN_SANDBOX) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return Object.assign(env, declared);
}
