// `openGateway()`: serves a workspace as one MCP server to clients of both protocol eras, over HTTP and stdio.

import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex, Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { FileChange } from "../catalog/index.ts";
import { type Diagnostic, PortolanError } from "../errors/index.ts";
import {
  checkHealth,
  type OpenedWorkspace,
  openWorkspaceHub,
  readHealth,
  type ServerHealth,
  type WorkspaceEvents,
  type WorkspaceHubOptions,
  type WorkspaceOptions,
  type AnyWorkspaceSource,
} from "../hub/index.ts";
import { ANYWHERE, gatewayCapabilities, type GatewaySettings } from "../model/index.ts";
import type { CallObservers } from "../telemetry/index.ts";
import { gatewayFile } from "./access/access-file.ts";
import { Approvals } from "./approval/approvals.ts";
import type { ApproveCall } from "./approval/types.ts";
import { resolveCallerTokens } from "./access/bearer-tokens.ts";
import { NO_LIMITS } from "./access/caller-limits.ts";
import { watchRuleTools } from "./access/rule-tools.ts";
import { createCallRefusalEvents } from "./access/refusal-events.ts";
import type { AuthenticatedCaller } from "./access/types.ts";
import { Budgets, type BudgetUse } from "./budgets/budgets.ts";
import { serveStdio } from "./channels/stdio.ts";
import { AbortPool } from "./common/abort-pool.ts";
import { LargeResults } from "./common/large-results.ts";
import { LogLevels } from "./common/log-levels.ts";
import { TaskIds } from "./common/task-ids.ts";
import { GatewayViews } from "./common/view.ts";
import { createHttpFront, type HttpFront } from "./http/front.ts";
import type { Site } from "./http/handler.ts";
import { type HttpServer, listen as listenHttp } from "./http/server.ts";
import type { LegacyOptions } from "./legacy/session.ts";
import { ModernFront } from "./modern/front.ts";
import { watchConfigState } from "./telemetry/config-state.ts";
import { openObservation } from "./telemetry/open-observation.ts";
import { checkPath, checkReachable } from "./options.ts";
import { createReload, type ReloadOutcome } from "./reload.ts";
import { SettingsInUse } from "./settings-in-use.ts";

/** The options of `openGateway()`: those of `openWorkspace()` without `handlers`, and those below. */
export interface GatewayOptions extends Omit<WorkspaceOptions, "handlers"> {
  /** Settings that override those of the workspace's own file, or a function that makes them of those. */
  readonly settings?: GatewaySettings | ((configured: GatewaySettings) => GatewaySettings) | undefined;
  /**
   * The gateway's own token, whose caller sees every tool, and the key that signs task ids and suspended calls. `openAccess()` keeps
   * both in a file. Without a key, a random one is used, and task ids are no longer valid after a restart. Approvals of calls are
   * stored beside the file; without one, they end with the gateway.
   */
  readonly access?:
    | {
        readonly token?: string | undefined;
        readonly key?: Buffer | undefined;
        readonly file?: string | undefined;
      }
    | undefined;
  /** Decides about calls that need approval (`settings.approval`, contracts), unless the rule names other ways in `by`. */
  readonly approve?: ApproveCall | undefined;
  /** The path under which a program that embeds the gateway serves it, such as `/tools`: MCP is then at `/tools/mcp`. */
  readonly path?: string | undefined;
  /** `false` for a gateway that serves only stdio: settings about HTTP are then neither checked nor used. */
  readonly http?: boolean | undefined;
  /** A single enabled server keeps its own tool names and identity at `/mcp`, until a second one is added. */
  readonly bare?: boolean | undefined;
}

export interface Gateway extends AsyncDisposable {
  /** Everything that happens: listen with `on`, or loop over it with `for await`. */
  readonly events: WorkspaceEvents;
  /** Diagnostics so far, of the config files and at run time. */
  readonly diagnostics: readonly Diagnostic[];
  /** Request listener for a Node HTTP server, such as `http.createServer(gateway.handle)`. The body must be unread. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Handler for runtimes and frameworks with the Fetch API. The body of the response is a stream. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Listener for the `upgrade` event of a Node HTTP server. Needs the setting `transports.websocket`. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Listens at the host and port of the settings; returns the URL before `/mcp`. */
  listen(): Promise<{ readonly url: string }>;
  /** Serves one client on these streams. Resolves when the client has disconnected. */
  serveStdio(input: Readable, output: Writable): Promise<void>;
  /** Resolves when every server that starts with the gateway is ready, or has failed for the first time. */
  settled(): Promise<void>;
  /** The last known state of each server, without a request to it, as `health()` of a workspace. */
  health(): ServerHealth[];
  /** Pings every running server. False when an enabled server is down, or when no driver can serve a contract. */
  healthCheck(): Promise<boolean>;
  /** Refuses new requests, waits a moment for the running ones, then stops all servers and connections. */
  close(): Promise<void>;
}

