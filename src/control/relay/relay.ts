// Relay between a client on stdio and a gateway: lines pass unchanged. When the gateway ends, the relay connects to the next one
// and brings it to the state of the old one, so that the client notices only calls that were running.

import type { Duplex, Readable, Writable } from "node:stream";
import { ERROR_CODES, PortolanError, toPortolanError } from "../../errors/index.ts";
import {
  hasMethod,
  isObject,
  isRpcMessage,
  type JsonObject,
  META,
  type RequestId,
  type RpcMessage,
} from "../../model/index.ts";
import { ClientState } from "./client-state.ts";
import { LineSplitter } from "./lines.ts";

export interface RelayOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** Opens the first connection, and the next one after each loss. Rejects when there is no further gateway. */
  readonly connect: (signal: AbortSignal) => Promise<Duplex>;
  /** Ends the relay. */
  readonly signal: AbortSignal;
}

/** A longer line passes without being read: the gateway refuses it, or the client does. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** Input that waits for a connection; beyond it, the client has to wait. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** A gateway that does not accept the handshake in this time counts as lost. */
const HANDSHAKE_MS = 10_000;

/** Resolves when the client has disconnected or the signal aborts. Rejects with the error of `connect`. */
export async function relay(options: RelayOptions): Promise<void> {
  await new Relay(options).run();
}

