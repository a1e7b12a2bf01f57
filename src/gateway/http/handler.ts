// HTTP handler: every request passes access control, then goes to the front of its path, method and protocol era.

import {
  type Diagnostic,
  ERROR_CODES,
  isPortolanError,
  type PortolanError,
  type Report,
  toPortolanError,
} from "../../errors/index.ts";
import { hasMethod, HEADER, isRpcMessage, LEGACY_REVISIONS, MODERN_REVISION } from "../../model/index.ts";
import { type CallObservers, PROMETHEUS_TYPE } from "../../telemetry/index.ts";
import type { NoteRefusal } from "../access/refusal-events.ts";
import type { AccessControl, AuthenticatedCaller, AuthResult, Refusal } from "../access/types.ts";
import { declaresRevision } from "../common/envelope.ts";
import { type Intake, MAX_BATCH, type Parsed } from "../common/intake.ts";
import { RpcRefusal, statusOf, toRpcError, writeError } from "../common/messages.ts";
import type { ModernFront } from "../modern/front.ts";
import type { GatewayView, GatewayViews, Scope } from "../common/view.ts";
import type { RequestContext } from "../common/types.ts";
import type { MetricsPage } from "../telemetry/metrics-page.ts";
import { peerOf } from "../telemetry/observed-reply.ts";
import { isBodyGone, readBody } from "./body.ts";
import { Exchange, HttpReply, readAccept, type Accepts } from "./reply.ts";
import type { LegacyHttpFront } from "../legacy/http-front.ts";
import { checkHeaders } from "../modern/request-headers.ts";
import type { LoginFront } from "../login/front.ts";
import { basePath, createRouter, type Route } from "./routes.ts";
import {
  type HttpRequest,
  type HttpResponse,
  isUnread,
  refuse,
  sendError,
  sendJson,
  sendInvalidRequest,
  sendRpcError,
} from "./responses.ts";
import type { HttpSseFront } from "../channels/http-sse.ts";

export interface HttpHandlerOptions {
  readonly access: AccessControl;
  readonly views: GatewayViews;
  readonly modern: ModernFront;
  readonly legacy: LegacyHttpFront;
  /** The HTTP+SSE transport, if it is enabled. */
  readonly sse: HttpSseFront | undefined;
  readonly login: LoginFront;
  readonly intake: Intake;
  readonly calls: CallObservers;
  /** The page `/metrics`, if the settings ask for it. */
  readonly metrics: MetricsPage | undefined;
  readonly maxBodyBytes: number;
  /** The path before all routes, such as `/tools`, or empty. */
  readonly path: string;
  /** Called with each refusal of access control. */
  readonly refused?: NoteRefusal;
  readonly report: Report;
  /** Serves paths that are no route of the gateway. */
  readonly site?: Site;
  /** The response of `/readyz`. */
  readonly readiness: () => { readonly ready: boolean; readonly servers: object };
}

/** Serves paths beside those of MCP, such as the pages of the console. Host was checked before; access is its own matter. */
export interface Site {
  /** False if the path is not one of the site. Refused requests are reported with `refused`. */
  handle(request: HttpRequest, response: HttpResponse, path: string, refused: NoteRefusal): boolean;
  close(): void;
}

export class HttpHandler {
  readonly findRoute: (url: string) => Route | undefined;
  readonly #options: HttpHandlerOptions;
  #draining = false;
  #reportedBody = false;
  #busy = 0;
  #idle: (() => void) | undefined;

  constructor(options: HttpHandlerOptions) {
    this.#options = options;
    this.findRoute = createRouter(options.path);
  }

  /** Refuses new requests. Resolves when the running ones have their response. */
  drain(): Promise<void> {
    this.#draining = true;
    return new Promise((resolve) => {
      this.#idle = resolve;
      if (this.#busy === 0) resolve();
    });
  }

  readonly handle = (request: HttpRequest, response: HttpResponse): void => {
    try {
      this.#handle(request, response);
    } catch (error) {
      this.#fail(response, error);
    }
  };

  /** The caller and the view of a WebSocket upgrade. */
  async authenticate(
    request: HttpRequest,
    scope: Scope,
  ): Promise<{ context: RequestContext } | { refusal: Refusal }> {
    const { access, views } = this.#options;
    const refusal = this.#draining ? STOPPING : access.checkHost(request);
    if (refusal !== undefined) return this.#refused(request, { refusal });
    const authenticated = await access.authenticate(request, `${basePath(scope)}/mcp`);
    if ("refusal" in authenticated) return this.#refused(request, authenticated);
    const { caller } = authenticated;
    const limited = caller.limits.countMessages();
    if (limited !== undefined) return this.#refused(request, { refusal: limited }, caller);
    const peer = peerOf(request, "websocket", false);
    return { context: { caller, view: views.for(caller, scope), peer } };
  }

  #refused<T extends { readonly refusal: Refusal }>(
    request: HttpRequest,
    refused: T,
    caller?: AuthenticatedCaller,
  ): T {
    this.#options.refused?.(request, refused.refusal, caller?.name);
    return refused;
  }

