// The metadata document of a package: written anew, or an existing one with its derived fields updated.

import { isDeepStrictEqual } from "node:util";
import { PortolanError } from "../../errors/index.ts";
import {
  nodeAt,
  openDocument,
  readJson,
  type TextNode,
  toLabel,
  toPlain,
} from "../../formats/document/index.ts";
import { variableOf } from "../../formats/package/index.ts";
import { isObject, type JsonObject } from "../../model/index.ts";
import { defined, type PackageFacts } from "./facts.ts";

export interface DocumentChange {
  /** The field, such as `mcp.capabilities.tools`. */
  readonly field: string;
  /** `kept`: the document says something else than the server, and a person decides about this field. */
  readonly kind: "added" | "updated" | "kept";
}

export interface PackedDocument {
  readonly text: string;
  /** All fields of a new document are new, so that this is empty. */
  readonly changes: readonly DocumentChange[];
}

export interface DocumentOptions {
  /** The whole name, `@user/name`. */
  readonly name?: string;
  /** The present document. */
  readonly before?: { readonly text: string; readonly file: string };
}

/** `derived` fields follow from the server, and are updated. `preset` fields belong to a person once they are there. */
interface Field {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly kind: "derived" | "preset";
}

export function packDocument(facts: PackageFacts, { name, before }: DocumentOptions): PackedDocument {
  if (before !== undefined) return update(facts, name, before);
  let document: JsonObject = {};
  for (const { path, value } of [...presets(facts, name), ...EMPTY]) {
    // An empty text is reported with its line, so that a person finds the place to fill in.
    if (value !== undefined && valueAt(document, path) === undefined)
      document = withValue(document, path, value);
  }
  return { text: `${JSON.stringify(inOrder(document), undefined, 2)}\n`, changes: [] };
}

const EMPTY: readonly Field[] = [
  ["name"],
  ["version"],
  ["description"],
  ["author", "name"],
  ["mcp", "executable"],
].map((path) => ({ path, value: "", kind: "preset" }));

function presets(facts: PackageFacts, name: string | undefined): Field[] {
  const { schema, env } = toConfiguration(facts.variables, []);
  return [
    ...fieldsOf(facts, name),
    { path: ["security", "permissions"], value: [...facts.permissions], kind: "preset" },
    ...(schema === undefined
      ? []
      : [
          { path: ["mcp", "configuration", "schema"], value: schema, kind: "preset" as const },
          { path: ["mcp", "configuration", "env"], value: env, kind: "preset" as const },
        ]),
  ];
}

function fieldsOf(facts: PackageFacts, name: string | undefined): Field[] {
  const { version, description, author, mcp, source, requirements, metadata = {} } = facts;
  const { tools, resources, prompts } = mcp.capabilities;
  const isNpm = source?.type === "npm";
  const derived =
    (...path: string[]): ((value: unknown) => Field) =>
    (value) => ({ path, value, kind: "derived" });
  const preset =
    (...path: string[]): ((value: unknown) => Field) =>
    (value) => ({ path, value, kind: "preset" });
  return [
    // A name of the command line replaces the one of the document.
    { path: ["name"], value: name, kind: "derived" },
    preset("type")("mcp-server"),
    derived("version")(version),
    preset("description")(description),
    preset("author")(author),
    preset("mcp", "version")(mcp.version),
    preset("mcp", "transport")(mcp.transport),
    derived("mcp", "executable")(mcp.executable),
    derived("mcp", "args")(mcp.args),
    derived("mcp", "capabilities", "tools")(tools),
    derived("mcp", "capabilities", "resources")(resources),
    derived("mcp", "capabilities", "prompts")(prompts),
    derived("mcp", "driver")(mcp.driver),
    // A person may keep the file at GitHub; a package of npm comes from npm.
    { path: ["source", "type"], value: source?.type, kind: isNpm ? "derived" : "preset" },
    { path: ["source", "url"], value: source?.url, kind: isNpm ? "derived" : "preset" },
    derived("source", "hash")(source?.hash),
    derived("source", "size")(source?.size),
    preset("requirements")(requirements),
    ...Object.entries(metadata).map(([key, value]) => preset("metadata", key)(value)),
    preset("metadata")({}),
  ];
}

