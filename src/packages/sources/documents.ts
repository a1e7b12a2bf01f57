// Metadata documents in the store, by their hash: a start needs no registry.

import { randomUUID } from "node:crypto";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import {
  type Integrity,
  integrityOf,
  parseIntegrity,
  sameIntegrity,
  toSri,
} from "../../base/text/integrity.ts";
import { machineFault, PortolanError } from "../../errors/index.ts";
import { defaultStoreRoot, makeFolder } from "../../install/index.ts";

export const MAX_DOCUMENT_BYTES: number = 2 * 1024 * 1024;

export interface DocumentOptions {
  /** The folder of the store. Default: the user's own. */
  readonly root?: string;
}

/** Keeps a document, and returns its hash as SRI. */
export async function keepDocument(bytes: Uint8Array, options: DocumentOptions = {}): Promise<string> {
  const integrity = integrityOf(bytes);
  const path = await pathOf(integrity, options);
  if ((await readDocument(toSri(integrity), options)) !== undefined) return toSri(integrity);
  try {
    await makeFolder(join(path, ".."), 0o755);
    await writeAtomic(path, bytes, { mode: 0o644 });
  } catch (error) {
    throw new PortolanError("INSTALL_FAILED", `The metadata cannot be stored: ${(error as Error).message}`, {
      cause: error,
      hint: machineFault(error)?.hint,
    });
  }
  return toSri(integrity);
}

/** Undefined if the document is not there. A damaged file is removed. */
export async function readDocument(sri: string, options: DocumentOptions = {}): Promise<Buffer | undefined> {
  const integrity = parseIntegrity(sri);
  if (integrity === undefined) return undefined;
  const path = await pathOf(integrity, options);
  const bytes = await readLimited(path, MAX_DOCUMENT_BYTES).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    return Buffer.alloc(0);
  });
  if (bytes === undefined) return undefined;
  if (sameIntegrity(integrityOf(bytes, integrity.algorithm), integrity)) return bytes;
  // Another process may have written it anew, so it is first moved away.
  const away = `${path}.${randomUUID()}.tmp`;
  await rename(path, away).catch(() => {});
  await rm(away, { force: true }).catch(() => {});
  return undefined;
}

async function pathOf({ algorithm, digest }: Integrity, { root }: DocumentOptions): Promise<string> {
  return join(root ?? (await defaultStoreRoot()), "documents", `${algorithm}-${digest.toString("hex")}`);
}
