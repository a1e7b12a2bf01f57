// A client's file on disk: written whole or not at all, with a copy of what was there before.

import type { Stats } from "node:fs";
import { lstat, mkdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { writeAtomic, writeNew } from "../../base/files/atomic-write.ts";
import { PortolanError } from "../../errors/index.ts";
import { CLIENT_FORMATS, clientOfPlace, formatOfPlace } from "./known/detect.ts";
import { openDocument } from "../document/edit/index.ts";

const UNWRITABLE = "Check the permissions of the folder, and the space on the disk.";

export interface WriteOptions {
  /** The text that the new one was made from: when the file has another by now, nothing is written. */
  readonly basis?: string;
  readonly now?: () => Date;
  /** False if the caller keeps what was there. Default: true. */
  readonly backup?: boolean;
}

export interface WrittenFile {
  /** The file itself, with links followed. */
  readonly file: string;
  readonly changed: boolean;
  /** The copy of what was there before. */
  readonly backup?: string;
}

interface Before {
  readonly bytes: Buffer;
  readonly text: string;
  readonly stats: Stats;
}

/**
 * Writes a client's file: to a temporary file beside it, flushed, checked, renamed over it, with the same mode. What was there stays as
 * `<file>.portolan-<time>.bak`. Throws when the existing file or the new text does not parse, or the file changed since `basis` was read.
 */
export async function writeClientFile(
  file: string,
  text: string,
  options: WriteOptions = {},
): Promise<WrittenFile> {
  const target = await findTarget(file);
  const before = await readBefore(target);
  checkParses(target, text, true);
  if (before !== undefined) checkParses(target, before.text, false);
  if (options.basis !== undefined && (before?.text ?? "") !== options.basis)
    throw failed(
      target,
      "was changed by another program in the meantime, so Portolan wrote nothing",
      "Run the command again.",
    );
  if (before?.text === text) return { file: target, changed: false };
  await mkdir(dirname(target), { recursive: true }).catch(
    rethrow(target, "has no folder, and Portolan cannot create it"),
  );
  const backup =
    before === undefined || options.backup === false
      ? undefined
      : await saveBackup(target, before, options.now?.() ?? new Date());
  await writeAtomic(target, Buffer.from(text), { mode: 0o600, like: before?.stats }).catch(
    rethrow(target, "cannot be written", UNWRITABLE),
  );
  return { file: target, changed: true, backup };
}

/** The file that links lead to. A link to nothing is refused: whatever it was meant for, this program should not decide it. */
async function findTarget(file: string): Promise<string> {
  const link = await lstat(file).catch(() => undefined);
  if (link !== undefined)
    return realpath(file).catch(
      rethrow(
        file,
        "is a symbolic link to a file that does not exist",
        "Remove the link, or create its target.",
      ),
    );
  const folder = await realpath(dirname(file)).catch(() => dirname(file));
  return join(folder, basename(file));
}

async function readBefore(file: string): Promise<Before | undefined> {
  const stats = await stat(file).catch(() => undefined);
  if (stats === undefined) return undefined;
  if (!stats.isFile()) throw failed(file, "is not a regular file", "Check the file at this path.");
  const bytes = await readFile(file).catch(rethrow(file, "cannot be read"));
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { bytes, text, stats };
  } catch (cause) {
    throw failed(file, "is not UTF-8 text", "Save it as UTF-8 first.", cause);
  }
}

function checkParses(file: string, text: string, isNew: boolean): void {
  const client = clientOfPlace(file);
  const format = formatOfPlace(file) ?? (client === undefined ? "json" : CLIENT_FORMATS[client]);
  const [problem] = text.trim() === "" ? [] : openDocument(format, text).problems;
  if (problem !== undefined)
    throw new PortolanError(
      "FILE_INVALID",
      `${isNew ? `the new content of ${file}` : file} cannot be parsed: ${problem.message}`,
      {
        hint: isNew
          ? "Nothing was written. This is a bug in Portolan; please report it."
          : "Nothing was written. Correct the file by hand, and run the command again.",
        data: { file, offset: problem.offset },
      },
    );
}

async function saveBackup(file: string, { bytes, stats }: Before, now: Date): Promise<string> {
  const time = now.toISOString().replace(/[-:.]/g, "");
  for (let attempt = 0; ; attempt += 1) {
    const backup = `${file}.portolan-${time}${attempt === 0 ? "" : `-${attempt}`}.bak`;
    try {
      await writeNew(backup, bytes, { mode: 0o600, like: stats });
      return backup;
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "EEXIST" && attempt < 1_000) continue;
      throw failed(backup, "cannot be written", UNWRITABLE, cause);
    }
  }
}

function rethrow(file: string, message: string, hint?: string): (cause: unknown) => never {
  return (cause) => {
    throw failed(file, message, hint, cause);
  };
}

function failed(file: string, message: string, hint?: string, cause?: unknown): PortolanError {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  return new PortolanError("FILE_FAILED", `${file} ${message}${code === undefined ? "" : ` (${code})`}`, {
    cause,
    data: { file },
    hint,
  });
}
