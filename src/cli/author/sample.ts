// One call of a read-only tool, to see what it gives. Only with leave, and only where the arguments need not be made up.

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { checkDriver } from "../../contracts/index.ts";
import { PortolanError } from "../../errors/index.ts";
import { parseTool, writeTool } from "../../formats/driver/index.ts";
import {
  type Contract,
  isObject,
  type JsonObject,
  type JsonSchema,
  type ToolDefinition,
} from "../../model/index.ts";
import { createValidator, formatProblem } from "../../schema/index.ts";
import type { UsedConnection } from "../target/connect.ts";
import { type Bound, driverOf, propertiesOf, requiredOf, waysToBind } from "./bind.ts";
import type { Choice } from "./choose.ts";
import { newContract } from "./new-contract.ts";

export interface Sample {
  readonly input: JsonObject;
  /** Whether the input means the same on another machine. */
  readonly portable: boolean;
  /** Of what came back; undefined when it is text, or when the server says it itself. */
  readonly schema?: JsonSchema;
  /** The result of the server. */
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
      schema: isObject(value) || Array.isArray(value) ? schemaOf(value, DEEPEST) : undefined,
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

/** Types and names from one value. No property is required, because another value may lack it. */
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

interface Sampled {
  readonly choices: readonly Choice[];
  /** By tool name. */
  readonly samples: ReadonlyMap<string, Sample>;
}

/** Checks each binding with a real result. `sample` calls a tool if that is harmless and possible. */
export async function sampleAll(
  choices: readonly Choice[],
  sample: (tool: ToolDefinition) => Promise<Sample | undefined>,
): Promise<Sampled> {
  const samples = new Map<string, Sample>();
  const proved: Choice[] = [];
  for (const choice of choices) {
    const { tool, bound } = choice;
    const taken = samples.get(tool.name) ?? (await sample(tool));
    if (taken === undefined) {
      proved.push(choice);
      continue;
    }
    const found = bound === undefined ? choice : await prove(choice, bound, taken);
    samples.set(tool.name, found.bound === undefined ? { ...taken, odd: await oddity(tool, taken) } : taken);
    proved.push(found);
  }
  return { choices: proved, samples };
}

/** Selects the first part of the result that matches the contract's outputs. */
async function prove(choice: Choice, bound: Bound, { result, schema }: Sample): Promise<Choice> {
  const { contract, tool, draft } = bound;
  const guess = choice.demanded === true || bound.kept === true;
  const wrong = await refusal(contract, bound, result);
  if (wrong === undefined) return choice;
  for (const way of waysToBind(contract, tool, { guess, seen: schema })) {
    if ((await refusal(contract, way, result)) !== undefined) continue;
    const { resultExtract = "$" } = way.draft;
    const note = `The output of ${contract.id} is ${resultExtract} of the result of ${tool.name}, because Portolan called the tool once (--sample), and this part of the result matched. Check result_extract in DRIVER.md.`;
    const proved = { ...bound, draft: { ...draft, resultExtract }, result: way.result, others: [] };
    return { ...choice, bound: proved, notes: [...(choice.notes ?? []), note] };
  }
  const said = `Portolan called ${tool.name} once (--sample), and the result does not match the outputs of ${contract.id}: ${wrong}`;
  if (guess)
    throw new PortolanError("FILE_INVALID", said, {
      hint: `Give the tool a new contract, and name the other tools of the driver too: --tools ${shellWord(tool.name)}=<new-id>,<other tools>. Or correct outputs in the TOOL.md of ${contract.id}.`,
    });
  return { tool, bound: undefined, near: contract.id, notes: [said] };
}

/** The reason why this result does not match the contract's outputs. */
async function refusal(
  { outputs }: Contract,
  { result: plan }: Pick<Bound, "result">,
  result: JsonObject,
): Promise<string | undefined> {
  try {
    const value = plan.narrow(plan.extract(result));
    const checked = (await createValidator(outputs)).check(value);
    return checked.valid === false ? checked.problems.map(formatProblem).join("; ") : undefined;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

/** A new contract follows the server's own schema; this finds results that violate it. */
async function oddity(tool: ToolDefinition, sample: Sample): Promise<string | undefined> {
  const made = newContract("sampled", tool, "sampled", sample);
  const { contract } = parseTool(writeTool(made.draft), "TOOL.md");
  if (contract === undefined) return undefined;
  const draft = {
    tool: contract.id,
    range: contract.version,
    toolName: tool.name,
    resultExtract: made.resultExtract,
  };
  const [bound] = checkDriver(driverOf([draft]), [contract], [tool]).bound;
  return bound && refusal(contract, bound, sample.result);
}
