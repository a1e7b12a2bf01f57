// `openWorkspace()`: the servers of a folder, a file or a program as one set of tools.

import { resolve } from "node:path";
import { OWN_NAMES, USUAL_NAMES } from "../../catalog/index.ts";
import type { Contracts } from "../../contracts/index.ts";
import {
  checkOptions,
  type Diagnostic,
  isPortolanError,
  PortolanError,
  type Report,
} from "../../errors/index.ts";
import {
  type CompleteResult,
  DEFAULT_LIMITS,
  type GetPromptResult,
  type PromptDefinition,
  type ReadResourceResult,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
  type ToolDefinition,
} from "../../model/index.ts";
import {
  checkRequestOptions,
  Connection,
  createWarner,
  type McpConnection,
  type RequestOptions,
  type Tool,
  type ToolResult,
} from "../../client/index.ts";
import { within } from "../../upstream/index.ts";
import { type ContextItem, readContext } from "./context.ts";
import type { AnyWorkspaceSource, WorkspaceSource } from "./config.ts";
import type { WorkspaceEvents } from "../events.ts";
import type { Hub, OwnName } from "../hub.ts";
import type { ListName } from "../member/inventory.ts";
import { healthOf, isUp, type ServerHealth, unservedContracts } from "../member/health.ts";
import type { ServerPins } from "../pins/pin-report.ts";
import { readPins } from "../pins/read-pins.ts";
import { HEALTH_OPTIONS, READ_OPTIONS, WORKSPACE_OPTIONS } from "./options.ts";
import { CLOSED_HINT } from "../views/view.ts";
import { hiddenByList } from "./tool-lists.ts";
import { openWorkspaceHub } from "./workspace-hub.ts";
import type { WorkspaceHubOptions, WorkspaceOptions } from "./workspace-options.ts";

/** All servers of a workspace as one: tools, resources, prompts, events and health. */
export interface Workspace extends AsyncDisposable {
  /** All events: use `on`, or `for await`. */
  readonly events: WorkspaceEvents;
  /** Diagnostics of the config files and at run time. Those about a server are forgotten when a new generation of it starts. */
  readonly diagnostics: readonly Diagnostic[];
  /**
   * All tools of all servers, with unique names, sorted. A diagnostic names the servers that are still starting, whose tools are
   * missing: `settled()` waits for them.
   */
  tools(): Promise<Tool[]>;
  /** The definitions of the same tools. Unlike `tools()`, this does not load Zod. */
  toolDefinitions(): Promise<ToolDefinition[]>;
  /** Calls a tool by its full name, or as `alias.tool`. */
  callTool(name: string, input?: object, options?: RequestOptions): Promise<ToolResult>;
  /** The full name of a tool that is given as `alias.tool`; other names are returned unchanged. */
  fullName(name: string): string;
  /** The server of each tool and the server's own name for it, by the tool's full name. */
  toolNames(): ReadonlyMap<string, OwnName>;
  resources(): Promise<ResourceDefinition[]>;
  resourceTemplates(): Promise<ResourceTemplateDefinition[]>;
  /** Reads a resource from the server that has it. `server` names one, for a resource that several servers have. */
  readResource(
    uri: string,
    options?: RequestOptions & { readonly server?: string | undefined },
  ): Promise<ReadResourceResult>;
  subscribe(uri: string): Promise<() => Promise<void>>;
  prompts(): Promise<PromptDefinition[]>;
  /** The server of each prompt and the server's own name for it, by the prompt's full name. */
  promptNames(): ReadonlyMap<string, OwnName>;
  /** Gets a prompt by its full name, or as `alias.prompt`. */
  getPrompt(name: string, args?: Record<string, string>, options?: RequestOptions): Promise<GetPromptResult>;
  complete(...args: Parameters<McpConnection["complete"]>): Promise<CompleteResult["completion"]>;
  /** The contracts of the workspace's drivers; undefined without drivers. Valid while files change and servers stop. */
  contracts(): Promise<Contracts | undefined>;
  /** The resources that the config files list as context. */
  context(): Promise<ContextItem[]>;
  on: McpConnection["on"];
  /** Resolves when every server that starts with the workspace is ready, or has failed for the first time. */
  settled(): Promise<void>;
  /**
   * The last known state of each server, without a request to it. All contracts are one server, whose `unserved` names the
   * contracts that no driver can serve; `status()` of `contracts()` has the state of each driver.
   */
  health(): ServerHealth[];
  /** The tools of each server beside their pins. Reads the lists of servers that are not compared otherwise. */
  pins(): Promise<ServerPins[]>;
  /**
   * Pings every running server, or only `servers`. False when an enabled server is down, or when a contract is `unserved` in
   * `health()`: all its drivers are unreachable or refused. Drivers that wait for a login are not down.
   */
  healthCheck(options?: { readonly servers?: readonly string[] | undefined }): Promise<boolean>;
  close(): Promise<void>;
}

