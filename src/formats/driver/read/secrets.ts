// Reads a SECRETS.md, merges the entries of several files, and reads the `secrets` block of a manifest. A file with a secret value is
// refused, and the value is not repeated.

import type { Diagnostic } from "../../../errors/index.ts";
import type { Origin, SecretConsumer, SecretEntry } from "../../../model/index.ts";
import {
  Diagnostics,
  nodeAt,
  type ObjectNode,
  quoted,
  type TextNode,
  toLabel,
  toPlain,
} from "../../document/index.ts";
import { definedOnly } from "../../manifest/index.ts";
import { nodeOf } from "../../schema-builder/index.ts";
import { SECRETS, type SecretValue } from "../schema/secrets-schema.ts";
import { readFrontmatter } from "./frontmatter.ts";
import { envOfSlug, SLUG_PATTERN } from "./secret-names.ts";

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

/** Removes all keys that could contain a secret, and reports each of them. */
function withoutValues(root: ObjectNode, diagnostics: Diagnostics): ObjectNode {
  const clean = (node: TextNode): TextNode => {
    if (node.kind === "list") return { ...node, items: node.items.map(clean) };
    if (node.kind !== "object") return node;
    const entries = node.entries.flatMap((entry) => {
      if (!FORBIDDEN.has(entry.key.toLowerCase())) return [{ ...entry, value: clean(entry.value) }];
      diagnostics.add(
        entry,
        `${toLabel(entry.path)} could contain a secret: a SECRETS.md must not contain values`,
        `Remove ${entry.key}. If it was a real secret, replace that secret, because it was written to a file. Store values with portolan secrets set.`,
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
          `the slug ${quoted(entry.slug)} is declared here and ${placed(first.origin, entry.origin)}`,
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
            `the variable ${name} belongs to ${quoted(entry.slug)} and to ${quoted(first.slug)} ${placed(first.origin, entry.origin)}`,
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
          `the variable ${own} belongs to ${quoted(other.slug)}, but it is also the default variable of ${quoted(entry.slug)}`,
          `Portolan uses ${quoted(other.slug)} for this variable. Give ${quoted(entry.slug)} another slug.`,
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
  return { code: "FILE_INVALID", severity, message, file, line, column, hint };
}

function placed(first: Origin, here: Origin): string {
  return first.file === here.file ? `at line ${first.line}` : `at ${first.file}:${first.line}`;
}

const SOURCES = ["vault", "oauth", "value"] as const;

/**
 * Reads the `secrets` block of a manifest, which names the source of each variable. Entries with errors are left out and reported
 * without their values.
 */
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
        `${quoted(key)} is not a valid name of a variable`,
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
