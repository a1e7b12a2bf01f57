// Source of secrets: the .env file that a workspace names. It is never written, and never searched for.

import { stat } from "node:fs/promises";
import type { Diagnostic, Report } from "../../errors/index.ts";
import { type DotenvText, parseDotenv } from "./dotenv-text.ts";
import { isReadableByOthers, readLimited } from "../../base/files/limited-read.ts";
import { Secret } from "../secret.ts";
import type { CheckFile, SecretSource } from "./source.ts";

const MAX_BYTES = 1024 * 1024;

interface Loaded {
  readonly text: DotenvText;
  readonly problem?: string;
}

const EMPTY: DotenvText = { values: new Map(), problems: [] };

export function createDotenvSource(file: string, report: Report, checkFile?: CheckFile): SecretSource {
  /** Last state of the file and its content. Many servers read at once, so the content is a promise. */
  let last: { readonly stamp: string; readonly loaded: Promise<Loaded> } | undefined;
  /** Last content that was accepted. */
  let taken: DotenvText = EMPTY;

  const tell = (severity: Diagnostic["severity"], message: string, more: Partial<Diagnostic> = {}): void =>
    report({ code: "SECRET_STORE_FAILED", severity, message, file, ...more });

  /** Reads the file again after a change. Diagnostics are reported once per change. */
  async function load(): Promise<Loaded> {
    const found = await stat(file).catch(() => undefined);
    const stamp =
      found === undefined ? "none" : `${found.ino},${found.mtimeMs},${found.ctimeMs},${found.size}`;
    if (last?.stamp !== stamp) last = { stamp, loaded: read() };
    return await last.loaded;
  }

  async function read(): Promise<Loaded> {
    try {
      const refused = await checkFile?.(file, { isCovered: true });
      if (refused !== undefined) {
        const problem = `${file} is not read as it is now: ${refused.reason}`;
        tell("warning", `${problem}.`, {
          hint: "Check the file. To accept it, restart portolan.",
        });
        return { text: taken, problem };
      }
      const text = parseDotenv((await readLimited(file, MAX_BYTES)).toString("utf8"));
      for (const { line, message } of text.problems) tell("warning", message, { line });
      if (await isReadableByOthers(file))
        tell("warning", `Other users can read ${file}.`, { hint: `chmod 600 ${file}` });
      taken = text;
      return { text };
    } catch (error) {
      const problem = `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
      tell("warning", `${problem}.`, {
        hint: "Create the file, or remove its name from the workspace.",
      });
      return { text: EMPTY, problem };
    }
  }

  return {
    name: "dotenv",
    async get(name) {
      const value = (await load()).text.values.get(name);
      return value ? new Secret(value) : undefined;
    },
    async list() {
      const { text } = await load();
      return [...text.values].flatMap(([name, value]) => (value === "" ? [] : [name])).sort();
    },
    async check() {
      const { problem, text } = await load();
      if (problem !== undefined) return { ok: false, note: problem };
      if (text.problems.length > 0)
        return {
          ok: false,
          note: `${file}: lines ${text.problems.map(({ line }) => line).join(", ")} are not right`,
        };
      return { ok: true, note: `${text.values.size} values in ${file}` };
    },
  };
}
