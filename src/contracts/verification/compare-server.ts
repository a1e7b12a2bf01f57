// Compares a running server with its driver: the tools with the bindings, and the prompts and resources with the DRIVER.md.

import {
  isPortolanError,
  didYouMean,
  type Diagnostic,
  hintedMessage,
  type Report,
} from "../../errors/index.ts";
import {
  DEFAULT_LIMITS,
  isObject,
  type Contract,
  type Driver,
  type DriverPrompt,
  type DriverResource,
  type JsonObject,
  type ToolDefinition,
} from "../../model/index.ts";
import { listAll, type Upstream } from "../../upstream/index.ts";
import type { DriverHooks } from "../driver/bound-tool.ts";
import { checkDriver } from "../registration/check-driver.ts";
import { isOf } from "../surfaces/find-surface.ts";

export interface Comparison {
  /** The first difference that makes the driver unusable, with its hint; undefined when the server matches. */
  readonly mismatch: string | undefined;
  readonly diagnostics: readonly Diagnostic[];
  /** The negotiated protocol revision. */
  readonly revision: string | undefined;
  readonly prompts: readonly JsonObject[];
  /** Declared prompts and resources that the server lacks. */
  readonly missing: ReadonlySet<DriverPrompt | DriverResource>;
  /** Tools that must not be called, and the reason. */
  readonly withheld: ReadonlyMap<string, string>;
}

/** Decides which tools of a driver's server may be called. */
export interface ToolApproval {
  /** The tools that must not be called, and the reason. `tools` are the definitions as the server sent them. */
  withheld(driver: Driver, tools: readonly JsonObject[]): Promise<ReadonlyMap<string, string>>;
  /** Called when the decision may be another one. */
  onChange(listener: () => void): () => void;
}

const NONE_WITHHELD: ReadonlyMap<string, string> = new Map();

export const NO_COMPARISON: Comparison = {
  mismatch: undefined,
  diagnostics: [],
  revision: undefined,
  prompts: [],
  missing: new Set(),
  withheld: NONE_WITHHELD,
};

export interface CompareOptions {
  readonly contracts: readonly Contract[];
  readonly root: string | undefined;
  readonly report: Report;
  readonly toolApproval?: ToolApproval;
}

const LIST_MS = 30_000;

export async function compareServer(
  { driver, hooks }: { readonly driver: Driver; readonly hooks: DriverHooks },
  upstream: Upstream,
  { contracts, root, report, toolApproval }: CompareOptions,
): Promise<Comparison> {
  const list = async (method: string, field: string): Promise<readonly JsonObject[]> => {
    const onLoop = (message: string): void =>
      report({ code: "PROTOCOL_ERROR", severity: "warning", server: upstream.name, message });
    const call = { method, timeoutMs: LIST_MS };
    const { items } = await listAll(upstream, field, call, { maxPages: DEFAULT_LIMITS.maxPages, onLoop });
    return items.filter(isObject);
  };
  const listNamed = async (what: "tools" | "prompts"): Promise<readonly JsonObject[]> =>
    (await list(`${what}/list`, what)).filter(({ name }) => typeof name === "string");
  const hasPrompts = driver.prompts.length > 0 && upstream.describe().capabilities.prompts !== undefined;
  const [tools, prompts, resources] = await Promise.all([
    listNamed("tools"),
    hasPrompts ? listNamed("prompts") : [],
    driver.resources.length === 0 ? undefined : listResources(upstream, list),
  ]);
  const checked = checkDriver(driver, contracts, tools as readonly ToolDefinition[], { root, hooks });
  const withheld = (await toolApproval?.withheld(driver, tools)) ?? NONE_WITHHELD;
  const { revision } = upstream.describe();
  const promptNames = prompts.map(({ name }) => String(name));
  const surfaces = checkSurfaces(driver, { prompts: promptNames, resources });
  const diagnostics = [...checkRevision(driver, revision), ...checked.diagnostics, ...surfaces.diagnostics];
  const error = diagnostics.find(({ severity }) => severity === "error");
  const mismatch = error && hintedMessage(error);
  return { mismatch, diagnostics, revision, prompts, missing: surfaces.missing, withheld };
}

