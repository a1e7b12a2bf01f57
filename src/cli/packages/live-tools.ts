// Tools of a running server beside what its package declares, and the pins of those that a person approved.

import type { JsonObject } from "../../model/index.ts";
import {
  createDefinitionStore,
  defaultDefinitionFolder,
  lintDefinition,
  type LintFinding,
  pinOf,
} from "../../packages/index.ts";
import { isCritical } from "../pins/live.ts";
import type { PackageFacts } from "./facts.ts";

export interface LiveTool {
  readonly name: string;
  /** As the server lists it. */
  readonly definition: JsonObject;
  /** Undefined for a definition without a canonical form; it cannot be pinned. */
  readonly hash?: string;
}

export interface ComparedTools {
  /** Approved: declared and live, or all live ones if the package declares none. A refused tool keeps its earlier pin. */
  readonly pins: Readonly<Record<string, string>>;
  /** Live, but not declared. They are withheld until a person approves them. */
  readonly undeclared: readonly string[];
  /** The tools of `undeclared` whose definition has no canonical form, so that nobody can approve them. */
  readonly unpinnable: readonly string[];
  /** Declared, but not live. */
  readonly absent: readonly string[];
  /** Live with another description than the declared one. */
  readonly differing: readonly string[];
  /** Live with a critical finding, the first of each tool. They are withheld until a person approves them. */
  readonly refused: readonly ToolFinding[];
  /** All other findings. */
  readonly findings: readonly ToolFinding[];
}

export interface ToolFinding extends LintFinding {
  readonly tool: string;
}

export function toLiveTool(definition: JsonObject, name: string): LiveTool {
  const own = { ...definition, name };
  return { name, definition: own, hash: pinOf(own) };
}

/** `earlier`: the pins of an installed version. A tool whose definition did not change needs no second approval. */
export function compareTools(
  live: readonly LiveTool[],
  { tools: declared, contracts = [] }: Pick<PackageFacts, "tools" | "contracts">,
  earlier: Readonly<Record<string, string>> = {},
): ComparedTools {
  const byName = new Map(declared?.map((tool) => [tool.name, tool]));
  const isDeclared = ({ name }: LiveTool): boolean => declared === undefined || byName.has(name);
  const names = new Set(live.map(({ name }) => name));
  const earlierPin = (name: string): string | undefined =>
    Object.hasOwn(earlier, name) ? earlier[name] : undefined;
  const isNew = ({ name, hash }: LiveTool): boolean => hash !== undefined && earlierPin(name) !== hash;
  const found = live.map((tool) => ({ tool, findings: findingsOf(tool) }));
  const refused = found.flatMap(({ tool, findings }) =>
    isNew(tool) ? findings.filter(isCritical).slice(0, 1) : [],
  );
  const refusedNames = new Set(refused.map(({ tool }) => tool));
  return {
    pins: Object.fromEntries(
      live.filter(isDeclared).flatMap(({ name, hash }) => {
        const pin = refusedNames.has(name) ? earlierPin(name) : hash;
        return pin === undefined ? [] : [[name, pin]];
      }),
    ),
    undeclared: live.filter((tool) => !isDeclared(tool) || tool.hash === undefined).map(({ name }) => name),
    unpinnable: live.filter(({ hash }) => hash === undefined).map(({ name }) => name),
    absent: (declared ?? []).map(({ name }) => name).filter((name) => !names.has(name)),
    differing: live
      .filter(({ name, definition }) => {
        const written = byName.get(name)?.description;
        return written !== undefined && written !== definition.description;
      })
      .map(({ name }) => name),
    refused,
    findings: [
      ...found.flatMap(({ findings }) => findings).filter((finding) => !refused.includes(finding)),
      ...contracts.flatMap(({ id, description, inputs }) =>
        findingsOf({ name: id, definition: { name: id, description, inputSchema: inputs } }),
      ),
    ],
  };
}

/** Findings of severity info are not shown. */
function findingsOf({ name, definition }: LiveTool): ToolFinding[] {
  return lintDefinition(definition)
    .filter(({ severity }) => severity !== "info")
    .map((finding) => ({ ...finding, tool: name }));
}

/** Stores the approved definitions, so that a later change can be shown as a difference. */
export async function keepDefinitions(
  live: readonly LiveTool[],
  pins: Readonly<Record<string, string>>,
): Promise<void> {
  const store = createDefinitionStore(await defaultDefinitionFolder());
  for (const { name, hash, definition } of live)
    if (hash !== undefined && pins[name] === hash) await store.save(hash, definition);
}