const PING_MS = 5_000;

/**
 * Opens a workspace: all servers of a folder's config files, or of a config given by the program, as one set of tools.
 *
 * @example
 * ```ts
 * import { openWorkspace } from "portolan";
 *
 * await using workspace = await openWorkspace(".");
 * for (const tool of await workspace.tools()) console.log(tool.name);
 * ```
 *
 * A server that cannot be used is left out with a warning: the event `mcp.server_failed`, a diagnostic, and `process.emitWarning`
 * unless `onDiagnostic` is given.
 */
export async function openWorkspace(
  source: WorkspaceSource = ".",
  options: WorkspaceOptions = {},
): Promise<Workspace> {
  checkOptions("the options of openWorkspace()", options, WORKSPACE_OPTIONS);
  return openWorkspaceWith(source, options);
}

/** Like `openWorkspace()`, also with the options of Portolan's own commands. */
export async function openWorkspaceWith(
  source: AnyWorkspaceSource,
  options: WorkspaceHubOptions,
): Promise<Workspace> {
  const onDiagnostic = options.onDiagnostic ?? createWarner();
  const opened = await openWorkspaceHub(source, { reportsFailures: true, ...options, onDiagnostic });
  const { hub, events, diagnostics, report } = opened;
  if (typeof source === "string" && opened.config.servers.length === 0 && options.reportsFailures !== false) {
    const place = resolve(source);
    report({
      code: "SERVER_UNKNOWN",
      severity: "warning",
      message: `There are no servers in ${place}.`,
      hint:
        place === opened.config.folder
          ? `Declare them in one of these files: ${[...OWN_NAMES, ...USUAL_NAMES].join(", ")}.`
          : "Declare them in this file, or open another file or folder.",
    });
  }
  const connection = new Connection(hub, {
    ...{ limits: DEFAULT_LIMITS, retryHinted: false, diagnostics, report },
    serverOf: (tool) => hub.ownName(tool)?.server,
    reasonOf: (tool) => hiddenByList(hub, tool),
  });
  let isClosed = false;
  const close = (): Promise<void> => {
    isClosed = true;
    return opened.close();
  };
  const warnMissing = createMissingWarner(hub, options.reportsFailures === false ? () => {} : report);
  /** The lists of a closed workspace would name tools that cannot be called. */
  const beforeList = (list: ListName): void => {
    if (isClosed)
      throw new PortolanError("CONNECTION_CLOSED", "the workspace is closed", { hint: CLOSED_HINT });
    warnMissing(list);
  };
  const findOwner = (name: string, request: RequestOptions | undefined): Promise<void> => {
    checkRequestOptions(request);
    return hub.findOwner(name, request ?? {});
  };
  return {
    events,
    diagnostics,
    tools: async () => {
      beforeList("tools");
      return connection.listTools();
    },
    toolDefinitions: async () => {
      beforeList("tools");
      return connection.listToolDefinitions();
    },
    callTool: async (name, input, request) => {
      const full = hub.toolName(name);
      try {
        if (!hub.isKnown(full)) await findOwner(full, request);
        return await connection.callTool(full, input, request);
      } catch (thrown) {
        if (!isPortolanError(thrown)) throw thrown;
        if (thrown.code !== "TOOL_NOT_FOUND") throw thrown.at({ tool: full });
        // An unknown tool has no server, but its name may begin with one: `files.raed`.
        throw thrown.at({ server: hub.members.find(({ alias }) => name.startsWith(`${alias}.`))?.alias });
      }
    },
    fullName: (name) => hub.toolName(name),
    contracts: () => hub.contracts(),
    toolNames: () => hub.toolNames(),
    promptNames: () => hub.promptNames(),
    resources: async () => {
      beforeList("resources");
      return connection.listResources();
    },
    resourceTemplates: async () => {
      beforeList("resources");
      return connection.listResourceTemplates();
    },
    readResource: async (uri, options = {}) => {
      checkOptions("the options of the request", options, READ_OPTIONS);
      const { server, ...request } = options;
      return connection.readResource(uri, request, server === undefined ? undefined : hub.member(server));
    },
    subscribe: (uri) => connection.subscribe(uri),
    prompts: async () => {
      beforeList("prompts");
      return connection.listPrompts();
    },
    getPrompt: async (name, args, request) => {
      const full = hub.promptName(name);
      if (!hub.isKnown(full)) await findOwner(full, request);
      return connection.getPrompt(full, args, request);
    },
    complete: (...args) => connection.complete(...args),
    context: () => readContext(hub.members),
    on: (event, listener) => connection.on(event, listener),
    settled: () => opened.settled(),
    health: () => readHealth(hub.members),
    pins: () => readPins(opened),
    healthCheck: async (options = {}) => {
      checkOptions("the options of healthCheck()", options, HEALTH_OPTIONS);
      return checkHealth(options.servers?.map((alias) => hub.member(alias)) ?? hub.members);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Reports the servers whose tools, prompts or resources a list lacks because they are still starting. Each report is made once. */
function createMissingWarner(hub: Hub, report: Report): (list: ListName) => void {
  const reported = new Set<string>();
  return (list) => {
    const missing = hub.members.filter(({ isUnlisted }) => isUnlisted).map(({ alias }) => alias);
    const names = missing.toSorted().join(", ");
    const [verb, owner] = missing.length === 1 ? ["is", "Its"] : ["are", "Their"];
    const message = `${names} ${verb} still starting. ${owner} ${list} are missing from the list.`;
    if (missing.length === 0 || reported.has(message)) return;
    reported.add(message);
    const hint = `Wait before you list them: await workspace.settled(). Or list them again when they change: workspace.on("${list}Changed", …).`;
    report({ code: "SERVER_UNAVAILABLE", severity: "warning", message, hint });
  };
}

/** The last known state of each server, sorted by alias. */
export function readHealth(members: Hub["members"]): ServerHealth[] {
  return members.map(healthOf).toSorted((a, b) => (a.alias < b.alias ? -1 : 1));
}

/**
 * Pings every running server. False when an enabled one is down, or a contract that no driver can serve. `startMs` is the time for
 * servers that are still starting, and drivers that are still verified: by default as much as a ping.
 */
export async function checkHealth(members: Hub["members"], startMs = PING_MS): Promise<boolean> {
  const alive = await Promise.all(
    members.map(async (member) => {
      const limit = { server: member.alias, what: "starting", ms: startMs, signal: undefined };
      if (member.state === "starting" && startMs > 0) await within(member.start(), limit).catch(() => {});
      if (member.processes.main.live === undefined || member.state === "starting") return isUp(member);
      if (member.config.endpoint.transport === "contracts") return hasDrivers(member, startMs);
      return member.probe().then(
        () => true,
        () => false,
      );
    }),
  );
  return alive.every(Boolean);
}

/** False when a contract is not served. */
async function hasDrivers(member: Hub["members"][number], ms: number): Promise<boolean> {
  const limit = { server: member.alias, what: "verifying", ms, signal: undefined };
  const contracts = member.processes.handle?.upstream as Contracts | undefined;
  await within(contracts?.settled() ?? Promise.resolve(), limit).catch(() => {});
  return unservedContracts(member).length === 0;
}
