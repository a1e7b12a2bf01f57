// The gateway's HTTP server: made as the settings say, bound, drained and stopped.

import { readFile } from "node:fs/promises";
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PortolanError, toPortolanError } from "../../errors/index.ts";
import type { OpenedWorkspace } from "../../hub/index.ts";
import { GATEWAY_DEFAULTS, type GatewaySettings } from "../../model/index.ts";
import { Channels } from "../channels/channels.ts";
import { createDoor } from "../access/access-control.ts";
import { Intake } from "../common/intake.ts";
import type { LegacyOptions } from "../legacy/session.ts";
import type { Modern } from "../modern/front.ts";
import type { Offers } from "../common/view.ts";
import { HttpFront } from "./handler.ts";
import { LegacyHttp } from "../legacy/http-front.ts";
import { sendError } from "./refusals.ts";
import { findRoute } from "./routes.ts";
import { SseFront } from "../channels/http-sse.ts";
import { refuseUpgrade, WebSocketFront } from "../channels/websocket.ts";

export interface Listening {
  readonly url: string;
  drain(): Promise<void>;
  stop(): void;
}

export async function listenHttp(options: {
  workspace: OpenedWorkspace;
  settings: GatewaySettings;
  limits: { bodyBytes: number; sessions: number; sessionIdleMs: number };
  legacy: LegacyOptions;
  modern: Modern;
  offers: Offers;
  token: string;
}): Promise<Listening> {
  const { workspace, settings, limits, legacy, modern, offers } = options;
  const host = settings.host ?? GATEWAY_DEFAULTS.host;
  const sessions = { ...legacy, maxSessions: limits.sessions, idleMs: limits.sessionIdleMs };
  let port = settings.port ?? GATEWAY_DEFAULTS.port;
  const door = createDoor({
    settings,
    token: options.token,
    boundHost: host,
    boundPort: () => port,
    tls: settings.tls !== undefined,
    report: workspace.report,
  });
  const legacyHttp = new LegacyHttp(sessions);
  const { sse, websocket } = settings.transports ?? {};
  const intake = new Intake(limits.bodyBytes);
  const channels = new Channels({ modern, legacy, intake, max: limits.sessions });
  const sseFront = sse === true ? new SseFront({ channels, maxMessageBytes: limits.bodyBytes }) : undefined;
  const webSockets =
    websocket === true
      ? await WebSocketFront.create({ channels, maxMessageBytes: limits.bodyBytes })
      : undefined;
  const front = new HttpFront({
    door,
    offers,
    modern,
    legacy: legacyHttp,
    sse: sseFront,
    intake,
    maxBodyBytes: limits.bodyBytes,
    readiness: () => readinessOf(workspace),
  });
  const server = await createServer(settings, front.handle);
  server.headersTimeout = 10_000;
  server.requestTimeout = 60_000;
  server.keepAliveTimeout = 65_000;
  // Without these listeners Node.js asks for the body of a request that may be refused, or reads it to its end.
  server.on("checkContinue", front.handle);
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) =>
    sendError(response, 417, {
      code: "EXPECTATION_FAILED",
      message: "Expect can only be 100-continue",
    }),
  );
  // Without this listener a request that offers another protocol is served as the plain one that it also is.
  if (webSockets !== undefined)
    server.on("upgrade", (request, socket, head) => {
      const route = findRoute(request.url ?? "/");
      socket.on("error", () => socket.destroy());
      const isWebSocket = request.headers.upgrade?.toLowerCase() === "websocket";
      if (!isWebSocket || route?.kind !== "mcp") return refuseUpgrade(socket, NO_WEBSOCKET);
      front.visit(request, route.scope).then(
        (found) => {
          if ("refusal" in found) refuseUpgrade(socket, found.refusal);
          else webSockets.accept(request, socket, head, found.visit);
        },
        (thrown: unknown) => {
          const { code, message } = toPortolanError(thrown);
          refuseUpgrade(socket, { status: 404, headers: {}, error: { code, message } });
        },
      );
    });
  await bind(server, host, port);
  port = (server.address() as AddressInfo).port;
  const scheme = settings.tls === undefined ? "http" : "https";
  return {
    url: `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`,
    async drain() {
      // It goes on listening: new requests, and those to /readyz, are told that the gateway stops.
      modern.endStreams();
      await Promise.all([front.drain(), channels.drain()]);
    },
    stop() {
      server.close();
      legacyHttp.close();
      sseFront?.close();
      webSockets?.close();
      server.closeAllConnections();
    },
  };
}

const NO_WEBSOCKET = {
  status: 404,
  headers: {},
  error: { code: "NOT_SUPPORTED", message: "There is a WebSocket at /mcp, and nothing else to change to" },
} as const;

/** How often it is checked whether a request takes too long to arrive. */
const SERVER_OPTIONS = { connectionsCheckingInterval: 5_000 };

async function createServer(settings: GatewaySettings, listener: RequestListener): Promise<Server> {
  // Loaded this way, node:http does not bring the client that nobody here uses.
  if (settings.tls === undefined)
    return process.getBuiltinModule("node:http").createServer(SERVER_OPTIONS, listener);
  const [cert, key] = await Promise.all([
    readPem(settings.tls.cert, "cert"),
    readPem(settings.tls.key, "key"),
  ]);
  try {
    return process.getBuiltinModule("node:https").createServer({ ...SERVER_OPTIONS, cert, key }, listener);
  } catch (cause) {
    throw new PortolanError(
      "CONFIG_INVALID",
      `the TLS certificate and key cannot be used: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
}

async function readPem(path: string, what: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new PortolanError("FILE_FAILED", `the TLS ${what} cannot be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const taken = cause.code === "EADDRINUSE";
      reject(
        new PortolanError(
          "CONFIG_INVALID",
          `cannot listen at ${host}:${port}: ${taken ? "the port is taken" : cause.message}`,
          {
            hint: taken
              ? "Stop what listens there, or choose another with --port (0 for any free one)."
              : "Check the host and the port.",
            cause,
          },
        ),
      );
    });
    server.listen(port, host, resolve);
  });
}

/** Ready while not every server that should run has failed. */
function readinessOf({ hub }: OpenedWorkspace): { ready: boolean; servers: object } {
  const enabled = hub.members.filter(({ declared }) => declared.enabled);
  const down = enabled.filter((member) => member.isDown);
  return {
    ready: enabled.length === 0 || down.length < enabled.length,
    // Which ones is nobody's business who has not been let in.
    servers: { up: enabled.length - down.length, down: down.length },
  };
}
