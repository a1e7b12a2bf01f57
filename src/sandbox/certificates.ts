// Certificate variables such as SSL_CERT_FILE and the files they name. The sandbox passes both on, so that servers
// work behind a company's proxy. Only certificates are granted: a variable that names a private key grants
// nothing.

import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { CERTIFICATE_VARIABLES } from "../process/index.ts";
import { isSystem } from "./policy/system-paths.ts";

export interface Certificates {
  /** Variables of Portolan's own environment, with absolute paths; the server config overrides them. */
  readonly env: Readonly<Record<string, string>>;
  /** Paths to grant read-only, without those that every sandbox has. */
  readonly paths: readonly string[];
}

const MAX_FILES = 500;
const MAX_BYTES = 8 * 1024 * 1024;

/** `declared` are the variables of the server config, whose relative paths start at `cwd`. */
export async function findCertificates(
  declared: Readonly<Record<string, string>>,
  cwd: string | undefined,
  own: NodeJS.ProcessEnv = process.env,
): Promise<Certificates> {
  const env: Record<string, string> = {};
  const paths = new Set<string>();
  for (const name of CERTIFICATE_VARIABLES) {
    const isDeclared = declared[name] !== undefined;
    const value = declared[name] ?? own[name];
    if (value === undefined || value === "" || value.includes("\0")) continue;
    const named = /(?:DIR|PATH)$/.test(name) && !name.endsWith("FILE_PATH") ? value.split(":") : [value];
    const absolute = named.map((path) => resolve(isDeclared ? (cwd ?? "") : "", path));
    const found = await Promise.all(absolute.map(examine));
    // A program fails if its bundle is missing; without the variable it uses that of the system.
    if (!isDeclared && found.some((one) => one !== "none")) env[name] = absolute.join(":");
    for (const [index, path] of absolute.entries()) if (found[index] === "certificates") paths.add(path);
  }
  return { env, paths: [...paths] };
}

/** Files of the system need no grant, and no look at hundreds of files: every sandbox has them. */
async function examine(path: string): Promise<"certificates" | "system" | "none"> {
  if (await isSystem(path)) return existsSync(path) ? "system" : "none";
  return (await containsCertificates(path)) ? "certificates" : "none";
}

/** A file of certificates, or a folder that contains nothing else. */
async function containsCertificates(path: string): Promise<boolean> {
  try {
    const found = await stat(path);
    if (found.isFile()) return await isCertificate(path, found.size);
    if (!found.isDirectory()) return false;
    const names = await readdir(path);
    if (names.length === 0 || names.length > MAX_FILES) return false;
    const each = await Promise.all(
      names.map(async (name) => {
        const one = await stat(join(path, name));
        return one.isFile() && (await isCertificate(join(path, name), one.size));
      }),
    );
    return each.every(Boolean);
  } catch {
    return false;
  }
}

async function isCertificate(path: string, size: number): Promise<boolean> {
  if (size > MAX_BYTES) return false;
  const text = await readFile(path, "latin1");
  return /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----/.test(text) && !text.includes("PRIVATE KEY-----");
}
