// Edits the workspace's portolan.yaml in place: reads and checks it, and writes it whole or not at all.

import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { toFileChange } from "../../catalog/index.ts";
import { PortolanError } from "../../errors/index.ts";
import { readText, toPlain } from "../../formats/document/index.ts";
import { looksLikeWorkspace, parseWorkspace } from "../../formats/workspace/index.ts";
import type { Cli } from "../context.ts";
import { configError } from "../output/diagnostic.ts";
import { findWorkspace, pathLabeller } from "../workspace/folder.ts";

export interface WorkspaceFile {
  readonly file: string;
  /** The shortened path for the output. */
  readonly label: string;
  /** Undefined when there is no such file yet. */
  readonly text: string | undefined;
}

/**
 * Reads the file, changes it, and writes it back unless it is a dry run. Returns the text before and after. `before` runs
 * when the new text is known; if it throws, the file stays as it was.
 */
export async function editWorkspaceFile(
  cli: Cli,
  dryRun: boolean,
  change: (own: WorkspaceFile) => string,
  before?: (own: WorkspaceFile) => Promise<void>,
): Promise<WorkspaceFile & { readonly after: string }> {
  const file = await findOwnFile(cli);
  if (dryRun) {
    const own = await readOwnFile(file, cli);
    return { ...own, after: change(own) };
  }
  await requireFolder(dirname(file));
  return withFileLock(
    file,
    async () => {
      const own = await readOwnFile(file, cli);
      const after = change(own);
      await before?.(own);
      if (after === own.text) return { ...own, after };
      const mode = await stat(file).then(
        (found) => found.mode & 0o777,
        () => 0o644,
      );
      await writeAtomic(file, Buffer.from(after, "utf8"), { mode });
      cli.changes.push(toFileChange(file, own.text ?? "", after));
      return { ...own, after };
    },
    { signal: cli.interrupt.signal },
  ).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === undefined || !/^E[A-Z]+$/.test(thrown.code)) throw thrown;
    throw new PortolanError("FILE_FAILED", `${file} cannot be written (${thrown.code}).`, { cause: thrown });
  });
}

async function findOwnFile({ io, options }: Cli): Promise<string> {
  const { workspace } = options;
  const { path, folder } = await findWorkspace(io, { workspace });
  if (folder !== path || /^portolan\.ya?ml$/i.test(basename(path))) return path;
  const names = ["portolan.yaml", "portolan.yml"].map((name) => join(folder, name));
  for (const name of names) if (await exists(name)) return name;
  return names[0] as string;
}

/** A file with errors is not changed. */
async function readOwnFile(file: string, cli: Cli): Promise<WorkspaceFile> {
  const label = pathLabeller(cli.io)(file);
  const text = await readFile(file, "utf8").catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT") return undefined;
    throw new PortolanError("FILE_FAILED", `${label} cannot be read (${thrown.code}).`, { cause: thrown });
  });
  if (text === undefined) return { file, label, text };
  const { root } = readText(text, file);
  const isOther = root !== undefined && root.kind !== "null" && !looksLikeWorkspace(toPlain(root));
  if (isOther && !/^portolan\.ya?ml$/i.test(basename(file)))
    throw new PortolanError("USAGE", `${label} is not a portolan.yaml.`, {
      hint: "This command changes only a portolan.yaml. Name the folder of the portolan.yaml: --workspace <folder>",
    });
  const errors = parseWorkspace(text, file).diagnostics.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw configError(errors, cli, `${label} has errors and was not changed`);
  return { file, label, text };
}

async function requireFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory() !== true)
    throw new PortolanError("USAGE", `${folder} is not a folder.`, {
      hint:
        found === undefined
          ? "Create the folder first."
          : "Name the folder of the workspace: --workspace <folder>",
    });
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
