// Words of a command, filled from the arguments of a call: absent arguments remove their word, lists repeat it per item.

import {
  type CliInvocation,
  type CliPart,
  type CliVariable,
  type JsonSchema,
  type Template,
  type TemplatePart,
  usedInputs,
} from "../../model/index.ts";
import type { Run } from "../types.ts";
import {
  asText,
  fillPlaceholder,
  type Placeholder,
  refuseNul,
  valueAt,
  describePlaceholder,
} from "../values.ts";
import { refuseDash } from "./option-guard.ts";

export type Filling = Pick<Run, "args" | "headers">;

export function fillWords(
  { words }: Pick<CliInvocation, "words">,
  schema: JsonSchema,
  run: Filling,
): string[] {
  return words.flatMap((word) =>
    word.kind === "variable" ? fillVariable(word.variable, schema, run) : fillWord(word.parts, schema, run),
  );
}

/** The words of a format, or none when its argument is absent or switched off. */
export function fillVariable(variable: CliVariable, schema: JsonSchema, run: Filling): string[] {
  const value = valueAt(run.args, variable.path);
  if (value === undefined || (variable.omitIfFalse && value === false)) return [];
  // In a format, any name stands for the argument of the variable.
  const own = (part: TemplatePart): TemplatePart =>
    part.kind === "input" ? { kind: "input", path: variable.path } : part;
  return variable.format.flatMap((word) => fillWord(word.map(own), schema, run));
}

interface Piece {
  readonly text: string;
  /** Undefined for text of the mcpfile. */
  readonly from: Placeholder | undefined;
  /** Text of the caller, which may look like an option; numbers and booleans cannot. */
  readonly free: boolean;
}

function fillWord(parts: readonly CliPart[], schema: JsonSchema, run: Filling): string[] {
  const rows: Piece[][] = [[]];
  for (const part of parts) {
    const choices = piecesOf(part, schema, run);
    if (choices.length === 0) return [];
    // A list repeats the word for each of its items; a second list in the same word would multiply it, and is JSON instead.
    if (choices.length > 1 && rows.length === 1) {
      const [row = []] = rows.splice(0);
      for (const piece of choices) rows.push([...row, piece]);
    } else {
      const piece = choices.length === 1 ? choices[0] : asJson(part, run);
      if (piece !== undefined) for (const row of rows) row.push(piece);
    }
  }
  return rows.map((row) => joinWord(row, schema));
}

function joinWord(row: readonly Piece[], schema: JsonSchema): string {
  const word = row.map(({ text }) => text).join("");
  const first = row.find(({ text }) => text !== "");
  // An empty value before fixed text makes the fixed text come first, so the value is suspect then.
  const opener = row.find(({ from, text }) => from !== undefined || text !== "");
  const suspect = first?.from === undefined ? opener : first;
  if (suspect?.from !== undefined && (suspect.free || suspect !== first))
    refuseDash(word, suspect.from.kind === "input" ? suspect.from.path : undefined, schema);
  return word;
}

function piecesOf(part: CliPart, schema: JsonSchema, run: Filling): Piece[] {
  if (part.kind === "text") return [{ text: part.text, from: undefined, free: false }];
  if (part.kind === "variable") {
    // fillVariable() has already checked these words.
    const words = fillVariable(part.variable, schema, run);
    const from: Placeholder = { kind: "input", path: part.variable.path };
    return words.length === 0 ? [] : [{ text: words.join(" "), from, free: false }];
  }
  const value = fillPlaceholder(part, run);
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]).map((item) => toPiece(item, part));
}

function asJson(part: CliPart, run: Filling): Piece | undefined {
  return part.kind === "input" ? toPiece(JSON.stringify(fillPlaceholder(part, run)), part) : undefined;
}

function toPiece(value: unknown, from: Placeholder): Piece {
  return { text: refuseNul(asText(value), describePlaceholder(from)), from, free: typeof value === "string" };
}

/** The options of `appendUnused`. They are limited to names of the schema, because a caller that chooses names could choose options. */
export function createUnusedOptions(
  invocation: CliInvocation,
  schema: JsonSchema,
): (run: Filling) => string[] {
  if (!invocation.appendUnused) return () => [];
  const used = new Set([...usedInputs(invocation), ...(invocation.ignored ?? [])].map(([first]) => first));
  const names = Object.keys(schema.properties ?? {}).filter((name) => !used.has(name));
  return (run) =>
    names.flatMap((name) => {
      const value = valueAt(run.args, [name]);
      if (value === undefined) return [];
      const placeholder: Placeholder = { kind: "input", path: [name] };
      return (Array.isArray(value) ? value : [value]).map(
        (item) => `--${name}=${toPiece(item, placeholder).text}`,
      );
    });
}

/** Fills a template of a folder or an environment variable. Undefined when a value is absent. */
export function fillText(template: Template, run: Filling): string | undefined {
  const texts = template.map((part) => {
    if (part.kind === "text") return part.text;
    const value = fillPlaceholder(part, run);
    return value === undefined ? undefined : refuseNul(asText(value), describePlaceholder(part));
  });
  return texts.includes(undefined) ? undefined : texts.join("");
}
