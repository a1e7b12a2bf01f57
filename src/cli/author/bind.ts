// Binds a tool to a contract: whether it can serve it, with which mapping and which part of its result.

import { type BoundTool, checkDriver } from "../../contracts/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { BindingDraft } from "../../formats/driver/index.ts";
import {
  type Binding,
  type Contract,
  type Driver,
  isObject,
  type JsonObject,
  type JsonSchema,
  type ToolDefinition,
} from "../../model/index.ts";
import { type DeclaredPath, declaredPaths, viewSchema } from "../../schema/index.ts";
import { contractId, likeness, sameness } from "./names.ts";

export interface Bound {
  readonly contract: Contract;
  readonly tool: ToolDefinition;
  readonly draft: BindingDraft;
  /** Similarity of their names, from 0 to 1. */
  readonly likeness: number;
  readonly warnings: readonly Diagnostic[];
  /** How a result of the tool is read. */
  readonly result: BoundTool["result"];
  /** Other parts of the result that would fit as well. */
  readonly others: readonly string[];
  /** True if the existing driver has this binding. */
  readonly kept?: boolean;
}

export interface BindOptions {
  /** Also tries arguments with other names, because the user confirms or has named the pair. */
  readonly guess: boolean;
  /** Schema of a sampled result, if the tool has no complete outputSchema. */
  readonly seen?: JsonSchema;
}

/** Matches below this similarity are not mentioned. */
const ALIKE = 0.3;
const DEPRECATED = 0.25;

/** The best binding of the tool to the contract; undefined if none fits. */
export function bindTool(contract: Contract, tool: ToolDefinition, options: BindOptions): Bound | undefined {
  return waysToBind(contract, tool, options)[0];
}

/** All bindings that fit, the best first: the fewest warnings, and parts of the result that always exist. */
export function waysToBind(
  contract: Contract,
  tool: ToolDefinition,
  { guess, seen }: BindOptions,
): readonly Bound[] {
  const mapping = mapArguments(contract, tool, guess);
  const dropInputs = dropped(contract, tool, mapping);
  const tried = extracts(tool, seen).flatMap(({ text, certain }) => {
    const draft: BindingDraft = {
      tool: contract.id,
      range: `^${contract.version}`,
      toolName: tool.name,
      argumentMapping: mapping,
      dropInputs,
      resultExtract: text,
    };
    const { bound, diagnostics: problems } = checkDriver(driverOf([draft]), [contract], [tool]);
    return bound.map(({ result }) => ({ draft, result, problems, certain }));
  });
  const ranked = tried.toSorted(
    (a, b) => a.problems.length - b.problems.length || Number(b.certain) - Number(a.certain),
  );
  const old = isDeprecated(tool) ? DEPRECATED : 0;
  return ranked.map(({ draft, result, problems, certain }) => ({
    contract,
    tool,
    draft,
    result,
    likeness: Math.max(0, likeness(contract.id, tool.name) - old),
    warnings: problems,
    others: ranked
      .filter((other) => other.problems.length === problems.length && other.certain === certain)
      .flatMap((other) => (other.draft === draft ? [] : (other.draft.resultExtract ?? []))),
  }));
}

/** True if the description says so. */
export function isDeprecated({ description }: ToolDefinition): boolean {
  return /\bdeprecated\b/i.test(description ?? "");
}

export interface Matches {
  /** Certain matches, by tool name. */
  readonly sure: ReadonlyMap<string, Bound>;
  /** Uncertain matches, for the user to decide. */
  readonly near: ReadonlyMap<string, Bound>;
}

/** Each contract goes to one tool, each tool to one contract. */
export function matchTools(contracts: readonly Contract[], tools: readonly ToolDefinition[]): Matches {
  const pairs = contracts.flatMap((contract) => tools.map((tool) => ({ contract, tool })));
  const sure = clearOf(
    pairs
      .filter(({ contract, tool }) => isSame(contract, tool))
      .flatMap(({ contract, tool }) => bindTool(contract, tool, { guess: false }) ?? []),
  );
  const taken = new Set([...sure.values()].map(({ contract }) => contract.id));
  const near = bestOf(
    pairs
      .filter(({ contract, tool }) => !taken.has(contract.id) && !sure.has(tool.name))
      .filter(({ contract, tool }) => likeness(contract.id, tool.name) >= ALIKE)
      .flatMap(({ contract, tool }) => bindTool(contract, tool, { guess: true }) ?? []),
  );
  return { sure, near };
}

/** Matches that are the best for both the tool and the contract; a tie is no match. */
function clearOf(pairs: readonly Bound[]): ReadonlyMap<string, Bound> {
  const ranked = pairs.map((bound) => ({ bound, rank: rankOf(bound) }));
  const isClear = ({ bound: { contract, tool }, rank }: (typeof ranked)[number]): boolean =>
    ranked.every(({ bound: other, rank: theirs }) => {
      const [sameContract, sameTool] = [other.contract.id === contract.id, other.tool.name === tool.name];
      return sameContract === sameTool || theirs < rank;
    });
  const byTool = new Map<string, Bound>();
  for (const one of ranked)
    if (!byTool.has(one.bound.tool.name) && isClear(one)) byTool.set(one.bound.tool.name, one.bound);
  return byTool;
}

/** Order of matches: equal name, equal id, similar name; deprecated tools last. */
function rankOf({ contract: { id }, tool }: Bound): number {
  const { name } = tool;
  const ranks = [sameness(id, name) === "equal", contractId(name) === id, name === id];
  return 2 * ranks.filter(Boolean).length + (isDeprecated(tool) ? 0 : 1);
}

