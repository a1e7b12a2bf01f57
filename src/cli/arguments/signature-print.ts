// Prints a tool as a TypeScript-like signature: short, safe to show, and in the form that `portolan call` parses.

import { isObject, type JsonSchema, type ToolDefinition } from "../../model/index.ts";
import { toJsonText } from "../terminal/safe-text.ts";
import { branchesOf, enumOf, type Property, resolveSchema, shapeOf } from "./json-schema.ts";

export interface PrintOptions {
  /** Prints every parameter, and types in full. */
  readonly all?: boolean;
}

export interface PrintedSignature {
  /** The whole signature in one line. */
  readonly signature: string;
  readonly name: string;
  readonly parameters: readonly string[];
  readonly result: string;
  /** Optional parameters that the signature leaves out. */
  readonly hidden: readonly string[];
}

const MAX_OPTIONAL = 5;
const KINDS: ReadonlySet<string> = new Set(["string", "number", "integer", "boolean", "null", "object"]);
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
/** Names that need no quotes in a call; MCP itself recommends these characters for tools. */
const TOOL_NAME = /^[A-Za-z_][A-Za-z0-9_./-]*$/;

/** `function name(a: string, b?: integer): string`, with the optional parameters past the fifth left to `hidden`. */
export function printSignature(tool: ToolDefinition, options: PrintOptions = {}): PrintedSignature {
  const all = options.all === true;
  const properties = [...shapeOf(tool.inputSchema, tool.inputSchema).properties.values()];
  const optional = properties.filter((property) => !property.required);
  const hidden = new Set(all ? [] : optional.slice(MAX_OPTIONAL));
  const parameters = properties
    .filter((property) => !hidden.has(property))
    .map((property) => printProperty(property, new Printer(tool.inputSchema, all)));
  const result = tool.outputSchema === undefined ? "string" : printType(tool.outputSchema, options);
  const name = quoteToolName(tool.name);
  return {
    signature: `function ${name}(${parameters.join(", ")}): ${result}`,
    name,
    parameters,
    result,
    hidden: [...hidden].map((property) => property.name),
  };
}

/** `tool(a: 1, b: "x")`: a call that parses back to the same name and arguments. */
export function printCall(name: string, args: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(args).map(([key, value]) => `${quoteKey(key)}: ${toJsonText(value)}`);
  return `${quoteToolName(name)}(${parts.join(", ")})`;
}

/** A JSON Schema as type text. */
export function printType(schema: JsonSchema, options: PrintOptions = {}): string {
  return new Printer(schema, options.all === true).print(schema, 0);
}

export function quoteToolName(name: string): string {
  return TOOL_NAME.test(name) && name !== "function" ? name : toJsonText(name);
}

export function quoteKey(name: string): string {
  return IDENTIFIER.test(name) ? name : toJsonText(name);
}

function printProperty(property: Property, printer: Printer, depth = 0): string {
  return `${quoteKey(property.name)}${property.required ? "" : "?"}: ${printer.print(property.schema, depth)}`;
}

/** Prints a schema within a budget, so that a huge or deep schema does no harm. */
class Printer {
  readonly #root: JsonSchema;
  readonly #maxDepth: number;
  readonly #maxLength: number;
  readonly #maxEnum: number;
  #budget: number;

  constructor(root: JsonSchema, all: boolean) {
    this.#root = root;
    this.#maxDepth = all ? 8 : 3;
    this.#maxLength = all ? 4_000 : 100;
    this.#maxEnum = all ? 200 : 12;
    this.#budget = all ? 2_000 : 200;
  }

