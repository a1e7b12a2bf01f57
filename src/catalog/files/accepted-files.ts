// Reads config files again while servers run. A change that a server may have made from its sandbox is reported and ignored.

import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Diagnostic } from "../../errors/index.ts";
import { type FileText, readConfigFile } from "./read-file.ts";

export type ReadConfigFile = (file: string) => Promise<FileText>;

/** Returns the server that may have written a file. */
export type WriterOf = (file: string) => Promise<string | undefined>;

/**
 * A change that the user made with a command of Portolan. It is trusted only if it starts from the text that Portolan uses:
 * otherwise the command may have kept a change of a server in the file. The texts are SHA-256 hashes.
 */
export interface FileChange {
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

/** A missing file has an empty text. */
export function toFileChange(file: string, before: string, after: string): FileChange {
  return { file, before: hashOf(before), after: hashOf(after) };
}

export class AcceptedFiles {
  readonly #writerOf: WriterOf | undefined;
  readonly #states = new Map<string, FileText>();
  readonly #refused = new Map<string, Diagnostic>();
  /** The hashes of the texts that the next read accepts, by file. */
  readonly #trusted = new Map<string, string>();
  #isFirst = true;

  constructor(writerOf: WriterOf | undefined) {
    this.#writerOf = writerOf;
  }

  /** Lets the next read accept each of these changes that starts from the text in use. */
  async trust(changes: readonly FileChange[]): Promise<void> {
    this.#trusted.clear();
    for (const { file, before, after } of changes) {
      const real = await realFile(file);
      for (const [known, state] of this.#states)
        if (hashOfState(state) === before && (await realFile(known)) === real)
          this.#trusted.set(known, after);
    }
  }

  /** Returns diagnostics about changes that were ignored since the last call. The first read accepts every file, because the user started Portolan. */
  finish(): Diagnostic[] {
    this.#isFirst = false;
    // A later change to the same text may be the change of a server.
    this.#trusted.clear();
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
      const trusted = this.#trusted.get(file);
      if (writer !== undefined && (trusted === undefined || trusted !== hashOfState(now))) {
        this.#refused.set(file, refusal(file, writer, before, now));
        return before;
      }
    }
    this.#states.set(file, now);
    return now;
  };
}

function hashOf(text: string): string {
  // Readers of config files remove the byte order mark.
  return createHash("sha256")
    .update(text.replace(/^\uFEFF/, ""))
    .digest("hex");
}

function hashOfState(state: FileText): string | undefined {
  if (state.kind === "problem") return undefined;
  return hashOf(state.kind === "text" ? state.text : "");
}

/** The command and the gateway may name the folder of a file by different links. */
async function realFile(file: string): Promise<string> {
  const folder = await realpath(dirname(file)).catch(() => dirname(file));
  return realpath(file).catch(() => join(folder, basename(file)));
}

function isSame(a: FileText, b: FileText): boolean {
  if (a.kind === "text") return b.kind === "text" && a.text === b.text;
  return a.kind === b.kind;
}

const UNTRUSTED_HINT =
  "Read the file first: a start of Portolan accepts the change. If you did not make the change, undo it. If the change is right, stop the gateway and start it again (portolan stop, then portolan serve --daemon), or restart the MCP client or the program that runs Portolan. Later, use commands such as portolan grant and portolan add, whose changes Portolan accepts.";

function refusal(file: string, server: string, before: FileText, now: FileText): Diagnostic {
  const what =
    now.kind === "missing" ? "was deleted" : before.kind === "missing" ? "is new" : "was changed or replaced";
  return {
    code: "FILE_UNTRUSTED",
    severity: "error",
    message: `the file ${what}. Portolan ignores this change, because the server ${server} can write to the file, and so may have made the change`,
    file,
    hint: UNTRUSTED_HINT,
  };
}
