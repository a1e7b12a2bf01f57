// HTTP front of a gateway: builds the request handler with its transports, and connects them to Node servers and to fetch.

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { toPortolanError } from "../../errors/index.ts";
import type { OpenedWorkspace } from "../../hub/index.ts";
import { GATEWAY_DEFAULTS, type GatewaySettings } from "../../model/index.ts";
import { createAccessControl } from "../access/access-control.ts";
import { Channels } from "../channels/channels.ts";
import { HttpSseFront } from "../channels/http-sse.ts";
import { refuseUpgrade, WebSocketFront } from "../channels/websocket.ts";
import { Intake } from "../common/intake.ts";
import type { GatewayViews } from "../common/view.ts";
import { LegacyHttpFront } from "../legacy/http-front.ts";
import type { LegacyOptions } from "../legacy/session.ts";
import type { ModernFront } from "../modern/front.ts";
import { serveFetch } from "./fetch.ts";
import { HttpHandler } from "./handler.ts";
import type { HttpRequest, HttpResponse } from "./responses.ts";

export interface HttpFrontOptions {
  readonly workspace: OpenedWorkspace;
  readonly settings: GatewaySettings;
  readonly limits: {
    readonly bodyBytes: number;
    readonly sessions: number;
    readonly sessionIdleMs: number;
  };
  readonly legacy: LegacyOptions;
  readonly modern: ModernFront;
  readonly views: GatewayViews;
  readonly token: string | undefined;
  /** The path before all routes, such as `/tools`, or empty. */
  readonly path: string;
  /** The URL of `/mcp` at which the gateway listens; undefined while it does not listen. */
  readonly url: () => string | undefined;
}

export interface HttpFront {
  /** True if the settings enable WebSocket. */
  readonly acceptsUpgrades: boolean;
  readonly handle: (request: HttpRequest, response: HttpResponse) => void;
  readonly fetch: (request: Request) => Promise<Response>;
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Refuses new requests. Resolves when the running ones have their response. */
  drain(): Promise<void>;
  /** Ends every session and connection of clients. */
  close(): void;
}

export async function createHttpFront(options: HttpFrontOptions): Promise<HttpFront> {
  const { workspace, settings, limits, legacy, modern, views, token, path, url } = options;
  const access = createAccessControl({
    settings,
    token,
    boundHost: settings.host ?? GATEWAY_DEFAULTS.host,
    url,
    report: workspace.report,
  });
  const legacyFront = new LegacyHttpFront({
    ...legacy,
    maxSessions: limits.sessions,
    idleMs: limits.sessionIdleMs,
  });
  const intake = new Intake(limits.bodyBytes);
  const channels = new Channels({ modern, legacy, intake, max: limits.sessions });
  const channelOptions = { channels, maxMessageBytes: limits.bodyBytes };
  const { sse, websocket } = settings.transports ?? {};
  const sseFront = sse === true ? new HttpSseFront({ ...channelOptions, path }) : undefined;
  const webSockets = websocket === true ? await WebSocketFront.create(channelOptions) : undefined;
  const handler = new HttpHandler({
    access,
    views,
    modern,
    legacy: legacyFront,
    sse: sseFront,
    intake,
    maxBodyBytes: limits.bodyBytes,
    path,
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
    handle: handler.handle,
    fetch: (request) => serveFetch(request, handler.handle),
    upgrade,
    async drain() {
      modern.endSubscriptions();
      await Promise.all([handler.drain(), channels.drain()]);
    },
    close() {
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
    message: "Only WebSocket upgrades at /mcp are supported, if WebSocket is enabled",
  },
} as const;

/** True when some tool of the server is not offered, because nobody approved its definition. */
function hasWithheld({ pins, inventory }: OpenedWorkspace["hub"]["members"][number]): boolean {
  return inventory.tools.some(({ name }) => pins.isWithheld(name));
}

/** Ready unless every enabled server has failed. */
function readinessOf({ hub }: OpenedWorkspace): { ready: boolean; servers: object } {
  const enabled = hub.members.filter(({ config }) => config.enabled);
  const down = enabled.filter((member) => member.isDown);
  return {
    ready: enabled.length === 0 || down.length < enabled.length,
    // The route needs no token, so it must not reveal the names of servers and tools.
    servers: {
      up: enabled.length - down.length,
      down: down.length,
      withheld: enabled.filter(hasWithheld).length,
    },
  };
}
