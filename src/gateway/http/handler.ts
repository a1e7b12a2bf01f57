// The gateway over HTTP: every request passes the door first, then goes by its path, its method and its era.

import type { IncomingMessage, ServerResponse } from "node:http";
import { ERROR_CODES, isPortolanError, type PortolanError, toPortolanError } from "../../errors/index.ts";
import {
  hasMethod,
  HEADER,
  isRpcMessage,
  LEGACY_REVISIONS,
  MODERN_REVISION,
  RPC,
} from "../../model/index.ts";
import type { Admission, Door, Principal, Refusal } from "../access/access-control.ts";
import { declaresRevision } from "../common/envelope.ts";
import { type Intake, MAX_BATCH, type Parsed } from "../common/intake.ts";
import { RpcRefusal, statusOf, toRpcError, writeError } from "../common/messages.ts";
import type { Modern } from "../modern/front.ts";
import type { Offer, Offers, Scope } from "../common/view.ts";
import type { Visit } from "../common/types.ts";
import { isUnread, readBody } from "./body.ts";
import { Exchange } from "./exchange.ts";
import { type Accepts, HttpReply, readAccept } from "./reply.ts";
import type { LegacyHttp } from "../legacy/http-front.ts";
import { refuse, sendError, sendRpc } from "./refusals.ts";
import { checkHeaders } from "../modern/request-headers.ts";
import { findRoute, type Route } from "./routes.ts";
import { sendJson } from "./responses.ts";
import type { SseFront } from "../channels/http-sse.ts";

export interface HttpFrontOptions {
  readonly door: Door;
  readonly offers: Offers;
  readonly modern: Modern;
  readonly legacy: LegacyHttp;
  /** The transport of 2024-11-05, where it is wanted. */
  readonly sse: SseFront | undefined;
  readonly intake: Intake;
  readonly maxBodyBytes: number;
  /** What `/readyz` says. */
  readonly readiness: () => { readonly ready: boolean; readonly servers: object };
}

export class HttpFront {
  readonly #options: HttpFrontOptions;
  #draining = false;
  #busy = 0;
  #idle: (() => void) | undefined;

  constructor(options: HttpFrontOptions) {
    this.#options = options;
  }

