// All diagnostics of one declaration, collected: each with its place, what is wrong and what would be right.

import type { Diagnostic } from "../../errors/index.ts";
import { type Place, toPointer } from "./node.ts";

/** More than this is noise: the first ones say it all. */
const MAX_PROBLEMS = 100;

export class Diagnostics {
  readonly file: string;
  readonly list: Diagnostic[] = [];
  readonly #broken = new Set<string>();
  #untold = 0;

  /** `earlier` are findings of the reader about the same file. */
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
    if (this.list.length >= MAX_PROBLEMS) {
      this.#untold += 1;
      return;
    }
    this.list.push({
      code: "DECLARATION_INVALID",
      severity,
      message,
      file: this.file,
      line: place.line,
      column: place.column,
      path,
      ...(hint === undefined ? {} : { hint }),
    });
  }

  warn(place: Place, message: string, hint?: string): void {
    this.add(place, message, hint, "warning");
  }

  /** True when something at this place or inside of it is an error. */
  hasErrorIn(place: Place): boolean {
    return this.#broken.has(toPointer(place.path));
  }

  /** Everything found, in the order of the file, with a last line for what was too much. */
  sorted(): Diagnostic[] {
    const found = this.list
      .map((diagnostic, index) => ({ diagnostic, index }))
      .sort((a, b) => byPlace(a.diagnostic, b.diagnostic) || a.index - b.index)
      .map(({ diagnostic }) => diagnostic);
    if (this.#untold > 0) {
      const message = `${this.#untold} more problem${this.#untold === 1 ? "" : "s"} in this file`;
      found.push({ code: "DECLARATION_INVALID", severity: "error", message, file: this.file });
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
