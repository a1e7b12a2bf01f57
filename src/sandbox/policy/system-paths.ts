// The read-only system of a box: what programs need of a machine to run at all, and nothing that is about its owner.

import { access, constants, realpath, stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { isInside } from "../paths/paths.ts";

/** Single folders of /etc, since next to certificates lie private keys. Accounts, hosts and name servers are stubs of the backend. */
const SYSTEM = [
  ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"],
  ["/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/ca-certificates"],
  ["/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust"],
  ["/etc/crypto-policies", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"],
  ["/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path", "/etc/alternatives", "/etc/localtime"],
  ["/etc/timezone", "/etc/mime.types", "/etc/protocols", "/etc/services", "/etc/fonts", "/etc/locale.alias"],
].flat();

let whole: Promise<readonly string[]> | undefined;

/** All that exist: links, and what they lead to. A machine's layout is looked at once. */
export function systemPaths(): Promise<readonly string[]> {
  whole ??= existing(SYSTEM).then(withReal);
  return whole;
}

/** Folders that are never a server's own, since the box has them anyway. */
export async function isSystem(path: string): Promise<boolean> {
  const system = await systemPaths();
  return system.some((folder) => isInside(path, folder));
}

export async function findProgram(name: string, searchPath: string | undefined): Promise<string | undefined> {
  const candidates = isAbsolute(name)
    ? [name]
    : (searchPath ?? "/usr/local/bin:/usr/bin:/bin").split(":").map((folder) => join(folder, name));
  for (const path of candidates.filter((one) => isAbsolute(one))) {
    if (await isProgram(path)) return path;
  }
  return undefined;
}

async function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK)
    .then(async () => (await stat(path)).isFile())
    .catch(() => false);
}

async function existing(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    paths.map(async (path) => ((await realpath(path).catch(() => undefined)) === undefined ? [] : [path])),
  );
  return found.flat();
}

export async function withReal(paths: readonly string[]): Promise<string[]> {
  const real = await Promise.all(paths.map((path) => realpath(path)));
  return [...new Set([...paths, ...real])];
}
