// Front for legacy clients over Streamable HTTP: creates, finds, resumes and ends their sessions.

import { randomUUID } from "node:crypto";
import {
  hasMethod,
  HEADER,
  isRpcMessage,
  LEGACY_REVISIONS,
  RPC,
  type RpcMessage,
  type RpcRequest,
} from "../../model/index.ts";
import { PortolanError } from "../../errors/index.ts";
import type { AuthenticatedCaller } from "../access/types.ts";
import { MAX_BATCH } from "../common/intake.ts";
import { LegacySession, type LegacyOptions } from "./session.ts";
import { toRpcError, writeError } from "../common/messages.ts";
import { NO_REPLY, type Reply, type RequestContext } from "../common/types.ts";
import { BatchReply, LegacyHttpReply } from "./http-reply.ts";
import { EventWriter } from "../http/event-writer.ts";
import type { Exchange, Accepts } from "../http/reply.ts";
import { ResumableStream, readEventId } from "./resumable-stream.ts";
import {
  type HttpRequest,
  type HttpResponse,
  sendJson,
  sendInvalidRequest,
  sendRpcError,
} from "../http/responses.ts";

export interface LegacyHttpFrontOptions extends LegacyOptions {
  readonly maxSessions: number;
  readonly idleMs: number;
}

interface HttpSession {
  readonly session: LegacySession;
  /** The headers of every response. */
  readonly headers: Readonly<Record<string, string>>;
  readonly streams: Map<string, ResumableStream>;
  /** Carries the messages that belong to no request. */
  readonly notifications: ResumableStream;
  usedAt: number;
  streamCount: number;
}

/** Clients of this revision and later accept an event without content. */
const PRIMED_SINCE = "2025-11-25";
const SWEEP_MS = 10_000;

export class LegacyHttpFront {
  readonly #options: LegacyHttpFrontOptions;
  /** Sessions by id, the least recently used first. */
  readonly #sessions = new Map<string, HttpSession>();
  readonly #sweep: NodeJS.Timeout;

  constructor(options: LegacyHttpFrontOptions) {
    this.#options = options;
    this.#sweep = setInterval(() => this.#endIdle(), Math.min(SWEEP_MS, options.idleMs)).unref();
  }

  /** Handles a message, or a batch, which only revision 2025-03-26 allows. */
  post(
    request: HttpRequest,
    exchange: Exchange,
    body: unknown,
    context: RequestContext,
    accepts: Accepts,
  ): void {
    const { response } = exchange;
    const messages = Array.isArray(body) ? (body as unknown[]) : [body];
    if (messages.length === 0 || messages.length > MAX_BATCH || !messages.every(isRpcMessage))
      return sendInvalidRequest(
        response,
        `The body is not a JSON-RPC message, or it is a batch of more than ${MAX_BATCH} messages`,
      );
    const [first] = messages as [RpcMessage];
    const found =
      messages.length === 1 && isInitialize(first)
        ? this.#create(context, first, response)
        : this.#find(request, context);
    if (found === "refused") return;
    if (found === undefined) return this.#unknown(request, response);
    const { session } = found;
    const version = request.headers[HEADER.PROTOCOL_VERSION];
    if (version !== undefined && !LEGACY_REVISIONS.includes(version as string))
      return sendInvalidRequest(response, "Unsupported MCP-Protocol-Version");
    // Later revisions removed batches.
    if (Array.isArray(body) && session.revision > LAST_WITH_BATCHES)
      return sendInvalidRequest(response, `Revision ${session.revision} does not allow batches`);
    if (messages.some((message) => hasMethod(message) && "id" in message && !isRequestId(message.id)))
      return sendInvalidRequest(response, "The id must be a string or a number");
    const requests = messages.filter(
      (message) => hasMethod(message) && "id" in message && message.id != null,
    );
    if (requests.length === 0) {
      for (const message of messages) session.handle(message, NO_REPLY);
      return void response.writeHead(202).end();
    }
    const reply = this.#reply(found, exchange, accepts);
    if (messages.length === 1 && isInitialize(first)) return session.initialize(first, reply, context);
    const shared = requests.length === 1 ? reply : undefined;
    const batch = shared === undefined ? new BatchReply(reply, requests.length) : undefined;
    for (const message of messages)
      session.handle(
        message,
        requests.includes(message) ? (shared ?? batch?.part() ?? NO_REPLY) : NO_REPLY,
        context,
      );
  }

  /** Opens the stream of notifications, or resumes a broken stream. */
  get(
    request: HttpRequest,
    response: HttpResponse,
    context: RequestContext,
    accepts: Accepts | undefined,
  ): void {
    if (accepts?.stream !== true)
      return sendRpcError(
        response,
        406,
        RPC.INVALID_REQUEST,
        "GET needs the header Accept: text/event-stream",
      );
    const found = this.#find(request, context);
    if (found === undefined) return this.#unknown(request, response);
    const seen = readEventId(String(request.headers[HEADER.LAST_EVENT_ID] ?? ""));
    const broken = seen === undefined ? undefined : found.streams.get(seen.stream);
    const writer = new EventWriter(response, { [HEADER.SESSION_ID]: found.session.id });
    if (seen === undefined) found.notifications.attach(writer);
    // A stream that is no longer stored was complete.
    else if (broken === undefined) writer.end();
    else broken.attach(writer, seen.seq);
    response.on("close", () => {
      found.usedAt = performance.now();
    });
  }

