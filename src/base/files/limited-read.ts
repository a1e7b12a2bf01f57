// Bounded file reads: at most a given size, and never waiting for a pipe without a writer.

import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";

/** Reads a file of at most `limit` bytes. Throws for larger files and, unless `pipes` is set, for anything but a regular file. */
export async function readLimited(
  path: string,
  limit: number,
  { pipes = false }: { pipes?: boolean } = {},
): Promise<Buffer> {
  // Opening a pipe without a writer would wait for ever.
  const file = await open(
    path,
    pipes ? constants.O_RDONLY : constants.O_RDONLY | (constants.O_NONBLOCK ?? 0),
  );
  try {
    if (!pipes && !(await file.stat()).isFile()) throw new Error("it is not a regular file");
    const chunks: Buffer[] = [];
    let total = 0;
    for (;;) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(limit + 1, 65_536)));
      if (bytesRead === 0) return Buffer.concat(chunks, total);
      total += bytesRead;
      if (total > limit) throw new Error(`it is larger than ${limit} bytes`);
      chunks.push(buffer.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

/** Returns true if other users may read a file; false on systems without permission bits. */
export async function isReadableByOthers(path: string): Promise<boolean> {
  if (process.platform === "win32") return false;
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true && (found.mode & 0o044) !== 0;
}
