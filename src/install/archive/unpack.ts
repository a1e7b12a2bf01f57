// Unpacks an untrusted archive into an empty folder: files and folders only, within limits, and no path outside of
// the folder.

import { createReadStream } from "node:fs";
import { chmod, mkdir, open, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { PortolanError } from "../../errors/index.ts";
import { readTar } from "./tar.ts";
import { readZip } from "./zip.ts";

/** One entry. Its body must be read before the next entry is requested. */
export interface ArchiveEntry {
  readonly path: string;
  readonly folder: boolean;
  readonly mode: number;
  readonly body: AsyncIterable<Uint8Array>;
}

export interface UnpackLimits {
  readonly entries: number;
  readonly bytes: number;
  /** The largest ratio of content to archive size; checked only above a minimum size. */
  readonly ratio: number;
}

export const UNPACK_LIMITS: UnpackLimits = { entries: 20_000, bytes: 500 * 1024 * 1024, ratio: 200 };
const RATIO_FROM = 8 * 1024 * 1024;

/** Returns the paths that were written, or false if the file is no archive. */
export async function unpack(
  archive: string,
  target: string,
  limits: UnpackLimits = UNPACK_LIMITS,
  signal?: AbortSignal,
): Promise<readonly string[] | false> {
  const entries = await openArchive(archive);
  if (entries === undefined) return false;
  const budget = Math.min(limits.bytes, Math.max(RATIO_FROM, (await stat(archive)).size * limits.ratio));
  const files: string[] = [];
  let [count, bytes] = [0, 0];
  try {
    for await (const entry of entries) {
      signal?.throwIfAborted();
      count += 1;
      if (count > limits.entries) throw archiveError("it contains too many files");
      const path = join(target, safePath(entry.path));
      await mkdir(entry.folder ? path : dirname(path), { recursive: true, mode: 0o755 });
      if (entry.folder) continue;
      // A second entry for the same file is an error, because it would replace the first.
      const out = await open(path, "wx", 0o644);
      let written = 0;
      try {
        for await (const chunk of entry.body) {
          written += chunk.length;
          bytes += chunk.length;
          if (bytes > budget) throw archiveError("its content is far larger than it should be");
          await out.writeFile(chunk);
        }
      } finally {
        await out.close();
      }
      if ((await stat(path)).size !== written)
        throw archiveError("it could not be written whole: is the disk full?");
      if ((entry.mode & 0o111) !== 0) await chmod(path, 0o755);
      files.push(safePath(entry.path));
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PortolanError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOSPC" || code === "EDQUOT" || code === "EMFILE") throw error;
    throw archiveError(code === "EEXIST" ? "it contains the same file twice" : message, error);
  }
  return files;
}

async function openArchive(path: string): Promise<AsyncIterable<ArchiveEntry> | undefined> {
  const file = await open(path, "r");
  const head = Buffer.alloc(512);
  try {
    await file.read(head, 0, 512, 0);
  } finally {
    await file.close();
  }
  if (head[0] === 0x1f && head[1] === 0x8b) {
    // A pipeline closes both when one of them ends early.
    return readTar(pipeline(createReadStream(path), createGunzip(), () => {}));
  }
  if (head.toString("latin1", 257, 262) === "ustar") return readTar(createReadStream(path));
  return head.readUInt32LE(0) === 0x04034b50 ? readZip(path) : undefined;
}

/** Returns a relative path that stays inside of the folder, or throws. */
export function safePath(text: string): string {
  const steps = text.split("/").filter((step) => step !== "" && step !== ".");
  const bad =
    text.startsWith("/") ||
    // oxlint-disable-next-line no-control-regex
    /[\\\0-\x1f:]/.test(text) ||
    steps.length === 0 ||
    steps.length > 64 ||
    steps.some((step) => step === ".." || step.length > 255 || /[. ]$/.test(step));
  if (bad && !/^\.(?:\/\.?)*$/.test(text))
    throw archiveError(`it contains the path ${JSON.stringify(text.slice(0, 200))}`);
  return steps.join("/") || ".";
}

export function archiveError(why: string, cause?: unknown): PortolanError {
  return new PortolanError("INSTALL_FAILED", `The archive cannot be unpacked safely: ${why}.`, {
    cause,
    hint: "Ask its author for a plain archive, or install the program by hand.",
  });
}
