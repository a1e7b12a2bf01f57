// HTTP front of a gateway: builds the request handler with its transports, and connects them to Node servers and to fetch.

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type Report, toPortolanError } from "../../errors/index.ts";
import { isFirstStart, type OfferLogin, type OpenedWorkspace } from "../../hub/index.ts";
import { GATEWAY_DEFAULTS, type GatewaySettings } from "../../model/index.ts";
import type { CallMetrics } from "../../telemetry/index.ts";
import { createAccessControl } from "../access/access-control.ts";
import { createRefusalEvents } from "../access/refusal-events.ts";
import type { AccessControl, AuthenticatedCaller } from "../access/types.ts";
import { Channels } from "../channels/channels.ts";
import { HttpSseFront } from "../channels/http-sse.ts";
import { refuseUpgrade, WebSocketFront } from "../channels/websocket.ts";
import { Intake } from "../common/intake.ts";
import type { GatewayViews } from "../common/view.ts";
import { LegacyHttpFront } from "../legacy/http-front.ts";
import { baseUrlOf, missingLinks } from "../login/base-url.ts";
import { LoginFront } from "../login/front.ts";
import type { LegacyOptions } from "../legacy/session.ts";
import type { ModernFront } from "../modern/front.ts";
import type { LiveSettings } from "../settings.ts";
import { createMetricsPage, type GatewayValues } from "../telemetry/metrics-page.ts";
import { serveFetch } from "./fetch.ts";
import { HttpHandler, type Site } from "./handler.ts";
import type { HttpRequest, HttpResponse } from "./responses.ts";

export interface HttpFrontOptions {
  readonly workspace: OpenedWorkspace;
  /** The settings in use. */
  readonly live: LiveSettings;
  readonly legacy: LegacyOptions;
  readonly modern: ModernFront;
  readonly views: GatewayViews;
  /** The gateway's own token at the start. */
  readonly token: string | undefined;
  /** Signs the cookies of login pages. */
  readonly key: Buffer;
  /** The metrics of calls, for `/metrics`. */
  readonly metrics: CallMetrics | undefined;
  /** Values of the gateway for `/metrics`. */
  readonly metricValues: () => GatewayValues;
  /** The path before all routes, such as `/tools`, or empty. */
  readonly path: string;
  /** The URL of `/mcp` at which the gateway listens; undefined while it does not listen. */
  readonly url: () => string | undefined;
  readonly site: Site | undefined;
  /** Gets diagnostics that are about the settings, and over when other settings are in use. */
  readonly reportSettings: Report;
}

export interface HttpFront {
  /** True if the settings enable WebSocket. */
  readonly acceptsUpgrades: boolean;
  /** Offers logins at servers to a caller. */
  readonly offerLogin: (caller: string) => OfferLogin;
  readonly handle: (request: HttpRequest, response: HttpResponse) => void;
  readonly fetch: (request: Request) => Promise<Response>;
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /**
   * Builds access control for changed settings and the gateway's own token; throws if they cannot be used. The returned function puts it into use: callers that
   * do not exist any more, or that have other rules, lose their sessions.
   */
  prepareAccess(settings: GatewaySettings, token: string | undefined): () => void;
  /** Warns if callers must log in at servers and get no links, after the gateway has begun to listen. */
  reportMissingLinks(): void;
  /** Refuses new requests. Resolves when the running ones have their response. */
  drain(): Promise<void>;
  /** Ends every session and connection of clients. */
  close(): void;
}

