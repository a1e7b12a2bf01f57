// Parameters of an operation, in one form for all versions of OpenAPI: the place of each, and how several values are written.

import { isObject } from "../../model/index.ts";
import { quoted } from "../../formats/document/index.ts";
import { child, follow, items, type Spec, textOf } from "../document/document.ts";
import { SPEC_LIMITS } from "../limits.ts";
import type { Operation } from "../document/operations.ts";
import { kindOf } from "../schema/inspect.ts";
import { type At, Unusable } from "../types.ts";
import { encoded } from "./url-text.ts";

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header" | "cookie";
  readonly required: boolean;
  readonly at: At;
  readonly schema: At;
  readonly writing: Writing;
}

export type Writing =
  | { readonly kind: "plain"; readonly before?: string }
  /** The key is repeated for each value. */
  | { readonly kind: "repeated" }
  /** All values in one text. */
  | { readonly kind: "joined"; readonly by: string }
  /** Each property of an object has its own key: `name`, or `filter[name]`. */
  | { readonly kind: "properties"; readonly bracketed: boolean }
  | { readonly kind: "json" }
  | { readonly kind: "impossible"; readonly reason: string };

const PLAIN: Writing = { kind: "plain" };
const REPEATED: Writing = { kind: "repeated" };
const PLACES: ReadonlySet<unknown> = new Set(["path", "query", "header", "cookie"]);
const SEPARATORS: Readonly<Record<string, string>> = {
  form: ",",
  simple: ",",
  spaceDelimited: " ",
  pipeDelimited: "|",
  csv: ",",
  ssv: " ",
  tsv: "\t",
  pipes: "|",
};

export interface Parameters {
  readonly list: readonly Parameter[];
  /** Swagger 2 keeps the body among the parameters. */
  readonly body: At | undefined;
  readonly form: readonly At[];
}

export function readParameters(spec: Spec, { at, shared }: Operation): Parameters {
  const all = new Map<string, At>();
  for (const item of [...items(child(shared, "parameters")), ...items(child(at, "parameters"))]) {
    const found = follow(spec, item);
    const name = textOf(found, "name");
    const place = child(found, "in").value;
    if (name === undefined || typeof place !== "string")
      throw new Unusable('one of its parameters has no "name" or no "in"', item.path);
    all.set(`${place} ${name}`, found);
  }
  if (all.size > SPEC_LIMITS.parameters)
    throw new Unusable(`it has more than ${SPEC_LIMITS.parameters} parameters`, at.path);
  const list: Parameter[] = [];
  const form: At[] = [];
  let body: At | undefined;
  for (const found of all.values()) {
    const place = child(found, "in").value;
    if (spec.dialect === "2.0" && place === "body") body = found;
    else if (spec.dialect === "2.0" && place === "formData") form.push(found);
    else list.push(readParameter(spec, found));
  }
  return { list, body, form };
}

function readParameter(spec: Spec, at: At): Parameter {
  const name = textOf(at, "name") ?? "";
  const place = child(at, "in").value;
  if (!PLACES.has(place)) throw new Unusable(`its parameter ${quoted(name)} has an unknown "in"`, at.path);
  const where = place as Parameter["in"];
  const required = where === "path" || child(at, "required").value === true;
  const content = child(at, "content");
  if (spec.dialect !== "2.0" && isObject(content.value))
    return { name, in: where, required, at, schema: at, writing: writingOfContent(content) };
  const schema = spec.dialect === "2.0" ? at : child(at, "schema");
  const kind = kindOf(spec, schema);
  const writing =
    spec.dialect === "2.0" ? writingOfFormat(at, kind, where) : writingOfStyle(at, kind, where, name);
  return { name, in: where, required, at, schema, writing };
}

function writingOfContent(content: At): Writing {
  const [type] = Object.keys(content.value as object);
  if (type !== undefined && /[/+]json\b/i.test(type)) return { kind: "json" };
  return { kind: "impossible", reason: `is written as ${quoted(type ?? "nothing")}` };
}

/** Swagger 2: commas are the default separator. */
function writingOfFormat(at: At, kind: string, where: Parameter["in"]): Writing {
  if (kind !== "array") return kind === "object" ? { kind: "impossible", reason: "is an object" } : PLAIN;
  const format = child(at, "collectionFormat").value;
  if (format === "multi" && where === "query") return REPEATED;
  return { kind: "joined", by: SEPARATORS[String(format)] ?? "," };
}

function writingOfStyle(at: At, kind: string, where: Parameter["in"], name: string): Writing {
  const inForm = where === "query" || where === "cookie";
  const style = textOf(at, "style") ?? (inForm ? "form" : "simple");
  const said = child(at, "explode").value;
  const explode = typeof said === "boolean" ? said : style === "form";
  if (kind === "scalar") {
    if (where !== "path") return PLAIN;
    if (style === "label") return { kind: "plain", before: "." };
    return style === "matrix" ? { kind: "plain", before: `;${encoded(name)}=` } : PLAIN;
  }
  if (kind === "object") {
    if (where === "query" && style === "deepObject") return { kind: "properties", bracketed: true };
    if (where === "query" && style === "form" && explode) return { kind: "properties", bracketed: false };
    return { kind: "impossible", reason: `is an object in the style ${quoted(style)}` };
  }
  const by = SEPARATORS[style];
  if (by === undefined) return { kind: "impossible", reason: `is a list in the style ${quoted(style)}` };
  return where === "query" && explode ? REPEATED : { kind: "joined", by };
}