function update(
  facts: PackageFacts,
  name: string | undefined,
  { text: written, file }: NonNullable<DocumentOptions["before"]>,
): PackedDocument {
  const root = readDocument(written, file);
  const document = toPlain(root) as JsonObject;
  const changes: DocumentChange[] = [];
  let text = openDocument("json", written);
  const set = (path: readonly string[], value: unknown, kind: DocumentChange["kind"]): void => {
    const edited = text.set(path, value);
    if (edited === undefined)
      throw new PortolanError(
        "FILE_INVALID",
        `${file}: Portolan cannot change the value of ${toLabel(path)}. The file was not changed.`,
        {
          hint: "Check whether a key occurs twice in the file, remove one of the two, and try again.",
        },
      );
    text = edited;
    changes.push({ field: toLabel(path), kind });
  };
  for (const { path, value, kind } of fieldsOf(facts, name)) {
    const current = valueAt(document, path);
    if (value === undefined || isDeepStrictEqual(current, value)) continue;
    if (isUnwritten(current)) set(path, value, "added");
    else if (kind === "derived") set(path, value, "updated");
    else if (!isObject(value) || Object.keys(value).length > 0)
      changes.push({ field: toLabel(path), kind: "kept" });
  }
  const { security = {} } = document;
  const granted = isObject(security) && Array.isArray(security["permissions"]) ? security["permissions"] : [];
  const more = facts.permissions.filter((permission) => !granted.includes(permission));
  if (more.length > 0 || !isObject(document["security"]))
    set(["security", "permissions"], [...granted, ...more], granted.length === 0 ? "added" : "updated");
  for (const [path, value] of newSettings(facts, document)) set(path, value, "added");
  return { text: text.render(), changes };
}

/** Settings that the server has and the document does not. Settings of the document stay: a person may have described them. */
function newSettings(facts: PackageFacts, document: JsonObject): [path: string[], value: unknown][] {
  const at = ["mcp", "configuration"];
  const env = (valueAt(document, [...at, "env"]) ?? {}) as Record<string, string>;
  const written = valueAt(document, [...at, "schema"]);
  const known =
    isObject(written) && isObject(written["properties"]) ? Object.keys(written["properties"]) : [];
  const there = new Set(known.map((setting) => variableOf(setting, env)));
  const missing = facts.variables.filter((variable) => !there.has(variable));
  if (missing.length === 0) return [];
  const { schema, env: moreEnv } = toConfiguration(missing, known);
  if (!isObject(written) || schema === undefined) return [[[...at, "schema"], schema]];
  const required = Array.isArray(written["required"]) ? written["required"] : [];
  return [
    ...Object.entries(schema.properties).map(([key, value]): [string[], unknown] => [
      [...at, "schema", "properties", key],
      value,
    ]),
    [
      [...at, "schema", "required"],
      [...required, ...schema.required],
    ],
    ...Object.entries(moreEnv ?? {}).map(([key, value]): [string[], unknown] => [[...at, "env", key], value]),
  ];
}

interface SettingsSchema {
  readonly type: "object";
  readonly properties: Record<string, { readonly type: "string"; readonly secret: true }>;
  readonly required: string[];
}

/** One setting for each variable: `GITHUB_TOKEN` is the setting `github_token`. Nothing says which are no secrets, so all are. */
function toConfiguration(
  variables: readonly string[],
  known: readonly string[],
): { schema?: SettingsSchema; env?: Record<string, string> } {
  if (variables.length === 0) return {};
  const env: Record<string, string> = {};
  const used = new Set(known);
  const settings = variables.map((variable) => {
    const lower = variable.toLowerCase();
    const setting = [lower, variable, `${lower}_${used.size}`].find((name) => !used.has(name)) ?? variable;
    used.add(setting);
    if (variableOf(setting) !== variable) env[setting] = variable;
    return setting;
  });
  return {
    schema: {
      type: "object",
      properties: Object.fromEntries(settings.map((name) => [name, { type: "string", secret: true }])),
      required: settings,
    },
    env: Object.keys(env).length === 0 ? undefined : env,
  };
}

function readDocument(text: string, file: string): TextNode {
  const { root, diagnostics } = readJson(text, file);
  const [first] = diagnostics;
  if (root?.kind === "object") return root;
  const place = first?.line === undefined ? "" : `:${first.line}:${first.column ?? 1}`;
  throw new PortolanError("FILE_INVALID", `${file}${place}: ${first?.message ?? "it is not an object"}`, {
    hint: "The file was not changed. Correct it, or move it away: portolan pack then writes a new one.",
    data: { diagnostics },
  });
}

/** An empty text is a place to fill in. */
function isUnwritten(value: unknown): boolean {
  return value === undefined || value === "" || value === null;
}

function valueAt(document: unknown, path: readonly string[]): unknown {
  let value = document;
  for (const step of path) value = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  return value;
}

function withValue(
  document: JsonObject,
  [first = "", ...rest]: readonly string[],
  value: unknown,
): JsonObject {
  const inner = document[first];
  return {
    ...document,
    [first]: rest.length === 0 ? value : withValue(isObject(inner) ? inner : {}, rest, value),
  };
}

const ORDER = [
  ...["name", "type", "version", "description", "author", "mcp", "source", "security", "requirements"],
  "metadata",
];

function inOrder(document: JsonObject): object {
  return defined(Object.fromEntries(ORDER.map((key) => [key, document[key]])));
}

/** The text at a path of a document, for names and versions. */
export function textIn(text: string, file: string, ...path: readonly string[]): string | undefined {
  const { root } = readJson(text, file);
  const node = nodeAt(root, ...path);
  return node?.kind === "string" && node.value !== "" ? String(node.value) : undefined;
}
