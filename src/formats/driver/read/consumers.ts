// The `secrets` block by which a manifest says where its variables get their values from.

import type { SecretConsumer } from "../../../model/index.ts";
import { type Diagnostics, quoted, type TextNode, toLabel } from "../../document/index.ts";
import { SLUG_PATTERN } from "./secret-names.ts";

const SOURCES = ["vault", "oauth", "value"] as const;

/** Those that are right; the reasons for the others are among the diagnostics, without their values. */
export function readConsumers(node: TextNode | undefined, diagnostics: Diagnostics): SecretConsumer[] {
  if (node === undefined || node.kind === "null") return [];
  if (node.kind !== "object") {
    diagnostics.add(
      node,
      `${toLabel(node.path)} must be an object with keys`,
      "Write NAME: { vault: <slug> }.",
    );
    return [];
  }
  return node.entries.flatMap((entry): SecretConsumer[] => {
    const { key, value } = entry;
    if (!/^[A-Z][A-Z0-9_]*$/.test(key)) {
      diagnostics.add(
        entry,
        `${quoted(key)} cannot be a variable here`,
        "Use capital letters, digits and _.",
      );
      return [];
    }
    const given = value.kind === "object" ? value.entries : [];
    const [source, ...others] = given;
    const name = SOURCES.find((known) => known === source?.key);
    if (source === undefined || name === undefined || others.length > 0) {
      diagnostics.add(
        entry,
        `${toLabel(entry.path)} must have exactly one of vault, oauth and value`,
        `Write ${key}: { vault: <slug> }.`,
      );
      return [];
    }
    if (source.value.kind !== "string" || (name !== "value" && source.value.value === "")) {
      diagnostics.add(source.value, `${toLabel(source.path)} must be text`);
      return [];
    }
    const text = String(source.value.value);
    if (name === "vault" && (text.length > 80 || !new RegExp(SLUG_PATTERN).test(text))) {
      diagnostics.add(
        source.value,
        `${toLabel(source.path)} is not a slug`,
        "Write one of SECRETS.md, such as stripe-api-key.",
      );
      return [];
    }
    return [{ env: key, from: { [name]: text } as unknown as SecretConsumer["from"] }];
  });
}
