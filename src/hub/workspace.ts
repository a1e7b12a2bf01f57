// `openWorkspace()`: the servers that a folder, a file or a program declares, as one set of tools that keeps itself alive.

import { isDeepStrictEqual } from "node:util";
import { type CatalogChange, type Catalog, loadCatalog, watchCatalog } from "../catalog/index.ts";
import { type Diagnostic, PortolanError } from "../errors/index.ts";
import {
  type CompleteResult,
  type DeclaredServer,
  DEFAULT_LIMITS,
  type GetPromptResult,
  type JsonObject,
  type PromptDefinition,
  type ReadResourceResult,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
} from "../model/index.ts";
import { createSecretStore, type PromptPassphrase } from "../secrets/index.ts";
import {
  Connection,
  type McpConnection,
  type RequestOptions,
  type Tool,
  type ToolResult,
} from "../tools/index.ts";
import { reapOrphans, within } from "../upstream/index.ts";
import { type ContextItem, gatherContext } from "./context.ts";
import type { EventBus, HubEvent } from "./events.ts";
import { healthOf, isUp, type ServerHealth } from "./health.ts";
import { merge } from "./merge.ts";
import { type HubOptions, mergeSettings, openHub } from "./open-hub.ts";

export interface WorkspaceOptions extends Omit<
  HubOptions,
  "secrets" | "naming" | "descriptionPrefix" | "name"
> {
  /** Only these servers. */
  readonly only?: readonly string[] | undefined;
  /** Apply changes of the declarations as they are saved. Default: true. */
  readonly watchFiles?: boolean | undefined;
  /** How long opening waits for servers that are not known from before. The others, and those that take longer, arrive with an event. */
  readonly waitMs?: number | undefined;
  /** Hears every event from the first one on, also those of opening. */
  readonly onEvent?: ((event: HubEvent) => void) | undefined;
  /** Asks for the passphrase of the secrets file. */
  readonly promptPassphrase?: PromptPassphrase | undefined;
}

/** What a program may give instead of a folder. */
export interface WorkspaceConfig {
  readonly servers: readonly DeclaredServer[];
  readonly naming?: string | undefined;
  readonly descriptionPrefix?: boolean | string | undefined;
  readonly envFile?: string | undefined;
}

export interface Workspace extends AsyncDisposable {
  /** Everything that happens: listen with `on`, or loop over it with `for await`. */
  readonly events: EventBus;
  /** What was odd so far, in the declarations and at run time. */
  readonly diagnostics: readonly Diagnostic[];
  /** All tools of all servers, by names that never collide, sorted. */
  tools(): Promise<Tool[]>;
  /** By full name, or as `alias.tool`. */
  callTool(name: string, input?: JsonObject, options?: RequestOptions): Promise<ToolResult>;
  /** The full name of what is given as `alias.tool` or `alias.prompt`; any other name as it is. */
  fullName(name: string): string;
  /** Which server each tool belongs to, by the tool's full name. */
  toolOwners(): ReadonlyMap<string, string>;
  resources(): Promise<ResourceDefinition[]>;
  resourceTemplates(): Promise<ResourceTemplateDefinition[]>;
  readResource(uri: string, options?: RequestOptions): Promise<ReadResourceResult>;
  subscribe(uri: string): Promise<() => Promise<void>>;
  prompts(): Promise<PromptDefinition[]>;
  /** By full name, or as `alias.prompt`. */
  getPrompt(name: string, args?: Record<string, string>, options?: RequestOptions): Promise<GetPromptResult>;
  complete(...args: Parameters<McpConnection["complete"]>): Promise<CompleteResult["completion"]>;
  /** The resources that the declarations want read before a turn. */
  context(): Promise<ContextItem[]>;
  on: McpConnection["on"];
  /** Resolves when every server that starts with the workspace is ready, or has failed for the first time. */
  settled(): Promise<void>;
  health(): ServerHealth[];
  /** Asks every running server for a sign of life; false when any enabled one is down. */
  healthCheck(): Promise<boolean>;
  close(): Promise<void>;
}