/** Undefined when a list failed: that is no reason to withdraw resources. */
async function listResources(
  upstream: Upstream,
  list: (method: string, field: string) => Promise<readonly JsonObject[]>,
): Promise<ServerResources | undefined> {
  if (upstream.describe().capabilities.resources === undefined) return { uris: [], templates: [] };
  const texts = async (method: string, field: string, key: string): Promise<string[] | undefined> => {
    try {
      const found = await list(method, field);
      return found.flatMap(({ [key]: text }) => (typeof text === "string" ? [text] : []));
    } catch (error) {
      // Many servers with resources do not implement the method for templates.
      return isPortolanError(error) && error.code === "NOT_SUPPORTED" ? [] : undefined;
    }
  };
  const [uris, templates] = await Promise.all([
    texts("resources/list", "resources", "uri"),
    texts("resources/templates/list", "resourceTemplates", "uriTemplate"),
  ]);
  return uris === undefined || templates === undefined ? undefined : { uris, templates };
}

/**
 * A warning only: MCP lets a server answer with another revision, and both sides know the negotiated one. But the author of the driver
 * relied on the declared one.
 */
function checkRevision({ id, protocolVersion, origin }: Driver, negotiated: string): readonly Diagnostic[] {
  if (protocolVersion === undefined || protocolVersion === negotiated) return [];
  return [
    {
      code: "VERSION_UNSUPPORTED",
      severity: "warning",
      server: id,
      file: origin.file,
      path: "/protocol_version",
      message: `${id}: protocol_version is ${protocolVersion}, but its server uses ${negotiated}`,
      hint: `Write protocol_version: "${negotiated}" if the driver works with this revision. Otherwise remove protocol_version, or update the server.`,
    },
  ];
}

interface ServerResources {
  readonly uris: readonly string[];
  readonly templates: readonly string[];
}

/** Names that the server listed. Undefined: the list failed, which says nothing. */
interface ServerSurfaces {
  readonly prompts: readonly string[] | undefined;
  readonly resources: ServerResources | undefined;
}

interface CheckedSurfaces {
  readonly diagnostics: readonly Diagnostic[];
  /** Declared prompts and resources that the server lacks. */
  readonly missing: ReadonlySet<DriverPrompt | DriverResource>;
}

const MAX_SHOWN = 12;

/**
 * Checks the prompts and resources of a DRIVER.md against the server: a missing one is reported and not offered.
 */
function checkSurfaces(driver: Driver, { prompts, resources }: ServerSurfaces): CheckedSurfaces {
  const diagnostics: Diagnostic[] = [];
  const missing = new Set<DriverPrompt | DriverResource>();
  const add = (
    one: DriverPrompt | DriverResource,
    what: string,
    name: string,
    all: readonly string[],
  ): void => {
    missing.add(one);
    const place = `${"uriTemplate" in one ? "resource" : "prompt"}:${name}`;
    const some =
      all.length === 0
        ? `The server has no ${what}s.`
        : `The server has ${all.slice(0, MAX_SHOWN).join(", ")}${all.length > MAX_SHOWN ? ", …" : ""}.`;
    diagnostics.push({
      code: "FILE_INVALID",
      severity: "warning",
      server: driver.id,
      message: `${driver.id}: the server has no ${what} "${name}", so it is not offered`,
      hint: didYouMean(name, all) ?? some,
      file: driver.origin.file,
      ...driver.origin.places?.[place],
    });
  };
  for (const one of prompts === undefined ? [] : driver.prompts)
    if (prompts?.includes(one.name) === false) add(one, "prompt", one.name, prompts);
  for (const one of resources === undefined ? [] : driver.resources) {
    const { uriTemplate } = one;
    if (resources === undefined || hasResource(uriTemplate, resources)) continue;
    const isTemplate = uriTemplate.includes("{");
    const all = isTemplate ? resources.templates : [...resources.uris, ...resources.templates];
    add(one, isTemplate ? "resource template" : "resource", uriTemplate, all);
  }
  return { diagnostics, missing };
}

/** The names of variables do not matter. A template may also stand for resources that the server lists one by one, or be a part of a wider one. */
function hasResource(declared: string, { uris, templates }: ServerResources): boolean {
  const sample = declared.replace(/\{[^{}]*\}/g, "x");
  return (
    uris.some((uri) => isOf(declared, uri)) ||
    templates.some((template) => shapeOf(template) === shapeOf(declared) || isOf(template, sample))
  );
}

function shapeOf(template: string): string {
  return template.replace(/\{[^{}]*\}/g, "{}");
}
