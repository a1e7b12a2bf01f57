// Context of reading one mcpfile: its version and schemas, its diagnostics, and a budget of work.

import type { SandboxDeclaration } from "../../../model/index.ts";
import type { Diagnostics, Place, ScalarNode } from "../../document/index.ts";
import type { ReadContext } from "../../schema-builder/index.ts";
import type { McpfileFormat } from "../schema/file-schema.ts";
import type { Version } from "../schema/versions.ts";

export interface Context extends ReadContext {
  readonly version: Version;
  readonly format: McpfileFormat;
  /** The place of one character of a text; that of the text, where the character cannot be found. */
  readonly within: (node: ScalarNode, offset: number) => Place;
  readonly budget: Budget;
  /** The sandbox rules of the file, which apply to every command. */
  readonly sandbox?: SandboxDeclaration;
  /** The sandbox of the file has an error. No command runs with it, because the remaining rules would allow too much. */
  readonly sandboxBroken?: boolean;
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
