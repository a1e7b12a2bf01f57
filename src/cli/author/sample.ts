// One call of a read-only tool, to see what it gives. Only with leave, and only where the arguments need not be made up.

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { isObject, type JsonObject, type JsonSchema, type ToolDefinition } from "../../model/index.ts";
import type { UsedConnection } from "../target/connect.ts";
import { propertiesOf, requiredOf } from "./bind.ts";

export interface Sample {
  readonly input: JsonObject;
  /** Whether the input means the same on another machine. */
  readonly portable: boolean;
  /** Of what came back; undefined when it is text, or when the server says it itself. */
  readonly schema?: JsonSchema;
  /** What the server answered. */
  readonly result: JsonObject;
  /** Parts of the answer that no output of a contract has, in words. */
  readonly lost: readonly string[];
  /** Why the answer is not what the server's own schema says. */
  readonly odd?: string;
}

const SAMPLE_MS = 10_000;
const DEEPEST = 4;

/** `args` are what the server is started with: a folder among them is one that it knows. */
export async function sampleTool(
  tool: ToolDefinition,
  connection: Pick<UsedConnection, "callTool">,
  {
    args,
    folder,
    signal,
  }: { readonly args: readonly string[]; readonly folder: string; readonly signal: AbortSignal },
): Promise<Sample | undefined> {
  if (tool.annotations?.readOnlyHint !== true) return undefined;
  const input = knownInput(tool, args, folder);
  if (input === undefined) return undefined;
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(SAMPLE_MS)]);
    const result = await connection.callTool(tool.name, input, { signal: limit });
    if (result.isError === true) return undefined;
    const value = valueOf(result);
    const portable = !JSON.stringify(input).includes(JSON.stringify(folder).slice(1, -1));
    return {
      input,
      portable,
      result,
      lost: lostOf(result),
      ...(isObject(value) || Array.isArray(value) ? { schema: schemaOf(value, DEEPEST) } : {}),
    };
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

const BLOCKS: Readonly<Record<string, string>> = {
  image: "an image",
  audio: "a sound",
  resource: "a resource",
  resource_link: "a link to a resource",
};

/** An output is one value: the structured content, or else the first text. */
function lostOf({ structuredContent, content }: JsonObject): readonly string[] {
  const blocks = Array.isArray(content) ? (content as unknown[]).filter(isObject) : [];
  const texts = blocks.filter(({ type }) => type === "text").length;
  const others = blocks.flatMap(({ type }) => BLOCKS[String(type)] ?? []);
  const more = structuredContent === undefined && texts > 1 ? ["more than one text"] : [];
  return [...new Set([...more, ...others])];
}

/** Values for what is required, from what the schema and the command line say; undefined when one is missing. */
function knownInput(
  { inputSchema }: ToolDefinition,
  args: readonly string[],
  folder: string,
): JsonObject | undefined {
  const properties = propertiesOf(inputSchema);
  const input: JsonObject = {};
  for (const name of requiredOf(inputSchema)) {
    const schema = properties[name];
    if (!isObject(schema) || name === "__proto__") return undefined;
    const [example] = Array.isArray(schema.examples) ? (schema.examples as unknown[]) : [];
    const [first] = Array.isArray(schema.enum) ? (schema.enum as unknown[]) : [];
    const known = [schema.default, schema.const, example, first, folderAmong(name, args, folder)];
    const value = known.find((one) => one !== undefined);
    if (value === undefined) return undefined;
    input[name] = value;
  }
  return input;
}

function folderAmong(name: string, args: readonly string[], folder: string): string | undefined {
  if (!/^(?:path|dir|directory|folder)$/i.test(name)) return undefined;
  const found = args.find(
    (word) => statSync(resolve(folder, word), { throwIfNoEntry: false })?.isDirectory() === true,
  );
  return found === undefined ? undefined : resolve(folder, found);
}

function valueOf({
  structuredContent,
  content,
}: {
  structuredContent?: unknown;
  content?: unknown;
}): unknown {
  if (structuredContent !== undefined) return structuredContent;
  const [first] = Array.isArray(content) ? (content as unknown[]) : [];
  if (!isObject(first) || typeof first.text !== "string") return undefined;
  try {
    return JSON.parse(first.text) as unknown;
  } catch {
    return first.text;
  }
}

/** What one value shows: types and names. That something was there once does not make it required. */
function schemaOf(value: unknown, depth: number): JsonSchema {
  if (Array.isArray(value))
    return value.length === 0 || depth === 0
      ? { type: "array" }
      : { type: "array", items: schemaOf(value[0], depth - 1) };
  if (isObject(value)) {
    if (depth === 0) return { type: "object" };
    const entries = Object.entries(value).map(([name, field]) => [name, schemaOf(field, depth - 1)]);
    return { type: "object", properties: Object.fromEntries(entries) };
  }
  return value === null ? {} : { type: typeof value };
}
