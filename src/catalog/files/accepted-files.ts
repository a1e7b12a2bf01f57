// Reads config files again while servers run. A change that a server may have made from its sandbox is reported and ignored.

import type { Diagnostic } from "../../errors/index.ts";
import { type FileText, readConfigFile } from "./read-file.ts";

export type ReadConfigFile = (file: string) => Promise<FileText>;

/** Returns the server that may have written a file. */
export type WriterOf = (file: string) => Promise<string | undefined>;

export class AcceptedFiles {
  readonly #writerOf: WriterOf | undefined;
  readonly #states = new Map<string, FileText>();
  readonly #refused = new Map<string, Diagnostic>();
  #isFirst = true;

  constructor(writerOf: WriterOf | undefined) {
    this.#writerOf = writerOf;
  }

  /** Returns diagnostics about changes that were ignored since the last call. The first read accepts every file, because the user started Portolan. */
  finish(): Diagnostic[] {
    this.#isFirst = false;
    // Files are read in parallel; the order of the diagnostics must not depend on it.
    const refused = [...this.#refused]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, diagnostic]) => diagnostic);
    this.#refused.clear();
    return refused;
  }

  readonly read: ReadConfigFile = async (file) => {
    const now = await readConfigFile(file);
    const before = this.#states.get(file) ?? { kind: "missing" };
    if (!this.#isFirst && !isSame(before, now)) {
      const writer = await this.#writerOf?.(file);
      if (writer !== undefined) {
        this.#refused.set(file, refusal(file, writer, before, now));
        return before;
      }
    }
    this.#states.set(file, now);
    return now;
  };
}

function isSame(a: FileText, b: FileText): boolean {
  if (a.kind === "text") return b.kind === "text" && a.text === b.text;
  return a.kind === b.kind;
}

function refusal(file: string, server: string, before: FileText, now: FileText): Diagnostic {
  const what =
    now.kind === "missing" ? "was deleted" : before.kind === "missing" ? "is new" : "was changed or replaced";
  return {
    code: "FILE_INVALID",
    severity: "warning",
    message: `${file} ${what}. Portolan ignores this change, because the server ${server} can write to the file, and so may have made the change`,
    file,
    hint: "Check the file. If you did not make the change, undo it before the next start of Portolan, because a start accepts the change. If the change is right, restart Portolan, or your program that uses Portolan as a library.",
  };
}
