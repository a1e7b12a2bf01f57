// Builders for single values: text, one of some words, numbers, booleans, durations and sizes.

import { didYouMean } from "../../errors/index.ts";
import { quoted, type ScalarNode, type TextNode, toLabel, toPlain } from "../document/index.ts";
import { DURATION_PATTERN, parseDuration, parseSize, SIZE_PATTERN } from "./quantities.ts";
import { describeRange, type JsonSchemaObject, Schema, type SchemaRules } from "./schema.ts";

type Kinds = readonly TextNode["kind"][];

/** Reports an error about the value; the message continues after the label of the field. Always returns undefined. */
type Refuse = (message: string, hint?: string) => undefined;

interface ScalarRules<Out> extends Omit<SchemaRules<Out>, "read" | "fields"> {
  /** `written` is the value as it stands in the file, so that 1.10 stays 1.10. */
  readonly parse: (written: string, refuse: Refuse) => Out | undefined;
}

function scalar<Out, In = Out>({ parse, ...rules }: ScalarRules<Out>): Schema<Out, In> {
  return new Schema<Out, In>({
    ...rules,
    read: (node, { diagnostics }) => {
      const { kind, value, source } = node as ScalarNode;
      return parse(kind === "string" ? String(value) : source, (message, hint) => {
        diagnostics.add(node, `${toLabel(node.path)} ${message}`, hint);
      });
    },
  });
}

export interface TextOptions {
  /** Accepts numbers and booleans, as they are written. */
  readonly scalars?: true;
  /** Accepts the empty text. */
  readonly empty?: true;
  /** The longest text, counted in characters as people see them. */
  readonly maxLength?: number;
  /** A regular expression without flags. Without `patternHint`, only editors check it. */
  readonly pattern?: string;
  /** The hint for a text that does not match `pattern`. */
  readonly patternHint?: string;
  /** The hint for a value that is not a text. Default: put it into quotes. */
  readonly kindHint?: string;
}

const STRING: Kinds = ["string"];
const ANY_SCALAR: Kinds = ["string", "number", "boolean"];

export function text(description = "", options: TextOptions = {}): Schema<string> {
  const { scalars = false, empty = false, maxLength, pattern, patternHint, kindHint } = options;
  let compiled: RegExp | undefined;
  return scalar({
    description,
    expected: "text",
    accepts: scalars ? ANY_SCALAR : STRING,
    wrongKindHint: (node) => kindHint ?? quotesHint(node),
    parse(value, refuse) {
      if (value === "" && !empty) return refuse("is empty", "Write text.");
      if (value.includes("\0")) return refuse("contains a NUL character");
      if (maxLength !== undefined && value.length > maxLength && Array.from(value).length > maxLength)
        return refuse(`is longer than ${maxLength} characters`, "Make it shorter.");
      if (pattern === undefined || patternHint === undefined) return value;
      compiled ??= new RegExp(pattern);
      return compiled.test(value) ? value : refuse(`cannot be ${quoted(value)}`, patternHint);
    },
    toJsonSchema: () => ({
      type: scalars ? [...ANY_SCALAR] : "string",
      ...(empty ? {} : { minLength: 1 }),
      ...(maxLength === undefined ? {} : { maxLength }),
      ...(pattern === undefined ? {} : { pattern }),
    }),
  });
}

interface OneOfOptions<W extends string, S extends string> {
  /** Other words that mean one of the words. */
  readonly synonyms?: Readonly<Record<S, W>>;
  readonly scalars?: true;
}

export function oneOf<const W extends string, const S extends string = never>(
  description: string,
  words: readonly W[],
  { synonyms, scalars }: OneOfOptions<NoInfer<W>, S> = {},
): Schema<W, W | S> {
  const meanings: Readonly<Record<string, W>> = synonyms ?? {};
  const expected = words.map(quoted).join(" or ");
  return scalar<W, W | S>({
    description,
    expected,
    accepts: scalars === true ? ANY_SCALAR : STRING,
    wrongKindHint: quotesHint,
    parse(value, refuse) {
      const word = words.find((one) => one === value);
      if (word !== undefined) return word;
      if (Object.hasOwn(meanings, value)) return meanings[value];
      if (value === "") return refuse("is empty", `Write ${expected}.`);
      return refuse(
        `cannot be ${quoted(value)}`,
        didYouMean(value, words) ?? `Write one of ${words.join(", ")}.`,
      );
    },
    toJsonSchema: () => ({ enum: [...words, ...Object.keys(meanings)] }),
  });
}