  /** Refuses a request that exceeds a limit of its caller. */
  #limit(request: HttpRequest, response: HttpResponse, refusal: Refusal, caller: AuthenticatedCaller): void {
    refuse(response, this.#refused(request, { refusal }, caller).refusal);
  }

  #handle(request: HttpRequest, response: HttpResponse): void {
    const { access } = this.#options;
    const refusal = access.checkHost(request);
    if (refusal !== undefined) return refuse(response, this.#refused(request, { refusal }).refusal);
    const url = urlOf(request, this.#options.path);
    const route = this.findRoute(url);
    // Before the headers for other origins, none of which may use the site.
    const { site, refused = (): void => {} } = this.#options;
    if (route === undefined && site?.handle(request, response, pathOf(url), refused) === true) return;
    if (request.headers.origin !== undefined) {
      const cors = access.cors(request) ?? {};
      for (const [name, value] of Object.entries(cors)) response.setHeader(name, value);
    }
    if (WITHOUT_BODY.has(request.method ?? "") && isUnread(request))
      return sendError(response, 400, "BODY_NOT_ALLOWED", `A ${request.method} request must not have a body`);
    if (request.headers.origin !== undefined && request.method === "OPTIONS")
      return void response.writeHead(204).end();
    if (route !== undefined && request.method === "POST" && isBodyGone(request)) {
      if (!this.#reportedBody) this.#options.report(BODY_READ);
      this.#reportedBody = true;
      const { code, message, hint } = BODY_READ;
      return sendError(response, 500, code, message, { hint });
    }
    switch (route?.kind) {
      case undefined:
        return sendError(
          response,
          404,
          "NOT_FOUND",
          `There is no such path; MCP is at ${this.#options.path}/mcp`,
        );
      case "health":
        return sendJson(response, 200, '{"status":"ok"}');
      case "ready":
        return this.#ready(response);
      case "login":
        return this.#options.login.handle(request, response, route.name);
      case "metrics":
        return this.#metrics(request, response);
      case "metadata": {
        const metadata = access.resourceMetadata(route.path);
        if (metadata === undefined)
          return sendError(
            response,
            404,
            "NOT_FOUND",
            "The gateway does not use OAuth, or it serves no MCP at the path in this URL",
          );
        return sendJson(response, 200, JSON.stringify(metadata), { "access-control-allow-origin": "*" });
      }
      case "mcp":
      case "sse":
      case "messages":
        return this.#authenticate(request, response, route);
    }
  }

  #ready(response: HttpResponse): void {
    const { ready, servers } = this.#options.readiness();
    const ok = ready && !this.#draining;
    sendJson(response, ok ? 200 : 503, JSON.stringify({ ready: ok, stopping: this.#draining, servers }));
  }

  #metrics(request: HttpRequest, response: HttpResponse): void {
    const { access, metrics } = this.#options;
    if (metrics === undefined)
      return sendError(response, 404, "NOT_FOUND", "This gateway serves no metrics", {
        hint: "The operator can set telemetry.prometheus: true in portolan.yaml, and restart the gateway.",
      });
    if (request.method !== "GET" && request.method !== "HEAD")
      return sendError(response, 405, "METHOD_NOT_ALLOWED", "The metrics support GET and HEAD only", {
        headers: { allow: "GET, HEAD" },
      });
    const answer = (result: AuthResult | undefined): void => {
      if (result !== undefined && "refusal" in result)
        return refuse(response, this.#refused(request, result).refusal);
      const limited = result?.caller.limits.countMessages();
      if (result !== undefined && limited !== undefined)
        return this.#limit(request, response, limited, result.caller);
      if (result !== undefined && !metrics.admits(result.caller))
        return refuse(response, this.#refused(request, { refusal: NOT_FOR_METRICS }, result.caller).refusal);
      response.writeHead(200, { "content-type": PROMETHEUS_TYPE }).end(metrics.text());
    };
    if (metrics.isOpen) return answer(undefined);
    const result = access.authenticate(request);
    if (!(result instanceof Promise)) return answer(result);
    result.then(answer).catch((error: unknown) => this.#fail(response, error));
  }

  #authenticate(request: HttpRequest, response: HttpResponse, route: McpRoute): void {
    // Clients may still answer server requests of running calls.
    if (this.#draining && request.headers[HEADER.SESSION_ID] === undefined) return refuse(response, STOPPING);
    const path = `${basePath(route.scope)}/${route.kind === "mcp" ? "mcp" : "sse"}`;
    const result = this.#options.access.authenticate(request, path);
    if (!(result instanceof Promise)) return this.#authenticated(result, request, response, route);
    result.then(
      (verified) => this.#authenticated(verified, request, response, route),
      (error: unknown) => this.#fail(response, error),
    );
  }

  #authenticated(result: AuthResult, request: HttpRequest, response: HttpResponse, route: McpRoute): void {
    if ("refusal" in result) return refuse(response, this.#refused(request, result).refusal);
    try {
      const { caller } = result;
      const limited = caller.limits.countMessages();
      if (limited !== undefined) return this.#limit(request, response, limited, caller);
      const { calls, views } = this.#options;
      const context = contextOf(caller, views.for(caller, route.scope), request, calls);
      if (route.kind !== "mcp") return this.#sse(request, response, route, context);
      if (request.method === "POST") return this.#post(request, response, context);
      const { legacy } = this.#options;
      // Only the legacy protocol has sessions and streams on GET.
      const isLegacy = request.headers[HEADER.PROTOCOL_VERSION] !== MODERN_REVISION;
      if (isLegacy && request.method === "GET")
        return legacy.get(request, response, context, readAccept(request.headers.accept));
      if (isLegacy && request.method === "DELETE") return legacy.delete(request, response, context);
      const allowed = isLegacy
        ? "MCP supports POST, GET and DELETE only"
        : `MCP ${MODERN_REVISION} supports POST only`;
      sendError(response, 405, "METHOD_NOT_ALLOWED", allowed, {
        headers: { allow: "POST, GET, DELETE, OPTIONS" },
      });
    } catch (error) {
      this.#fail(response, error);
    }
  }

  #sse(request: HttpRequest, response: HttpResponse, route: McpRoute, context: RequestContext): void {
    const { sse } = this.#options;
    if (sse === undefined)
      return sendError(
        response,
        404,
        "NOT_FOUND",
        `The HTTP+SSE transport is not enabled; MCP is at ${this.#options.path}${basePath(route.scope)}/mcp`,
      );
    if (route.kind === "sse" && request.method === "GET") {
      const peer = peerOf(request, "sse", false);
      return sse.open(response, { ...context, peer }, route.scope);
    }
    if (route.kind === "messages" && request.method === "POST") return sse.receive(response, context);
    sendError(
      response,
      405,
      "METHOD_NOT_ALLOWED",
      "The HTTP+SSE transport supports GET (opens the stream) and POST (sends a message) only",
    );
  }

  #post(request: HttpRequest, response: HttpResponse, context: RequestContext): void {
    const accepts = readAccept(request.headers.accept);
    if (accepts === undefined)
      return sendError(
        response,
        406,
        "NOT_ACCEPTABLE",
        "The Accept header must contain application/json or text/event-stream; MCP clients send both",
      );
    const { "content-type": type, "content-encoding": encoding } = request.headers;
    if (type !== "application/json" && type?.startsWith("application/json") !== true)
      return sendError(response, 415, "UNSUPPORTED_MEDIA_TYPE", "The body must be application/json");
    if (encoding !== undefined && encoding !== "identity")
      return sendError(response, 415, "UNSUPPORTED_MEDIA_TYPE", "The body must not be compressed");
    const { caller } = context;
    const { intake, maxBodyBytes } = this.#options;
    const check = intake.check();
    readBody(response, { maxBytes: maxBodyBytes, limits: caller.limits, check }, (body) => {
      if ("refusal" in body) return this.#limit(request, response, body.refusal, caller);
      const exchange = this.#begin(caller, response, body.reserved);
      const parsed = (message: Parsed): void => {
        try {
          if ("error" in message)
            return sendRpcError(response, 400, message.error.code, message.error.message);
          const refusal = this.#startRequests(caller, exchange, message.value);
          if (refusal !== undefined) return this.#limit(request, response, refusal, caller);
          this.#message(request, exchange, message.value, context, accepts);
        } catch (error) {
          this.#fail(response, error);
        }
      };
      intake.parse(caller.name, body.bytes, parsed, check.weight);
    });
  }

  #message(
    request: HttpRequest,
    exchange: Exchange,
    body: unknown,
    context: RequestContext,
    accepts: Accepts,
  ): void {
    const { legacy, modern } = this.#options;
    const { response } = exchange;
    const version = request.headers[HEADER.PROTOCOL_VERSION];
    const isMessage = isRpcMessage(body);
    const isModern =
      (version !== undefined &&
        !LEGACY_REVISIONS.includes(version as string) &&
        request.headers[HEADER.SESSION_ID] === undefined) ||
      (isMessage && hasMethod(body) && declaresRevision(body.params));
    if (!isModern) return legacy.post(request, exchange, body, context, accepts);
    if (!isMessage || !hasMethod(body))
      return sendInvalidRequest(response, "The body is not a JSON-RPC request or notification");
    // The modern protocol has no notification that a server must handle.
    if (!("id" in body)) return void response.writeHead(202).end();
    if (typeof body.id !== "string" && typeof body.id !== "number")
      return sendInvalidRequest(response, "The id must be a string or a number");
    try {
      checkHeaders(request.headers, body, context.view.hubView);
    } catch (error) {
      const answer = toRpcError(error, true);
      const status = error instanceof RpcRefusal ? 400 : statusOf(answer);
      return sendJson(response, status, writeError(body.id, answer));
    }
    const reply = new HttpReply(exchange, accepts);
    // A subscription does no work, so it does not count towards the concurrent requests.
    if (body.method === "subscriptions/listen") exchange.free();
    modern.handle(body, context, reply);
  }

  /** One message was counted before the body was read; the others of a batch are counted here. */
  #startRequests({ limits }: AuthenticatedCaller, exchange: Exchange, body: unknown): Refusal | undefined {
    const batch = Array.isArray(body) ? (body as unknown[]) : undefined;
    const requests = batch === undefined ? Number(isRequest(body)) : batch.filter(isRequest).length;
    // Notifications and answers to server requests are accepted, or the calls that wait for them would never end.
    if (this.#draining && requests > 0) return STOPPING;
    const refusal =
      limits.countMessages(Math.min(batch?.length ?? 1, MAX_BATCH) - 1) ?? limits.startRequests(requests);
    if (refusal === undefined) exchange.requests = requests;
    return refusal;
  }

  /** Creates the exchange, which counts as running until it is done. */
  #begin({ limits }: AuthenticatedCaller, response: HttpResponse, reserved: number): Exchange {
    this.#busy += 1;
    const onFree = (): void => {
      limits.endRequests(exchange.requests);
      this.#busy -= 1;
      if (this.#busy === 0) this.#idle?.();
    };
    const exchange = new Exchange(response, onFree, () => limits.releaseBytes(reserved));
    return exchange;
  }

  #fail(response: HttpResponse, thrown: unknown): void {
    if (response.headersSent) return void response.destroy();
    const error: PortolanError = isPortolanError(thrown) ? thrown : toPortolanError(thrown);
    const { code, message, hint } = error;
    sendError(response, ERROR_CODES[code].http, code, message, { hint });
  }
}

/** The token of the client is not forwarded, because it is meant for the gateway alone. */
function contextOf(
  caller: AuthenticatedCaller,
  view: GatewayView,
  request: HttpRequest,
  calls: CallObservers,
): RequestContext {
  const peer = calls.active ? peerOf(request, "http", calls.traces) : undefined;
  if (!view.usesHeaders) return peer === undefined ? { caller, view } : { caller, view, peer };
  const { authorization, ...others } = request.headers;
  return { caller, view, peer, headers: caller.name === "anyone" ? { authorization, ...others } : others };
}

/** Express and Connect remove the mount path from `url` and keep the whole URL in `originalUrl`. */
function urlOf(request: HttpRequest & { readonly originalUrl?: string }, path: string): string {
  const { url = "/", originalUrl = url } = request;
  return path === "" ? url : originalUrl;
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}

function isRequest(message: unknown): boolean {
  return isRpcMessage(message) && hasMethod(message) && "id" in message;
}

type McpRoute = Extract<Route, { scope: Scope }>;

const WITHOUT_BODY = new Set(["GET", "HEAD", "DELETE", "OPTIONS"]);

const BODY_READ: Diagnostic = {
  code: "CONFIG_INVALID",
  severity: "error",
  message: "The body of this request was read before the gateway got the request",
  hint: "Mount the gateway before body parsers, or leave the parsed body in request.body.",
};

const NOT_FOR_METRICS: Refusal = {
  status: 403,
  headers: {},
  error: {
    code: "FORBIDDEN",
    message: "this caller is not allowed to read the metrics",
    hint: "Use the token of the gateway (portolan token). Or ask the operator to add this caller to telemetry.prometheus.callers in portolan.yaml, and to restart the gateway.",
  },
};

const STOPPING: Refusal = {
  status: 503,
  headers: { "retry-after": "5", connection: "close" },
  error: { code: "CONNECTION_CLOSED", message: "The gateway is stopping" },
};
