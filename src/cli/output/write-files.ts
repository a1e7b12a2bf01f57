// Writes new files: each one whole, and never over an existing file without --force.

import { mkdir, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { PortolanError } from "../../errors/index.ts";

export interface NewFile {
  /** An absolute path. */
  readonly path: string;
  readonly text: string;
}

export interface MadeFile {
  /** The file name within a folder. */
  readonly name: string;
  readonly text: string;
}

/** Decides the paths for `--out`: one file may have its own name, several go into a folder. */
export async function placeFiles(
  files: readonly MadeFile[],
  out: string,
  cwd: string,
): Promise<readonly NewFile[]> {
  const path = resolve(cwd, out);
  const found = await stat(path).catch(() => undefined);
  const inFolder = found?.isDirectory() === true || /[/\\]$/.test(out);
  if (inFolder) return files.map(({ name, text }) => ({ path: join(path, name), text }));
  if (files.length > 1)
    throw new PortolanError(
      "USAGE",
      `Nothing was written: there are ${files.length} files to write, but --out ${out} names a single file.`,
      {
        hint: `Name a folder: --out ${out.replace(/\.ya?ml$/i, "")}/. The files are ${files.map(({ name }) => name).join(", ")}.`,
      },
    );
  return files.map(({ text }) => ({ path, text }));
}

/** Checks for existing files before it writes anything. */
export async function writeFiles(
  files: readonly NewFile[],
  options: {
    readonly force: boolean;
    readonly label: (path: string) => string;
    /** The hint of the error for an existing file. Several files have a hint of their own. */
    readonly hint: string;
  },
): Promise<void> {
  const { force, label, hint } = options;
  const existing: string[] = [];
  const taken = (path: string): PortolanError =>
    new PortolanError("USAGE", `${label(path)} exists already.`, {
      hint:
        files.length === 1
          ? `The file was not changed. ${hint}`
          : `No file was changed. Choose another folder, or add --force: it overwrites all files of this conversion that exist: ${existing.map(label).join(", ")}.`,
    });
  for (const { path } of files) {
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory() === true)
      throw new PortolanError("USAGE", `${label(path)} cannot be written: it is a folder.`, {
        hint: "Name a file.",
      });
    if (found !== undefined) existing.push(path);
  }
  const [first] = existing;
  if (first !== undefined && !force) throw taken(first);
  for (const { path, text } of files) {
    try {
      await mkdir(dirname(path), { recursive: true });
      // The flag wx also refuses a file that was created since the check.
      if (force) await writeAtomic(path, Buffer.from(text, "utf8"), { mode: 0o644 });
      else await writeFile(path, text, { flag: "wx", mode: 0o644 });
    } catch (cause) {
      const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
      if (reason === "EEXIST" && !force) {
        existing.push(path);
        throw taken(path);
      }
      throw new PortolanError("FILE_FAILED", `${label(path)} cannot be written (${reason}).`, {
        cause,
        hint: "Choose a folder that you can write to.",
      });
    }
  }
}
