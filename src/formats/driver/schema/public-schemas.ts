// The public schemas that a contract may refer to by their address: references (AIP-27) and input and output blocks (AIP-16).
// They are part of this package. Nothing is fetched; a contract that uses one gets a copy of it among its definitions.

import { isObject, type JsonObject, type JsonSchema } from "../../../model/index.ts";

const ADDRESS =
  /^https:\/\/agentproto\.(?:sh|dev)\/(?:docs|schemas)\/aip-(?:27\/(?:draft\/)?REF|16\/(?:draft\/)?IO)\.schema\.json$/;

const text = (more: JsonObject = {}): JsonObject => ({ type: "string", minLength: 1, ...more });
const SHA256 = { type: "string", pattern: "^[0-9a-f]{64}$" };
/** Relative to the workspace, without a way out of it. */
const PATH = text({ pattern: "^[^/\\\\][^\\\\]*$", not: { pattern: "(?:^|/)\\.\\.(?:/|$)" } });

function refKind(kind: string, required: readonly string[], properties: JsonObject): JsonObject {
  return {
    type: "object",
    required: ["kind", ...required],
    properties: {
      kind: { const: kind },
      ...properties,
      tags: { type: "array", items: { type: "string" } },
      description: { type: "string" },
    },
    additionalProperties: false,
  };
}

const BASE_KINDS: Readonly<Record<string, JsonObject>> = {
  local: refKind("local", ["path"], { path: PATH, sha256: SHA256 }),
  url: refKind("url", ["href"], { href: text({ pattern: "^https?://" }), sha256: SHA256 }),
  git: refKind("git", ["url", "ref"], { url: text(), ref: text(), path: text() }),
  github: refKind("github", ["owner", "repo"], { owner: text(), repo: text(), ref: text(), path: text() }),
  ipfs: refKind("ipfs", ["cid"], { cid: text(), path: text() }),
  email: refKind("email", ["address"], { address: text({ pattern: "^[^@\\s]+@[^@\\s]+$" }) }),
  operator: refKind("operator", ["slug"], { slug: text(), workspace: text() }),
  user: refKind("user", ["id"], { id: text(), workspace: text() }),
  persona: refKind("persona", ["id"], { id: text() }),
  eth_tx: refKind("eth_tx", ["chainId", "txHash"], {
    chainId: { type: "integer", minimum: 1 },
    txHash: text({ pattern: "^0x[0-9a-f]{64}$" }),
  }),
  ots: refKind("ots", ["proof"], { proof: { anyOf: [{ $ref: "#/$defs/local" }, { $ref: "#/$defs/url" }] } }),
};

/** The kinds of references that every host has; no driver can register one of these names. */
export const BASE_REF_KINDS: ReadonlySet<string> = new Set(Object.keys(BASE_KINDS));

const SCHEMAS: Readonly<Record<"REF" | "IO", JsonSchema>> = {
  REF: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "https://agentproto.sh/schemas/aip-27/REF.schema.json",
    title: "A reference (AIP-27)",
    description:
      "Reference to a file, URL or other object: a text <kind>:<body>, or an object with kind and the fields of this kind.",
    anyOf: [{ $ref: "#/$defs/compact" }, { $ref: "#/$defs/object" }],
    $defs: {
      compact: { type: "string", pattern: "^[a-z][a-z0-9_]*:.+$", maxLength: 8192 },
      object: {
        anyOf: [...Object.keys(BASE_KINDS), "other"].map((kind) => ({ $ref: `#/$defs/${kind}` })),
      },
      ...BASE_KINDS,
      other: {
        description: "Reference of a kind that a driver or host has registered.",
        type: "object",
        required: ["kind"],
        properties: {
          kind: {
            type: "string",
            pattern: "^[a-z][a-z0-9_]*$",
            not: { enum: Object.keys(BASE_KINDS) },
          },
        },
      },
    },
  },
  IO: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "https://agentproto.sh/schemas/aip-16/IO.schema.json",
    title: "Input and output blocks (AIP-16)",
    description: "Input and output blocks of manifests: JSON Schemas of values, and files.",
    type: "object",
    $defs: {
      inputs: { description: "JSON Schema of the arguments.", $ref: "#/$defs/jsonSchema" },
      outputs: { description: "JSON Schema of a successful result.", $ref: "#/$defs/jsonSchema" },
      inputsFiles: { $ref: "#/$defs/files", description: "Files that exist before the run, by key." },
      outputsFiles: { $ref: "#/$defs/files", description: "Files that are kept after the run, by key." },
      files: { type: "object", additionalProperties: { $ref: "#/$defs/fileContractEntry" } },
      fileContractEntry: {
        type: "object",
        required: ["path"],
        additionalProperties: false,
        properties: {
          path: text({ description: "Path of the file, relative to the workspace." }),
          mode: { enum: ["ro", "rw"] },
          contentType: { type: "string" },
        },
      },
      jsonSchema: { description: "JSON Schema, draft 2020-12.", type: "object" },
      reservedFsRootField: { type: "object", properties: { _workflowFsRoot: text() } },
    },
  },
};

