// Messages about an invalid value: the field, the expected type or value, and the actual one.

import type { OutputUnit } from "@cfworker/json-schema";
import { isObject } from "../../model/index.ts";
import { type Finding, findingsOf } from "./relevant-errors.ts";
import { child, pointer, schemaAt, steps } from "./locations.ts";
import { alternatives, clip, describe, nearest, quote } from "../message-text.ts";

export interface Problem {
  /** JSON Pointer to the field; an empty text is the whole value. */
  readonly path: string;
  readonly message: string;
}

export interface Judged {
  readonly instance: unknown;
  /** The rewritten schema, and the targets of its references. */
  readonly schema: unknown;
  readonly lookup: Readonly<Record<string, unknown>>;
  /** Returns the pattern of one of our custom formats. */
  patternOf(format: unknown): string | undefined;
}

const MOST_PROBLEMS = 20;
const LONGEST_PATH = 200;
const TELLING = new Set(["type", "const", "enum", "format"]);
const MISSING = /^Instance does not have required property "([\s\S]*)"\.$/;

export function toProblems(errors: readonly OutputUnit[], judged: Judged): Problem[] {
  const problems = new Map<string, Problem>();
  /** Expectation at a path. Alternatives are joined to one sentence. */
  const expected = new Map<string, Set<string>>();
  for (const finding of findingsOf(errors)) {
    if (problems.size >= MOST_PROBLEMS) break;
    const at = steps(finding.instanceAt);
    const value = at.reduce(child, judged.instance);
    const problem = toProblem(finding, at, value, judged);
    if (problem.wants === undefined) {
      problems.set(`${problem.path}\n${problem.message}`, problem);
      continue;
    }
    const key = `${problem.path}\n${finding.keyword === "type" ? "type" : "value"}`;
    const wants = expected.get(key) ?? new Set();
    for (const want of problem.wants) wants.add(want);
    expected.set(key, wants);
    problems.set(key, {
      path: problem.path,
      message: `must be ${alternatives([...wants])}, got ${shown(value)}${problem.message}`,
    });
  }
  const [first] = errors;
  if (problems.size === 0 && first !== undefined) {
    problems.set("", { path: pointer(steps(first.instanceLocation)), message: clip(first.error) });
  }
  return [...problems.values()].map(({ path, message }) => ({ path: clip(path, LONGEST_PATH), message }));
}

/** Formats a problem as one line. */
export function formatProblem(problem: Problem): string {
  return problem.path === "" ? problem.message : `${problem.path}: ${problem.message}`;
}

/** The same for the arguments of a call: `title is required`, `a.b must be a number, got "x"`. */
export function describeField({ path, message }: Problem): string {
  const names = steps(path).join(".");
  return names === "" ? message : `${names} ${message}`;
}

const TYPES: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  integer: "an integer",
  boolean: "true or false",
  array: "an array",
  object: "an object",
};

/** JSON shows the type of a value; one that may be long is named by its type. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  return isObject(value) ? "an object" : quote(value);
}

/** With `wants`, the message continues "must be ..., got ...". */
function toProblem(
  finding: Finding,
  at: readonly string[],
  value: unknown,
  judged: Judged,
): Problem & { wants?: string[] } {
  const path = pointer(at);
  const keywordAt = steps(finding.keywordAt);
  const owner = schemaAt(keywordAt.slice(0, -1), judged.schema, judged.lookup);
  const limit = child(owner, finding.keyword);
  const unit = typeof value === "string" ? "character" : Array.isArray(value) ? "item" : "field";
  const size = `${quote(limit)} ${unit}${limit === 1 ? "" : "s"}`;
  // For a location that cannot be resolved, the engine's own message is used.
  if (limit === undefined && TELLING.has(finding.keyword)) return { path, message: clip(finding.text) };
  switch (finding.keyword) {
    case "type":
      return {
        path,
        message: "",
        wants: (Array.isArray(limit) ? limit : [limit]).map((type) => TYPES[String(type)] ?? String(type)),
      };
    case "const":
      return { path, message: "", wants: [quote(limit)] };
    case "enum": {
      const values: unknown[] = Array.isArray(limit) ? limit : [];
      const meant =
        typeof value === "string"
          ? nearest(
              value,
              values.filter((item) => typeof item === "string"),
            )
          : undefined;
      return {
        path,
        message: meant === undefined ? "" : ` (did you mean ${quote(meant)}?)`,
        wants: values.map(quote),
      };
    }
    case "required": {
      const name = MISSING.exec(finding.text)?.[1];
      return name === undefined
        ? { path, message: clip(finding.text) }
        : { path: pointer([...at, name]), message: `is required${misspelt(name, value, owner)}` };
    }
    case "false":
      return forbidden(finding, at, owner, judged);
    case "minimum":
      return { path, message: `must be at least ${quote(limit)}, got ${quote(value)}` };
    case "maximum":
      return { path, message: `must be at most ${quote(limit)}, got ${quote(value)}` };
    case "exclusiveMinimum":
      return { path, message: `must be more than ${quote(limit)}, got ${quote(value)}` };
    case "exclusiveMaximum":
      return { path, message: `must be less than ${quote(limit)}, got ${quote(value)}` };
    case "multipleOf":
      return { path, message: `must be a multiple of ${quote(limit)}, got ${quote(value)}` };
    case "minLength":
    case "minItems":
    case "minProperties":
      return {
        path,
        message: `must have at least ${size}${finding.keyword === "minLength" ? `, got ${quote(value)}` : ""}`,
      };
    case "maxLength":
    case "maxItems":
    case "maxProperties":
      return { path, message: `must have at most ${size}` };
    case "format":
      return {
        path,
        message: `must match the pattern ${quote(judged.patternOf(limit) ?? "")}, got ${describe(value)}`,
      };
    case "oneOf":
      return { path, message: "matches more than one of the alternatives, but must match exactly one" };
    case "not":
      return { path, message: 'must not match the schema under "not"' };
    case "contains":
      return { path, message: 'has no item that matches the schema under "contains"' };
    case "propertyNames":
      return { path, message: `field name not allowed: ${clip(finding.text, 80)}` };
    default:
      return { path, message: clip(finding.text) };
  }
}

/** Names the unknown field that is probably the missing one. A schema that allows no other fields reports it anyway. */
function misspelt(name: string, value: unknown, owner: unknown): string {
  if (!isObject(value) || child(owner, "additionalProperties") === false) return "";
  const known = child(owner, "properties");
  const unknown = Object.keys(value).filter((key) => !isObject(known) || !Object.hasOwn(known, key));
  const given = nearest(name, unknown);
  return given === undefined ? "" : ` (the unknown field ${quote(given)} is similar)`;
}

/** A `false` schema rejected the value. Under `additionalProperties` this is an unknown, often misspelt, field. */
function forbidden(finding: Finding, at: readonly string[], owner: unknown, judged: Judged): Problem {
  const by = finding.before?.keyword;
  if (by !== "additionalProperties" && by !== "unevaluatedProperties")
    return { path: pointer(at), message: "is not allowed here" };
  const parent = at.slice(0, -1);
  const name = at.at(-1) ?? "";
  const siblings = parent.reduce(child, judged.instance);
  const known = child(owner, "properties");
  const names = isObject(known) ? Object.keys(known) : [];
  // A missing field is the more likely suggestion.
  const meant =
    nearest(
      name,
      names.filter((key) => child(siblings, key) === undefined),
    ) ?? nearest(name, names);
  const hint = meant === undefined ? "" : ` (did you mean ${quote(meant)}?)`;
  return { path: pointer(parent), message: `unknown field ${quote(name)}${hint}` };
}