  delete(request: HttpRequest, response: HttpResponse, context: RequestContext): void {
    const found = this.#find(request, context);
    if (found === undefined) return this.#unknown(request, response);
    this.#end(found);
    response.writeHead(204).end();
  }

  /** Ends the sessions of some callers. */
  endSessions(isMeant: (caller: AuthenticatedCaller) => boolean): void {
    for (const entry of [...this.#sessions.values()])
      if (isMeant(entry.session.context.caller)) this.#end(entry);
  }

  close(): void {
    clearInterval(this.#sweep);
    for (const entry of [...this.#sessions.values()]) this.#end(entry);
  }

  /** Responds itself and returns "refused" when the session cannot be created. */
  #create(context: RequestContext, message: RpcRequest, response: HttpResponse): HttpSession | "refused" {
    if (this.#sessions.size >= this.#options.maxSessions && !this.#evict()) {
      const busy = new PortolanError("BUSY", "The gateway has too many sessions; try again later.", {
        hint: "End a session that is not needed, or raise gateway.limits.sessions in portolan.yaml.",
      });
      sendJson(response, 503, writeError(message.id, toRpcError(busy, false)));
      return "refused";
    }
    let session: LegacySession;
    try {
      session = new LegacySession(randomUUID(), context, message.params, this.#options);
    } catch (error) {
      sendJson(response, 400, writeError(message.id, toRpcError(error, false)));
      return "refused";
    }
    const notifications = new ResumableStream("0", { dropsDuplicates: true });
    const created: HttpSession = {
      session,
      notifications,
      headers: { [HEADER.SESSION_ID]: session.id },
      streams: new Map([[notifications.id, notifications]]),
      usedAt: performance.now(),
      streamCount: 0,
    };
    session.send = (text) => notifications.push(text);
    this.#sessions.set(session.id, created);
    return created;
  }

  /** Only the caller that created a session finds it, and only at the same address. */
  #find({ headers }: HttpRequest, { caller, view }: RequestContext): HttpSession | undefined {
    const found = this.#sessions.get(String(headers[HEADER.SESSION_ID]));
    if (found === undefined) return undefined;
    const { id, context } = found.session;
    if (context.caller.name !== caller.name || !context.view.isSameAs(view)) return undefined;
    found.usedAt = performance.now();
    this.#sessions.delete(id);
    this.#sessions.set(id, found);
    return found;
  }

  #reply(owner: HttpSession, exchange: Exchange, accepts: Accepts): Reply {
    const { session, streams, headers } = owner;
    return new LegacyHttpReply(exchange, {
      accepts,
      headers,
      primed: session.revision >= PRIMED_SINCE,
      streams,
      newStreamId: () => String((owner.streamCount += 1)),
    });
  }

  #endIdle(): void {
    const before = performance.now() - this.#options.idleMs;
    for (const entry of [...this.#sessions.values()])
      if (entry.usedAt < before && isIdle(entry)) this.#end(entry);
  }

  /**
   * Ends the least recently used session of the caller with most sessions. A session in use is ended only if that caller has more
   * than half of all sessions.
   */
  #evict(): boolean {
    const owned = new Map<string, HttpSession[]>();
    for (const entry of this.#sessions.values()) {
      const { name } = entry.session.context.caller;
      const own = owned.get(name);
      if (own === undefined) owned.set(name, [entry]);
      else own.push(entry);
    }
    const most = [...owned.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
    const hasMost = owned.size > 1 && most.length > this.#options.maxSessions / 2;
    const oldest = most.find(isIdle) ?? (hasMost ? most[0] : [...this.#sessions.values()].find(isIdle));
    if (oldest === undefined) return false;
    this.#end(oldest);
    return true;
  }

  #end({ session, streams }: HttpSession): void {
    this.#sessions.delete(session.id);
    session.close();
    for (const stream of streams.values()) stream.end();
  }

  #unknown({ headers }: HttpRequest, response: HttpResponse): void {
    if (headers[HEADER.SESSION_ID] === undefined)
      return sendInvalidRequest(response, "The Mcp-Session-Id header is missing; send initialize first");
    sendRpcError(response, 404, SESSION_NOT_FOUND, "Session not found; send initialize again");
  }
}

/** The code that legacy servers use for an unknown session. */
const SESSION_NOT_FOUND = -32001;
const LAST_WITH_BATCHES = "2025-03-26";

function isInitialize(message: RpcMessage): message is RpcRequest {
  return hasMethod(message) && message.method === "initialize" && "id" in message && message.id != null;
}

function isIdle({ session, notifications }: HttpSession): boolean {
  return session.busy === 0 && !notifications.connected;
}

/** Some libraries write a null id into notifications. */
function isRequestId(id: unknown): boolean {
  return id == null || typeof id === "string" || typeof id === "number";
}
