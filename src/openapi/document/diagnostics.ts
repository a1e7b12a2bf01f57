// Diagnostics about a description, collected by path. Lines and columns are looked up once, at the end.

import type { Diagnostic } from "../../errors/index.ts";
import { Diagnostics } from "../../formats/document/index.ts";
import type { Locate } from "./read-spec.ts";
import type { Path, SkippedOperation } from "../types.ts";

interface Reported {
  readonly severity: Diagnostic["severity"];
  readonly path: Path;
  readonly message: string;
  readonly hint: string | undefined;
  readonly place?: { readonly line: number; readonly column: number };
  /** A summary is about many operations, and comes before messages about one. */
  readonly summary?: true;
}

/** Further ones are dropped. */
const MAX_DIAGNOSTICS = 500;
const RANK = { error: 0, warning: 2, info: 3 } as const;

export class SpecDiagnostics {
  readonly #file: string;
  readonly #list: Reported[] = [];
  readonly #reported = new Set<string>();
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

  /** Adds the diagnostics of another reader of the same file. */
  take(diagnostics: readonly Diagnostic[]): void {
    this.#earlier.push(...diagnostics);
  }

  skip(operation: string, reason: string, path: Path, hint?: string): void {
    this.#skipped.push({ operation, reason, path });
    this.warn(path, `${operation} is skipped: ${reason}`, hint);
  }

  /** Skips an operation without a message, because a summary mentions all of them. */
  skipQuietly(operation: string, reason: string, path: Path): void {
    this.#skipped.push({ operation, reason, path });
  }

  done(locate: Locate): { diagnostics: readonly Diagnostic[]; skipped: readonly SkippedOperation[] } {
    // The worst first, so that many small diagnostics never hide an error.
    const rank = ({ severity, summary }: Reported): number => (summary === true ? 1 : RANK[severity]);
    const sorted = [...this.#list].sort((a, b) => rank(a) - rank(b));
    const places = locate([...sorted, ...this.#skipped].map(({ path }) => path));
    const located = new Diagnostics(this.#file, this.#earlier);
    for (const [index, { severity, path, message, hint, place }] of sorted.entries())
      located.add({ ...(place ?? places[index] ?? START), path }, message, hint, severity);
    const skipped = this.#skipped.map(({ operation, reason }, index) => {
      const { line, column } = places[sorted.length + index] ?? START;
      return { operation, reason, line, column };
    });
    return { diagnostics: located.sorted(), skipped };
  }

  #add(report: Reported): void {
    // A fault in a part that several operations share is reported once.
    const key = `${report.path.join("/")} ${report.message}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    if (this.#list.length < MAX_DIAGNOSTICS || report.severity === "error" || report.summary === true)
      this.#list.push(report);
  }
}

const START = { line: 1, column: 1 } as const;

/** For a text that could not be read, so that it has no positions. */
export const nowhere: Locate = (paths) => paths.map(() => START);