/** By the name of the file in schemas/. */
export function publicSchemas(): Readonly<Record<string, JsonSchema>> {
  return { "ref.schema.json": SCHEMAS.REF, "io.schema.json": SCHEMAS.IO };
}

export type PublicReference =
  | { readonly kind: "known"; readonly schema: "REF" | "IO"; readonly definition: string | undefined }
  /** One of these schemas, but it has no such definition. */
  | { readonly kind: "missing"; readonly names: readonly string[] };

/** Resolves a reference to a public schema; undefined when its address is not that of one of these schemas. */
export function publicReference(reference: string): PublicReference | undefined {
  const [address = "", fragment = ""] = reference.split("#", 2);
  if (!ADDRESS.test(address)) return undefined;
  const schema = address.endsWith("REF.schema.json") ? "REF" : "IO";
  if (fragment === "") return { kind: "known", schema, definition: undefined };
  const definitions = SCHEMAS[schema].$defs as JsonObject;
  const definition = /^\/\$defs\/([A-Za-z_]+)$/.exec(fragment)?.[1];
  return definition !== undefined && Object.hasOwn(definitions, definition)
    ? { kind: "known", schema, definition }
    : { kind: "missing", names: Object.keys(definitions) };
}

/**
 * Replaces references to these schemas by references to copies among the schema's own definitions. `rewrite` is called with each
 * `$ref` of the schema and what takes its place.
 */
export function withPublicSchemas(
  schema: JsonSchema,
  rewrite: (schema: JsonSchema, replace: (reference: string) => string) => JsonSchema,
): JsonSchema {
  const needed = new Set<"REF" | "IO">();
  const place = isObject(schema.definitions) && !isObject(schema.$defs) ? "definitions" : "$defs";
  const own = isObject(schema[place]) ? schema[place] : {};
  const nameOf = (name: "REF" | "IO", definition?: string): string => {
    const plain = `${name}.schema${definition === undefined ? "" : `.${definition}`}`;
    return Object.hasOwn(own, plain) ? `${plain}.public` : plain;
  };
  const replaced = rewrite(schema, (reference) => {
    const found = publicReference(reference);
    if (found?.kind !== "known") return reference;
    needed.add(found.schema);
    return `#/${place}/${nameOf(found.schema, found.definition)}`;
  });
  if (needed.size === 0) return replaced;
  const copies: JsonObject = {};
  for (const name of needed) {
    const { $schema: _schema, $id: _id, $defs, ...root } = SCHEMAS[name];
    const local = (value: unknown): unknown =>
      moved(value, (definition) => `#/${place}/${nameOf(name, definition)}`);
    copies[nameOf(name)] = local(root);
    for (const [definition, value] of Object.entries($defs as JsonObject))
      copies[nameOf(name, definition)] = local(value);
  }
  return { ...replaced, [place]: { ...(replaced[place] as JsonObject | undefined), ...copies } };
}

/** The same schema with its references to definitions elsewhere. Only for the schemas above, which hold no data. */
function moved(value: unknown, placeOf: (definition: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => moved(item, placeOf));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === "$ref" && typeof inner === "string"
        ? placeOf(inner.replace("#/$defs/", ""))
        : moved(inner, placeOf),
    ]),
  );
}
