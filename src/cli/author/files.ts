// Proposed files: written if they do not exist; existing files stay, and get a proposal beside them.

import { lstat, mkdir, readFile, realpath, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, relative, sep } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import type { NewFile } from "../output/write-files.ts";

export interface ProposedFile extends NewFile {
  /** `kept`: another file exists, and the proposal is beside it. `proposed`: written as a proposal, because DRIVER.md is kept. */
  readonly state: "written" | "unchanged" | "kept" | "proposed";
  /** Path of the proposal, if it is not the file itself. */
  readonly proposal?: string;
  /** The path that was written now, if any. */
  readonly created?: string;
}

/**
 * All files must be inside of `folder`, also after links are resolved. Existing files are never overwritten. If `leader` is kept, the
 * others become proposals too, because the kept file does not use them.
 */
export async function propose(
  files: readonly NewFile[],
  folder: string,
  dryRun: boolean,
  leader?: string,
): Promise<readonly ProposedFile[]> {
  const first = files.find(({ path }) => path === leader);
  const led = first !== undefined && (await proposalOf(first, folder, false)).state === "kept";
  const proposed = await Promise.all(files.map((file) => proposalOf(file, folder, led && file !== first)));
  if (dryRun) return proposed.map(({ created: _created, ...file }) => file);
  for (const { created: target, text } of proposed) {
    if (target === undefined) continue;
    try {
      await mkdir(dirname(target), { recursive: true });
      // Exclusive: a file or link that was created meanwhile is neither overwritten nor followed.
      await writeFile(target, text, { flag: "wx", mode: 0o644 });
    } catch (cause) {
      const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
      throw new PortolanError("FILE_FAILED", `${target} cannot be written (${reason}).`, { cause });
    }
  }
  return proposed;
}

/** Removes the files that were written, and the folders that were created for them. */
export async function withdraw(files: readonly ProposedFile[], folder: string): Promise<void> {
  for (const { created } of files) {
    if (created === undefined) continue;
    await rm(created, { force: true });
    let parent = dirname(created);
    // A folder with other files stays.
    while (parent !== folder && (await rmdir(parent).then(yes, no))) parent = dirname(parent);
  }
}

const yes = (): boolean => true;
const no = (): boolean => false;

/** `created` is the path to write, if any. */
async function proposalOf(file: NewFile, folder: string, led: boolean): Promise<ProposedFile> {
  const { path, text } = file;
  await requireInside(path, folder);
  const there = await isThere(path);
  if (!there && !led) return { ...file, state: "written", created: path };
  if (there && (await existing(path)) === text) return { ...file, state: "unchanged" };
  for (let number = 1; ; number += 1) {
    const proposal = number === 1 ? `${path}.new` : `${path}.new.${number}`;
    const kept = { ...file, state: there ? "kept" : "proposed", proposal } as const;
    if (!(await isThere(proposal))) return { ...kept, created: proposal };
    if ((await existing(proposal).catch(() => undefined)) === text) return kept;
  }
}

/** A link in the workspace may lead anywhere; the user agreed only to files in the workspace. */
async function requireInside(path: string, folder: string): Promise<void> {
  const root = await realpath(folder).catch(() => folder);
  let parent = dirname(path);
  while (!(await isThere(parent)) && parent !== dirname(parent)) parent = dirname(parent);
  const real = await realpath(parent).catch(() => undefined);
  const inside = real === undefined ? ".." : relative(root, real);
  if (inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)) return;
  throw new PortolanError(
    "FILE_FAILED",
    `${path} was not written: the folder ${parent} is outside of the workspace, because a link leads there.`,
    { hint: "Nothing was written. Replace the link with a real folder." },
  );
}

/** True for a broken link as well. */
async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (cause: NodeJS.ErrnoException) => {
      if (cause.code === "ENOENT" || cause.code === "ENOTDIR") return false;
      throw new PortolanError("FILE_FAILED", `${path} cannot be read (${cause.code}).`, { cause });
    },
  );
}

/** Undefined for a broken link. */
async function existing(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return undefined;
    throw new PortolanError("FILE_FAILED", `${path} cannot be read (${cause.code}).`, { cause });
  });
}
