// Legacy clients over Streamable HTTP: sessions that are made, found again, resumed, ended and forgotten.

import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  hasMethod,
  HEADER,
  isRpcMessage,
  LEGACY_REVISIONS,
  RPC,
  type RpcMessage,
  type RpcRequest,
} from "../../model/index.ts";
import { MAX_BATCH } from "../common/intake.ts";
import { LegacySession, type LegacyOptions } from "./session.ts";
import { toRpcError, writeError } from "../common/messages.ts";
import type { Reply, Visit } from "../common/types.ts";
import { BatchReply } from "./batch-reply.ts";
import { EventWriter } from "../http/event-writer.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Accepts } from "../http/reply.ts";
import { LegacyReply } from "./http-reply.ts";
import { LegacyStream, readEventId } from "./resumable-stream.ts";
import { sendJson } from "../http/responses.ts";

export interface LegacyHttpOptions extends LegacyOptions {
  readonly maxSessions: number;
  readonly idleMs: number;
}

interface HttpSession {
  readonly legacy: LegacySession;
  readonly streams: Map<string, LegacyStream>;
  /** Carries what belongs to no request. */
  readonly standing: LegacyStream;
  usedAt: number;
  streamCount: number;
}

/** From this revision on, clients understand an event without content. */
const PRIMED_SINCE = "2025-11-25";
const SWEEP_MS = 10_000;

export class LegacyHttp {
  readonly #options: LegacyHttpOptions;
  /** Least recently used first. */
  readonly #sessions = new Map<string, HttpSession>();
  readonly #sweep: NodeJS.Timeout;

  constructor(options: LegacyHttpOptions) {
    this.#options = options;
    this.#sweep = setInterval(() => this.#forgetIdle(), Math.min(SWEEP_MS, options.idleMs)).unref();
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** A message, or a batch as 2025-03-26 allowed. */
  post(request: IncomingMessage, exchange: Exchange, body: unknown, visit: Visit, accepts: Accepts): void {
    const { response } = exchange;
    const messages = Array.isArray(body) ? (body as unknown[]) : [body];
    if (messages.length === 0 || messages.length > MAX_BATCH || !messages.every(isRpcMessage))
      return this.#refuse(response, 400, RPC.INVALID_REQUEST, "The body is not a JSON-RPC message");
    const [first] = messages as [RpcMessage];
    const session =
      messages.length === 1 && isInitialize(first)
        ? this.#create(visit, first, response)
        : this.#find(request, visit);
    if (session === "refused") return;
    if (session === undefined) return this.#unknown(request, response);
    const version = request.headers[HEADER.PROTOCOL_VERSION];
    if (version !== undefined && !LEGACY_REVISIONS.includes(version as string))
      return this.#refuse(response, 400, RPC.INVALID_REQUEST, "Unsupported MCP-Protocol-Version");
    // Later revisions took batches away.
    if (Array.isArray(body) && session.legacy.revision > LAST_WITH_BATCHES)
      return this.#refuse(response, 400, RPC.INVALID_REQUEST, "This revision has no batches");
    if (messages.some((message) => hasMethod(message) && "id" in message && !isRequestId(message.id)))
      return this.#refuse(response, 400, RPC.INVALID_REQUEST, "The id must be a string or a number");
    const requests = messages.filter(
      (message) => hasMethod(message) && "id" in message && message.id != null,
    );
    if (requests.length === 0) {
      for (const message of messages) session.legacy.handle(message, NOWHERE);
      return void response.writeHead(202).end();
    }
    const reply = this.#reply(session, exchange, accepts);
    if (messages.length === 1 && isInitialize(first)) return reply.end(session.legacy.greet(first.id));
    const shared = requests.length === 1 ? reply : undefined;
    const batch = shared === undefined ? new BatchReply(reply, requests.length) : undefined;
    for (const message of messages)
      session.legacy.handle(
        message,
        requests.includes(message) ? (shared ?? batch?.part() ?? NOWHERE) : NOWHERE,
        visit.headers,
      );
  }

  /** The stream for what belongs to no request, or one that broke. */
  get(request: IncomingMessage, response: ServerResponse, visit: Visit, accepts: Accepts | undefined): void {
    if (accepts?.stream !== true)
      return this.#refuse(
        response,
        406,
        RPC.INVALID_REQUEST,
        "GET needs a client that accepts text/event-stream",
      );
    const session = this.#find(request, visit);
    if (session === undefined) return this.#unknown(request, response);
    const seen = readEventId(String(request.headers[HEADER.LAST_EVENT_ID] ?? ""));
    const broken = seen === undefined ? undefined : session.streams.get(seen.stream);
    const writer = new EventWriter(response, { [HEADER.SESSION_ID]: session.legacy.id });
    if (seen === undefined) session.standing.attach(writer);
    // What is not known any more had come to its end.
    else if (broken === undefined) writer.end();
    else broken.attach(writer, seen.seq);
    response.on("close", () => {
      session.usedAt = performance.now();
    });
  }

