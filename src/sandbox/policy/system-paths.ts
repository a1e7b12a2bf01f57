// System paths of every sandbox: what programs need to run at all, and nothing about the user.

import { realpath } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { DEFAULT_SEARCH_PATH, isProgram, searchFolders } from "../../base/process/program-path.ts";
import { isInside, withRealPaths } from "../paths/paths.ts";

/**
 * Single folders of /etc, because private keys are next to certificates. The backend provides accounts, hosts and
 * name servers.
 */
const SYSTEM = [
  ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"],
  ["/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/ca-certificates"],
  ["/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust"],
  ["/etc/crypto-policies", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"],
  ["/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path", "/etc/alternatives", "/etc/localtime"],
  ["/etc/timezone", "/etc/mime.types", "/etc/protocols", "/etc/services", "/etc/fonts", "/etc/locale.alias"],
].flat();

/** The layout of this machine. */
let whole: Promise<readonly string[]> | undefined;

/**
 * Existing paths, with their link targets. Read once per process, because the layout of the machine does not
 * change.
 */
export function systemPaths(): Promise<readonly string[]> {
  whole ??= existing(SYSTEM).then(withRealPaths);
  return whole;
}

/** Paths that every sandbox has, so that they are never a program's own folder. */
export async function isSystem(path: string): Promise<boolean> {
  const system = await systemPaths();
  return system.some((folder) => isInside(path, folder));
}

export async function findProgram(name: string, searchPath: string | undefined): Promise<string | undefined> {
  const folders = searchFolders(searchPath ?? DEFAULT_SEARCH_PATH);
  const candidates = isAbsolute(name) ? [name] : folders.map((folder) => join(folder, name));
  for (const path of candidates) if (await isProgram(path)) return path;
  return undefined;
}

async function existing(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    paths.map(async (path) => ((await realpath(path).catch(() => undefined)) === undefined ? [] : [path])),
  );
  return found.flat();
}
