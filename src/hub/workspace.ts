// `openWorkspace()`: the servers that a folder, a file or a program declares, as one set of tools that keeps itself alive.

import { type CatalogChange, loadCatalog, watchCatalog } from "../catalog/index.ts";
import type { Diagnostic } from "../errors/index.ts";
import {
  type CompleteResult,
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
import { checkConfig, fromCatalog, type WorkspaceConfig } from "./declared.ts";
import type { EventBus, HubEvent } from "./events.ts";
import { healthOf, isUp, type ServerHealth } from "./health.ts";
import { merge } from "./merge.ts";
import { type HubOptions, mergeSettings, openHub } from "./open-hub.ts";
import { Roster } from "./roster.ts";

export interface WorkspaceOptions extends Omit<
  HubOptions,
  "secrets" | "naming" | "descriptionPrefix" | "name"
> {
  /** Only these servers. */
  readonly only?: readonly string[] | undefined;
  /** Apply changes of the declarations as they are saved. Default: true. */
  readonly watchFiles?: boolean | undefined;
  /** The longest that opening waits for servers that are not known from before; those that take longer arrive with an event. */
  readonly waitMs?: number | undefined;
  /** Hears every event from the first one on, also those of opening. */
  readonly onEvent?: ((event: HubEvent) => void) | undefined;
  /** Asks for the passphrase of the secrets file. */
  readonly promptPassphrase?: PromptPassphrase | undefined;
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
  const changes: CatalogChange[] = [];
  // Until the hub is there, changes wait.
  let apply = (change: CatalogChange): void => void changes.push(change);
  const watching = typeof source === "string" && (options.watchFiles ?? true);
  const watch = watching ? await watchCatalog(source, (change) => apply(change)) : undefined;
  // The catalog as it is now has them already.
  changes.length = 0;
  let config: WorkspaceConfig;
  try {
    config =
      typeof source === "string"
        ? fromCatalog(watch?.catalog ?? (await loadCatalog(source)), report)
        : checkConfig(source);
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
  const roster = new Roster({ hub, toMember: (server) => opened.member(server), only: options.only });
  const change = (changed: CatalogChange): void => {
    for (const diagnostic of changed.catalog.diagnostics) report(diagnostic);
    if (changed.settingsChanged) hub.configure((settings = mergeSettings(changed.catalog.settings)));
    roster.apply(changed);
  };
  const begun = roster.begin(config.servers, options.waitMs ?? DEFAULT_WAIT_MS);
  for (const early of changes.splice(0)) change(early);
  apply = change;
  await begun;

  const connection = new Connection(hub, { limits: DEFAULT_LIMITS, retryHinted: false, diagnostics, report });
  const close = async (): Promise<void> => {
    await Promise.all([watch?.close(), connection.close()]);
    await roster.settled();
    opened.events.close();
  };
  return {
    events: opened.events,
    diagnostics,
    tools: () => connection.listTools(),
    callTool: async (name, input, request) => connection.callTool(hub.toolName(name), input, request),
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
    getPrompt: async (name, args, request) => connection.getPrompt(hub.toolName(name), args, request),
    complete: (...args) => connection.complete(...args),
    context: () => gatherContext(hub.members),
    on: (event, listener) => connection.on(event, listener),
    settled: () => roster.settled(),
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