  delete(request: IncomingMessage, response: ServerResponse, visit: Visit): void {
    const session = this.#find(request, visit);
    if (session === undefined) return this.#unknown(request, response);
    this.#end(session);
    response.writeHead(204).end();
  }

  close(): void {
    clearInterval(this.#sweep);
    for (const session of [...this.#sessions.values()]) this.#end(session);
  }

  /** Answers itself when there can be no session. */
  #create(visit: Visit, message: RpcRequest, response: ServerResponse): HttpSession | "refused" {
    if (this.#sessions.size >= this.#options.maxSessions && !this.#makeRoom()) {
      this.#refuse(response, 503, RPC.INTERNAL, "There are too many sessions; try again later");
      return "refused";
    }
    let legacy: LegacySession;
    try {
      legacy = new LegacySession(randomUUID(), visit, message.params, this.#options);
    } catch (error) {
      sendJson(response, 400, writeError(message.id, toRpcError(error, false)));
      return "refused";
    }
    const standing = new LegacyStream("0", { news: true });
    const session: HttpSession = {
      legacy,
      standing,
      streams: new Map([[standing.id, standing]]),
      usedAt: performance.now(),
      streamCount: 0,
    };
    legacy.tell = (text) => standing.push(text);
    this.#sessions.set(legacy.id, session);
    return session;
  }

  /** A session is found by whoever made it, at the address where it was made. */
  #find({ headers }: IncomingMessage, { principal, offer }: Visit): HttpSession | undefined {
    const session = this.#sessions.get(String(headers[HEADER.SESSION_ID]));
    if (session === undefined) return undefined;
    const made = session.legacy.visit;
    if (made.principal.name !== principal.name || made.offer !== offer) return undefined;
    session.usedAt = performance.now();
    this.#sessions.delete(session.legacy.id);
    this.#sessions.set(session.legacy.id, session);
    return session;
  }

  #reply(session: HttpSession, exchange: Exchange, accepts: Accepts): Reply {
    const { legacy, streams } = session;
    return new LegacyReply(exchange, {
      accepts,
      headers: { [HEADER.SESSION_ID]: legacy.id },
      primed: legacy.revision >= PRIMED_SINCE,
      streams,
      newStreamId: () => String((session.streamCount += 1)),
    });
  }

  #forgetIdle(): void {
    const before = performance.now() - this.#options.idleMs;
    for (const session of [...this.#sessions.values()])
      if (session.usedAt < before && isIdle(session)) this.#end(session);
  }

  /** Whoever has the most gives one up: the one not used for longest, and one that is in use only if they have more than half. */
  #makeRoom(): boolean {
    const owned = new Map<string, HttpSession[]>();
    for (const session of this.#sessions.values()) {
      const { name } = session.legacy.visit.principal;
      const own = owned.get(name);
      if (own === undefined) owned.set(name, [session]);
      else own.push(session);
    }
    const most = [...owned.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
    const hasMost = owned.size > 1 && most.length > this.#options.maxSessions / 2;
    const oldest = most.find(isIdle) ?? (hasMost ? most[0] : [...this.#sessions.values()].find(isIdle));
    if (oldest === undefined) return false;
    this.#end(oldest);
    return true;
  }

  #end(session: HttpSession): void {
    this.#sessions.delete(session.legacy.id);
    session.legacy.close();
    for (const stream of session.streams.values()) stream.end();
  }

  #unknown({ headers }: IncomingMessage, response: ServerResponse): void {
    if (headers[HEADER.SESSION_ID] === undefined)
      return this.#refuse(response, 400, RPC.INVALID_REQUEST, "Mcp-Session-Id is missing; initialize first");
    this.#refuse(response, 404, SESSION_NOT_FOUND, "Session not found; initialize again");
  }

  #refuse(response: ServerResponse, status: number, code: number, message: string): void {
    sendJson(response, status, writeError(null, { code, message }));
  }
}

/** As servers of that era say it. */
const SESSION_NOT_FOUND = -32001;
const LAST_WITH_BATCHES = "2025-03-26";
const NOWHERE: Reply = { canStream: false, send() {}, end() {}, gone: undefined };

function isInitialize(message: RpcMessage): message is RpcRequest {
  return hasMethod(message) && message.method === "initialize" && "id" in message && message.id != null;
}

function isIdle({ legacy, standing }: HttpSession): boolean {
  return legacy.busy === 0 && !standing.connected;
}

/** Some libraries write a null id into notifications. */
function isRequestId(id: unknown): boolean {
  return id == null || typeof id === "string" || typeof id === "number";
}
