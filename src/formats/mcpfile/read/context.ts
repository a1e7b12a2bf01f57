// Context of reading one mcpfile: its version and schemas, its diagnostics, and a budget of work.

import type { SandboxConfig } from "../../../model/index.ts";
import type { Diagnostics, Place, ScalarNode } from "../../document/index.ts";
import type { ReadContext } from "../../schema-builder/index.ts";
import type { McpfileFormat } from "../schema/file-schema.ts";
import type { Version } from "../schema/versions.ts";

export interface Context extends ReadContext {
  readonly version: Version;
  readonly format: McpfileFormat;
  /** The position of one character of a text, or of the text if the character cannot be found. */
  readonly within: (node: ScalarNode, offset: number) => Place;
  readonly budget: Budget;
  /** The sandbox rules of the file, which apply to every command. */
  readonly sandbox?: SandboxConfig;
  /** The sandbox of the file has an error. No command runs with it, because the remaining rules would allow too much. */
  readonly sandboxBroken?: boolean;
}

/** Limit of characters and entries to read: bases that many tools extend would multiply a small file. */
const MOST_WORK = 8 * 1024 * 1024;

export class Budget {
  #left = MOST_WORK;
  #reported = false;

  /** Returns false if the budget is used up, which is reported once. */
  spend(amount: number, place: Place, diagnostics: Diagnostics): boolean {
    this.#left -= amount;
    if (this.#left >= 0) return true;
    if (!this.#reported)
      // An error of the whole file, because everything after this would be left out silently.
      diagnostics.add(
        { ...place, path: [] },
        "all tools of this file together are too large",
        "Divide the file, or extend smaller bases.",
      );
    this.#reported = true;
    return false;
  }
}

/** Further diagnostics are not shown, so hints for them are not computed. */
const SHOWN = 100;

/** Computes an expensive hint only if it will be shown. */
export function hint(diagnostics: Diagnostics, make: () => string | undefined): string | undefined {
  return diagnostics.list.length < SHOWN ? make() : undefined;
}
