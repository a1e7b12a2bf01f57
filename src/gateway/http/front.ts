// The gateway over HTTP: every request passes the door first, then goes by its path, its method and its era.

import type { IncomingMessage, ServerResponse } from "node:http";
import { ERROR_CODES, isPortolanError, type PortolanError, toPortolanError } from "../../errors/index.ts";
import { hasMethod, isRpcMessage, LEGACY_REVISIONS, RPC } from "../../model/index.ts";
import type { Admission, Door, Principal, Refusal } from "../door/door.ts";
import { declaresRevision } from "../envelope.ts";
import { RpcRefusal, statusOf, toRpcError, writeError } from "../messages.ts";
import type { Modern } from "../modern.ts";
import type { Offers, Scope } from "../offer.ts";
import type { Visit } from "../types.ts";
import { readBody } from "./body.ts";
import { HttpReply, readAccept, sendJson } from "./http-reply.ts";
import type { LegacyHttp } from "./legacy-http.ts";
import { checkHeaders } from "./request-headers.ts";
import { findRoute, type Route } from "./routes.ts";
import type { SseFront } from "./sse-front.ts";

export interface HttpFrontOptions {
  readonly door: Door;
  readonly offers: Offers;
  readonly modern: Modern;
  readonly legacy: LegacyHttp;
  /** The transport of 2024-11-05, where it is wanted. */
  readonly sse: SseFront | undefined;
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
      if (request.method === "OPTIONS") return void response.writeHead(204).end();
    }
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
    if (this.#draining) return refuse(response, STOPPING);
    const admission = this.#options.door.admit(request);
    if (!(admission instanceof Promise)) return this.#admitted(admission, request, response, route);
    admission.then(
      (known) => this.#admitted(known, request, response, route),
      (error: unknown) => this.#fail(response, error),
    );
  }

  #admitted(admission: Admission, request: IncomingMessage, response: ServerResponse, route: McpRoute): void {
    if ("refusal" in admission) {
      // What it sends is not read, but must not keep the connection from being used again.
      request.resume();
      return refuse(response, admission.refusal);
    }
    try {
      const { principal } = admission;
      const visit = { principal, offer: this.#options.offers.for(principal, route.scope) };
      if (route.kind !== "mcp") return this.#sse(request, response, route, visit);
      if (request.method === "POST") return this.#post(request, response, visit);
      const { legacy } = this.#options;
      if (request.method === "GET")
        return legacy.get(request, response, visit, readAccept(request.headers.accept));
      if (request.method === "DELETE") return legacy.delete(request, response, visit);
      sendError(
        response,
        405,
        { code: "METHOD_NOT_ALLOWED", message: "MCP takes POST, GET and DELETE" },
        { allow: "POST, GET, DELETE, OPTIONS" },
      );
    } catch (error) {
      request.resume();
      this.#fail(response, error);
    }
  }

  #sse(request: IncomingMessage, response: ServerResponse, route: McpRoute, visit: Visit): void {
    const { sse, maxBodyBytes } = this.#options;
    if (sse === undefined)
      return sendError(response, 404, {
        code: "NOT_FOUND",
        message: "The old HTTP+SSE transport is not switched on here; MCP is at /mcp",
      });
    if (route.kind === "sse" && request.method === "GET")
      return sse.open(request, response, visit, route.scope);
    if (route.kind === "messages" && request.method === "POST")
      return sse.receive(request, response, visit, maxBodyBytes);
    sendError(response, 405, {
      code: "METHOD_NOT_ALLOWED",
      message: "GET opens the stream, POST sends messages",
    });
  }

  #post(request: IncomingMessage, response: ServerResponse, visit: Visit): void {
    const accepts = readAccept(request.headers.accept);
    const type = request.headers["content-type"];
    if (
      accepts === undefined ||
      (type !== "application/json" && type?.startsWith("application/json") !== true)
    ) {
      request.resume();
      return accepts === undefined
        ? sendError(response, 406, {
            code: "NOT_ACCEPTABLE",
            message: "Accept must name application/json and text/event-stream",
          })
        : sendError(response, 415, {
            code: "UNSUPPORTED_MEDIA_TYPE",
            message: "The body must be application/json",
          });
    }
    const refusal = visit.principal.gate.enter();
    if (refusal !== undefined) {
      request.resume();
      return refuse(response, refusal);
    }
    const done = this.#entered(visit.principal, response);
    readBody(request, this.#options.maxBodyBytes, (body) => {
      if ("tooLarge" in body) {
        sendError(
          response,
          413,
          {
            code: "MESSAGE_TOO_LARGE",
            message: `The body is larger than ${this.#options.maxBodyBytes} bytes`,
          },
          { connection: "close" },
        );
        return done();
      }
      let parsed: unknown;
      try {
        parsed = JSON.parse(body.text);
      } catch {
        sendRpc(response, 400, RPC.PARSE_ERROR, "The body is not JSON");
        return done();
      }
      try {
        this.#message(request, response, parsed, visit, accepts, done);
      } catch (error) {
        this.#fail(response, error);
        done();
      }
    });
  }

  #message(
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
    visit: Visit,
    accepts: { json: boolean; stream: boolean },
    done: () => void,
  ): void {
    const { legacy, modern } = this.#options;
    const version = request.headers["mcp-protocol-version"];
    const isMessage = isRpcMessage(body);
    const isModern =
      (version !== undefined && !LEGACY_REVISIONS.includes(version as string)) ||
      (isMessage && hasMethod(body) && declaresRevision(body.params));
    if (!isModern) return legacy.post(request, response, body, visit, accepts, done);
    if (!isMessage || !hasMethod(body)) {
      sendRpc(response, 400, RPC.INVALID_REQUEST, "The body is not a JSON-RPC request or notification");
      return done();
    }
    if (!("id" in body)) {
      // This revision has none that a server must act upon.
      response.writeHead(202).end();
      return done();
    }
    if (typeof body.id !== "string" && typeof body.id !== "number") {
      sendRpc(response, 400, RPC.INVALID_REQUEST, "The id must be a string or a number");
      return done();
    }
    try {
      checkHeaders(request.headers, body, visit.offer.view);
    } catch (error) {
      const answer = toRpcError(error, true);
      sendJson(response, error instanceof RpcRefusal ? 400 : statusOf(answer), writeError(body.id, answer));
      return done();
    }
    const reply = new HttpReply(response, accepts, done);
    // A stream that only listens asks for nothing, so it takes no place from what does.
    if (body.method === "subscriptions/listen") done();
    modern.handle(body, visit, reply);
  }

  /** Counts a request as under way until the returned function is called, or its connection is gone. */
  #entered({ gate }: Principal, response: ServerResponse): () => void {
    this.#busy += 1;
    let over = false;
    const done = (): void => {
      if (over) return;
      over = true;
      gate.leave();
      this.#busy -= 1;
      if (this.#busy === 0) this.#idle?.();
    };
    // A body that breaks off is never answered.
    response.on("close", () => {
      if (!response.writableEnded && !response.headersSent) setImmediate(done);
    });
    return done;
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

type McpRoute = Extract<Route, { scope: Scope }>;

const STOPPING: Refusal = {
  status: 503,
  headers: { "retry-after": "5", connection: "close" },
  error: { code: "CONNECTION_CLOSED", message: "The gateway is stopping" },
};

export function refuse(response: ServerResponse, { status, headers, error }: Refusal): void {
  sendError(response, status, error, headers);
}

/** An answer that is no answer to a JSON-RPC request; still in its words, so that clients can show it. */
function sendError(
  response: ServerResponse,
  status: number,
  { code, message, hint }: { code: string; message: string; hint?: string | undefined },
  headers: Readonly<Record<string, string>> = {},
): void {
  const data = { code, ...(hint === undefined ? {} : { hint }) };
  sendJson(response, status, writeError(null, { code: RPC.INVALID_REQUEST, message, data }), headers);
}

function sendRpc(response: ServerResponse, status: number, code: number, message: string): void {
  sendJson(response, status, writeError(null, { code, message }));
}
