// What was odd in a description, by path. Lines and columns are looked up once, at the end.

import type { Diagnostic } from "../../errors/index.ts";
import { Diagnostics } from "../../formats/document/index.ts";
import type { Locate } from "./read-spec.ts";
import type { Path, SkippedOperation } from "../types.ts";

interface Finding {
  readonly severity: Diagnostic["severity"];
  readonly path: Path;
  readonly message: string;
  readonly hint: string | undefined;
  readonly place?: { readonly line: number; readonly column: number };
  /** Speaks of many things, and comes before those that speak of one. */
  readonly summary?: true;
}

/** More than this is never shown. */
const MAX_FINDINGS = 500;
const RANK = { error: 0, warning: 2, info: 3 } as const;

export class Findings {
  readonly #file: string;
  readonly #list: Finding[] = [];
  readonly #told = new Set<string>();
  readonly #earlier: Diagnostic[] = [];
  readonly #skipped: { readonly operation: string; readonly reason: string; readonly path: Path }[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  error(path: Path, message: string, hint?: string): void {
    this.#add({ severity: "error", path, message, hint });
  }

  errorAt(place: { readonly line: number; readonly column: number }, message: string): void {
    this.#add({ severity: "error", path: [], message, hint: undefined, place });
  }

  warn(path: Path, message: string, hint?: string): void {
    this.#add({ severity: "warning", path, message, hint });
  }

  summary(path: Path, message: string, hint?: string): void {
    this.#add({ severity: "warning", path, message, hint, summary: true });
  }

  info(path: Path, message: string, hint?: string): void {
    this.#add({ severity: "info", path, message, hint });
  }

  forbidden(key: string, path: Path): void {
    this.warn(path, `the key ${JSON.stringify(key)} cannot be used and is left out`);
  }

  /** Findings of another reader about the same file. */
  take(diagnostics: readonly Diagnostic[]): void {
    this.#earlier.push(...diagnostics);
  }

  skip(operation: string, reason: string, path: Path, hint?: string): void {
    this.#skipped.push({ operation, reason, path });
    this.warn(path, `${operation} is skipped: ${reason}`, hint);
  }

  /** The same without a message of its own: one tells of all. */
  skipQuietly(operation: string, reason: string, path: Path): void {
    this.#skipped.push({ operation, reason, path });
  }

  done(locate: Locate): { diagnostics: readonly Diagnostic[]; skipped: readonly SkippedOperation[] } {
    // The worst first, so that a crowd of small findings never hides an error.
    const rank = ({ severity, summary }: Finding): number => (summary === true ? 1 : RANK[severity]);
    const sorted = [...this.#list].sort((a, b) => rank(a) - rank(b));
    const places = locate([...sorted, ...this.#skipped].map(({ path }) => path));
    const problems = new Diagnostics(this.#file, this.#earlier);
    for (const [index, { severity, path, message, hint, place }] of sorted.entries())
      problems.add({ ...(place ?? places[index] ?? START), path }, message, hint, severity);
    const skipped = this.#skipped.map(({ operation, reason }, index) => {
      const { line, column } = places[sorted.length + index] ?? START;
      return { operation, reason, line, column };
    });
    return { diagnostics: problems.sorted(), skipped };
  }

  #add(finding: Finding): void {
    // What several operations refer to is told once.
    const key = `${finding.path.join("/")} ${finding.message}`;
    if (this.#told.has(key)) return;
    this.#told.add(key);
    if (this.#list.length < MAX_FINDINGS || finding.severity === "error" || finding.summary === true)
      this.#list.push(finding);
  }
}

const START = { line: 1, column: 1 } as const;

/** For a text that could not be read, where only given places are known. */
export const nowhere: Locate = (paths) => paths.map(() => START);
