// Files that are proposed: written where there are none, left alone where there are others.

import { lstat, mkdir, readFile, realpath, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, relative, sep } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import type { NewFile } from "../output/write-files.ts";

export interface ProposedFile extends NewFile {
  /** `kept`: there is one that says something else; the proposal is beside it. `proposed`: so is what it belongs to. */
  readonly state: "written" | "unchanged" | "kept" | "proposed";
  /** Where the proposal is, when it is not the file itself. */
  readonly proposal?: string;
  /** What was written now, if anything. */
  readonly created?: string;
}

/**
 * All of them belong into `folder`, whatever links are in it. Nothing that is there is ever overwritten. Where `leader` is one that stays
 * as it is, the others are proposals as well: nothing would use them.
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
      // Exclusive: what came to be there since is neither overwritten nor followed.
      await writeFile(target, text, { flag: "wx", mode: 0o644 });
    } catch (cause) {
      const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
      throw new PortolanError("FILE_FAILED", `${target} cannot be written (${reason}).`, { cause });
    }
  }
  return proposed;
}

/** Takes back what was written, and the folders that were made for it. */
export async function withdraw(files: readonly ProposedFile[], folder: string): Promise<void> {
  for (const { created } of files) {
    if (created === undefined) continue;
    await rm(created, { force: true });
    let parent = dirname(created);
    // A folder with anything else in it stays.
    while (parent !== folder && (await rmdir(parent).then(yes, no))) parent = dirname(parent);
  }
}

const yes = (): boolean => true;
const no = (): boolean => false;

/** `created` is what has to be written, if anything. */
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

/** A link in the workspace may lead anywhere, and nobody agreed to writing there. */
async function requireInside(path: string, folder: string): Promise<void> {
  const root = await realpath(folder).catch(() => folder);
  let parent = dirname(path);
  while (!(await isThere(parent)) && parent !== dirname(parent)) parent = dirname(parent);
  const real = await realpath(parent).catch(() => undefined);
  const inside = real === undefined ? ".." : relative(root, real);
  if (inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)) return;
  throw new PortolanError(
    "FILE_FAILED",
    `${path} is not written: by a link, ${parent} leads out of the workspace.`,
    { hint: "Nothing was written. Put a folder in place of the link." },
  );
}

/** Also a link that leads nowhere. */
async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (cause: NodeJS.ErrnoException) => {
      if (cause.code === "ENOENT" || cause.code === "ENOTDIR") return false;
      throw new PortolanError("FILE_FAILED", `${path} cannot be read (${cause.code}).`, { cause });
    },
  );
}

/** Undefined for a link that leads nowhere. */
async function existing(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return undefined;
    throw new PortolanError("FILE_FAILED", `${path} cannot be read (${cause.code}).`, { cause });
  });
}
