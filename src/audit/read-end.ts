// End of an audit log: its last group, and the bytes after it that a crash left behind.

import { open } from "node:fs/promises";
import { endsGroup, GroupReader, type Head, lineNumber } from "./line.ts";

export interface LogEnd {
  /** Undefined if there is no whole group, or if the last one was changed. */
  readonly head: Head | undefined;
  /** True if the last whole group is not as it was written. */
  readonly isChanged: boolean;
  /** Bytes after the last group of the last file. */
  readonly tornBytes: number;
}

/** More than the longest group, and the longest part of another one. */
const TAIL_BYTES = 1024 * 1024;

/** `files` are the files of one chain, oldest first. */
export async function readEnd(files: readonly string[]): Promise<LogEnd> {
  let tornBytes = 0;
  for (const [index, file] of files.toReversed().entries()) {
    const text = await tailOf(file);
    const lines = text.split("\n");
    // The rest of the text, after its last line feed, is no line.
    const last = lines.findLastIndex((line, at) => at < lines.length - 1 && endsGroup(line));
    const whole = lines.slice(0, last + 1);
    if (index === 0) tornBytes = text.length - whole.reduce((sum, line) => sum + line.length + 1, 0);
    if (last === -1) continue;
    // A changed last group cannot be continued. The group before it cannot either, because its next number is in use.
    const head = headOf(whole);
    return { head, isChanged: head === undefined, tornBytes };
  }
  return { head: undefined, isChanged: false, tornBytes };
}

/** The end of the last group of these lines; undefined if it was changed. */
function headOf(lines: readonly string[]): Head | undefined {
  const start = lines.findLastIndex((line, at) => at < lines.length - 1 && endsGroup(line)) + 1;
  const reader = new GroupReader();
  const [group] = lines.slice(start).flatMap((line) => reader.add(line) ?? []);
  const n = lineNumber(lines.at(-1) ?? "");
  return group?.isUnchanged === true && n !== undefined ? { n, h: group.h } : undefined;
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