  print(schema: unknown, depth: number): string {
    this.#budget -= 1;
    if (schema === true || this.#budget < 0) return "unknown";
    if (schema === false) return "never";
    const resolved = resolveSchema(schema, this.#root);
    if (resolved === undefined) return "unknown";
    if (depth > this.#maxDepth) return printKind(resolved);
    const text = this.#print(resolved, depth);
    if (text.length <= this.#maxLength) return text;
    const values = enumOf(resolved);
    if (values !== undefined) return this.#firstValues(values);
    return [resolved["type"]].flat().includes("array")
      ? "unknown[]"
      : text.startsWith("{")
        ? "object"
        : "unknown";
  }

  #print(schema: JsonSchema, depth: number): string {
    const values = enumOf(schema);
    if (values !== undefined) return this.#values(values);
    const branches = branchesOf(schema);
    if (branches !== undefined) return this.#union(branches, depth);
    if (Array.isArray(schema["type"])) {
      return this.#union(
        schema["type"].slice(0, 10).map((type: unknown) => ({ ...schema, type })),
        depth,
      );
    }
    switch (schema["type"]) {
      case "string":
      case "number":
      case "integer":
      case "boolean":
      case "null":
        return schema["type"];
      case "array":
        return this.#array(schema, depth);
      case "object":
        return this.#object(schema, depth);
      default:
        return isObject(schema["properties"]) || Array.isArray(schema["allOf"])
          ? this.#object(schema, depth)
          : "unknown";
    }
  }

  #values(values: readonly unknown[]): string {
    const shown = new Set(values.slice(0, this.#maxEnum).map(printValue));
    if (values.length > this.#maxEnum) shown.add("unknown");
    return [...shown].join(" | ");
  }

  /** As many of the values as the length limit allows. */
  #firstValues(values: readonly unknown[]): string {
    const shown: string[] = [];
    let left = this.#maxLength - "unknown".length;
    for (const value of values) {
      const text = printValue(value);
      left -= text.length + " | ".length;
      if (left < 0) break;
      shown.push(text);
    }
    return [...new Set(shown), "unknown"].join(" | ");
  }

  #union(branches: readonly unknown[], depth: number): string {
    const parts = new Set<string>();
    this.#collect(branches, depth, parts);
    return [...parts].join(" | ");
  }

  /** The alternatives of a union and of the unions in it, each once. */
  #collect(branches: readonly unknown[], depth: number, parts: Set<string>): void {
    for (const branch of branches.slice(0, this.#maxEnum)) {
      this.#budget -= 1;
      const resolved = resolveSchema(branch, this.#root);
      const inner = resolved === undefined || enumOf(resolved) ? undefined : branchesOf(resolved);
      if (inner === undefined || depth >= this.#maxDepth || this.#budget < 0)
        parts.add(this.print(branch, depth + 1));
      else this.#collect(inner, depth + 1, parts);
    }
    if (branches.length > this.#maxEnum) parts.add("unknown");
  }

  #array(schema: JsonSchema, depth: number): string {
    const items = schema["items"];
    if (items === undefined || Array.isArray(items)) return "unknown[]";
    const item = this.print(items, depth + 1);
    return isUnion(resolveSchema(items, this.#root)) ? `(${item})[]` : `${item}[]`;
  }

  #object(schema: JsonSchema, depth: number): string {
    const { properties } = shapeOf(schema, this.#root);
    if (properties.size === 0) {
      const additional = schema["additionalProperties"];
      return isObject(additional) ? `Record<string, ${this.print(additional, depth + 1)}>` : "object";
    }
    if (depth >= this.#maxDepth || properties.size > this.#maxEnum * 2) return "object";
    const parts = [...properties.values()].map((property) => printProperty(property, this, depth + 1));
    return `{ ${parts.join(", ")} }`;
  }
}

/** The kind of a type, without its properties or items. */
function printKind({ type }: JsonSchema): string {
  if (type === "array") return "unknown[]";
  return typeof type === "string" && KINDS.has(type) ? type : "unknown";
}

function printValue(value: unknown): string {
  return isObject(value) ? "object" : toJsonText(value);
}

function isUnion(schema: JsonSchema | undefined): boolean {
  if (schema === undefined) return false;
  const alternatives = enumOf(schema) ?? branchesOf(schema) ?? [schema["type"]].flat();
  return alternatives.length > 1;
}