/** Creates the site that a gateway serves beside MCP, such as the console. */
export type CreateSite = (workspace: OpenedWorkspace) => Site | Promise<Site>;

/** The gateway with its parts, for the command line. */
export interface OpenedGateway extends Gateway {
  readonly workspace: OpenedWorkspace;
  /** Observers of calls: each gets one record for each request of a client. */
  readonly calls: CallObservers;
  /** Sends the spans and metrics that wait to be exported. Rejects if the receiver does not accept them. */
  flushTelemetry(): Promise<void>;
  /** Calls that wait for a person. */
  readonly approvals: Approvals;
  /** The settings in use. */
  readonly settings: GatewaySettings;
  /** The gateway's own token in use. */
  readonly token: string | undefined;
  /** How much callers used of their budgets, the fullest first. */
  readonly budgets: readonly BudgetUse[];
  /** Why changed settings of the config files are not in use; undefined if they are. */
  readonly settingsProblem: string | undefined;
  /**
   * Reads config files, secrets, the gateway's own token, and certificates again. `trusted` are changes that the user made with a
   * command.
   */
  reload(trusted?: readonly FileChange[]): Promise<ReloadOutcome>;
}

const MAX_SUSPENDED = 10_000;
/** The sum of both is the longest time that closing takes. */
const DRAIN_MS = 2_000;
const STOP_MS = 2_000;

/** The options of `openGateway()`, and those that only Portolan's own code sets. */
type FullGatewayOptions = GatewayOptions &
  Pick<WorkspaceHubOptions, "logins" | "parsedFiles" | "promptPassphrase" | "reportsFailures"> & {
    /** Checks the settings of a program against the names of the workspace's servers. Throws if they are wrong. */
    readonly checkSettings?: (settings: GatewaySettings, servers: readonly string[]) => void;
  };

/** Opens the workspace of a folder, a file or a config, and serves it. The caller of this function must close the gateway. */
export async function openGateway(
  source: AnyWorkspaceSource,
  options: FullGatewayOptions = {},
  createSite?: CreateSite,
): Promise<OpenedGateway> {
  const workspace = await openWorkspaceHub(
    source,
    { ...options, capabilities: gatewayCapabilities(createSite !== undefined), servesCallers: true },
    {
      // The clients of a gateway read its hints in their own folders.
      hintFolder: ANYWHERE,
      // A missing token ends the start before packages are installed.
      beforeStart: async ({ gateway, servers, folder = "." }, secrets, diagnostics) => {
        const settings = settingsOf(options, gateway);
        options.checkSettings?.(settings, serverNames(servers, diagnostics));
        await resolveCallerTokens(settings, secrets, folder);
      },
    },
  );
  try {
    return await createGateway(workspace, options, await createSite?.(workspace));
  } catch (error) {
    await workspace.close();
    throw error;
  }
}

/** The settings of the config files, changed by those of the program or the command line. */
function settingsOf(
  { settings: given = {} }: Pick<GatewayOptions, "settings">,
  configured: GatewaySettings = {},
): GatewaySettings {
  return typeof given === "function" ? given(configured) : { ...configured, ...given };
}

/** Also the servers that were left out because of errors in their configs. */
function serverNames(
  servers: readonly { readonly alias: string }[],
  diagnostics: readonly Diagnostic[],
): string[] {
  const leftOut = diagnostics.flatMap(({ severity, server }) =>
    severity === "error" && server !== undefined ? [server] : [],
  );
  return [...new Set([...servers.map(({ alias }) => alias), ...leftOut])];
}

