// Source of secrets: the .env file that a workspace names. It is never written, and never searched for.

import { shellWord } from "../../base/text/command-line.ts";
import { stat } from "node:fs/promises";
import { isReadableByOthers, readLimited } from "../../base/files/limited-read.ts";
import type { Diagnostic, Report } from "../../errors/index.ts";
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
        const problem = `Portolan ignores the current content of ${file}: ${refused.reason}`;
        tell("warning", `${problem}.`, {
          // After a restart, no server has written anything yet. The other reasons remain.
          hint: refused.reason.includes("may have written")
            ? "Check the file. If you did not change it, undo the change before the next start of Portolan, because a start accepts the changed file. If the content is right, restart Portolan, or your program that uses Portolan as a library."
            : refused.hint,
        });
        return { text: taken, problem };
      }
      const text = parseDotenv((await readLimited(file, MAX_BYTES)).toString("utf8"));
      for (const { line, message } of text.problems) tell("warning", message, { line });
      if (await isReadableByOthers(file))
        tell("warning", `Other users can read ${file}.`, {
          hint: `Let only yourself read the file: chmod 600 ${shellWord(file)}`,
        });
      taken = text;
      return { text };
    } catch (error) {
      const problem = `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
      tell("warning", `${problem}.`, {
        hint: "Create the file or make it readable, or remove it from your settings: env_file in portolan.yaml, --env-file, or envFile in a program.",
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
          note: `${file} has errors in line ${text.problems.map(({ line }) => line).join(", ")}`,
        };
      const { size } = text.values;
      return { ok: true, note: `${size} ${size === 1 ? "value" : "values"} in ${file}` };
    },
  };
}

interface DotenvProblem {
  readonly line: number;
  readonly message: string;
}

interface DotenvText {
  readonly values: ReadonlyMap<string, string>;
  readonly problems: readonly DotenvProblem[];
}

const ASSIGNMENT = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*=[ \t]*/;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/** Supports `NAME=value`, `export`, `#` comments, 'single' quotes (literal) and "double" quotes (escapes, several lines). The last value of a name wins. */
export function parseDotenv(text: string): DotenvText {
  const values = new Map<string, string>();
  const problems: DotenvProblem[] = [];
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] as string;
    if (/^\s*(#|$)/.test(line)) continue;
    const number = index + 1;
    const found = ASSIGNMENT.exec(line);
    if (found === null) {
      problems.push({ line: number, message: "This line is not NAME=value." });
      continue;
    }
    const name = found[1] as string;
    const rest = line.slice(found[0].length);
    const quote = rest[0];
    if (quote !== '"' && quote !== "'") {
      values.set(name, plainValue(rest));
      continue;
    }
    const quoted = readQuoted(lines, index, rest.slice(1), quote);
    if (quoted === undefined) {
      problems.push({ line: number, message: `The ${quote} of ${name} is not closed.` });
      continue;
    }
    index = quoted.last;
    if (!/^\s*(#.*)?$/.test(quoted.after)) {
      problems.push({
        line: quoted.last + 1,
        message: `There is text after the closing ${quote} of ${name}.`,
      });
      continue;
    }
    values.set(name, quoted.value);
  }
  return { values, problems };
}

function plainValue(rest: string): string {
  return (rest.startsWith("#") ? "" : rest.replace(/\s#.*$/, "")).trim();
}

interface Quoted {
  readonly value: string;
  /** Index of the last line of the value. */
  readonly last: number;
  readonly after: string;
}

function readQuoted(
  lines: readonly string[],
  first: number,
  start: string,
  quote: string,
): Quoted | undefined {
  let value = "";
  let line = start;
  for (let last = first; ;) {
    for (let at = 0; at < line.length; at += 1) {
      const char = line[at] as string;
      if (char === quote) return { value, last, after: line.slice(at + 1) };
      if (char === "\\" && quote === '"' && at + 1 < line.length) {
        at += 1;
        const escaped = line[at] as string;
        value += ESCAPES[escaped] ?? (/["\\$`]/.test(escaped) ? escaped : `\\${escaped}`);
      } else {
        value += char;
      }
    }
    last += 1;
    // Single quotes end on their line, so that an apostrophe does not swallow the rest of the file.
    if (quote === "'" || last >= lines.length) return undefined;
    line = lines[last] as string;
    value += "\n";
  }
}