class Relay {
  readonly #options: RelayOptions;
  readonly #state = new ClientState();
  /** Aborts when the client has disconnected. */
  readonly #ended = new AbortController();
  /** Lines of the client that wait for a connection. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #link: Duplex | undefined;
  #generation = 0;
  #inputEnded = false;
  /** Ids of server requests as the gateway knows them, by the ids that the client got. */
  #serverIds = new Map<RequestId, RequestId>();
  /** Own requests of the handshake that wait for a response. */
  readonly #own = new Map<RequestId, (message: RpcMessage) => void>();
  /** Streams that were opened again, whose second acknowledgement the client must not get. */
  readonly #reopened = new Set<unknown>();

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { input, output, signal, connect } = this.#options;
    const splitter = new LineSplitter(MAX_LINE_BYTES, {
      line: (bytes) => this.#fromClient(bytes),
      part: (bytes) => void this.#link?.write(bytes),
    });
    input.on("data", (chunk: Buffer) => splitter.push(chunk));
    input.once("end", () => {
      this.#inputEnded = true;
      // Requests that were sent still get their response.
      if (this.#link === undefined) this.#ended.abort();
      else this.#link.end();
    });
    const stop = (): void => this.#ended.abort();
    input.once("error", stop);
    output.once("error", stop);
    signal.addEventListener("abort", stop, { once: true });
    try {
      while (!this.#ended.signal.aborted) {
        const link = await connect(this.#ended.signal);
        await this.#use(link);
        if (this.#inputEnded) return;
        this.#lose();
        this.#generation += 1;
      }
    } catch (thrown) {
      if (this.#ended.signal.aborted) return;
      // Requests that waited for a connection fail too.
      for (const line of this.#waiting) for (const message of parse(line)) this.#state.sent(message);
      for (const id of this.#state.failAll()) this.#toClient(failure(id, toPortolanError(thrown)));
      throw thrown;
    }
  }

  /** Resolves when the connection has ended. */
  async #use(link: Duplex): Promise<void> {
    const splitter = new LineSplitter(MAX_LINE_BYTES, {
      line: (bytes) => this.#fromGateway(bytes),
      part: (bytes) => this.#write(link, bytes),
    });
    const closed = new Promise<void>((resolve) => {
      link.once("close", resolve);
      link.once("end", () => link.destroy());
      link.once("error", () => link.destroy());
      this.#ended.signal.addEventListener("abort", () => link.destroy(), { once: true });
      if (this.#ended.signal.aborted) link.destroy();
    });
    link.on("data", (chunk: Buffer) => splitter.push(chunk));
    link.on("drain", () => void this.#options.input.resume());
    // A socket that another use has paused does not start by itself.
    link.resume();
    await Promise.race([this.#greet(link), closed]);
    if (!link.destroyed) this.#open(link);
    await closed;
    this.#link = undefined;
    this.#own.clear();
  }

  /** Brings a new gateway to the state of the old one. Without a response, the connection counts as lost. */
  async #greet(link: Duplex): Promise<void> {
    if (this.#generation === 0) return;
    const late = setTimeout(() => link.destroy(), HANDSHAKE_MS);
    try {
      for (const [index, { method, params }] of this.#state.handshake().entries()) {
        const id = `portolan-relay-${this.#generation}-${index}`;
        const answered = new Promise<RpcMessage>((resolve) => void this.#own.set(id, resolve));
        link.write(toLine({ id, method, params }));
        const answer = await answered;
        if (method !== "initialize") continue;
        if (!("result" in answer)) return void link.destroy();
        if (this.#state.isInitialized) link.write(toLine({ method: "notifications/initialized" }));
      }
    } finally {
      clearTimeout(late);
    }
  }

  #open(link: Duplex): void {
    for (const message of this.#state.repeated()) {
      if (hasMethod(message) && message.method === "subscriptions/listen" && "id" in message)
        this.#reopened.add(message.id);
      link.write(toLine(message));
    }
    this.#link = link;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const line of waiting) this.#fromClient(line);
    if (this.#inputEnded) link.end();
    else this.#options.input.resume();
    // The new gateway may serve other tools.
    if (this.#generation > 0)
      for (const list of this.#state.lists) this.#toClient({ method: `notifications/${list}/list_changed` });
  }

  #lose(): void {
    const { failed, withdrawn } = this.#state.lost();
    for (const id of failed) this.#toClient(failure(id, lost()));
    for (const requestId of withdrawn)
      this.#toClient({
        method: "notifications/cancelled",
        params: { requestId, reason: "the gateway has stopped" },
      });
    this.#serverIds = new Map();
  }

  #fromClient(line: Buffer): void {
    const { input } = this.#options;
    const link = this.#link;
    if (link === undefined) {
      this.#waiting.push(line);
      this.#waitingBytes += line.length;
      if (this.#waitingBytes > MAX_WAITING_BYTES) input.pause();
      return;
    }
    const messages = parse(line);
    let sent: Buffer | string = Buffer.concat([line, END]);
    for (const message of messages) {
      if (!hasMethod(message)) {
        // The answer to a server request of a gateway that has ended belongs to nobody.
        if (!this.#state.isAnswer(message) && this.#generation > 0) return;
        const own = this.#serverIds.get(message.id as RequestId);
        if (own !== undefined) sent = toLine({ ...(message as unknown as JsonObject), id: own });
        this.#serverIds.delete(message.id as RequestId);
      }
      this.#state.sent(message);
    }
    if (!link.write(sent)) input.pause();
  }

  #fromGateway(line: Buffer): void {
    const link = this.#link;
    for (const message of parse(line)) {
      if (!hasMethod(message)) {
        const own = this.#own.get(message.id as RequestId);
        if (own !== undefined) {
          this.#own.delete(message.id as RequestId);
          return own(message);
        }
      } else if (this.#isSecondAcknowledgement(message)) return;
      else if (this.#generation > 0 && this.#renames(message)) return;
      this.#state.received(message);
    }
    this.#write(link, Buffer.concat([line, END]));
  }

  /** The ids of a new gateway may be those of the old one, so the client gets others. */
  #renames(message: RpcMessage): boolean {
    if (!hasMethod(message)) return false;
    const params = message.params ?? {};
    const rename = (id: unknown): string => `${this.#generation}/${String(id)}`;
    if ("id" in message && message.id != null) {
      const id = rename(message.id);
      this.#serverIds.set(id, message.id);
      this.#state.received({ ...message, id });
      this.#toClient({ ...(message as unknown as JsonObject), id });
      return true;
    }
    const requestId = rename(params.requestId);
    if (message.method !== "notifications/cancelled" || !this.#serverIds.delete(requestId)) return false;
    this.#state.received({ ...message, params: { ...params, requestId } });
    this.#toClient({ method: message.method, params: { ...params, requestId } });
    return true;
  }

  /** For a stream that was opened again, the client hears of changed lists instead. */
  #isSecondAcknowledgement(message: RpcMessage): boolean {
    if (!hasMethod(message) || message.method !== "notifications/subscriptions/acknowledged") return false;
    const { _meta: meta, notifications } = message.params ?? {};
    const id = isObject(meta) ? meta[META.SUBSCRIPTION_ID] : undefined;
    if (!this.#reopened.delete(id) || !this.#state.isListening(id)) return false;
    for (const list of ["tools", "prompts", "resources"])
      if (isObject(notifications) && notifications[`${list}ListChanged`] === true)
        this.#toClient({
          method: `notifications/${list}/list_changed`,
          params: { _meta: { [META.SUBSCRIPTION_ID]: id } },
        });
    return true;
  }

  #toClient(message: JsonObject): void {
    this.#write(this.#link, toLine(message));
  }

  /** Pauses the gateway's output while the client does not read, so that memory stays bounded. */
  #write(link: Duplex | undefined, text: Buffer | string): void {
    const { output } = this.#options;
    if (output.write(text) || link === undefined) return;
    link.pause();
    output.once("drain", () => void link.resume());
  }
}

const END = Buffer.from("\n");

/** No message for a line that is not JSON-RPC: it passes, and the other side answers it. */
function parse(line: Buffer): RpcMessage[] {
  try {
    const value: unknown = JSON.parse(line.toString("utf8"));
    return (Array.isArray(value) ? (value as unknown[]) : [value]).filter(isRpcMessage);
  } catch {
    return [];
  }
}

function toLine(message: object): string {
  return `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
}

function lost(): PortolanError {
  return new PortolanError(
    "CONNECTION_LOST",
    "the gateway stopped before it returned a response to this request",
  );
}

function failure(id: RequestId, { code, message, hint }: PortolanError): JsonObject {
  return { id, error: { code: ERROR_CODES[code].jsonrpc, message, data: { code, hint } } };
}