function quotesHint(node: TextNode): string | undefined {
  return node.kind === "number" || node.kind === "boolean"
    ? `Put it into quotes: "${node.source}".`
    : undefined;
}

interface NumberOptions {
  readonly minimum?: number;
  readonly maximum?: number;
}

export function integer(description = "", options: NumberOptions = {}): Schema<number> {
  return numeric(description, options, "integer", "a whole number", Number.isSafeInteger);
}

export function number(description = "", options: NumberOptions = {}): Schema<number> {
  return numeric(description, options, "number", "a number", Number.isFinite);
}

function numeric(
  description: string,
  { minimum, maximum }: NumberOptions,
  type: string,
  what: string,
  fits: (value: number) => boolean,
): Schema<number> {
  const expected = `${what}${describeRange(minimum, maximum)}`;
  return scalar({
    description,
    expected,
    accepts: ["number"],
    parse(written, refuse) {
      const value = Number(written);
      if (fits(value) && value >= (minimum ?? value) && value <= (maximum ?? value)) return value;
      return refuse(`must be ${expected}, not ${quoted(written)}`);
    },
    toJsonSchema: () => ({
      type,
      ...(minimum === undefined ? {} : { minimum }),
      ...(maximum === undefined ? {} : { maximum }),
    }),
  });
}

export function oneOfNumbers<const N extends number>(description: string, numbers: readonly N[]): Schema<N> {
  const expected = numbers.join(" or ");
  return scalar<N>({
    description,
    expected,
    accepts: ["number"],
    parse: (written, refuse) =>
      numbers.find((one) => one === Number(written)) ?? refuse(`must be ${expected}, not ${quoted(written)}`),
    toJsonSchema: () => ({ enum: [...numbers] }),
  });
}

export function flag(description = ""): Schema<boolean> {
  return scalar<boolean>({
    description,
    expected: "true or false",
    accepts: ["boolean"],
    wrongKindHint: ({ kind, ...node }) => {
      const source = "source" in node ? node.source : "";
      if (kind !== "string" || !/^(yes|on|no|off)$/i.test(source)) return undefined;
      return `Write ${/^(yes|on)$/i.test(source) ? "true" : "false"}.`;
    },
    parse: (written) => written.toLowerCase() === "true",
    toJsonSchema: () => ({ type: "boolean" }),
  });
}

/** Milliseconds, written as `30` (seconds), `"30s"` or `"500ms"`. */
export function duration(
  description = "",
  { zero = false }: { readonly zero?: boolean } = {},
): Schema<number, number | string> {
  const hint = `Write a number of seconds, or a number with ms, s, m or h; at most 576h (24 days)${zero ? "" : ", and more than 0"}.`;
  return withUnit(
    description,
    { expected: 'a length of time such as 30, "500ms" or "2m"', hint },
    { minimum: 0, pattern: DURATION_PATTERN },
    (written) => {
      const ms = parseDuration(written);
      return ms === 0 && !zero ? undefined : ms;
    },
  );
}

/** Bytes, written as `4096`, `"512MB"` or `"1GiB"`. */
export function size(description = ""): Schema<number, number | string> {
  return withUnit(
    description,
    {
      expected: 'a size such as 4096, "512MB" or "1GiB"',
      hint: "Write bytes, or a number with B, KB, MB or GB (thousands), KiB, MiB or GiB (1024s).",
    },
    { minimum: 1, pattern: SIZE_PATTERN },
    parseSize,
  );
}

/** A number, or a text with a number and a unit, that is read as a number. */
function withUnit(
  description: string,
  { expected, hint }: { readonly expected: string; readonly hint: string },
  form: JsonSchemaObject,
  parse: (written: string) => number | undefined,
): Schema<number, number | string> {
  return scalar<number, number | string>({
    description,
    expected,
    accepts: ["number", "string"],
    parse: (written, refuse) => parse(written) ?? refuse(`must be ${expected}, not ${quoted(written)}`, hint),
    toJsonSchema: () => ({ type: ["number", "string"], ...form }),
  });
}

/** Any value at all, without its positions. */
export function anyValue(description = ""): Schema<unknown> {
  return new Schema<unknown>({
    description,
    expected: "a value",
    accepts: ["object", "list", "string", "number", "boolean", "null"],
    read: (node) => toPlain(node),
    toJsonSchema: () => ({}),
  });
}
