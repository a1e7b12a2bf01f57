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
/** Headers, long names and padding of one tar entry. */
const TAR_OVERHEAD = 4 * 1024;
const SET_ID = 0o6000;

/** Returns the paths of the files that were written, or false if the file is no archive. `archive` is a path, or a zip itself. */
export async function unpack(
  archive: string | Buffer,
  target: string,
  limits: UnpackLimits = UNPACK_LIMITS,
  signal?: AbortSignal,
): Promise<readonly string[] | false> {
  const size = typeof archive === "string" ? (await stat(archive)).size : archive.length;
  const budget = Math.min(limits.bytes, Math.max(RATIO_FROM, size * limits.ratio));
  const entries = await openArchive(archive, budget + limits.entries * TAR_OVERHEAD);
  if (entries === undefined) return false;
  const names = createNameCheck();
  const files: string[] = [];
  let [count, bytes] = [0, 0];
  try {
    for await (const entry of entries) {
      signal?.throwIfAborted();
      count += 1;
      if (count > limits.entries) throw archiveError(`it contains more than ${limits.entries} files`);
      const name = safePath(entry.path);
      names.add(name, entry.folder);
      const path = join(target, name);
      await mkdir(entry.folder ? path : dirname(path), { recursive: true, mode: 0o755 });
      if (entry.folder) continue;
      if ((entry.mode & SET_ID) !== 0)
        throw archiveError(`${JSON.stringify(name)} would run with the rights of another user (setuid)`);
      const written = await writeFileOf(entry, path, (more) => {
        bytes += more;
        if (bytes > budget)
          throw archiveError(
            `its unpacked content is larger than the limit for this archive, ${budget} bytes`,
          );
      });
      if ((await stat(path)).size !== written)
        throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
      if ((entry.mode & 0o111) !== 0) await chmod(path, 0o755);
      files.push(name);
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PortolanError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOSPC" || code === "EDQUOT" || code === "EMFILE" || code === "EFBIG") throw error;
    throw archiveError(code === "EEXIST" ? "it contains the same file twice" : message, error);
  }
  return files;
}

async function writeFileOf(
  entry: ArchiveEntry,
  path: string,
  count: (bytes: number) => void,
): Promise<number> {
  // A second entry for the same file is an error, because it would replace the first.
  const out = await open(path, "wx", 0o644);
  let written = 0;
  try {
    for await (const chunk of entry.body) {
      count(chunk.length);
      written += chunk.length;
      await out.writeFile(chunk);
    }
  } finally {
    await out.close();
  }
  return written;
}

/** Refuses names that are one name on some systems: other capitals, or other code points for the same letters. */
function createNameCheck(): { add(path: string, folder: boolean): void } {
  const seen = new Map<string, { readonly name: string; readonly folder: boolean }>();
  const check = (name: string, folder: boolean): void => {
    const key = name.normalize("NFC").toLowerCase();
    const before = seen.get(key);
    if (before === undefined) seen.set(key, { name, folder });
    else if (before.name !== name)
      throw archiveError(
        `${JSON.stringify(before.name)} and ${JSON.stringify(name)} are the same name on some systems`,
      );
    else if (!folder || !before.folder) throw archiveError(`it contains ${JSON.stringify(name)} twice`);
  };
  return {
    add: (path, folder) => {
      const steps = path.split("/");
      for (let length = 1; length < steps.length; length += 1) check(steps.slice(0, length).join("/"), true);
      if (path !== ".") check(path, folder);
    },
  };
}

/** Formats that are recognised, so that they are not taken for a program. */
const UNSUPPORTED: readonly (readonly [string, string])[] = [
  ["fd377a585a00", "xz"],
  ["425a68", "bzip2"],
  ["28b52ffd", "zstd"],
  ["377abcaf271c", "7z"],
  ["526172211a07", "rar"],
];

async function openArchive(
  archive: string | Buffer,
  maxBytes: number,
): Promise<AsyncIterable<ArchiveEntry> | undefined> {
  if (typeof archive !== "string") return isZip(archive) ? readZip(archive) : undefined;
  const file = await open(archive, "r");
  const head = Buffer.alloc(512);
  try {
    await file.read(head, 0, 512, 0);
  } finally {
    await file.close();
  }
  if (head[0] === 0x1f && head[1] === 0x8b)
    // A pipeline closes both when one of them ends early.
    return readTar(
      pipeline(createReadStream(archive), createGunzip(), () => {}),
      maxBytes,
    );
  if (head.toString("latin1", 257, 262) === "ustar") return readTar(createReadStream(archive), maxBytes);
  const other = UNSUPPORTED.find(([magic]) => head.toString("hex").startsWith(magic))?.[1];
  if (other !== undefined)
    throw archiveError(`it is packed with ${other}, but only tar, tar.gz and zip are supported`);
  return isZip(head) ? readZip(archive) : undefined;
}

function isZip(head: Buffer): boolean {
  return head.length >= 4 && head.readUInt32LE(0) === 0x04034b50;
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
    throw archiveError(`it contains the path ${JSON.stringify(text.slice(0, 200))}, which is not allowed`);
  return steps.join("/") || ".";
}

export function archiveError(why: string, cause?: unknown): PortolanError {
  return new PortolanError("INSTALL_FAILED", `The archive cannot be unpacked safely: ${why}.`, {
    cause,
    hint: "Ask the author of the archive for one without this problem, or install the program by hand.",
  });
}
