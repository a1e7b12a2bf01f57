// Uploaded files: streamed to disk with a limit, hashed on the way, and kept only if the hash is the announced one.

import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Integrity, sameIntegrity, toSri } from "../../base/text/integrity.ts";
import { PortolanError } from "../../errors/index.ts";
import { fileName, type Layout } from "./layout.ts";

export interface UploadOptions {
  readonly expected: Integrity;
  /** The announced size. */
  readonly size: number;
  readonly maxBytes: number;
}

const LEFTOVER_MS = 60 * 60 * 1_000;

/** Returns false if the registry has the file already. After a failure nothing stays behind. */
export async function storeUpload(
  layout: Layout,
  content: AsyncIterable<Uint8Array>,
  { expected, size, maxBytes }: UploadOptions,
): Promise<boolean> {
  if (size > maxBytes) throw tooLarge(size, maxBytes);
  const target = join(layout.files, fileName(expected));
  if ((await sizeOf(target)) !== undefined) return false;
  await mkdir(layout.uploads, { recursive: true, mode: 0o700 });
  const temporary = join(layout.uploads, `${randomUUID()}.tmp`);
  try {
    const file = await open(temporary, "wx", 0o644);
    try {
      const hash = createHash(expected.algorithm);
      let received = 0;
      for await (const chunk of content) {
        received += chunk.length;
        if (received > size) throw wrongSize(size, `more than ${size}`);
        hash.update(chunk);
        await file.writeFile(chunk);
      }
      if (received !== size) throw wrongSize(size, String(received));
      const actual: Integrity = { algorithm: expected.algorithm, digest: hash.digest() };
      if (!sameIntegrity(actual, expected))
        throw new PortolanError(
          "INPUT_INVALID",
          `The registry received a file with the hash ${toSri(actual)}, but the metadata of the package names ${toSri(expected)}.`,
          {
            hint: "Publish the file that the metadata of the package names, or correct the hash in the metadata.",
            data: { status: 422 },
          },
        );
      await file.sync();
      const written = (await file.stat()).size;
      if (written !== size) throw new Error(`${written} of ${size} bytes were written: is the disk full?`);
    } finally {
      await file.close();
    }
    await mkdir(layout.files, { recursive: true });
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  return true;
}

/** The size of a stored file, or undefined if there is none. */
export async function sizeOf(file: string): Promise<number | undefined> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  return found?.isFile() === true ? found.size : undefined;
}

/** Removes what killed processes left behind: old uploads, and old files that the index does not name. */
export async function sweepUploads(layout: Layout, used: ReadonlySet<string>, now: number): Promise<void> {
  const sweep = async (folder: string, isUsed: (name: string) => boolean, ageMs: number): Promise<void> => {
    for (const name of await readdir(folder).catch(() => [])) {
      const file = join(folder, name);
      const found = isUsed(name) ? undefined : await stat(file).catch(() => undefined);
      if (found !== undefined && now - found.mtimeMs > ageMs) await rm(file, { force: true }).catch(() => {});
    }
  };
  await sweep(layout.uploads, () => false, LEFTOVER_MS);
  await sweep(layout.files, (name) => used.has(name), 24 * LEFTOVER_MS);
  await sweep(layout.versions, (name) => used.has(name), 24 * LEFTOVER_MS);
}

function tooLarge(size: number, maxBytes: number): PortolanError {
  return new PortolanError(
    "MESSAGE_TOO_LARGE",
    `The file has ${size} bytes; this registry accepts at most ${maxBytes}.`,
    {
      hint: "Publish a smaller file, or ask the operator of the registry to raise --max-file.",
      data: { status: 413 },
    },
  );
}

function wrongSize(size: number, received: string): PortolanError {
  return new PortolanError("INPUT_INVALID", `The upload has ${received} bytes, but ${size} were announced.`, {
    hint: "Upload the file again.",
    data: { status: 422 },
  });
}
