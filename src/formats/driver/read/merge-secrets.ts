// Several inventories as one: a slug and a variable stand for one secret.

import type { Diagnostic } from "../../../errors/index.ts";
import type { Origin, SecretEntry } from "../../../model/index.ts";
import { quoted } from "../../document/index.ts";
import { envOfSlug } from "./secret-names.ts";

export interface MergedSecrets {
  /** Of two with one slug the first is kept. */
  readonly secrets: readonly SecretEntry[];
  readonly diagnostics: readonly Diagnostic[];
}

export function mergeSecrets(lists: readonly (readonly SecretEntry[])[]): MergedSecrets {
  const diagnostics: Diagnostic[] = [];
  const bySlug = new Map<string, SecretEntry>();
  for (const entry of lists.flat()) {
    const first = bySlug.get(entry.slug);
    if (first === undefined) bySlug.set(entry.slug, entry);
    else
      diagnostics.push(
        problem(
          entry.origin,
          `the slug ${quoted(entry.slug)} stands here and ${placed(first.origin, entry.origin)}`,
          "Give one of the two another slug.",
        ),
      );
  }
  const byName = new Map<string, SecretEntry>();
  for (const entry of bySlug.values())
    for (const name of entry.envNames) {
      const first = byName.get(name);
      if (first === undefined) byName.set(name, entry);
      else
        diagnostics.push(
          problem(
            entry.origin,
            `the variable ${name} stands for ${quoted(entry.slug)} and for ${quoted(first.slug)} ${placed(first.origin, entry.origin)}`,
            "Keep one of the two.",
          ),
        );
    }
  for (const entry of bySlug.values()) {
    const own = envOfSlug(entry.slug);
    const other = own === undefined ? undefined : byName.get(own);
    if (own !== undefined && other !== undefined && other !== entry)
      diagnostics.push(
        problem(
          other.origin,
          `the variable ${own} stands for ${quoted(other.slug)}, and by its name for ${quoted(entry.slug)}`,
          "The one that names the variable is taken; give the other another slug.",
          "warning",
        ),
      );
  }
  return { secrets: [...bySlug.values()], diagnostics };
}

function problem(
  { file, line, column }: Origin,
  message: string,
  hint: string,
  severity: Diagnostic["severity"] = "error",
): Diagnostic {
  return { code: "DECLARATION_INVALID", severity, message, file, line, column, hint };
}

function placed(first: Origin, here: Origin): string {
  return first.file === here.file ? `at line ${first.line}` : `at ${first.file}:${first.line}`;
}
