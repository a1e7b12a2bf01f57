/** The legacy era over HTTP: sessions, a stream for every POST, and one for what belongs to none. */
import { randomUUID } from "node:crypto";
import { isAnswer, isRequest, LEGACY_VERSIONS } from "../../fixtures/lib/rpc.mjs";
import { formatEvent, openSse } from "../../fixtures/lib/sse-stream.mjs";
import { failure, sendJson } from "./http.mjs";
import { LegacyPeer } from "./legacy.mjs";

/** How long a client should wait before it comes back to a stream that was closed on it. */
const RETRY_MS = 50;

export function legacyHttp(surface) {
  const sessions = new Map();

  return async function serve(req, res, message) {
    if (!["GET", "POST", "DELETE"].includes(req.method)) return res.writeHead(405).end();
    const session = message?.method === "initialize" ? newSession() : findSession(req, res);
    if (!session) return;
    if (req.method === "GET") return session.open(res, req.headers["last-event-id"]);
    if (req.method === "DELETE") {
      sessions.delete(session.id);
      session.close();
      return res.writeHead(204).end();
    }
    if (isRequest(message)) return session.call(message, res);
    session.peer.receive(message);
    return res.writeHead(202).end();
  };

  function newSession() {
    const session = new Session(surface);
    sessions.set(session.id, session);
    return session;
  }

  function findSession({ headers }, res) {
    const version = headers["mcp-protocol-version"];
    const id = headers["mcp-session-id"];
    const session = sessions.get(id);
    if (id !== undefined && !session) sendJson(res, 404, failure(-32001, "Session not found"));
    else if (!session) sendJson(res, 400, failure(-32000, "Mcp-Session-Id is missing"));
    else if (version !== undefined && !LEGACY_VERSIONS.includes(version)) {
      sendJson(res, 400, failure(-32000, `Unsupported protocol version: ${version}`));
    } else return session;
  }
}

class Session {
  id = randomUUID();
  #streams = new Map();
  #own = new Stream("own");

  constructor(surface) {
    this.peer = new LegacyPeer(surface, (message) => this.#own.write(message));
  }

  call(message, res) {
    const stream = new Stream(`post${this.#streams.size}`, message.id);
    this.#streams.set(stream.name, stream);
    stream.attach(res, { "mcp-session-id": this.id });
    const interrupt = () => stream.detach();
    this.peer.receive(message, (outgoing) => stream.write(outgoing), interrupt);
  }

  /** The session's own stream, or the rest of one that was closed before its answer. */
  open(res, lastEventId = "") {
    const [name, seen] = lastEventId.split("_");
    const stream = this.#streams.get(name) ?? this.#own;
    stream.attach(res, { "mcp-session-id": this.id }, stream === this.#own ? undefined : Number(seen));
  }

  close() {
    this.peer.close();
    for (const stream of [this.#own, ...this.#streams.values()]) stream.detach();
  }
}

/** A row of events that outlives the response it is written to. */
class Stream {
  #events = [];
  #res;

  constructor(name, requestId) {
    this.name = name;
    this.requestId = requestId;
  }

  /** `seen` is how many events the client has; without it the stream begins with an empty event to come back to. */
  attach(res, headers, seen) {
    this.#res?.end();
    openSse(res, { headers });
    this.#res = res;
    res.on("close", () => {
      if (this.#res === res) this.#res = undefined;
    });
    if (seen === undefined)
      res.write(`id: ${this.name}_${this.#events.length}\nretry: ${RETRY_MS}\ndata: \n\n`);
    for (let index = seen ?? this.#events.length; index < this.#events.length; index += 1) this.#send(index);
  }

  detach() {
    this.#res?.end();
    this.#res = undefined;
  }

  write(message) {
    this.#events.push(message);
    this.#send(this.#events.length - 1);
  }

  #send(index) {
    const message = this.#events[index];
    this.#res?.write(formatEvent(message, { id: `${this.name}_${index + 1}` }));
    if (isAnswer(message) && message.id === this.requestId) this.detach();
  }
}
