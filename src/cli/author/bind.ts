// Steps four and five of authoring: whether a tool can serve a contract, with which mapping and which part of its result.

import { checkDriver } from "../../contracts/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { BindingDraft } from "../../formats/driver/index.ts";
import {
  type Binding,
  type Contract,
  type Driver,
  isObject,
  type JsonObject,
  type ToolDefinition,
} from "../../model/index.ts";
import { likeness } from "./names.ts";

export interface Bound {
  readonly contract: Contract;
  readonly tool: ToolDefinition;
  readonly draft: BindingDraft;
  /** From 0 to 1: how alike their names are. */
  readonly likeness: number;
  readonly warnings: readonly Diagnostic[];
}

/** Names less alike than this are not taken for the same thing by themselves. */
const ALIKE = 0.3;
const DEPRECATED = 0.25;

/** The best way in which this tool serves the contract; undefined when none is found to fit. */
export function bindTool(contract: Contract, tool: ToolDefinition): Bound | undefined {
  const mapping = mapArguments(contract, tool);
  const dropInputs = dropped(contract, tool, mapping);
  const tried = extracts(tool).map((resultExtract) => {
    const draft: BindingDraft = {
      tool: contract.id,
      range: `^${contract.version}`,
      toolName: tool.name,
      argumentMapping: mapping,
      dropInputs,
      resultExtract,
    };
    const { problems } = checkDriver(driverOf([draft]), [contract], [tool]);
    return { draft, problems };
  });
  const fitting = tried.filter(({ problems }) => problems.every(({ severity }) => severity !== "error"));
  const best = fitting.toSorted((a, b) => a.problems.length - b.problems.length)[0];
  if (best === undefined) return undefined;
  const old = isDeprecated(tool) ? DEPRECATED : 0;
  return {
    contract,
    tool,
    draft: best.draft,
    likeness: Math.max(0, likeness(contract.id, tool.name) - old),
    warnings: best.problems,
  };
}

/** As far as its own words tell. */
export function isDeprecated({ description }: ToolDefinition): boolean {
  return /\bdeprecated\b/i.test(description ?? "");
}

/** Each contract goes to the tool that is most like it, each tool to one contract. */
export function matchTools(
  contracts: readonly Contract[],
  tools: readonly ToolDefinition[],
): ReadonlyMap<string, Bound> {
  const pairs = contracts
    .flatMap((contract) => tools.map((tool) => ({ contract, tool, alike: likeness(contract.id, tool.name) })))
    .filter(({ alike }) => alike >= ALIKE)
    .flatMap(({ contract, tool }) => bindTool(contract, tool) ?? [])
    .filter((bound) => bound.likeness > 0)
    .toSorted((a, b) => b.likeness - a.likeness);
  const byTool = new Map<string, Bound>();
  const taken = new Set<string>();
  for (const bound of pairs) {
    if (byTool.has(bound.tool.name) || taken.has(bound.contract.id)) continue;
    byTool.set(bound.tool.name, bound);
    taken.add(bound.contract.id);
  }
  return byTool;
}

/** Contract input to argument, where their names differ. */
function mapArguments({ inputs }: Contract, { inputSchema }: ToolDefinition): Record<string, string> {
  const [from, to] = [propertiesOf(inputs), propertiesOf(inputSchema)];
  const mapping: Record<string, string> = {};
  const free = Object.keys(to).filter((name) => !Object.hasOwn(from, name));
  const open = Object.keys(from).filter((name) => !Object.hasOwn(to, name));
  const pairs = open
    .flatMap((source) => free.map((target) => ({ source, target, alike: likeness(source, target) })))
    .filter(({ source, target }) => sameType(from[source], to[target]))
    .toSorted((a, b) => b.alike - a.alike);
  for (const { source, target, alike } of pairs) {
    const used = Object.hasOwn(mapping, source) || Object.values(mapping).includes(target);
    const onlyOnes =
      open.length === 1 && requiredOf(inputSchema).filter((name) => free.includes(name)).length === 1;
    if (!used && (alike > 0 || onlyOnes)) mapping[source] = target;
  }
  return mapping;
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

/** All of the result, or one of its parts. */
function extracts({ outputSchema }: ToolDefinition): readonly string[] {
  const names = Object.keys(propertiesOf(outputSchema));
  return ["$", ...names.filter((name) => /^[A-Za-z_][\w-]*$/.test(name)).map((name) => `$.${name}`)];
}

export function propertiesOf(schema: JsonObject | undefined): Readonly<Record<string, unknown>> {
  return isObject(schema?.properties) ? schema.properties : {};
}

export function requiredOf(schema: JsonObject | undefined): readonly string[] {
  return Array.isArray(schema?.required) ? schema.required.filter((name) => typeof name === "string") : [];
}

function sameType(a: unknown, b: unknown): boolean {
  const type = (schema: unknown): unknown => (isObject(schema) ? schema.type : undefined);
  return (
    type(a) === undefined || type(b) === undefined || JSON.stringify(type(a)) === JSON.stringify(type(b))
  );
}

/** Just enough of a driver to check bindings with. */
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
