// A description of an API: its version, its members, and its references.

import { isObject, type JsonObject } from "../../model/index.ts";
import { quoted } from "../../formats/document/index.ts";
import { type At, type Path, Unusable } from "../types.ts";

/** Longer chains of references are cycles, or an attack. */
const MAX_CHAIN = 32;

export interface Spec {
  readonly root: JsonObject;
  /** The rules that apply; 3.2 and later are read as 3.1. */
  readonly dialect: "2.0" | "3.0" | "3.1";
  /** As it is written. */
  readonly version: string;
  /** Cache of resolved references, because most are used many times. */
  readonly known: Map<string, At>;
}

/** Returns the reason as a text if the value is no description of an API. */
export function openSpec(root: unknown): Spec | string {
  if (!isObject(root)) return "the file is not an OpenAPI document";
  if (typeof root.swagger === "string" || typeof root.swagger === "number") {
    const swagger = String(root.swagger);
    if (swagger === "2.0" || swagger === "2")
      return { root, dialect: "2.0", version: "Swagger 2.0", known: new Map() };
    return `Swagger ${quoted(swagger)} is not supported; Portolan reads Swagger 2.0 and OpenAPI 3`;
  }
  if (typeof root.openapi !== "string" && typeof root.openapi !== "number")
    return 'the file has neither the key "openapi" nor "swagger" at its top level, so it is not an OpenAPI document';
  const openapi = String(root.openapi);
  const minor = /^3(?:\.(\d{1,3}))?(?:[.-]|$)/.exec(openapi);
  if (minor === null)
    return `OpenAPI ${quoted(openapi)} is not supported; Portolan reads Swagger 2.0 and OpenAPI 3`;
  const dialect = Number(minor[1] ?? 0) === 0 ? "3.0" : "3.1";
  return { root, dialect, version: `OpenAPI ${openapi.slice(0, 20)}`, known: new Map() };
}

/** A member of an object; its value is undefined if it does not exist. */
export function child(at: At, key: string): At {
  const value = isObject(at.value) && Object.hasOwn(at.value, key) ? at.value[key] : undefined;
  return { value, path: [...at.path, key] };
}

export function items(at: At): At[] {
  if (!Array.isArray(at.value)) return [];
  return at.value.map((value: unknown, index) => ({ value, path: [...at.path, index] }));
}

export function members(at: At): { readonly key: string; readonly at: At }[] {
  if (!isObject(at.value)) return [];
  return Object.keys(at.value).map((key) => ({ key, at: child(at, key) }));
}

/** Trimmed text of a member. Returns undefined if it is absent, empty or no text. */
export function textOf(at: At, key: string): string | undefined {
  const { value } = child(at, key);
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}

export function refOf(value: unknown): string | undefined {
  return isObject(value) && typeof value.$ref === "string" ? value.$ref : undefined;
}

/** Follows a chain of references to its end; returns any other value as it is. */
export function follow(spec: Spec, start: At): At {
  let at = start;
  for (let steps = 0; ; steps += 1) {
    const ref = refOf(at.value);
    if (ref === undefined) return at;
    if (steps >= MAX_CHAIN) throw new Unusable(`the reference ${quoted(ref)} is circular`, start.path);
    at = lookUp(spec, ref, at.path);
  }
}

function lookUp(spec: Spec, ref: string, from: Path): At {
  const known = spec.known.get(ref);
  if (known !== undefined) return known;
  if (!ref.startsWith("#"))
    throw new Unusable(`it refers to another file, ${quoted(ref)}, which Portolan does not read`, from);
  if (ref !== "#" && !ref.startsWith("#/"))
    throw new Unusable(`the reference ${quoted(ref)} has a form that is not supported`, from);
  let value: unknown = spec.root;
  const path: (string | number)[] = [];
  for (const step of ref.split("/").slice(1).map(decodeStep)) {
    const list = Array.isArray(value);
    if ((!list && !isObject(value)) || !Object.hasOwn(value as object, step))
      throw new Unusable(`the reference ${quoted(ref)} points to nothing`, from);
    value = (value as Record<string, unknown>)[step];
    path.push(list ? Number(step) : step);
  }
  const found: At = { value, path };
  spec.known.set(ref, found);
  return found;
}

function decodeStep(step: string): string {
  let text = step;
  try {
    text = decodeURIComponent(step);
  } catch {
    // A bare "%" is one that nobody escaped.
  }
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}
