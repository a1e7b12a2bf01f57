// Files that a command makes: each whole, and never over one that is there unless that is wanted.

import { mkdir, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { PortolanError } from "../../errors/index.ts";

export interface NewFile {
  /** Absolute. */
  readonly path: string;
  readonly text: string;
}

export interface MadeFile {
  /** What it is called in a folder. */
  readonly name: string;
  readonly text: string;
}

/** Where `--out` puts them: one may have a name of its own, several go into a folder. */
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
    throw new PortolanError("USAGE", `${files.length} files are made, and --out ${out} is one.`, {
      hint: `Name a folder: --out ${out.replace(/\.ya?ml$/i, "")}/. They are ${files.map(({ name }) => name).join(", ")}.`,
    });
  return files.map(({ text }) => ({ path, text }));
}

/** What is in the way is found before anything is written. */
export async function writeFiles(
  files: readonly NewFile[],
  options: {
    readonly force: boolean;
    readonly label: (path: string) => string;
    /** What to do when a name is taken. */
    readonly hint: string;
  },
): Promise<void> {
  const { force, label, hint } = options;
  const taken = (path: string): PortolanError =>
    new PortolanError("USAGE", `${label(path)} is there already.`, {
      hint: `It was left as it is. ${hint}`,
    });
  for (const { path } of files) {
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory() === true) throw new PortolanError("USAGE", `${label(path)} is a folder.`);
    if (found !== undefined && !force) throw taken(path);
  }
  for (const { path, text } of files) {
    try {
      await mkdir(dirname(path), { recursive: true });
      // What came to be there since is not overwritten either.
      if (force) await writeAtomic(path, Buffer.from(text, "utf8"), { mode: 0o644 });
      else await writeFile(path, text, { flag: "wx", mode: 0o644 });
    } catch (cause) {
      const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
      if (reason === "EEXIST" && !force) throw taken(path);
      throw new PortolanError("FILE_FAILED", `${label(path)} cannot be written (${reason}).`, {
        cause,
        hint: "Choose a folder that you may write to.",
      });
    }
  }
}
