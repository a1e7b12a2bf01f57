// List of all files of a store entry with their hashes: written when the entry is made, compared by `portolan audit`. A start compares
// the sealed files only, because it must be fast.

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { isObject } from "../../model/index.ts";
import type { FileFault } from "./file-fault.ts";

/** In the folder of the entry. */
export const FILE_LIST = ".portolan-files.json";
const AT_ONCE = 16;

/** Hashes by path. A path has slashes on every system. */
type FileList = ReadonlyMap<string, string>;

/** Writes the list of the files that are in the folder now, and returns its own hash. */
export async function writeFileList(folder: string, except: readonly string[]): Promise<string> {
  const list = await listFiles(folder, except);
  const bytes = Buffer.from(`${JSON.stringify(Object.fromEntries(list), undefined, 1)}\n`);
  await writeAtomic(join(folder, FILE_LIST), bytes, { mode: 0o644 });
  return sha256(bytes);
}

/** Compares the folder with its list, whose hash is `expected`. */
export async function compareWithList(
  folder: string,
  expected: string,
  except: readonly string[],
): Promise<FileFault[]> {
  const bytes = await readFile(join(folder, FILE_LIST)).catch(() => undefined);
  if (bytes === undefined) return [{ path: FILE_LIST, state: "missing" }];
  if (sha256(bytes) !== expected) return [{ path: FILE_LIST, state: "changed" }];
  const parsed: unknown = JSON.parse(bytes.toString("utf8"));
  const wanted = new Map(isObject(parsed) ? Object.entries(parsed) : []);
  const found = await listFiles(folder, except);
  const faults: FileFault[] = [];
  for (const [path, hash] of wanted) {
    const own = found.get(path);
    if (own !== hash) faults.push({ path, state: own === undefined ? "missing" : "changed" });
  }
  for (const path of found.keys()) if (!wanted.has(path)) faults.push({ path, state: "added" });
  return faults.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function listFiles(folder: string, except: readonly string[]): Promise<FileList> {
  const skipped = new Set([FILE_LIST, ...except]);
  const paths = (await pathsIn(folder, "")).filter((path) => !skipped.has(path)).sort();
  const list = new Map<string, string>();
  for (let from = 0; from < paths.length; from += AT_ONCE) {
    const some = paths.slice(from, from + AT_ONCE);
    const hashes = await Promise.all(some.map((path) => hashOf(join(folder, path))));
    for (const [index, path] of some.entries()) list.set(path, hashes[index] ?? "");
  }
  return list;
}

/** Paths of everything that is not a folder. Links are not followed. */
async function pathsIn(folder: string, prefix: string): Promise<string[]> {
  const paths: string[] = [];
  for (const entry of await readdir(join(folder, prefix), { withFileTypes: true })) {
    const path = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
    if (entry.isDirectory()) paths.push(...(await pathsIn(folder, path)));
    else paths.push(path);
  }
  return paths;
}

/** A link is known by its target. A file that cannot be read has no hash of its own, so that it counts as changed. */
async function hashOf(path: string): Promise<string> {
  const target = await readlink(path).catch(() => undefined);
  if (target !== undefined) return `link ${target}`;
  const hash = createHash("sha256");
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  } catch (error) {
    return `unreadable ${(error as NodeJS.ErrnoException).code ?? ""}`;
  }
  return hash.digest("hex");
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
