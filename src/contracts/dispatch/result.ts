// Converts the result of an MCP tool to the output of a contract; planned once per binding.

import {
  type Binding,
  type ContentBlock,
  evaluateJsonPath,
  type Followed,
  isObject,
  type JsonObject,
  type JsonPath,
  parseJsonPath,
} from "../../model/index.ts";
import { type SchemaView, typesOf } from "../../schema/index.ts";
import type { BindingDiagnostic } from "../registration/check-server-tool.ts";
import { fail } from "./failure.ts";

export interface ResultPlan {
  readonly path: JsonPath;
  /** Throws a failure when the tool failed, or when the path has no value in its result. */
  extract(result: JsonObject): unknown;
  /** The output without the fields that the binding drops. */
  narrow(value: unknown): unknown;
}

export interface PlannedResult {
  readonly plan: ResultPlan;
  readonly diagnostics: readonly BindingDiagnostic[];
}

/** How a text result becomes the output. */
type TextRule = "as it is" | "as JSON" | "as JSON if it is an object or a list";

const MAX_ERROR_CHARS = 2_000;
const MAX_VALUE_CHARS = 120;

const ROOT_HINT =
  "In result_extract, $ is the structured content of the tool's result. If the result has no structured content, $ is its first text. Portolan parses this text as JSON if the path or the contract's outputs need JSON. Without result_extract, Portolan uses $ itself.";
/** Paths in the envelope of an MCP result, in which `$` does not begin. */
const ENVELOPE_PATH = /^\$\.(?:content\[|structuredContent\b)/;

/** A warning about a path that seems to begin in the envelope of an MCP result. The tool's output may have such a field. */
export function envelopeDiagnostics({ resultExtract }: Binding): BindingDiagnostic[] {
  if (!ENVELOPE_PATH.test(resultExtract)) return [];
  const message = `result_extract ${resultExtract} seems to begin in the MCP result, not in the output of the tool`;
  return [{ severity: "warning", message, hint: ROOT_HINT }];
}

export function planResult(binding: Binding, outputs: SchemaView): PlannedResult {
  const parsed = parseJsonPath(binding.resultExtract);
  const diagnostics = parsed.ok
    ? []
    : [
        {
          message: `result_extract ${JSON.stringify(binding.resultExtract)}: ${parsed.message}`,
          hint: parsed.hint,
        },
      ];
  const path = parsed.ok ? parsed.path : [];
  const plan = new Plan(path, binding.resultExtract, textRule(outputs), binding.dropOutputs);
  return { plan, diagnostics };
}

function textRule(outputs: SchemaView): TextRule {
  const types = typesOf(outputs);
  if (!types.has("string")) return "as JSON";
  return types.has("object") || types.has("array") ? "as JSON if it is an object or a list" : "as it is";
}

class Plan implements ResultPlan {
  readonly path: JsonPath;
  readonly #follow: (value: unknown) => Followed;
  readonly #written: string;
  readonly #rule: TextRule;
  readonly #dropped: readonly string[];

  constructor(path: JsonPath, written: string, rule: TextRule, dropped: readonly string[]) {
    this.path = path;
    this.#follow = compilePath(path);
    this.#written = written;
    this.#rule = rule;
    this.#dropped = dropped;
  }

  extract(result: JsonObject): unknown {
    if (result.isError === true)
      throw fail(
        "upstream_error",
        shortened(firstText(result) ?? "The tool reported an error without a message."),
        {
          retryable: false,
        },
      );
    if (result.resultType !== undefined && result.resultType !== "complete")
      throw fail(
        "upstream_error",
        `The server returned a result of the type ${JSON.stringify(result.resultType)}, which contracts do not support.`,
      );
    const value = result.structuredContent === undefined ? this.#fromText(result) : result.structuredContent;
    const followed = this.#follow(value);
    if (followed.found) return followed.value;
    throw fail(
      "output_parse_failed",
      `The result has no value at ${this.#written}: the result is ${outline(value)}: ${excerpt(value)}. ${ROOT_HINT}`,
    );
  }

  narrow(value: unknown): unknown {
    if (this.#dropped.length === 0 || !isObject(value)) return value;
    if (!this.#dropped.some((name) => Object.hasOwn(value, name))) return value;
    return Object.fromEntries(Object.entries(value).filter(([name]) => !this.#dropped.includes(name)));
  }

  #fromText(result: JsonObject): unknown {
    const text = firstText(result);
    if (text === undefined)
      throw fail("output_parse_failed", "The result has neither structured content nor a text.");
    const rule = this.path.length > 0 ? "as JSON" : this.#rule;
    if (rule === "as it is") return text;
    const value = parse(text);
    if (rule === "as JSON if it is an object or a list")
      return typeof value === "object" && value !== null ? value : text;
    if (value !== undefined) return value;
    const wanted =
      this.path.length > 0
        ? `result_extract ${this.#written} needs JSON`
        : "the contract's output is not a text";
    throw fail(
      "output_parse_failed",
      `The result is a text that is not JSON, and ${wanted}: ${excerpt(text)}`,
    );
  }
}

/** Short paths need no general evaluation. */
function compilePath(path: JsonPath): (value: unknown) => Followed {
  const [only] = path;
  if (only === undefined) return (value) => ({ found: true, value });
  if (path.length === 1 && only.kind === "name") {
    const { name } = only;
    return (value) =>
      isObject(value) && Object.hasOwn(value, name) ? { found: true, value: value[name] } : { found: false };
  }
  return (value) => evaluateJsonPath(path, value);
}

export function firstText({ content }: JsonObject): string | undefined {
  if (!Array.isArray(content)) return undefined;
  for (const block of content as ContentBlock[])
    if (isObject(block) && block.type === "text" && typeof block.text === "string") return block.text;
  return undefined;
}

/** Error texts of servers may be long. */
function shortened(text: string): string {
  return text.length > MAX_ERROR_CHARS ? `${text.slice(0, MAX_ERROR_CHARS)}…` : text;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch {
    return undefined;
  }
}

function excerpt(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > MAX_VALUE_CHARS ? `${text.slice(0, MAX_VALUE_CHARS)}…` : text;
}

function outline(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (!isObject(value)) return value === null ? "null" : `a ${typeof value}`;
  const names = Object.keys(value);
  const shown = names.slice(0, 8).map((name) => JSON.stringify(name.slice(0, 40)));
  if (names.length === 0) return "an empty object";
  return `an object with ${shown.join(", ")}${names.length > shown.length ? " and more" : ""}`;
}
