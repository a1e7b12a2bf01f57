// Archive of a package: a tar whose bytes depend on the names and contents of its files only, so that anyone can make it again.

import { lstat, realpath } from "node:fs/promises";
import { relative, resolve, sep } from "node:path";
import { packTar } from "modern-tar";
import { readLimited } from "../../base/files/limited-read.ts";
import { integrityOf, toSri } from "../../base/text/integrity.ts";
import { PortolanError } from "../../errors/index.ts";

/** The time that npm also writes into its archives. Some programs do not accept the year 1970. */
const TIME = new Date("1985-10-26T08:15:00.000Z");
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_FILES = 2_000;

export interface PackedArchive {
  readonly bytes: Buffer;
  readonly hash: string;
  readonly size: number;
  /** The names in the archive, sorted. */
  readonly names: readonly string[];
}

/** `paths` are files below `folder`. Without compression: the bytes of compressed files differ between versions of zlib. */
export async function packArchive(folder: string, paths: readonly string[]): Promise<PackedArchive> {
  const top = await realpath(folder);
  const files = new Map<string, string>();
  for (const path of paths) files.set(nameIn(top, await realPathOf(resolve(folder, path), path), path), path);
  if (files.size > MAX_FILES) throw refused(`it would have more than ${MAX_FILES} files`);
  const names = [...files.keys()].sort((a, b) => (a < b ? -1 : 1));
  let total = 0;
  const entries = [];
  for (const name of names) {
    const path = resolve(top, name);
    const found = await lstat(path);
    if (!found.isFile()) throw refused(`${name} is not a file`);
    total += found.size;
    if (total > MAX_BYTES) throw refused(`it would be larger than ${MAX_BYTES} bytes`);
    const body = await readLimited(path, MAX_BYTES);
    entries.push({
      header: {
        ...{ name, size: body.length, mtime: TIME, type: "file" as const },
        mode: (found.mode & 0o111) === 0 ? 0o644 : 0o755,
        ...{ uid: 0, gid: 0, uname: "", gname: "" },
      },
      body: new Uint8Array(body),
    });
  }
  const bytes = Buffer.from(await packTar(entries));
  return { bytes, hash: toSri(integrityOf(bytes)), size: bytes.length, names };
}

async function realPathOf(path: string, written: string): Promise<string> {
  return realpath(path).catch((cause: Error) => {
    throw new PortolanError("FILE_FAILED", `${written} cannot be packed: ${cause.message}`, { cause });
  });
}

/** The name in the archive, with slashes on every system. */
function nameIn(top: string, real: string, written: string): string {
  const name = relative(top, real).split(sep).join("/");
  if (name === "" || name === ".." || name.startsWith("../") || /^[A-Za-z]:/.test(name))
    throw refused(`${written} is outside of ${top}`);
  return name;
}

function refused(why: string): PortolanError {
  return new PortolanError("FILE_FAILED", `The package cannot be packed: ${why}.`, {
    hint: `--include takes single files in the folder of the mcpfile or below it; repeat it for each file. An archive can have at most ${MAX_FILES} files and ${MAX_BYTES / 1024 / 1024} MiB.`,
  });
}
