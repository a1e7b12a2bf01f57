// The prompts and resources that a driver offers beside its tools, proposed from what its server lists.

import type {
  DriverPrompt,
  DriverResource,
  PromptDefinition,
  ResourceDefinition,
  ResourceTemplateDefinition,
} from "../../model/index.ts";
import type { McpConnection } from "../../client/index.ts";
import { plainLine } from "../terminal/safe-text.ts";

export interface ListedSurfaces {
  readonly prompts: readonly PromptDefinition[];
  readonly resources: readonly ResourceDefinition[];
  readonly templates: readonly ResourceTemplateDefinition[];
}

export interface ProposedSurfaces {
  readonly prompts: readonly DriverPrompt[];
  readonly resources: readonly DriverResource[];
  /** Points that the author of the driver has to check. */
  readonly notes: readonly string[];
}

const MOST_PROMPTS = 50;
/** Many single resources are data, not a fixed part of the server. */
const MOST_RESOURCES = 20;

/** A list that fails counts as empty, because a driver needs only the tools. */
export async function listSurfaces(connection: McpConnection, signal: AbortSignal): Promise<ListedSurfaces> {
  const { capabilities } = connection.server;
  const list = async <T>(has: unknown, ask: () => Promise<T[]>): Promise<T[]> =>
    has === undefined
      ? []
      : ask().catch(() => {
          signal.throwIfAborted();
          return [];
        });
  const [prompts, resources, templates] = await Promise.all([
    list(capabilities.prompts, () => connection.listPrompts({ signal })),
    list(capabilities.resources, () => connection.listResources({ signal })),
    list(capabilities.resources, () => connection.listResourceTemplates({ signal })),
  ]);
  return { prompts, resources, templates };
}

/** `base` is the name of the server, `taken` are the reference kinds of other drivers. */
export function proposeSurfaces(
  { prompts, resources, templates }: ListedSurfaces,
  base: string,
  taken: ReadonlySet<string>,
): ProposedSurfaces {
  const kinds = new Set(taken);
  const kindOf = (name: string): string => {
    const plain = ["mcp", base, ...(templates.length > 1 ? [name] : [])]
      .map((part) =>
        part
          .toLowerCase()
          .replace(/[^a-z0-9]+/g, "_")
          .replace(/^_+|_+$/g, ""),
      )
      .filter((part) => part !== "")
      .join("_")
      .slice(0, 60);
    let kind = plain;
    for (let count = 2; kinds.has(kind); count += 1) kind = `${plain}_${count}`;
    kinds.add(kind);
    return kind;
  };
  const offered = uniqueBy(
    templates.filter(({ uriTemplate }) => isAddress(uriTemplate)),
    ({ uriTemplate }) => uriTemplate,
  );
  const single = uniqueBy(
    resources.filter(({ uri }) => isAddress(uri) && !/[{}]/.test(uri)),
    ({ uri }) => uri,
  );
  const kept = single.length > MOST_RESOURCES ? [] : single;
  const named = uniqueBy(
    prompts.filter(({ name }) => isName(name)),
    ({ name }) => name,
  ).slice(0, MOST_PROMPTS);
  const all = [...offered.map(({ uriTemplate }) => uriTemplate), ...kept.map(({ uri }) => uri)];
  return {
    prompts: named.map(({ name, description }) => ({ name, ...words(description), integrateAs: "raw" })),
    resources: [
      ...offered.map(({ uriTemplate, name, description }): DriverResource => ({
        uriTemplate,
        ...words(description),
        integrateAs: "ref_kind",
        refKindId: kindOf(isName(name) ? name : ""),
      })),
      ...kept.map(({ uri, description }): DriverResource => ({
        uriTemplate: uri,
        ...words(description),
        integrateAs: "raw",
      })),
    ],
    notes: [
      ...offersNote(
        "prompts",
        named.map(({ name }) => name),
      ),
      ...offersNote("resources", all),
      ...(kept.length < single.length
        ? [
            `The driver does not offer the resources of the server that have a fixed URI (${single.length}). Add the resources that you need to resources in DRIVER.md.`,
          ]
        : []),
    ],
  };
}

function offersNote(what: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const shown = names.slice(0, 8).map((name) => plainLine(name, 80));
  return [
    `The driver offers the server's ${what} as well (${shown.join(", ")}${names.length > shown.length ? ", …" : ""}). Remove those that you do not need from ${what} in DRIVER.md.`,
  ];
}

function words(description: unknown): { description?: string } {
  const text = typeof description === "string" ? plainLine(description, 500) : "";
  return text === "" ? {} : { description: text };
}

/** Servers may list invalid items. */
function isName(name: unknown): name is string {
  return typeof name === "string" && name.trim() !== "" && name.length <= 200;
}

/** A URI or URI template that a DRIVER.md accepts. */
function isAddress(text: unknown): text is string {
  if (typeof text !== "string" || text.length > 500) return false;
  const sample = text.replace(/\{[^{}]+\}/g, "x");
  return !/[{}]/.test(sample) && /^[A-Za-z][A-Za-z0-9+.-]*:/.test(text);
}

function uniqueBy<T>(list: readonly T[], key: (one: T) => string): T[] {
  return [...new Map(list.toReversed().map((one) => [key(one), one])).values()].toReversed();
}