export async function createHttpFront(options: HttpFrontOptions): Promise<HttpFront> {
  const { workspace, live, legacy, modern, views, token, key, metrics, path, url, site } = options;
  const { reportSettings: report } = options;
  const { calls } = workspace;
  const refusals = new Map<string, number>();
  const { prometheus } = live.all.telemetry ?? {};
  const { host: boundHost = GATEWAY_DEFAULTS.host, transports } = live.all;
  const createAccess = (settings: GatewaySettings, own: string | undefined): AccessControl =>
    createAccessControl({ settings, token: own, boundHost, url, report });
  let access = createAccess(live.all, token);
  const legacyFront = new LegacyHttpFront({
    get pageSize() {
      return legacy.pageSize;
    },
    ...{ results: legacy.results, levels: legacy.levels, tasks: legacy.tasks, aborts: legacy.aborts, calls },
    get maxSessions() {
      return live.sessions;
    },
    get idleMs() {
      return live.sessionIdleMs;
    },
  });
  const intake = new Intake(() => live.bodyBytes);
  const channels = new Channels({
    ...{ modern, legacy, intake },
    get max() {
      return live.sessions;
    },
  });
  const channelOptions = {
    channels,
    path,
    get maxMessageBytes() {
      return live.bodyBytes;
    },
  };
  const sseFront = transports?.sse === true ? new HttpSseFront(channelOptions) : undefined;
  const webSockets = transports?.websocket === true ? await WebSocketFront.create(channelOptions) : undefined;
  const refused = createRefusalEvents(workspace.events);
  const baseUrl = (): string | undefined => baseUrlOf(live.all, url());
  const login = new LoginFront({
    ...{ key, refused },
    access: () => access,
    settings: () => live.all,
    baseUrl,
    onSecrets: workspace.redactor.replace,
  });
  const handler = new HttpHandler({
    get access() {
      return access;
    },
    login,
    views,
    modern,
    legacy: legacyFront,
    sse: sseFront,
    intake,
    calls,
    metrics:
      metrics === undefined || prometheus === undefined
        ? undefined
        : createMetricsPage({
            ...{ settings: prometheus, metrics, workspace, refusals },
            values: options.metricValues,
          }),
    get maxBodyBytes() {
      return live.bodyBytes;
    },
    ...{ path, site, report },
    refused: (request, refusal, caller) => {
      refusals.set(refusal.error.code, (refusals.get(refusal.error.code) ?? 0) + 1);
      refused(request, refusal, caller);
    },
    readiness: () => readinessOf(workspace),
  });

  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on("error", () => socket.destroy());
    const route = handler.findRoute(request.url ?? "/");
    const isWebSocket = request.headers.upgrade?.toLowerCase() === "websocket";
    if (!isWebSocket || route?.kind !== "mcp" || webSockets === undefined)
      return refuseUpgrade(socket, NO_WEBSOCKET);
    handler.authenticate(request, route.scope).then(
      (found) => {
        if ("refusal" in found) refuseUpgrade(socket, found.refusal);
        else webSockets.accept(request, socket, head, found.context);
      },
      (thrown: unknown) => {
        const { code, message } = toPortolanError(thrown);
        refuseUpgrade(socket, { status: 404, headers: {}, error: { code, message } });
      },
    );
  };

  return {
    acceptsUpgrades: webSockets !== undefined,
    offerLogin: (caller) => login.offerTo(caller),
    handle: handler.handle,
    fetch: (request) => serveFetch(request, handler.handle),
    upgrade,
    prepareAccess(settings, own) {
      const next = createAccess(settings, own);
      return () => {
        access = next;
        const isOutdated = (caller: AuthenticatedCaller): boolean =>
          caller.fingerprint !== "" && !next.isCurrent(caller);
        legacyFront.endSessions(isOutdated);
        sseFront?.endStreams(isOutdated);
        webSockets?.endConnections(isOutdated);
        modern.endSubscriptions(isOutdated);
      };
    },
    reportMissingLinks() {
      if (baseUrl() !== undefined) return;
      const { members } = workspace.hub;
      const perCaller = members.filter(({ config, isPerCaller }) => config.enabled && isPerCaller);
      const diagnostic = missingLinks(perCaller.map(({ config }) => config.alias));
      if (diagnostic !== undefined) workspace.report(diagnostic);
    },
    async drain() {
      site?.close();
      modern.endSubscriptions();
      await Promise.all([handler.drain(), channels.drain()]);
    },
    close() {
      login.close();
      legacyFront.close();
      sseFront?.close();
      webSockets?.close();
    },
  };
}

const NO_WEBSOCKET = {
  status: 404,
  headers: {},
  error: {
    code: "NOT_SUPPORTED",
    message:
      "The gateway accepts WebSocket connections only if gateway.transports.websocket is true, and only at a path that ends in /mcp",
  },
} as const;

/** True when some tool of the server is not offered, because nobody approved its definition. */
function hasWithheld({ pins, inventory }: OpenedWorkspace["hub"]["members"][number]): boolean {
  return inventory.tools.some(({ name }) => pins.isWithheld(name));
}

/** Ready unless every enabled server has failed. */
function readinessOf({ hub }: OpenedWorkspace): { ready: boolean; servers: object } {
  // The state of a server at which each caller logs in depends on the caller.
  const enabled = hub.members.filter(({ config, isPerCaller }) => config.enabled && !isPerCaller);
  const down = enabled.filter((member) => member.isDown);
  const starting = enabled.filter(isFirstStart);
  return {
    ready: enabled.length === 0 || down.length < enabled.length,
    // The route needs no token, so it must not reveal the names of servers and tools.
    servers: {
      up: enabled.length - starting.length - down.length,
      starting: starting.length,
      down: down.length,
      withheld: enabled.filter(hasWithheld).length,
      // These run with an earlier configuration, process or secret.
      outdated: enabled.filter(({ failedReplacement }) => failedReplacement !== undefined).length,
    },
  };
}
