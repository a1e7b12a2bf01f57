// Reads a SECRETS.md: text in, entries and diagnostics out. A file with a secret value is refused, and the value is not repeated.

import type { Diagnostic } from "../../../errors/index.ts";
import type { SecretEntry } from "../../../model/index.ts";
import {
  Diagnostics,
  nodeAt,
  type ObjectNode,
  type TextNode,
  toLabel,
  toPlain,
} from "../../document/index.ts";
import { definedOnly } from "../../manifest/index.ts";
import { nodeOf } from "../../schema-builder/index.ts";
import { SECRETS, type SecretValue } from "../schema/secrets-schema.ts";
import { readFrontmatter } from "./frontmatter.ts";
import { mergeSecrets } from "./merge-secrets.ts";

export interface SecretsFile {
  /** The entries without errors. */
  readonly secrets: readonly SecretEntry[];
  readonly diagnostics: readonly Diagnostic[];
}

const FORBIDDEN: ReadonlySet<string> = new Set([
  "value",
  "plaintext",
  "ciphertext",
  "secret",
  "data",
  "key",
  "token",
]);

export function parseSecrets(text: string, file: string): SecretsFile {
  const { root: written, diagnostics: syntax } = readFrontmatter(text, file);
  if (written === undefined) return { secrets: [], diagnostics: syntax };
  const diagnostics = new Diagnostics(file, syntax);
  const root = withoutValues(written, diagnostics);
  const { secrets = [] } = SECRETS.read(root, { diagnostics, folder: "" }) ?? {};
  const entries = secrets.map((secret) => toEntry(secret, nodeOf(secret) ?? root, file));
  const merged = mergeSecrets([entries]);
  return { secrets: merged.secrets, diagnostics: [...diagnostics.sorted(), ...merged.diagnostics] };
}

/** Removes all keys that could hold a secret, and reports each of them. */
function withoutValues(root: ObjectNode, diagnostics: Diagnostics): ObjectNode {
  const clean = (node: TextNode): TextNode => {
    if (node.kind === "list") return { ...node, items: node.items.map(clean) };
    if (node.kind !== "object") return node;
    const entries = node.entries.flatMap((entry) => {
      if (!FORBIDDEN.has(entry.key.toLowerCase())) return [{ ...entry, value: clean(entry.value) }];
      diagnostics.add(
        entry,
        `${toLabel(entry.path)} could hold a secret: an inventory has no values`,
        `Remove ${entry.key}, and change the secret if it was a real one: it stands in a file. Store values with portolan secrets set.`,
      );
      return [];
    });
    return { ...node, entries };
  };
  return clean(root) as ObjectNode;
}

function toEntry(secret: SecretValue, node: ObjectNode, file: string): SecretEntry {
  const { slug, name, description, kind, backend, tags = [], metadata = {}, exposures = [] } = secret;
  const { reveal = [], bind = [], rotate = [] } = secret.access ?? {};
  const bound = nodeAt(node, "metadata", "bindings", "env");
  const envNames = new Set([
    ...(bound?.kind === "list" ? bound.items.map((item) => String(toPlain(item))) : []),
    ...exposures.flatMap((exposure) => (exposure.kind === "env" ? [exposure.name] : [])),
  ]);
  return definedOnly<SecretEntry>({
    ...{ slug, name, description, kind, backend, tags, metadata },
    access: { reveal, bind, rotate },
    envNames: [...envNames],
    origin: { file, line: node.line, column: node.column, format: "secrets" },
  });
}
