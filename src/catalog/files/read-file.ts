// Reads one config file: only regular files of a limited size, without waiting for a pipe.

import { constants, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

const MAX_BYTES = 1024 * 1024;
/** Claude Code keeps its servers in a large file with other data; a lock file has a line for each tool. */
const MAX_JSON_BYTES = 16 * MAX_BYTES;

export type FileText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "missing" }
  | { readonly kind: "problem"; readonly message: string };

export async function readConfigFile(file: string): Promise<FileText> {
  let handle: FileHandle | undefined;
  try {
    // Most of the usual names do not exist, and the error of opening such a file takes much longer than this check.
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return { kind: "missing" };
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stats = await handle.stat();
    if (!stats.isFile()) return problem(stats.isDirectory() ? "it is a folder" : "it is not a regular file");
    const most = /\.(?:json|lock)$/i.test(file) ? MAX_JSON_BYTES : MAX_BYTES;
    if (stats.size > most) return problem(`it has ${stats.size} bytes; a config file has at most ${most}`);
    // One more byte than the file has, to detect that it grows while it is read.
    const bytes = Buffer.alloc(stats.size + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
      length += bytesRead;
      if (bytesRead === 0 || length === bytes.length) break;
    }
    if (length > stats.size) return problem("it was changed while Portolan read it");
    return {
      kind: "text",
      text: new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, length)),
    };
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return { kind: "missing" };
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") return problem("it is not UTF-8 text");
    if (code === "EACCES" || code === "EPERM") return problem("permission denied");
    return problem(thrown instanceof Error ? thrown.message : String(thrown));
  } finally {
    await handle?.close();
  }
}

function problem(message: string): FileText {
  return { kind: "problem", message };
}
