// `openGateway()`: serves a workspace as one MCP server to clients of both protocol eras, over HTTP and stdio.

import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex, Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { type Diagnostic, PortolanError } from "../errors/index.ts";
import {
  type EventBus,
  type OpenedWorkspace,
  openWorkspaceHub,
  type WorkspaceConfig,
  type WorkspaceOptions,
} from "../hub/index.ts";
import { GATEWAY_DEFAULTS, type GatewaySettings } from "../model/index.ts";
import { resolveCallerTokens } from "./access/bearer-tokens.ts";
import { NO_LIMITS } from "./access/caller-limits.ts";
import type { AuthenticatedCaller } from "./access/types.ts";
import { serveStdio } from "./channels/stdio.ts";
import { AbortPool } from "./common/abort-pool.ts";
import { GATEWAY_CAPABILITIES } from "./common/capabilities.ts";
import { LargeResults } from "./common/large-results.ts";
import { LogLevels } from "./common/log-levels.ts";
import { TaskIds } from "./common/task-ids.ts";
import { GatewayViews } from "./common/view.ts";
import { createHttpFront, type HttpFront } from "./http/front.ts";
import { type HttpServer, listen as listenHttp } from "./http/server.ts";
import type { LegacyOptions } from "./legacy/session.ts";
import { ModernFront } from "./modern/front.ts";

export interface GatewayOptions extends Omit<WorkspaceOptions, "handlers" | "capabilities"> {
  /** Settings that override those of the workspace's own file. */
  readonly settings?: GatewaySettings;
  /**
   * The gateway's own token, whose caller sees every tool, and the key that signs task ids and suspended calls. `openAccess()` keeps
   * both in a file. Without a key, a random one is used, and clients cannot continue their calls after a restart.
   */
  readonly access?: { readonly token?: string; readonly key?: Buffer };
  /** The path under which a program that embeds the gateway serves it, such as `/tools`: MCP is then at `/tools/mcp`. */
  readonly path?: string;
  /** `false` for a gateway that serves only stdio: settings about HTTP are then neither checked nor used. */
  readonly http?: boolean;
  /** A single enabled server keeps its own tool names and identity at `/mcp`, until a second one is added. */
  readonly bare?: boolean;
}

export interface Gateway extends AsyncDisposable {
  /** Everything that happens: listen with `on`, or loop over it with `for await`. */
  readonly events: EventBus;
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
  /** Refuses new requests, waits a moment for the running ones, then stops all servers and connections. */
  close(): Promise<void>;
}

/** The gateway with its parts, for the command line. */
export interface OpenedGateway extends Gateway {
  readonly workspace: OpenedWorkspace;
  readonly settings: GatewaySettings;
}

const MAX_SUSPENDED = 10_000;
/** The sum of both is the longest time that closing takes. */
const DRAIN_MS = 2_000;
const STOP_MS = 2_000;

/** Opens the workspace of a folder, a file or a config, and serves it. The caller of this function must close the gateway. */
export async function openGateway(
  source: string | WorkspaceConfig,
  options: GatewayOptions = {},
): Promise<OpenedGateway> {
  const workspace = await openWorkspaceHub(source, { ...options, capabilities: GATEWAY_CAPABILITIES });
  const settings: GatewaySettings = { ...workspace.config.gateway, ...options.settings };
  try {
    return await createGateway(workspace, settings, options);
  } catch (error) {
    await workspace.close();
    throw error;
  }
}

