// Tools of a running server beside what its package declares, and the pins of those that a person approved.

import type { JsonObject } from "../../model/index.ts";
import {
  createDefinitionStore,
  defaultDefinitionFolder,
  lintDefinition,
  type LintFinding,
  pinOf,
} from "../../packages/index.ts";
import type { PackageFacts } from "./facts.ts";

export interface LiveTool {
  readonly name: string;
  /** As the server lists it. */
  readonly definition: JsonObject;
  /** Undefined for a definition without a canonical form; it cannot be pinned. */
  readonly hash?: string;
}

export interface ComparedTools {
  /** Approved: declared and live, or all live ones if the package declares none. */
  readonly pins: Readonly<Record<string, string>>;
  /** Live, but not declared. They are withheld until a person approves them. */
  readonly undeclared: readonly string[];
  /** Declared, but not live. */
  readonly absent: readonly string[];
  /** Live with another description than the declared one. */
  readonly differing: readonly string[];
  readonly findings: readonly (LintFinding & { readonly tool: string })[];
}

export function toLiveTool(definition: JsonObject, name: string): LiveTool {
  const own = { ...definition, name };
  return { name, definition: own, hash: pinOf(own) };
}

export function compareTools(
  live: readonly LiveTool[],
  { tools: declared, contracts = [] }: Pick<PackageFacts, "tools" | "contracts">,
): ComparedTools {
  const byName = new Map(declared?.map((tool) => [tool.name, tool]));
  const isApproved = ({ name }: LiveTool): boolean => declared === undefined || byName.has(name);
  const names = new Set(live.map(({ name }) => name));
  return {
    pins: Object.fromEntries(
      live.filter(isApproved).flatMap(({ name, hash }) => (hash === undefined ? [] : [[name, hash]])),
    ),
    undeclared: live.filter((tool) => !isApproved(tool) || tool.hash === undefined).map(({ name }) => name),
    absent: (declared ?? []).map(({ name }) => name).filter((name) => !names.has(name)),
    differing: live
      .filter(({ name, definition }) => {
        const written = byName.get(name)?.description;
        return written !== undefined && written !== definition.description;
      })
      .map(({ name }) => name),
    findings: [
      ...live,
      ...contracts.map(({ id, description, inputs }) => ({
        name: id,
        definition: { name: id, description, inputSchema: inputs } as JsonObject,
      })),
    ].flatMap(({ name, definition }) =>
      lintDefinition(definition)
        .filter(({ severity }) => severity !== "info")
        .map((finding) => ({ ...finding, tool: name })),
    ),
  };
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
