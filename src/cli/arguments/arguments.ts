// Arguments of a call: from key=value words, from a pasted call, or from JSON.

import { homedir } from "node:os";
import { didYouMean } from "../../errors/index.ts";
import {
  isObject,
  type JsonObject,
  type JsonSchema,
  type PromptArgument,
  type PromptDefinition,
} from "../../model/index.ts";
import { coerceItems, coerceText, describeTypes } from "./coerce.ts";
import { getOwn, type ObjectShape, setOwn, shapeOf, typesOf } from "./json-schema.ts";
import type { ParsedCall } from "./signature-parse.ts";

/** One error in the arguments; `key` is the path as the user typed it. */
export interface Problem {
  readonly key: string;
  readonly message: string;
}

export interface ArgumentsResult {
  readonly value: JsonObject;
  readonly problems: readonly Problem[];
}

/** One `key=value` word; a file it refers to has been read. */
export interface Pair {
  readonly key: string;
  readonly text: string;
  /** `key:=value`: the text is JSON, whatever the schema says. */
  readonly json: boolean;
}

const PAIR = /^([^=]*?)(:?=)([^]*)$/;
const MAX_DEPTH = 32;

/** Splits `key=value`, `key:=json`, `key=@file`, `key:=@file`; `@@` at the start of a value is a literal `@`. */
export async function parsePairs(
  words: readonly string[],
  readFile: (path: string) => Promise<string>,
): Promise<{ pairs: Pair[]; problems: Problem[] }> {
  const pairs: Pair[] = [];
  const problems: Problem[] = [];
  for (const word of words) {
    const [, key, operator, written] = PAIR.exec(word) ?? [];
    if (key === undefined || written === undefined || key === "") {
      problems.push({ key: word, message: "is not key=value" });
      continue;
    }
    const json = operator === ":=";
    const value = json ? written : withHome(written);
    if (!value.startsWith("@") || value === "@") pairs.push({ key, text: value, json });
    else if (value.startsWith("@@")) pairs.push({ key, text: value.slice(1), json });
    else {
      try {
        pairs.push({ key, text: await readFile(value.slice(1)), json });
      } catch (thrown) {
        const reason = thrown instanceof Error ? thrown.message : String(thrown);
        problems.push({
          key,
          message: `means the content of the file ${JSON.stringify(value.slice(1))}, but Portolan cannot read this file (${reason}). For a text that begins with @, write ${key}=@${value}`,
        });
      }
    }
  }
  return { pairs, problems };
}

/** No shell replaces a tilde in JSON, and not every shell one after "="; in its sandbox a server has another home. */
function withHome(text: string): string {
  return text.startsWith("~/") ? `${homedir()}${text.slice(1)}` : text;
}

/** The arguments with your home folder in place of ~/ at the start of a text, or of a text in a list. */
export function withHomes(value: JsonObject): JsonObject {
  const expand = (one: unknown): unknown => (typeof one === "string" ? withHome(one) : one);
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([key, one]) => [key, Array.isArray(one) ? one.map(expand) : expand(one)]),
  );
}

/** Sets the pairs on top of `base`, converts each value by the tool's schema, and lists every error. */
export function toArguments(
  pairs: readonly Pair[],
  schema: JsonSchema,
  base: JsonObject = {},
): ArgumentsResult {
  const value: JsonObject = {};
  for (const [key, entry] of Object.entries(base)) setOwn(value, key, entry);
  const problems: Problem[] = [];
  const groups = new Map<string, Pair[]>();
  for (const pair of pairs) groups.set(pair.key, [...(groups.get(pair.key) ?? []), pair]);
  for (const [key, group] of groups) {
    const place = placeOf(key, schema);
    if ("problem" in place) {
      problems.push({ key, message: place.problem });
      continue;
    }
    const coerced = coerceGroup(group, place.schema, schema);
    if (coerced.problem !== undefined) problems.push({ key, message: coerced.problem });
    else {
      const whole = wholeOf(place.path, groups, schema);
      if (whole !== undefined)
        problems.push({
          key,
          message: `is part of ${whole}, and ${whole} has a value too. Give either ${whole} or its parts, not both`,
        });
      else if (!setAt(value, place.path, coerced.value))
        problems.push({ key, message: "cannot be set: the value that contains it is not an object" });
    }
  }
  problems.push(
    ...missing(value, schema, new Set(problems.map((problem) => problem.key.split(".")[0] ?? ""))),
  );
  return { value, problems };
}

/** The values of a parsed call by name; positional values take the schema's properties in order. */
export function callArguments(call: ParsedCall, schema: JsonSchema): ArgumentsResult {
  const shape = shapeOf(schema, schema);
  const names = [...shape.properties.values()];
  const problems: Problem[] = call.problems.map((message) => ({ key: "", message }));
  const value: JsonObject = {};
  const only = call.positional[0];
  if (
    call.positional.length === 1 &&
    Object.keys(call.named).length === 0 &&
    isObject(only) &&
    !takesObject(names[0]?.schema, schema)
  ) {
    for (const [key, entry] of Object.entries(only)) setOwn(value, key, entry);
  } else {
    call.positional.forEach((entry, index) => {
      const name = names[index]?.name;
      if (name === undefined)
        problems.push({
          key: `#${index + 1}`,
          message: `is one value too many: the tool has ${names.length} ${names.length === 1 ? "argument" : "arguments"}`,
        });
      else if (Object.hasOwn(call.named, name))
        problems.push({ key: name, message: "has two values: one by position and one by name" });
      else if (entry !== undefined) setOwn(value, name, entry);
    });
    for (const [key, entry] of Object.entries(call.named)) setOwn(value, key, entry);
  }
  for (const key of Object.keys(value)) {
    const message = unknownName(key, shape);
    if (message !== undefined) problems.push({ key, message });
  }
  return { value, problems };
}