function bestOf(pairs: readonly Bound[]): ReadonlyMap<string, Bound> {
  const byTool = new Map<string, Bound>();
  const taken = new Set<string>();
  const sorted = pairs.filter((bound) => bound.likeness > 0).toSorted((a, b) => b.likeness - a.likeness);
  for (const bound of sorted) {
    if (byTool.has(bound.tool.name) || taken.has(bound.contract.id)) continue;
    byTool.set(bound.tool.name, bound);
    taken.add(bound.contract.id);
  }
  return byTool;
}

/** A tool gets an existing contract only if the match is certain: a call that went to the wrong service cannot be undone. */
function isSame({ id, mutates }: Contract, { name, annotations }: ToolDefinition): boolean {
  const found = sameness(id, name);
  const readOnly = annotations?.readOnlyHint;
  if (found === "equal") return typeof readOnly !== "boolean" || readOnly === (mutates.length === 0);
  return found === "same" && (readOnly === true) === (mutates.length === 0);
}

/** Contract input to argument, where their names differ. */
function mapArguments(
  { inputs }: Contract,
  { inputSchema }: ToolDefinition,
  guess: boolean,
): Record<string, string> {
  const [from, to] = [propertiesOf(inputs), propertiesOf(inputSchema)];
  const mapping: Record<string, string> = {};
  const free = Object.keys(to).filter((name) => !Object.hasOwn(from, name));
  const open = Object.keys(from).filter((name) => !Object.hasOwn(to, name));
  const pairs = open
    .flatMap((source) => free.map((target) => ({ source, target, alike: likeness(source, target) })))
    .filter(({ source, target }) => sameType(from[source], to[target]))
    // Without a guess, only other spellings of the same name.
    .filter(({ source, target }) => guess || sameness(source, target) === "equal")
    .toSorted((a, b) => b.alike - a.alike);
  // With one input and one argument left, they must belong together.
  const source = onlyOne(open) ?? onlyOne(requiredOf(inputs).filter((name) => open.includes(name)));
  const target = onlyOne(free) ?? onlyOne(requiredOf(inputSchema).filter((name) => free.includes(name)));
  for (const pair of pairs) {
    const used = Object.hasOwn(mapping, pair.source) || Object.values(mapping).includes(pair.target);
    const isOnly = pair.source === source && pair.target === target;
    if (!used && (pair.alike > 0 || isOnly)) mapping[pair.source] = pair.target;
  }
  return mapping;
}

function onlyOne(names: readonly string[]): string | undefined {
  return names.length === 1 ? names[0] : undefined;
}

/** Optional inputs that the tool has no argument for. */
function dropped(
  { inputs }: Contract,
  { inputSchema }: ToolDefinition,
  mapping: Record<string, string>,
): string[] {
  const to = propertiesOf(inputSchema);
  const required = requiredOf(inputs);
  return Object.keys(propertiesOf(inputs)).filter(
    (name) => !required.includes(name) && !Object.hasOwn(to, mapping[name] ?? name),
  );
}

/** The whole result, or one of its declared or sampled parts. Undeclared parts would be a guess. */
function extracts(
  { outputSchema }: ToolDefinition,
  seen: JsonSchema | undefined,
): readonly Omit<DeclaredPath, "view">[] {
  const views = [outputSchema ?? {}, seen].flatMap((schema) => viewSchema(schema) ?? []);
  const paths = new Map<string, Omit<DeclaredPath, "view">>([["$", { text: "$", certain: true }]]);
  for (const path of views.flatMap(declaredPaths)) if (!paths.has(path.text)) paths.set(path.text, path);
  return [...paths.values()];
}

export function propertiesOf(schema: JsonObject | undefined): Readonly<Record<string, unknown>> {
  return isObject(schema?.properties) ? schema.properties : {};
}

export function requiredOf(schema: JsonObject | undefined): readonly string[] {
  return Array.isArray(schema?.required) ? schema.required.filter((name) => typeof name === "string") : [];
}

function sameType(a: unknown, b: unknown): boolean {
  const typesOf = (schema: unknown): readonly unknown[] => {
    const type = isObject(schema) ? schema.type : undefined;
    return type === undefined
      ? []
      : [type].flat().flatMap((one) => (one === "integer" ? ["integer", "number"] : one));
  };
  const [from, to] = [typesOf(a), typesOf(b)];
  return from.length === 0 || to.length === 0 || from.some((one) => to.includes(one));
}

/** A minimal driver for the check of bindings. */
export function driverOf(drafts: readonly BindingDraft[]): Driver {
  const origin = { file: "DRIVER.md", line: 1, column: 1, format: "driver" };
  return {
    id: "draft-mcp",
    name: "draft",
    description: "draft",
    version: "1.0.0",
    kind: "mcp",
    server: { kind: "binary", path: "draft", args: [], env: {} },
    transport: "stdio",
    endpoint: { transport: "stdio", command: "draft" },
    launch: {},
    prompts: [],
    resources: [],
    connection: {},
    region: ["global"],
    policyTags: [],
    tags: [],
    metadata: {},
    origin,
    implements: drafts.map((draft): Binding => ({
      dropInputs: [],
      dropOutputs: [],
      mapping: {},
      argumentMapping: {},
      resultExtract: "$",
      metadata: {},
      ...draft,
      origin,
    })),
  };
}