async function createGateway(
  workspace: OpenedWorkspace,
  options: FullGatewayOptions,
  site: Site | undefined,
): Promise<OpenedGateway> {
  const { access = {}, approve, bare, path = "", snapshots } = options;
  const { http: servesHttp = true } = options;
  const { hub, report, config } = workspace;
  const settings = await SettingsInUse.open({
    workspace,
    access,
    configured: () => {
      const settings = settingsOf(options, workspace.gateway.settings);
      options.checkSettings?.(settings, serverNames(hub.members, workspace.diagnostics));
      return settings;
    },
  });
  const { live } = settings;
  const { key = randomBytes(32) } = access;
  const approvals = new Approvals(workspace, {
    program: approve,
    openStore: async () => {
      const { ApprovalStore } = await import("./approval/store.ts");
      const file = access.file?.replace(/(\.json)?$/, ".approvals.json");
      return ApprovalStore.open({ key, file, report });
    },
  });
  const legacy: LegacyOptions = {
    get pageSize() {
      return live.pageSize;
    },
    results: new LargeResults({
      get maxBytes() {
        return live.maxResultBytes;
      },
    }),
    levels: new LogLevels(hub),
    tasks: new TaskIds(key),
    aborts: new AbortPool(),
    calls: workspace.calls,
  };
  const modern = new ModernFront({
    get pageSize() {
      return live.pageSize;
    },
    ...{ results: legacy.results, levels: legacy.levels, tasks: legacy.tasks, aborts: legacy.aborts },
    calls: workspace.calls,
    suspendedCalls: {
      key,
      get keepMs() {
        return live.suspendedForMs;
      },
      get maxPerCaller() {
        return live.suspended;
      },
      get maxTotal() {
        return Math.max(MAX_SUSPENDED, live.suspended);
      },
    },
  });
  const observation = await openObservation(workspace, live.all);
  const views = new GatewayViews(hub, {
    ...{ name: "portolan", bare },
    refused: createCallRefusalEvents(workspace.events),
    offerLogin: (caller) => front?.offerLogin(caller),
  });
  const budgets = new Budgets({
    ...{ hub, events: workspace.events, report },
    file:
      config.folder === undefined || snapshots === false
        ? undefined
        : await gatewayFile(config.folder, ".budgets.json"),
  });
  await budgets.use(live.all);
  // After the budgets, so that nobody is asked about a call that a budget refuses.
  approvals.useRules(live.all.approval);
  const checkRuleTools = watchRuleTools(workspace, () => live.all);
  const configState = watchConfigState(workspace, {
    problem: () => settings.problem,
    applied: () => settings.applied,
  });
  const stopped = new AbortController();
  let server: HttpServer | undefined;
  if (servesHttp) checkReachable(live.all, settings.token);
  const front: HttpFront | undefined = servesHttp
    ? await createHttpFront({
        ...{
          workspace,
          live,
          legacy,
          modern,
          views,
          key,
          site,
          token: settings.token,
          reportSettings: settings.report,
        },
        metrics: observation.telemetry.metrics,
        metricValues: () => ({ approvals: approvals.counts, config: configState() }),
        path: checkPath(path),
        url: () => (server === undefined ? undefined : `${server.url}${path}/mcp`),
      })
    : undefined;
  const http = (): HttpFront => {
    if (front !== undefined) return front;
    throw new PortolanError(
      "NOT_SUPPORTED",
      "this gateway does not serve HTTP, because it was opened with http: false",
    );
  };

  settings.begin((next, nextToken) => {
    if (servesHttp) checkReachable(next, nextToken);
    const useAccess = front?.prepareAccess(next, nextToken);
    return async () => {
      useAccess?.();
      await budgets.use(next);
      approvals.useRules(next.approval);
      checkRuleTools();
    };
  });
  const reload = createReload(workspace, settings, () => server?.renewTls());

  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await approvals.close();
    // The server still listens, so that new requests and /readyz learn that the gateway is stopping.
    await Promise.race([front?.drain(), delay(DRAIN_MS, undefined, { ref: false })]);
    modern.close();
    // Running calls fail with this message before their connections are closed.
    await Promise.race([
      workspace.close("the gateway is stopping"),
      delay(STOP_MS, undefined, { ref: false }),
    ]);
    stopped.abort();
    front?.close();
    server?.close();
    await budgets.close();
    await observation.close();
  };
  return {
    workspace,
    calls: workspace.calls,
    approvals,
    flushTelemetry: () => observation.telemetry.flush(),
    get settings() {
      return live.all;
    },
    get token() {
      return settings.token;
    },
    get settingsProblem() {
      const { problem, atRestart } = settings;
      if (problem !== undefined || atRestart.length === 0) return problem;
      return `Changes of ${atRestart.join(", ")} take effect after a restart of the gateway.`;
    },
    get budgets() {
      return budgets.uses;
    },
    reload,
    events: workspace.events,
    diagnostics: workspace.diagnostics,
    settled: () => workspace.settled(),
    health: () => readHealth(hub.members),
    healthCheck: () => checkHealth(hub.members),
    handle: (request, response) => http().handle(request, response),
    fetch: async (request) => http().fetch(request),
    upgrade: (request, socket, head) => http().upgrade(request, socket, head),
    async listen() {
      if (server === undefined) {
        server = await listenHttp(live.all, http());
        http().reportMissingLinks();
      }
      return { url: `${server.url}${path}` };
    },
    serveStdio: (input, output) =>
      serveStdio({
        input,
        output,
        modern,
        legacy,
        context: { caller: STDIO_CALLER, view: views.for(STDIO_CALLER, { kind: "all" }), peer: STDIO_PEER },
        maxMessageBytes: live.bodyBytes,
        signal: stopped.signal,
      }),
    close: () => (closing ??= close()),
    [Symbol.asyncDispose]: () => (closing ??= close()),
  };
}

/** The client on stdio started the gateway as its own process, so it has all rights of the process. */
const STDIO_PEER = { transport: "stdio" } as const;
const STDIO_CALLER: AuthenticatedCaller = {
  name: "stdio",
  toolFilter: undefined,
  limits: NO_LIMITS,
  fingerprint: "",
};