  /** No more requests are taken. Resolves when those under way are answered. */
  drain(): Promise<void> {
    this.#draining = true;
    return new Promise((resolve) => {
      this.#idle = resolve;
      if (this.#busy === 0) resolve();
    });
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    try {
      this.#handle(request, response);
    } catch (error) {
      this.#fail(response, error);
    }
  };

  /** Who it is and what it is about, for a connection that is no plain request. */
  async visit(request: IncomingMessage, scope: Scope): Promise<{ visit: Visit } | { refusal: Refusal }> {
    const { door, offers } = this.#options;
    const refusal = this.#draining ? STOPPING : door.greets(request);
    if (refusal !== undefined) return { refusal };
    const admission = await door.admit(request);
    if ("refusal" in admission) return admission;
    const { principal } = admission;
    const limited = principal.gate.count();
    if (limited !== undefined) return { refusal: limited };
    return { visit: { principal, offer: offers.for(principal, scope) } };
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const { door } = this.#options;
    const refusal = door.greets(request);
    if (refusal !== undefined) return refuse(response, refusal);
    const route = findRoute(request.url ?? "/");
    if (request.headers.origin !== undefined) {
      const cors = door.cors(request) ?? {};
      for (const [name, value] of Object.entries(cors)) response.setHeader(name, value);
    }
    if (WITHOUT_BODY.has(request.method ?? "") && isUnread(request))
      return sendError(response, 400, {
        code: "BODY_NOT_ALLOWED",
        message: `A ${request.method} request must not have a body`,
      });
    if (request.headers.origin !== undefined && request.method === "OPTIONS")
      return void response.writeHead(204).end();
    switch (route?.kind) {
      case undefined:
        return sendError(response, 404, {
          code: "NOT_FOUND",
          message: "There is nothing here; MCP is at /mcp",
        });
      case "health":
        return sendJson(response, 200, '{"status":"ok"}');
      case "ready":
        return this.#ready(response);
      case "metadata": {
        const metadata = door.resourceMetadata(route.path);
        if (metadata === undefined)
          return sendError(response, 404, { code: "NOT_FOUND", message: "OAuth is not in use here" });
        return sendJson(response, 200, JSON.stringify(metadata), { "access-control-allow-origin": "*" });
      }
      case "mcp":
      case "sse":
      case "messages":
        return this.#admit(request, response, route);
    }
  }

  #ready(response: ServerResponse): void {
    const { ready, servers } = this.#options.readiness();
    const ok = ready && !this.#draining;
    sendJson(response, ok ? 200 : 503, JSON.stringify({ ready: ok, stopping: this.#draining, servers }));
  }

  #admit(request: IncomingMessage, response: ServerResponse, route: McpRoute): void {
    // A client may still answer what a call under way has asked it.
    if (this.#draining && request.headers[HEADER.SESSION_ID] === undefined) return refuse(response, STOPPING);
    const admission = this.#options.door.admit(request);
    if (!(admission instanceof Promise)) return this.#admitted(admission, request, response, route);
    admission.then(
      (known) => this.#admitted(known, request, response, route),
      (error: unknown) => this.#fail(response, error),
    );
  }

  #admitted(admission: Admission, request: IncomingMessage, response: ServerResponse, route: McpRoute): void {
    if ("refusal" in admission) return refuse(response, admission.refusal);
    try {
      const { principal } = admission;
      const limited = principal.gate.count();
      if (limited !== undefined) return refuse(response, limited);
      const visit = visitOf(principal, this.#options.offers.for(principal, route.scope), request);
      if (route.kind !== "mcp") return this.#sse(request, response, route, visit);
      if (request.method === "POST") return this.#post(request, response, visit);
      const { legacy } = this.#options;
      // Only what came before has streams and sessions.
      const isLegacy = request.headers[HEADER.PROTOCOL_VERSION] !== MODERN_REVISION;
      if (isLegacy && request.method === "GET")
        return legacy.get(request, response, visit, readAccept(request.headers.accept));
      if (isLegacy && request.method === "DELETE") return legacy.delete(request, response, visit);
      sendError(
        response,
        405,
        { code: "METHOD_NOT_ALLOWED", message: "MCP takes POST, GET and DELETE" },
        { allow: "POST, GET, DELETE, OPTIONS" },
      );
    } catch (error) {
      this.#fail(response, error);
    }
  }

  #sse(request: IncomingMessage, response: ServerResponse, route: McpRoute, visit: Visit): void {
    const { sse } = this.#options;
    if (sse === undefined)
      return sendError(response, 404, {
        code: "NOT_FOUND",
        message: "The old HTTP+SSE transport is not switched on here; MCP is at /mcp",
      });
    if (route.kind === "sse" && request.method === "GET") return sse.open(response, visit, route.scope);
    if (route.kind === "messages" && request.method === "POST") return sse.receive(response, visit);
    sendError(response, 405, {
      code: "METHOD_NOT_ALLOWED",
      message: "GET opens the stream, POST sends messages",
    });
  }

  #post(request: IncomingMessage, response: ServerResponse, visit: Visit): void {
    const accepts = readAccept(request.headers.accept);
    if (accepts === undefined)
      return sendError(response, 406, {
        code: "NOT_ACCEPTABLE",
        message: "Accept must name application/json and text/event-stream",
      });
    const { "content-type": type, "content-encoding": encoding } = request.headers;
    if (type !== "application/json" && type?.startsWith("application/json") !== true)
      return sendError(response, 415, {
        code: "UNSUPPORTED_MEDIA_TYPE",
        message: "The body must be application/json",
      });
    if (encoding !== undefined && encoding !== "identity")
      return sendError(response, 415, {
        code: "UNSUPPORTED_MEDIA_TYPE",
        message: "The body must not be compressed",
      });
    const { principal } = visit;
    const { intake, maxBodyBytes } = this.#options;
    const check = intake.check();
    readBody(response, { maxBytes: maxBodyBytes, gate: principal.gate, check }, (body) => {
      if ("refusal" in body) return refuse(response, body.refusal);
      const exchange = this.#begin(principal, response, body.held);
      const parsed = (message: Parsed): void => {
        try {
          if ("problem" in message)
            return sendRpc(response, 400, message.problem.code, message.problem.message);
          const refusal = this.#enter(principal, exchange, message.value);
          if (refusal !== undefined) return refuse(response, refusal);
          this.#message(request, exchange, message.value, visit, accepts);
        } catch (error) {
          this.#fail(response, error);
        }
      };
      intake.parse(principal.name, body.bytes, parsed, check.weight);
    });
  }

  #message(
    request: IncomingMessage,
    exchange: Exchange,
    body: unknown,
    visit: Visit,
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
    if (!isModern) return legacy.post(request, exchange, body, visit, accepts);
    if (!isMessage || !hasMethod(body))
      return sendRpc(
        response,
        400,
        RPC.INVALID_REQUEST,
        "The body is not a JSON-RPC request or notification",
      );
    // This revision has no notification that a server must act upon.
    if (!("id" in body)) return void response.writeHead(202).end();
    if (typeof body.id !== "string" && typeof body.id !== "number")
      return sendRpc(response, 400, RPC.INVALID_REQUEST, "The id must be a string or a number");
    try {
      checkHeaders(request.headers, body, visit.offer.view);
    } catch (error) {
      const answer = toRpcError(error, true);
      const status = error instanceof RpcRefusal ? 400 : statusOf(answer);
      return sendJson(response, status, writeError(body.id, answer));
    }
    const reply = new HttpReply(exchange, accepts);
    // A stream that only listens asks for nothing, so it takes no place from what does.
    if (body.method === "subscriptions/listen") exchange.free();
    modern.handle(body, visit, reply);
  }

