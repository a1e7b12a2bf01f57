// Files that others name: read up to a limit, and never waiting for a pipe that nobody writes to.

import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";

/** At most `limit` bytes of a file, or an error that says why not. Only regular files, unless pipes are wanted too. */
export async function readLimited(
  path: string,
  limit: number,
  { pipes = false }: { pipes?: boolean } = {},
): Promise<Buffer> {
  // Opening a pipe that nobody writes to would wait for ever.
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

/** Whether others than the owner may read a file; systems without such bits answer no. */
export async function isReadableByOthers(path: string): Promise<boolean> {
  if (process.platform === "win32") return false;
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true && (found.mode & 0o044) !== 0;
}