/** Checks arguments given as JSON: only names that the schema forbids are errors. */
export function checkNames(value: JsonObject, schema: JsonSchema): Problem[] {
  const shape = shapeOf(schema, schema);
  if (!shape.closed) return [];
  return Object.keys(value).flatMap((key) => {
    const message = unknownName(key, shape);
    return message === undefined ? [] : [{ key, message }];
  });
}

/** The arguments of a prompt that have a name; a server may send anything here. */
export function namedArguments(definition: PromptDefinition): PromptArgument[] {
  const listed: unknown = definition.arguments;
  if (!Array.isArray(listed)) return [];
  return listed.filter(
    (argument): argument is PromptArgument => isObject(argument) && typeof argument["name"] === "string",
  );
}

/** True if a value of this schema can be an object. */
export function takesObject(schema: unknown, root: JsonSchema): boolean {
  return typesOf(schema, root)?.has("object") ?? schema !== undefined;
}

type Place = { readonly path: readonly string[]; readonly schema: unknown } | { readonly problem: string };

/** Finds the property of a typed key. A property whose own name has a dot wins over a path. */
function placeOf(key: string, root: JsonSchema): Place {
  let shape = shapeOf(root, root);
  const whole = shape.properties.get(key);
  if (whole !== undefined) return { path: [key], schema: whole.schema };
  const path = key.split(".");
  if (path.includes("")) return { problem: "has an empty name before or after a dot" };
  if (path.length > MAX_DEPTH) return { problem: `has more than ${MAX_DEPTH} parts between dots` };
  let schema: unknown = root;
  for (const [index, part] of path.entries()) {
    const property = shape.properties.get(part);
    const message =
      property === undefined ? unknownName(part, shape, path.slice(0, index).join(".")) : undefined;
    if (message !== undefined) return { problem: message };
    schema = property?.schema ?? {};
    const types = typesOf(schema, root);
    if (index < path.length - 1 && types !== undefined && !types.has("object")) {
      return {
        problem: `is not possible: ${path.slice(0, index + 1).join(".")} is ${describeTypes(types)}, not an object`,
      };
    }
    shape = shapeOf(schema, root);
  }
  return { path, schema };
}

/** The key of another pair whose value contains the place at this path. */
function wholeOf(
  path: readonly string[],
  groups: ReadonlyMap<string, unknown>,
  root: JsonSchema,
): string | undefined {
  const { properties } = shapeOf(root, root);
  for (let length = 1; length < path.length; length += 1) {
    const key = path.slice(0, length).join(".");
    // A property whose own name has a dot does not contain the place.
    const isOther = length > 1 && properties.has(key);
    if (groups.has(key) && !isOther) return key;
  }
  return undefined;
}

function unknownName(name: string, shape: ObjectShape, within = ""): string | undefined {
  if (shape.properties.has(name) || shape.open || (shape.properties.size === 0 && !shape.closed))
    return undefined;
  const known = [...shape.properties.keys()];
  if (known.length === 0)
    return `is not known: ${within === "" ? "the tool takes no arguments" : `${within} has no fields`}`;
  const near = didYouMean(name, known);
  const list = known.slice(0, 12).join(", ") + (known.length > 12 ? ", …" : "");
  return `is not known${within === "" ? "" : ` in ${within}`}. ${near ?? `Known: ${list}.`}`;
}

function coerceGroup(
  group: readonly Pair[],
  schema: unknown,
  root: JsonSchema,
): { value: unknown; problem?: undefined } | { problem: string } {
  const types = typesOf(schema, root);
  if (group.length > 1) {
    if (types !== undefined && !types.has("array")) return { problem: "is given more than once" };
    if (group.every((pair) => !pair.json))
      return coerceItems(
        group.map((pair) => pair.text),
        schema,
        root,
      );
    const items = group.map((pair) => coerceOne(pair, {}, root));
    const problem = items.find((item) => item.problem !== undefined);
    return problem?.problem === undefined
      ? { value: items.map((item) => ("value" in item ? item.value : undefined)) }
      : { problem: problem.problem };
  }
  return coerceOne(group[0] as Pair, schema, root);
}

function coerceOne(
  pair: Pair,
  schema: unknown,
  root: JsonSchema,
): { value: unknown; problem?: undefined } | { problem: string } {
  if (!pair.json) return coerceText(pair.text, schema, root);
  try {
    return { value: JSON.parse(pair.text) as unknown };
  } catch (thrown) {
    return { problem: `is not JSON (${(thrown as Error).message})` };
  }
}

function setAt(target: JsonObject, path: readonly string[], value: unknown): boolean {
  let current = target;
  for (const part of path.slice(0, -1)) {
    const next = getOwn(current, part);
    if (next === undefined) {
      const made: JsonObject = {};
      setOwn(current, part, made);
      current = made;
    } else if (isObject(next)) {
      const copy: JsonObject = {};
      for (const [key, entry] of Object.entries(next)) setOwn(copy, key, entry);
      setOwn(current, part, copy);
      current = copy;
    } else return false;
  }
  setOwn(current, path.at(-1) as string, value);
  return true;
}

function missing(value: JsonObject, schema: JsonSchema, wrong: ReadonlySet<string>): Problem[] {
  return [...shapeOf(schema, schema).properties.values()]
    .filter(
      (property) => property.required && !Object.hasOwn(value, property.name) && !wrong.has(property.name),
    )
    .map((property) => ({
      key: property.name,
      message: "is required",
    }));
}
