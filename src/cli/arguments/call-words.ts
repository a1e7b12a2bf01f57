// Words of a call as pairs of key and value: `key=value`, `--key value`, and values for required arguments by their position.

import { didYouMean } from "../../errors/index.ts";
import { isObject, type JsonObject, type JsonSchema } from "../../model/index.ts";
import { type Pair, parsePairs, type Problem, takesObject } from "./arguments.ts";
import { shapeOf, typesOf } from "./json-schema.ts";

const FLAG = /^--([A-Za-z_][^=]*?)(?:(:?=)([^]*))?$/;
const NAMED = /^[A-Za-z_$@][^\s=]*?:?=/;

interface Shape {
  readonly names: readonly string[];
  readonly required: readonly string[];
  readonly isBoolean: (name: string) => boolean;
}

/**
 * All arguments of a call, if they are typed as one word of JSON. Undefined for the value of a required argument: one that takes an
 * object, or JSON text whose keys are not arguments of the tool.
 */
export function parseWholeArguments(words: readonly string[], schema: JsonSchema): JsonObject | undefined {
  const [word = "", second] = words;
  if (second !== undefined || !/^\s*\{/.test(word)) return undefined;
  const value = parseObject(word);
  if (value === undefined) return undefined;
  const { properties } = shapeOf(schema, schema);
  const [first] = toShape(schema).required;
  if (first === undefined) return value;
  if (takesObject(properties.get(first)?.schema, schema)) return undefined;
  const keys = Object.keys(value);
  return keys.length > 0 && keys.every((key) => properties.has(key)) ? value : undefined;
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The pairs of all words, in the form of `key=value`. Values that begin with @ name files, wherever they stand. */
export async function parseCallWords(
  words: readonly string[],
  schema: JsonSchema,
  readFile: (path: string) => Promise<string>,
): Promise<{ pairs: Pair[]; problems: Problem[] }> {
  const shape = toShape(schema);
  const assignments: string[] = [];
  const positional: string[] = [];
  const problems: Problem[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] as string;
    const [, flag, operator, joined] = FLAG.exec(word) ?? [];
    if (flag !== undefined) {
      const { name, isNegated } = nameOfFlag(flag, shape);
      if (name === undefined) problems.push({ key: `--${flag}`, message: unknownFlag(flag, shape) });
      const key = name ?? flag;
      const next = words[at + 1];
      // A switch takes the next word only if it says true or false.
      const isSwitch = isNegated || (shape.isBoolean(key) && !/^(?:true|false)$/.test(next ?? ""));
      const takesNext = joined === undefined && !isSwitch && next !== undefined && !FLAG.test(next);
      if (takesNext) at += 1;
      if (name === undefined) continue;
      if (joined === undefined && !isSwitch && !takesNext)
        problems.push({ key, message: `needs a value: --${flag} <value>` });
      else assignments.push(`${key}${operator ?? "="}${joined ?? (takesNext ? next : String(!isNegated))}`);
    } else if (NAMED.test(word) && !isPlainValue(word, shape)) assignments.push(word);
    else positional.push(word);
  }
  const placed = placeValues(positional, assignments, shape);
  const parsed = await parsePairs([...assignments, ...placed.assignments], readFile);
  return { pairs: parsed.pairs, problems: [...problems, ...placed.problems, ...parsed.problems] };
}

function toShape(schema: JsonSchema): Shape {
  const properties = [...shapeOf(schema, schema).properties.values()];
  const names = properties.map(({ name }) => name);
  const required = properties.filter((property) => property.required).map(({ name }) => name);
  const byName = new Map(properties.map((property) => [property.name, property]));
  return {
    names,
    // A tool with one argument takes it by position, even if it is optional.
    required: required.length === 0 && names.length === 1 ? names : required,
    isBoolean: (name) => {
      const types = typesOf(byName.get(name)?.schema, schema);
      return types !== undefined && types.has("boolean") && !types.has("string");
    },
  };
}

/** `--max-results` also means `maxResults` or `max_results`; `--no-x` switches `x` off. */
function nameOfFlag(
  flag: string,
  { names, isBoolean }: Shape,
): { name: string | undefined; isNegated: boolean } {
  const fold = (name: string): string => name.toLowerCase().replace(/[-_]/g, "");
  const find = (typed: string): string | undefined => {
    if (names.includes(typed)) return typed;
    const near = names.filter((name) => fold(name) === fold(typed));
    return near.length === 1 ? near[0] : undefined;
  };
  const [head = ""] = flag.split(".");
  const name = find(flag) ?? (names.includes(head) || names.length === 0 ? flag : undefined);
  if (name !== undefined) return { name, isNegated: false };
  const off = flag.startsWith("no-") ? find(flag.slice(3)) : undefined;
  return { name: off, isNegated: off !== undefined && isBoolean(off) };
}

function unknownFlag(flag: string, { names }: Shape): string {
  const known = names.map((name) => `--${name}`);
  const near = didYouMean(`--${flag}`, known);
  const list =
    near ?? `Arguments of the tool: ${known.slice(0, 12).join(", ")}${names.length > 12 ? ", …" : ""}.`;
  return `is neither an argument of the tool nor an option of this command. ${list}`;
}

/** True for a text with = in it that cannot be `key=value`, because the tool has no such key and still needs a value. */
function isPlainValue(word: string, { names, required }: Shape): boolean {
  const [key = ""] = word.split(/:?=/);
  return required.length > 0 && !names.includes(key.split(".")[0] ?? "") && /[\s/?&]/.test(key);
}

function placeValues(
  values: readonly string[],
  assignments: readonly string[],
  { required }: Shape,
): { assignments: string[]; problems: Problem[] } {
  const given = new Set(assignments.map((word) => word.split(/:?=/)[0]));
  const free = required.filter((name) => !given.has(name));
  const placed: string[] = [];
  const problems: Problem[] = [];
  for (const [index, value] of values.entries()) {
    const name = free[index];
    if (name !== undefined) placed.push(`${name}=${value}`);
    else
      problems.push({
        key: value,
        message:
          required.length === 0
            ? "is not key=value"
            : "has no name, and every required argument already has a value. For an optional argument, write key=value",
      });
  }
  return { assignments: placed, problems };
}
