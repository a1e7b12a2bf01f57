// What every part of the reader needs: where diagnostics go, which version is read, and how much work is left.

import type { SandboxDeclaration } from "../../model/index.ts";
import type { Place, Diagnostics, ScalarNode } from "../document/index.ts";
import type { Version } from "./versions.ts";

export interface Context {
  readonly diagnostics: Diagnostics;
  readonly version: Version;
  /** The place of a character of a text, where that can be told, else that of the text. */
  readonly within: (node: ScalarNode, offset: number) => Place;
  readonly budget: Budget;
  /** What relative paths start from. */
  readonly folder: string;
  /** What every command of the server may touch, where the file says it. */
  readonly sandbox?: SandboxDeclaration | undefined;
  /** The file's own sandbox is wrong somewhere: what is left of it would hold less than was meant, so that no command runs in it. */
  readonly sandboxBroken?: boolean | undefined;
}

/** Characters and entries that may be looked at: bases that many tools extend would multiply a small file. */
const MOST_WORK = 8 * 1024 * 1024;

export class Budget {
  #left = MOST_WORK;
  #told = false;

  /** False when there is nothing left, which is told once. */
  spend(amount: number, place: Place, diagnostics: Diagnostics): boolean {
    this.#left -= amount;
    if (this.#left >= 0) return true;
    if (!this.#told)
      // About the file as a whole: what is read after this would be left out without a word.
      diagnostics.add(
        { ...place, path: [] },
        "the tools of this file are too much together",
        "Divide the file, or extend smaller bases.",
      );
    this.#told = true;
    return false;
  }
}

/** More diagnostics than this are not shown, so that hints for them are not worth their price. */
const SHOWN = 100;

/** A hint that costs something, made only when it will be seen. */
export function hint(diagnostics: Diagnostics, make: () => string | undefined): string | undefined {
  return diagnostics.list.length < SHOWN ? make() : undefined;
}
