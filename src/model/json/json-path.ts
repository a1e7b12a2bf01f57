// JSONPath-lite: `$`, `.name`, `[0]`, `[*]` and `[?(@.name=='text')]`, parsed once and evaluated in bounded time.

import { isObject } from "./json.ts";

export type JsonPathSegment =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "all" }
  | { readonly kind: "filter"; readonly names: readonly string[]; readonly equals: string };

/** An empty path is the whole value. */
export type JsonPath = readonly JsonPathSegment[];

export type ParsedJsonPath =
  | { readonly ok: true; readonly path: JsonPath }
  | {
      readonly ok: false;
      readonly message: string;
      readonly hint: string;
      /** Offset in the text, from 0. */
      readonly offset: number;
    };

/** Result of a path: a value, which may be null, or nothing. */
export type Followed = { readonly found: true; readonly value: unknown } | { readonly found: false };

const MAX_LENGTH = 1_000;
const MAX_SEGMENTS = 32;
const NAME = /\.([A-Za-z_][A-Za-z0-9_-]*)/y;
const INDEX = /\[(0|[1-9]\d{0,8})\]/y;
const ALL = /\[\*\]/y;
const FILTER = /\[\?\(\s*@((?:\.[A-Za-z_][A-Za-z0-9_-]*)+)\s*==\s*'((?:[^'\\\p{Cc}]|\\['\\])*)'\s*\)\]/uy;

const FORMS = "Write $ and then .name, [0], [*] or [?(@.name=='text')], as in $.items[*].id.";

export function parseJsonPath(text: string): ParsedJsonPath {
  const refuse = (offset: number, message: string, hint = FORMS): ParsedJsonPath => ({
    ok: false,
    message,
    hint,
    offset,
  });
  if (text.length > MAX_LENGTH) return refuse(0, `it is longer than ${MAX_LENGTH} characters`);
  if (!text.startsWith("$")) return refuse(0, "it does not begin with $", startHint(text));
  const path: JsonPathSegment[] = [];
  let at = 1;
  while (at < text.length) {
    const read = readSegment(text, at);
    if (read === undefined) return refuse(at, ...reasonAt(text, at));
    path.push(read.segment);
    at = read.end;
    if (path.length > MAX_SEGMENTS) return refuse(at, `it has more than ${MAX_SEGMENTS} steps`);
  }
  return { ok: true, path };
}

/**
 * Returns the value at the path. After `[*]` or a filter, the value is the list of all matches; entries without the rest of the path are
 * left out. An empty list counts as found, a missing property does not.
 */
export function evaluateJsonPath(path: JsonPath, value: unknown): Followed {
  let many = false;
  let values: unknown[] = [value];
  for (const segment of path) {
    if (!many) {
      const [only] = values;
      many = segment.kind === "all" || segment.kind === "filter";
      if (many && !Array.isArray(only)) return { found: false };
    }
    values = values.flatMap((one) => step(segment, one));
    if (!many && values.length === 0) return { found: false };
  }
  return { found: true, value: many ? values : values[0] };
}

/** Returns the values that one step selects. */
function step(segment: JsonPathSegment, value: unknown): unknown[] {
  switch (segment.kind) {
    case "name":
      return isObject(value) && Object.hasOwn(value, segment.name) ? [value[segment.name]] : [];
    case "index":
      return Array.isArray(value) && segment.index < value.length ? [value[segment.index]] : [];
    case "all":
      return Array.isArray(value) ? value : [];
    case "filter":
      return Array.isArray(value) ? value.filter((item) => passes(segment, item)) : [];
  }
}

function passes({ names, equals }: JsonPathSegment & { kind: "filter" }, item: unknown): boolean {
  let value = item;
  for (const name of names) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return false;
    value = value[name];
  }
  return value === equals;
}

function readSegment(text: string, at: number): { segment: JsonPathSegment; end: number } | undefined {
  const match = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text) ?? undefined;
  };
  const name = match(NAME);
  if (name !== undefined) return { segment: { kind: "name", name: name[1] ?? "" }, end: at + name[0].length };
  const index = match(INDEX);
  if (index !== undefined)
    return { segment: { kind: "index", index: Number(index[1]) }, end: at + index[0].length };
  if (match(ALL) !== undefined) return { segment: { kind: "all" }, end: at + 3 };
  const filter = match(FILTER);
  if (filter === undefined) return undefined;
  const [whole, names = "", literal = ""] = filter;
  const equals = literal.replace(/\\(['\\])/g, "$1");
  return { segment: { kind: "filter", names: names.slice(1).split("."), equals }, end: at + whole.length };
}

/** Names the unsupported JSONPath feature that a text uses. */
function reasonAt(text: string, at: number): [message: string, hint?: string] {
  const rest = text.slice(at);
  if (rest.startsWith("..")) return ["it searches all levels with .., which is not supported"];
  if (rest.startsWith(".*"))
    return ["it takes all values with .*, which is not supported", "For lists, write [*]."];
  if (rest.startsWith("[-")) return ["it has a negative index, which is not supported"];
  if (/^\[\d*:/.test(rest)) return ["it has a slice such as [0:2], which is not supported"];
  if (/^\[["']/.test(rest)) return ["it has a name in brackets, which is not supported", "Write .name."];
  if (rest.startsWith("[?"))
    return ["its filter is not a comparison with a text", "Write [?(@.name=='text')]."];
  if (/^\.?$/.test(rest)) return ["it ends with a dot"];
  return [`${JSON.stringify(rest.slice(0, 20))} is not a step`];
}

function startHint(text: string): string {
  const name = /^\.?([A-Za-z_][\w.-]*)$/.exec(text)?.[1];
  return name === undefined ? FORMS : `Write $.${name}.`;
}
