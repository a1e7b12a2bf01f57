// The client that all gateways are measured with: undici's `dispatch`, JSON.parse, and the handshake of the era.

import { Pool } from "undici";
import { LEGACY, MODERN } from "../servers/echo.mjs";
import { explainStatus } from "./gateway-status.mjs";
import { openEventWire } from "./gateway-sse.mjs";

const PATIENCE_MS = 10_000;
const CLIENT_INFO = { name: "bench", version: "1.0.0" };
const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
  "io.modelcontextprotocol/clientCapabilities": {},
};
const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const INITIALIZE = { protocolVersion: LEGACY, capabilities: {}, clientInfo: CLIENT_INFO };

/** `wire` is "streamable", or "sse" for the older transport with one long stream of answers. Rejects unless there is an echo tool. */
export async function connect({ url, era, wire = "streamable", connections = 256 }) {
  const { origin, pathname } = new URL(url);
  // Enough connections for answers whose streams stay open for a moment after the answer.
  const pool = new Pool(origin, {
    connections,
    headersTimeout: PATIENCE_MS,
    bodyTimeout: PATIENCE_MS,
    keepAliveTimeout: 60_000,
  });
  try {
    const send = wire === "sse" ? await openEventWire(pool, pathname) : createPoster(pool, pathname, era);
    return { ...(await shakeHands(send, era)), close: () => pool.destroy() };
  } catch (error) {
    await pool.destroy();
    throw error;
  }
}

async function shakeHands(send, era) {
  let nextId = 1;
  let session = {};
  const ask = async (method, params, headers = session) => {
    const id = nextId++;
    const reply = await send({ jsonrpc: "2.0", id, method, params }, headers);
    if (reply.message?.id !== id) throw new Error(`no answer to ${method}: HTTP ${reply.status}`);
    if (reply.message.error) throw new Error(`${method}: ${reply.message.error.message}`);
    return reply;
  };
  const withEnvelope = (params) => (era === "modern" ? { ...params, _meta: ENVELOPE } : params);
  const initialize = () => ask("initialize", INITIALIZE, {});

  if (era === "legacy") {
    const { headers, message } = await initialize();
    const id = headers["mcp-session-id"];
    session = { "mcp-protocol-version": message.result.protocolVersion };
    if (id !== undefined) session["mcp-session-id"] = id;
    await send({ jsonrpc: "2.0", method: "notifications/initialized" }, session);
  }
  const { message } = await ask("tools/list", withEnvelope({}));
  // Gateways put the server's name in front, each in its own way.
  const name = message.result.tools.map((tool) => tool.name).find((tool) => tool.endsWith("echo"));
  if (name === undefined) throw new Error("it lists no echo tool");

  return {
    tools: message.result.tools.length,
    async call(text) {
      const reply = await ask("tools/call", withEnvelope({ name, arguments: { text } }));
      return reply.message.result.content?.[0]?.text;
    },
    /** Reads the first page of the list. */
    list: () => ask("tools/list", withEnvelope({})),
    /** A client that disconnects after its first request. */
    abandon: initialize,
  };
}

/** Streamable HTTP: one POST per message, answered with JSON or with a stream of events. */
function createPoster(pool, path, era) {
  const extra =
    era === "modern"
      ? ({ method, params }) => ({
          "mcp-protocol-version": MODERN,
          "mcp-method": method,
          ...(params.name === undefined ? {} : { "mcp-name": params.name }),
        })
      : (_message, session) => session;
  return (message, session) =>
    new Promise((resolve, reject) => {
      const request = {
        method: "POST",
        path,
        headers: { ...HEADERS, ...extra(message, session) },
        body: JSON.stringify(message),
      };
      pool.dispatch(request, new Reply(message.id, resolve, reject));
    });
}

class Reply {
  #id;
  #resolve;
  #reject;
  #chunks = [];
  #status;
  #headers;
  #streams = false;

  constructor(id, resolve, reject) {
    this.#id = id;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onRequestStart() {}

  onResponseStart(_controller, status, headers) {
    this.#status = status;
    this.#headers = headers;
    this.#streams = String(headers["content-type"]).startsWith("text/event-stream");
  }

  onResponseData(_controller, chunk) {
    this.#chunks.push(chunk);
    // An answer counts when its event is complete, not when the gateway gets round to ending the stream.
    if (this.#streams && chunk[chunk.length - 1] === 10) this.#finish(findAnswer(this.#text(), this.#id));
  }

  onResponseEnd() {
    if (this.#streams || this.#status === 202) return this.#finish({});
    if (this.#status !== 200) return this.#reject(new Error(explainStatus(this.#status, this.#text())));
    this.#finish({ message: JSON.parse(this.#text()) });
  }

  onResponseError(_controller, error) {
    this.#reject(error);
  }

  #finish(found) {
    if (found !== undefined) this.#resolve({ status: this.#status, headers: this.#headers, ...found });
  }

  #text() {
    return (this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks)).toString();
  }
}

/** Streams may begin with an event that is only there for resuming, and carry notifications. */
function findAnswer(stream, id) {
  for (let at = 0; (at = stream.indexOf("data: {", at)) !== -1; at++) {
    const end = stream.indexOf("\n", at);
    if (end === -1) return undefined;
    const message = JSON.parse(stream.slice(at + 6, end));
    if (message.id === id && message.method === undefined) return { message };
    at = end;
  }
}
