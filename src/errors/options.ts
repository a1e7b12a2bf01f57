// Options that a program passes to a function: finds misspelt names and values of a wrong type, which plain JavaScript does not.

import { PortolanError } from "./portolan-error.ts";
import { askAbout, suggest } from "./suggest.ts";

interface OptionProblem {
  readonly message: string;
  readonly hint?: string;
  /** Keys that were probably meant. */
  readonly suggestions?: readonly string[];
}

/** Finds the problems of one option. `path` names it in messages, such as `handlers.elicit`. */
export type OptionKind = (value: unknown, path: string) => readonly OptionProblem[];

/** The kind of each option, so that the compiler notices an option without one. */
export type OptionTable<T> = Readonly<Record<keyof T, OptionKind>>;

const FINE: readonly OptionProblem[] = [];

function kind(what: string, accepts: (value: unknown) => boolean): OptionKind {
  return (value, path) =>
    accepts(value) ? FINE : [{ message: `${path} must be ${what}, not ${shown(value)}` }];
}

const isText = (value: unknown): boolean => typeof value === "string";
const isTable = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const OPTION_KINDS = {
  anything: (() => FINE) as OptionKind,
  text: kind("a string", isText),
  flag: kind("true or false", (value) => typeof value === "boolean"),
  number: kind("a number of at least 0", (value) => typeof value === "number" && value >= 0),
  milliseconds: kind(
    "a number of milliseconds, at least 0",
    (value) => typeof value === "number" && value >= 0,
  ),
  callback: kind("a function", (value) => typeof value === "function"),
  object: kind("an object", isTable),
  signal: kind("an AbortSignal", (value) => value instanceof AbortSignal),
  texts: kind("a list of strings", (value) => Array.isArray(value) && value.every(isText)),
  oneOf: (...words: readonly (string | boolean)[]): OptionKind =>
    kind(`one of ${words.map((word) => JSON.stringify(word)).join(", ")}`, (value) =>
      (words as readonly unknown[]).includes(value),
    ),
  /** A value that one of the kinds accepts. The last kind names the problems of others. */
  either:
    (...kinds: readonly [OptionKind, ...OptionKind[]]): OptionKind =>
    (value, path) => {
      let problems = FINE;
      for (const one of kinds) {
        problems = one(value, path);
        if (problems.length === 0) break;
      }
      return problems;
    },
  /** An object with these keys only. */
  fields:
    <T>(table: OptionTable<T>): OptionKind =>
    (value, path) =>
      isTable(value) ? problemsOf(value as object, table, path) : OPTION_KINDS.object(value, path),
  /** A list of values of one kind. */
  list:
    (one: OptionKind): OptionKind =>
    (value, path) =>
      Array.isArray(value)
        ? value.flatMap((entry, index) => one(entry, `${path}[${index}]`))
        : [{ message: `${path} must be a list, not ${shown(value)}` }],
  /** An object with names of the program's choice, and values of one kind. */
  map:
    (one: OptionKind): OptionKind =>
    (value, path) =>
      isTable(value)
        ? Object.entries(value as object).flatMap(([name, entry]) => one(entry, `${path}.${name}`))
        : OPTION_KINDS.object(value, path),
} as const;

/** Throws CONFIG_INVALID with all problems of the options. `what` names them: "the options of openWorkspace()". */
export function checkOptions<T>(what: string, given: unknown, table: OptionTable<T>): void {
  const error = optionsError(what, given, table);
  if (error !== undefined) throw error;
}

/** The error of wrong options; undefined if they are right. */
export function optionsError<T>(
  what: string,
  given: unknown,
  table: OptionTable<T>,
): PortolanError | undefined {
  if (given === undefined) return undefined;
  const problems = isTable(given)
    ? problemsOf(given as object, table)
    : [{ message: `they must be an object, not ${shown(given)}` }];
  if (problems.length === 0) return undefined;
  return new PortolanError(
    "CONFIG_INVALID",
    `${what} are not valid: ${problems.map(({ message }) => message).join("; ")}`,
    { hint: hintOf(problems), data: dataOf(problems) },
  );
}

const MAX_SUGGESTIONS = 10;

/** The problems as texts, and the keys that the program may have meant. */
function dataOf(problems: readonly OptionProblem[]): Readonly<Record<string, unknown>> {
  const messages = problems.map(({ message }) => message);
  const suggestions = [...new Set(problems.flatMap((problem) => problem.suggestions ?? []))];
  return suggestions.length === 0
    ? { problems: messages }
    : { problems: messages, suggestions: suggestions.slice(0, MAX_SUGGESTIONS) };
}

/** Problems of an object's keys and values. An absent value is no problem, whatever its name. */
export function problemsOf<T>(given: object, table: OptionTable<T>, path = ""): readonly OptionProblem[] {
  let problems: OptionProblem[] | undefined;
  for (const name of Object.keys(given)) {
    const value = (given as Record<string, unknown>)[name];
    if (value === undefined) continue;
    const found = Object.hasOwn(table, name)
      ? table[name as keyof T](value, path === "" ? name : `${path}.${name}`)
      : [unknownKey(name, Object.keys(table), path)];
    if (found.length > 0) problems = [...(problems ?? []), ...found];
  }
  return problems ?? FINE;
}

/** The hints of several problems as one text. */
export function hintOf(problems: readonly OptionProblem[]): string | undefined {
  const hints = [...new Set(problems.flatMap(({ hint }) => hint ?? []))];
  return hints.length === 0 ? undefined : hints.join(" ");
}

/** The keys for names that other libraries use. */
const USUAL_NAMES: Readonly<Record<string, string>> = { cmd: "command", timeout: "limits", token: "access" };

function unknownKey(name: string, known: readonly string[], path: string): OptionProblem {
  // A longer form of a key, such as "elicitation" for "elicit".
  const stem = known.find((key) => name.startsWith(key));
  const usual = known.find((key) => key === USUAL_NAMES[name]);
  const near = usual === undefined ? suggest(name, known) : [usual];
  const suggestions = near.length === 0 && stem !== undefined ? [stem] : near;
  return {
    message: `unknown key ${JSON.stringify(name.slice(0, 100))}${path === "" ? "" : ` in ${path}`}`,
    hint: askAbout(suggestions) ?? `The keys${path === "" ? "" : ` of ${path}`} are ${known.join(", ")}.`,
    suggestions,
  };
}

/** Objects are named by their type only, because they may contain secrets. */
function shown(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" ? JSON.stringify(value.slice(0, 60)) : `a ${typeof value}`;
}