  /** The message itself was counted before it was read; what more a batch holds is counted here. */
  #enter({ gate }: Principal, exchange: Exchange, body: unknown): Refusal | undefined {
    const batch = Array.isArray(body) ? (body as unknown[]) : undefined;
    const requests = batch === undefined ? Number(isRequest(body)) : batch.filter(isRequest).length;
    // Notifications and answers to server requests get through, or the calls that wait for them would never end.
    if (this.#draining && requests > 0) return STOPPING;
    const refusal = gate.count(Math.min(batch?.length ?? 1, MAX_BATCH) - 1) ?? gate.enter(requests);
    if (refusal === undefined) exchange.requests = requests;
    return refusal;
  }

  /** The request is under way until it is done. */
  #begin({ gate }: Principal, response: ServerResponse, held: number): Exchange {
    this.#busy += 1;
    const freed = (): void => {
      gate.leave(exchange.requests);
      this.#busy -= 1;
      if (this.#busy === 0) this.#idle?.();
    };
    const exchange = new Exchange(response, freed, () => gate.release(held));
    return exchange;
  }

  #fail(response: ServerResponse, thrown: unknown): void {
    if (response.headersSent) return void response.destroy();
    const error: PortolanError = isPortolanError(thrown) ? thrown : toPortolanError(thrown);
    sendError(response, ERROR_CODES[error.code].http, {
      code: error.code,
      message: error.message,
      hint: error.hint,
    });
  }
}

/** What let the client in is not passed on: a token for the gateway is for the gateway alone. */
function visitOf(principal: Principal, offer: Offer, { headers }: IncomingMessage): Visit {
  if (!offer.wantsHeaders) return { principal, offer };
  const { authorization, ...others } = headers;
  return { principal, offer, headers: principal.name === "anyone" ? { authorization, ...others } : others };
}

function isRequest(message: unknown): boolean {
  return isRpcMessage(message) && hasMethod(message) && "id" in message;
}

type McpRoute = Extract<Route, { scope: Scope }>;

const WITHOUT_BODY = new Set(["GET", "HEAD", "DELETE", "OPTIONS"]);

const STOPPING: Refusal = {
  status: 503,
  headers: { "retry-after": "5", connection: "close" },
  error: { code: "CONNECTION_CLOSED", message: "The gateway is stopping" },
};
