// Collects the diagnostics of one config file, each with its place and a hint.

import type { Diagnostic } from "../../errors/index.ts";
import { type Place, toPointer } from "./node.ts";

/** Further diagnostics are only counted. */
const MAX_DIAGNOSTICS = 100;

export class Diagnostics {
  readonly file: string;
  readonly list: Diagnostic[] = [];
  readonly #broken = new Set<string>();
  #leftOut = 0;

  /** `earlier` are the diagnostics of the syntax of the same file. */
  constructor(file: string, earlier: readonly Diagnostic[] = []) {
    this.file = file;
    for (const diagnostic of earlier) {
      this.list.push(diagnostic);
      if (diagnostic.severity === "error") this.#mark(diagnostic.path ?? "");
    }
  }

  add(place: Place, message: string, hint?: string, severity: Diagnostic["severity"] = "error"): void {
    const path = toPointer(place.path);
    if (severity === "error") this.#mark(path);
    if (this.list.length >= MAX_DIAGNOSTICS) {
      this.#leftOut += 1;
      return;
    }
    this.list.push({
      code: "FILE_INVALID",
      severity,
      message,
      file: this.file,
      line: place.line,
      column: place.column,
      path,
      hint,
    });
  }

  warn(place: Place, message: string, hint?: string): void {
    this.add(place, message, hint, "warning");
  }

  /** True when there is an error at this place or inside it. */
  hasErrorIn(place: Place): boolean {
    return this.#broken.has(toPointer(place.path));
  }

  /** All diagnostics in the order of the file, and a last one with the number of those left out. */
  sorted(): Diagnostic[] {
    const found = this.list
      .map((diagnostic, index) => ({ diagnostic, index }))
      .sort((a, b) => byPlace(a.diagnostic, b.diagnostic) || a.index - b.index)
      .map(({ diagnostic }) => diagnostic);
    if (this.#leftOut > 0) {
      const message = `${this.#leftOut} more problem${this.#leftOut === 1 ? "" : "s"} in this file`;
      found.push({ code: "FILE_INVALID", severity: "error", message, file: this.file });
    }
    return found;
  }

  #mark(pointer: string): void {
    for (let at = pointer.length; at >= 0; at = at === 0 ? -1 : pointer.lastIndexOf("/", at - 1)) {
      const outer = pointer.slice(0, at);
      if (this.#broken.has(outer)) return;
      this.#broken.add(outer);
    }
  }
}

export const ROOT: Place = { line: 1, column: 1, path: [] };

function byPlace(a: Diagnostic, b: Diagnostic): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

/** A word of the file in quotes, shortened for a message. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);
}
