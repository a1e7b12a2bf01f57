// The read-only system of a box: what programs need of a machine to run at all, and nothing that is about its owner.

import { access, constants, open, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join } from "node:path";
import { isInside } from "./paths.ts";

/** Single folders of /etc, since next to certificates lie private keys. Accounts, hosts and name servers are stubs of the backend. */
const SYSTEM = [
  ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"],
  ["/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/ca-certificates"],
  ["/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust"],
  ["/etc/crypto-policies", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"],
  ["/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path", "/etc/alternatives", "/etc/localtime"],
  ["/etc/timezone", "/etc/mime.types", "/etc/protocols", "/etc/services", "/etc/fonts", "/etc/locale.alias"],
].flat();

/** Where programs lie; with `exec.allow` only single ones of them are there. */
const PROGRAM_FOLDERS = ["/usr/bin", "/usr/sbin", "/usr/games", "/usr/local/bin", "/usr/local/sbin"].concat([
  "/usr/local/games",
  "/bin",
  "/sbin",
]);

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

export interface Allowed {
  readonly paths: readonly string[];
  /** Names for which there is no program. */
  readonly unknown: readonly string[];
}

/** The system with these programs only. Libraries stay, as do the interpreters that the programs' first lines name. */
export async function systemWithOnly(
  programs: readonly string[],
  searchPath: string | undefined,
): Promise<Allowed> {
  const bare: string[] = [];
  for (const path of await systemPaths()) {
    bare.push(...(await withoutPrograms(path)));
  }
  const found = new Set<string>();
  const unknown: string[] = [];
  for (const name of programs) {
    const path = await findProgram(name, searchPath);
    if (path === undefined) unknown.push(name);
    else for (const one of await withInterpreters(path, searchPath)) found.add(one);
  }
  return { paths: await withReal([...bare, ...found]), unknown };
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

/** What `#!` of a script names: the interpreter, and with `env` the program that it looks for. */
export async function interpretersOf(path: string, searchPath: string | undefined): Promise<string[]> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return [];
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(256), 0, 256, 0);
    const line = /^#!\s*(.+)/.exec(buffer.toString("latin1", 0, bytesRead))?.[1];
    if (line === undefined) return [];
    const [program = "", ...words] = line.trim().split(/\s+/);
    if (basename(program) !== "env") return [program];
    const name = words.find((word) => !word.startsWith("-") && !word.includes("="));
    const wanted = name === undefined ? undefined : await findProgram(name, searchPath);
    return wanted === undefined ? [program] : [program, wanted];
  } catch {
    return [];
  } finally {
    await file.close();
  }
}

async function withInterpreters(path: string, searchPath: string | undefined): Promise<string[]> {
  const interpreters = await interpretersOf(path, searchPath);
  // An interpreter may be a script itself, but not for ever.
  const further = await Promise.all(interpreters.map((one) => interpretersOf(one, searchPath)));
  return [path, ...interpreters, ...further.flat()];
}

/** A path of the system, or the parts of it that are not folders of programs. */
async function withoutPrograms(path: string): Promise<string[]> {
  const real = await realpath(path);
  if (PROGRAM_FOLDERS.includes(real)) return [];
  if (!PROGRAM_FOLDERS.some((folder) => dirname(folder) === path || dirname(dirname(folder)) === path)) {
    return [path];
  }
  const parts = await readdir(path);
  return (await Promise.all(parts.map((name) => withoutPrograms(join(path, name)).catch(() => [])))).flat();
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

async function withReal(paths: readonly string[]): Promise<string[]> {
  const real = await Promise.all(paths.map((path) => realpath(path)));
  return [...new Set([...paths, ...real])];
}