const DEFAULT_WAIT_MS = 10_000;
const PING_MS = 5_000;

export async function openWorkspace(
  source: string | WorkspaceConfig = ".",
  options: WorkspaceOptions = {},
): Promise<Workspace> {
  const diagnostics: Diagnostic[] = [];
  const report = (diagnostic: Diagnostic): void => {
    diagnostics.push(diagnostic);
    options.onDiagnostic?.(diagnostic);
  };
  reapOrphans();
  const changes = new ChangeQueue();
  const watching = typeof source === "string" && (options.watchFiles ?? true);
  const watch = watching ? await watchCatalog(source, (change) => changes.push(change)) : undefined;
  // The catalog as it is now has them already.
  changes.forget();
  let config: WorkspaceConfig;
  try {
    config =
      typeof source === "string"
        ? fromCatalog(watch?.catalog ?? (await loadCatalog(source)), report)
        : source;
  } catch (error) {
    await watch?.close();
    throw error;
  }
  const secrets = createSecretStore({
    env: process.env,
    envFile: config.envFile,
    promptPassphrase: options.promptPassphrase,
    report,
  });
  const { naming, descriptionPrefix } = config;
  const opened = await openHub({ ...options, secrets, naming, descriptionPrefix, onDiagnostic: report });
  const { hub } = opened;
  let settings = mergeSettings(config);
  if (options.onEvent !== undefined) opened.events.on(options.onEvent);
  const wanted = (server: DeclaredServer): boolean => options.only?.includes(server.alias) !== false;
  const starts: Promise<void>[] = [];
  /** Resolves when its tools are known: at once from the last run, or when it is ready or has failed. */
  const add = async (server: DeclaredServer): Promise<void> => {
    const member = opened.member(server);
    hub.add(member);
    const begun = member.begin();
    starts.push(begun);
    if (!(await member.load())) await begun;
  };
  const replace = async (server: DeclaredServer): Promise<void> => {
    const old = hub.members.find(({ alias }) => alias === server.alias);
    if (old === undefined || !isSameProcess(old.declared, server)) {
      await hub.remove(server.alias);
      if (!hub.closed) await add(server);
      return;
    }
    // Only what is offered of it is new: the server itself goes on, with the calls that it has.
    const member = opened.member(server);
    member.inherit(old);
    hub.add(member);
    await member.begin();
    await old.stop("stopped", { quiet: server.enabled });
  };
  const begun = Promise.all(config.servers.filter(wanted).map(add));
  const applying = new Set<Promise<void>>();
  changes.apply(async ({ catalog, added, removed, changed, settingsChanged }) => {
    for (const diagnostic of catalog.diagnostics) report(diagnostic);
    if (settingsChanged) hub.configure((settings = mergeSettings(catalog.settings)));
    await Promise.all(removed.map((alias) => hub.remove(alias)));
    const fresh = new Set([...added, ...changed]);
    for (const declared of catalog.servers) {
      const server = atHome(declared, catalog.folder);
      if (!fresh.has(server.alias) || !wanted(server) || hub.closed) continue;
      const applied = replace(server).finally(() => applying.delete(applied));
      applying.add(applied);
    }
  });
  // From disk, so at once: whoever waits for nothing else still sees what is known.
  await Promise.all(hub.members.map((member) => member.load()));
  await Promise.race([
    begun,
    new Promise((resolve) => setTimeout(resolve, options.waitMs ?? DEFAULT_WAIT_MS).unref()),
  ]);

  const connection = new Connection(hub, { limits: DEFAULT_LIMITS, retryHinted: false, diagnostics, report });
  const close = async (): Promise<void> => {
    await Promise.all([watch?.close(), connection.close()]);
    await Promise.allSettled(applying);
    opened.events.close();
  };
  return {
    events: opened.events,
    diagnostics,
    tools: () => connection.listTools(),
    callTool: (name, input, request) => connection.callTool(hub.toolName(name), input, request),
    fullName: (name) => hub.toolName(name),
    toolOwners: () => {
      const { toolRoutes } = merge(hub.members, settings);
      return new Map([...toolRoutes].map(([name, { member }]) => [name, member.alias]));
    },
    resources: () => connection.listResources(),
    resourceTemplates: () => connection.listResourceTemplates(),
    readResource: (uri, request) => connection.readResource(uri, request),
    subscribe: (uri) => connection.subscribe(uri),
    prompts: () => connection.listPrompts(),
    getPrompt: (name, args, request) => connection.getPrompt(hub.toolName(name), args, request),
    complete: (...args) => connection.complete(...args),
    context: () => gatherContext(hub.members),
    on: (event, listener) => connection.on(event, listener),
    settled: async () => void (await Promise.all(starts)),
    health: () => hub.members.map(healthOf).toSorted((a, b) => (a.alias < b.alias ? -1 : 1)),
    async healthCheck() {
      const alive = await Promise.all(
        hub.members.map(async (member) => {
          // One that is known from before may still be on its way: it gets as long as a sign of life would.
          const limit = { server: member.alias, what: "starting", ms: PING_MS, signal: undefined };
          if (member.state === "starting") await within(member.start(), limit).catch(() => {});
          if (member.state !== "ready") return isUp(member);
          const method = member.description?.era === "modern" ? "server/discover" : "ping";
          return member.request({ method, timeoutMs: PING_MS }).then(
            () => true,
            () => false,
          );
        }),
      );
      return alive.every(Boolean);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Two declarations of one alias that mean the same running server. */
function isSameProcess(a: DeclaredServer, b: DeclaredServer): boolean {
  const identity = ({ endpoint, era, limits }: DeclaredServer): unknown => [endpoint, era, limits];
  return isDeepStrictEqual(identity(a), identity(b));
}

/** Refuses broken declarations before anything is started. */
function fromCatalog(catalog: Catalog, report: (diagnostic: Diagnostic) => void): WorkspaceConfig {
  const errors = catalog.diagnostics.filter(({ severity }) => severity === "error");
  if (errors.length > 0) {
    const [first] = errors;
    const more = errors.length === 1 ? "" : ` (and ${errors.length - 1} more)`;
    const where =
      first?.file === undefined ? "" : `${first.file}${first.line === undefined ? "" : `:${first.line}`}: `;
    throw new PortolanError("DECLARATION_INVALID", `${where}${first?.message}${more}`, {
      hint: first?.hint,
      data: { diagnostics: errors },
    });
  }
  for (const diagnostic of catalog.diagnostics) report(diagnostic);
  const { naming, descriptionPrefix, envFile } = catalog.settings;
  return {
    servers: catalog.servers.map((server) => atHome(server, catalog.folder)),
    naming,
    descriptionPrefix,
    envFile,
  };
}

/** A program without a folder of its own runs in the workspace, wherever the caller is. */
function atHome(server: DeclaredServer, folder: string): DeclaredServer {
  const { endpoint } = server;
  if (endpoint.transport !== "stdio" || endpoint.cwd !== undefined) return server;
  return { ...server, endpoint: { ...endpoint, cwd: folder } };
}

/** Changes of the declarations, applied one after another, beginning when the hub is there. */
class ChangeQueue {
  #apply: ((change: CatalogChange) => Promise<void>) | undefined;
  readonly #early: CatalogChange[] = [];
  #running: Promise<void> = Promise.resolve();

  forget(): void {
    this.#early.length = 0;
  }

  push(change: CatalogChange): void {
    const apply = this.#apply;
    if (apply === undefined) this.#early.push(change);
    else this.#running = this.#running.then(() => apply(change)).catch(() => {});
  }

  apply(apply: (change: CatalogChange) => Promise<void>): void {
    this.#apply = apply;
    for (const change of this.#early.splice(0)) this.push(change);
  }
}
