// Changes a config file in place: under its lock, whole or not at all, and only while its text is as it was read.

import { readFile, stat } from "node:fs/promises";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { toFileChange } from "../../catalog/index.ts";
import { PortolanError } from "../../errors/index.ts";
import { openDocument, type TextDocument } from "../../formats/clients/index.ts";
import type { Cli } from "../context.ts";
import { pathLabeller } from "../workspace/folder.ts";
import type { Declared } from "./declared.ts";

/** Returns the text before and after. A change that cannot be made in place is an error, and nothing is written. */
export async function changeFile(
  cli: Cli,
  { file, syntax, text: planned, basis }: Pick<Declared, "file" | "syntax" | "text" | "basis">,
  isDry: boolean,
  change: (document: TextDocument) => TextDocument | undefined,
): Promise<{ readonly before: string; readonly after: string }> {
  const label = pathLabeller(cli.io)(file);
  const edit = (text: string): string => {
    const changed = change(openDocument(syntax, text));
    if (changed !== undefined) return changed.render();
    throw new PortolanError(
      "FILE_INVALID",
      `${label} was not changed: Portolan cannot edit this file without changing other values, or the file has errors.`,
      {
        hint: `Check the file: portolan validate ${label}. If it has no errors, edit the sandbox of the server by hand.`,
      },
    );
  };
  const read = async (): Promise<string> => {
    try {
      return await readFile(file, "utf8");
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === "ENOENT") return "";
      throw new PortolanError("FILE_FAILED", `${label} cannot be read (${code}).`, { cause: thrown });
    }
  };
  // A planned text is a file that is about to be made from another one.
  if (isDry) {
    const before = await read();
    return { before, after: edit(planned ?? before) };
  }
  return withFileLock(
    file,
    async () => {
      const before = await read();
      if (basis !== undefined && basis !== before)
        throw new PortolanError(
          "FILE_FAILED",
          `Another program changed ${label} while this command ran, so nothing was written.`,
          {
            hint: "Run the command again.",
          },
        );
      const after = edit(planned ?? before);
      if (after === before) return { before, after };
      const mode = await stat(file).then(
        (found) => found.mode & 0o777,
        () => 0o644,
      );
      await writeAtomic(file, Buffer.from(after, "utf8"), { mode });
      // A planned text contains text of another file, which a sandboxed server may have changed before.
      if (planned === undefined) cli.changes.push(toFileChange(file, before, after));
      return { before, after };
    },
    { signal: cli.interrupt.signal },
  ).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === undefined || !/^E[A-Z]+$/.test(thrown.code)) throw thrown;
    throw new PortolanError("FILE_FAILED", `${label} cannot be written (${thrown.code}).`, { cause: thrown });
  });
}
