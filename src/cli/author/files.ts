// Files that are proposed: written where there are none, left alone where there are others.

import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import { writeWhole } from "../../secrets/index.ts";
import type { NewFile } from "../write-files.ts";

export interface ProposedFile extends NewFile {
  /** `kept`: there is one that says something else; the proposal is beside it. */
  readonly state: "written" | "unchanged" | "kept";
  /** Where the proposal is, when it is not the file itself. */
  readonly proposal?: string | undefined;
}

export async function propose(files: readonly NewFile[], dryRun: boolean): Promise<readonly ProposedFile[]> {
  const found = await Promise.all(files.map(({ path }) => existing(path)));
  const proposed = files.map((file, index): ProposedFile => {
    const before = found[index];
    if (before === undefined) return { ...file, state: "written" };
    if (before === file.text) return { ...file, state: "unchanged" };
    return { ...file, state: "kept", proposal: `${file.path}.new` };
  });
  if (dryRun) return proposed;
  for (const { path, text, state, proposal } of proposed) {
    if (state === "unchanged") continue;
    const target = proposal ?? path;
    try {
      await mkdir(dirname(target), { recursive: true });
      await writeWhole(target, Buffer.from(text, "utf8"), { mode: 0o644 });
    } catch (cause) {
      const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
      throw new PortolanError("FILE_FAILED", `${target} cannot be written (${reason}).`, { cause });
    }
  }
  return proposed;
}

async function existing(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return undefined;
    throw new PortolanError("FILE_FAILED", `${path} cannot be read (${cause.code}).`, { cause });
  });
}
