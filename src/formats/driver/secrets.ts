// A SECRETS.md: text in, entries out. A file with a value in it is refused, and the value is not repeated.

import { type Diagnostic, didYouMean } from "../../errors/index.ts";
import type { SecretEntry } from "../../model/index.ts";
import { definedOnly } from "../manifest/index.ts";
import {
  checkShape,
  nodeAt,
  type ObjectNode,
  Diagnostics,
  quoted,
  type TextNode,
  toLabel,
} from "../document/index.ts";
import { readFrontmatter } from "./frontmatter.ts";
import { mergeSecrets } from "./merge-secrets.ts";
import { ENV_PATTERN } from "./secret-names.ts";
import { type CheckedSecret, EXPOSURES, GRANTS, SECRETS_SHAPE } from "./secrets-shape.ts";

export interface SecretsFile {
  /** Those that are right in themselves. */
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
  const { secrets: checked = [] } = (checkShape(SECRETS_SHAPE, root, diagnostics) ?? {}) as {
    secrets?: readonly (CheckedSecret | undefined)[];
  };
  const list = nodeAt(root, "secrets");
  const entries = checked.flatMap((secret, index): SecretEntry[] => {
    const node = nodeAt(list, index);
    if (secret === undefined || node?.kind !== "object") return [];
    const envNames = checkEntry(secret, node, diagnostics);
    return diagnostics.hasErrorIn(node) ? [] : [toEntry(secret, envNames, node, file)];
  });
  const merged = mergeSecrets([entries]);
  return { secrets: merged.secrets, diagnostics: [...diagnostics.sorted(), ...merged.diagnostics] };
}

function checkEntry(secret: CheckedSecret, node: ObjectNode, diagnostics: Diagnostics): readonly string[] {
  const slug = nodeAt(node, "slug");
  if (slug !== undefined && secret.slug?.includes("--") === true)
    diagnostics.warn(
      slug,
      `the slug ${quoted(secret.slug)} has two dashes in a row`,
      "Other hosts refuse it; use one.",
    );
  const backend = nodeAt(node, "backend");
  // It may hold a password, so that it is not repeated.
  if (backend !== undefined && secret.backend !== undefined && !/^[a-z][a-z0-9-]*:\/\//.test(secret.backend))
    diagnostics.add(
      backend,
      `${toLabel(backend.path)} is not an address`,
      "Write vault://<driver>/<path>, or leave it out.",
    );
  checkGrants(nodeAt(node, "access"), diagnostics);
  return [...new Set([...boundNames(node, diagnostics), ...exposedNames(node, diagnostics)])];
}

/** Each grant has exactly one of the words. */
function checkGrants(access: TextNode | undefined, diagnostics: Diagnostics): void {
  for (const operation of ["reveal", "bind", "rotate"]) {
    const list = nodeAt(access, operation);
    for (const grant of list?.kind === "list" ? list.items : []) {
      if (grant.kind !== "object") continue;
      const given = grant.entries.filter(({ key }) => (GRANTS as readonly string[]).includes(key));
      if (given.length !== 1)
        diagnostics.add(
          grant,
          `${toLabel(grant.path)} has ${given.length === 0 ? "none" : "more than one"} of ${GRANTS.join(", ")}`,
          "A grant is for one: write an entry for each.",
        );
    }
  }
}

/** `metadata.bindings.env`. */
function boundNames(node: ObjectNode, diagnostics: Diagnostics): string[] {
  const list = nodeAt(node, "metadata", "bindings", "env");
  if (list === undefined || list.kind === "null") return [];
  if (list.kind !== "list") {
    diagnostics.add(list, `${toLabel(list.path)} must be a list`, "Write [STRIPE_API_KEY], for example.");
    return [];
  }
  return list.items.flatMap((item) => {
    if (item.kind === "string" && new RegExp(ENV_PATTERN).test(String(item.value)))
      return [String(item.value)];
    diagnostics.add(
      item,
      `${toLabel(item.path)} is not the name of a variable`,
      "Use capital letters, digits and _.",
    );
    return [];
  });
}

/** The variables among `exposures`; kinds that are not known are passed over. */
function exposedNames(node: ObjectNode, diagnostics: Diagnostics): string[] {
  const list = nodeAt(node, "exposures");
  return (list?.kind === "list" ? list.items : []).flatMap((item) => {
    const kind = nodeAt(item, "kind");
    if (kind?.kind !== "string") {
      diagnostics.add(
        item,
        `${toLabel(item.path)} has no kind`,
        `Write kind: ${Object.keys(EXPOSURES).join(", or ")}.`,
      );
      return [];
    }
    const word = String(kind.value);
    const shape = Object.hasOwn(EXPOSURES, word) ? EXPOSURES[word] : undefined;
    if (shape === undefined) {
      const hint = didYouMean(word, Object.keys(EXPOSURES));
      diagnostics.warn(kind, `the exposure ${quoted(word)} is not known and is passed over`, hint);
      return [];
    }
    const checked = checkShape(shape, item, diagnostics) as { readonly name?: string };
    return word === "env" && checked.name !== undefined ? [checked.name] : [];
  });
}

/** The tree without the keys that could hold a secret, wherever they stand; each of them told. */
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

function toEntry(
  secret: CheckedSecret,
  envNames: readonly string[],
  node: ObjectNode,
  file: string,
): SecretEntry {
  const { reveal = [], bind = [], rotate = [] } = secret.access ?? {};
  return definedOnly<SecretEntry>({
    slug: secret.slug ?? "",
    name: secret.name ?? "",
    description: secret.description ?? "",
    kind: secret.kind,
    backend: secret.backend,
    access: { reveal, bind, rotate },
    envNames,
    tags: secret.tags ?? [],
    metadata: { ...secret.metadata },
    origin: { file, line: node.line, column: node.column, format: "secrets" },
  });
}