async function createGateway(
  workspace: OpenedWorkspace,
  configured: GatewaySettings,
  { access = {}, bare, http: servesHttp = true, path = "" }: GatewayOptions,
): Promise<OpenedGateway> {
  const { hub, report, redactor, config } = workspace;
  const resolved = await resolveCallerTokens(configured, workspace.secrets, config.folder ?? ".");
  const { settings } = resolved;
  for (const secret of resolved.secrets) redactor.add(secret);
  for (const warning of resolved.warnings) report(warning);
  const limits = limitsOf(settings);
  const { token, key = randomBytes(32) } = access;
  const legacy: LegacyOptions = {
    pageSize: settings.pageSize ?? GATEWAY_DEFAULTS.pageSize,
    results: new LargeResults({ maxBytes: settings.maxResultBytes ?? GATEWAY_DEFAULTS.maxResultBytes }),
    levels: new LogLevels(hub),
    tasks: new TaskIds(key),
    aborts: new AbortPool(),
  };
  const modern = new ModernFront({
    ...legacy,
    suspendedCalls: {
      key,
      keepMs: limits.parkedForMs,
      maxPerCaller: limits.parked,
      maxTotal: Math.max(MAX_SUSPENDED, limits.parked),
    },
  });
  const views = new GatewayViews(hub, "portolan", bare);
  const stopped = new AbortController();
  let server: HttpServer | undefined;
  if (servesHttp) checkReachable(settings, token);
  const front = servesHttp
    ? await createHttpFront({
        ...{ workspace, settings, limits, legacy, modern, views, token },
        path: checkPath(path),
        url: () => (server === undefined ? undefined : `${server.url}${path}/mcp`),
      })
    : undefined;
  const http = (): HttpFront => {
    if (front !== undefined) return front;
    throw new PortolanError("NOT_SUPPORTED", "this gateway was opened with http: false");
  };

  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    // The server still listens, so that new requests and /readyz learn that the gateway is stopping.
    await Promise.race([front?.drain(), delay(DRAIN_MS, undefined, { ref: false })]);
    modern.close();
    // Running calls fail with "the server was stopped" before their connections are closed.
    await Promise.race([workspace.close(), delay(STOP_MS, undefined, { ref: false })]);
    stopped.abort();
    front?.close();
    server?.close();
  };
  return {
    workspace,
    settings,
    events: workspace.events,
    diagnostics: workspace.diagnostics,
    handle: (request, response) => http().handle(request, response),
    fetch: async (request) => http().fetch(request),
    upgrade: (request, socket, head) => http().upgrade(request, socket, head),
    async listen() {
      server ??= await listenHttp(settings, http());
      return { url: `${server.url}${path}` };
    },
    serveStdio: (input, output) =>
      serveStdio({
        input,
        output,
        modern,
        legacy,
        context: { caller: STDIO_CALLER, view: views.for(STDIO_CALLER, { kind: "all" }) },
        maxMessageBytes: limits.bodyBytes,
        signal: stopped.signal,
      }),
    close: () => (closing ??= close()),
    [Symbol.asyncDispose]: () => (closing ??= close()),
  };
}

function checkPath(path: string): string {
  if (path === "" || /^(?:\/[\w.~-]+)+$/.test(path)) return path;
  throw new PortolanError("CONFIG_INVALID", `the path ${JSON.stringify(path)} of the gateway is not valid`, {
    hint: 'A path begins with "/" and does not end with it, such as /tools.',
  });
}

/** Without a token, callers or OAuth, every request would be refused. */
function checkReachable({ auth, oauth, callers = [] }: GatewaySettings, token: string | undefined): void {
  if (token !== undefined || auth === "none" || oauth !== undefined || callers.length > 0) return;
  throw new PortolanError(
    "CONFIG_INVALID",
    "no caller can use this gateway: it has no token, callers or OAuth",
    {
      hint: 'Pass access: { token }, or settings with callers, oauth, or auth: "none".',
    },
  );
}

type Limits = Required<Omit<NonNullable<GatewaySettings["limits"]>, "rate" | "concurrency">>;

function limitsOf({ limits = {} }: GatewaySettings): { [K in keyof Limits]: number } {
  return {
    bodyBytes: limits.bodyBytes ?? GATEWAY_DEFAULTS.bodyBytes,
    sessions: limits.sessions ?? GATEWAY_DEFAULTS.sessions,
    sessionIdleMs: limits.sessionIdleMs ?? GATEWAY_DEFAULTS.sessionIdleMs,
    parked: limits.parked ?? GATEWAY_DEFAULTS.parked,
    parkedForMs: limits.parkedForMs ?? GATEWAY_DEFAULTS.parkedForMs,
  };
}

/** The client on stdio started the gateway as its own process, so it has all rights of the process. */
const STDIO_CALLER: AuthenticatedCaller = { name: "stdio", toolFilter: undefined, limits: NO_LIMITS };
