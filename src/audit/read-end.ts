// End of an audit log: its last whole line, and the bytes of an incomplete one that a crash left behind.

import { open } from "node:fs/promises";
import { checkLine, type Head } from "./line.ts";

export interface LogEnd {
  /** Undefined if there is no whole line, or if it was changed. */
  readonly head: Head | undefined;
  /** True if the last whole line is not as it was written. */
  readonly isChanged: boolean;
  /** Bytes after the last line feed of the last file. */
  readonly tornBytes: number;
}

const TAIL_BYTES = 1024 * 1024;

/** `files` are the files of one chain, oldest first. */
export async function readEnd(files: readonly string[]): Promise<LogEnd> {
  let tornBytes = 0;
  for (const [index, file] of files.toReversed().entries()) {
    const text = await tailOf(file);
    const feed = text.lastIndexOf("\n");
    if (index === 0) tornBytes = text.length - (feed + 1);
    if (feed === -1) continue;
    const line = text.slice(text.lastIndexOf("\n", feed - 1) + 1, feed);
    const checked = checkLine(line);
    // A changed last line cannot be continued. The line before it cannot either, because its next number is in use.
    return { head: checked.ok ? checked.head : undefined, isChanged: !checked.ok, tornBytes };
  }
  return { head: undefined, isChanged: false, tornBytes };
}

async function tailOf(file: string): Promise<string> {
  const handle = await open(file, "r");
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, TAIL_BYTES);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await handle.close();
  }
}
