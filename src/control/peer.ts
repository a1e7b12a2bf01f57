// Peer on the control socket: JSON-RPC in lines, in both directions. A request can send notes and ask questions until its response.

import type { Socket } from "node:net";
import { ERROR_CODES, type ErrorCode, PortolanError, toPortolanError } from "../errors/index.ts";
import { hasMethod, isObject, type JsonObject, type RequestId, type RpcMessage } from "../model/index.ts";
import { LineReader } from "../upstream/index.ts";

/** A line is one message; a tool result may be large. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
/** A peer that leaves this much unread is disconnected. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const MAX_RUNNING = 1_000;
const CANCEL = "$/cancel";
const NOTE = "$/note";
const ASK = "$/ask";

/** The request that a handler answers. */
export interface IncomingRequest {
  readonly method: string;
  readonly params: JsonObject;
  /** Aborts when the other side cancels the request or disconnects. */
  readonly signal: AbortSignal;
  readonly note: (name: string, value: unknown) => void;
  readonly ask: (name: string, value: unknown) => Promise<unknown>;
  /** After the response, `use` gets the socket, and the peer ends. Absent if there is no socket to pass on. */
  readonly takeOver?: (use: (socket: Socket) => void) => void;
}

export interface RequestOptions {
  readonly signal?: AbortSignal;
  readonly onNote?: (name: string, value: unknown) => void;
  readonly onAsk?: (name: string, value: unknown, signal: AbortSignal) => Promise<unknown>;
}

interface Pending extends RequestOptions {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: PortolanError) => void;
}

export class Peer {
  readonly #socket: Socket;
  readonly #answer: (request: IncomingRequest) => Promise<unknown>;
  readonly #pending = new Map<RequestId, Pending>();
  readonly #running = new Map<RequestId, AbortController>();
  readonly #whenClosed: (() => void)[] = [];
  #nextId = 0;
  #closed = false;

  /** `answer` handles the requests of the other side. */
  constructor(socket: Socket, answer: (request: IncomingRequest) => Promise<unknown>) {
    this.#socket = socket;
    this.#answer = answer;
    const reader = new LineReader(MAX_MESSAGE_BYTES, {
      message: (message) => this.#receive(message),
      noise: () => this.close(),
      oversized: () => this.close(),
    });
    socket.on("data", (chunk: Buffer) => reader.push(chunk));
    socket.on("end", () => socket.end());
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#end());
  }

  get closed(): boolean {
    return this.#closed;
  }

  onClose(listener: () => void): void {
    if (this.#closed) listener();
    else this.#whenClosed.push(listener);
  }

  /** Rejects with the error of the other side, or with CONNECTION_LOST. */
  request(method: string, params: JsonObject = {}, options: RequestOptions = {}): Promise<unknown> {
    const { signal } = options;
    if (this.#closed) return Promise.reject(lost());
    if (signal?.aborted === true) return Promise.reject(cancelled(signal));
    const id = (this.#nextId += 1);
    return new Promise<unknown>((resolve, reject) => {
      const onAbort = (): void => {
        this.#pending.delete(id);
        this.#send({ method: CANCEL, params: { id } });
        reject(cancelled(signal));
      };
      const done = (): void => signal?.removeEventListener("abort", onAbort);
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#pending.set(id, {
        ...options,
        resolve: (result) => (done(), resolve(result)),
        reject: (error) => (done(), reject(error)),
      });
      if (this.#send({ id, method, params })) return;
      this.#pending.delete(id);
      done();
      reject(tooDeep("request"));
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Closes the connection when everything is sent. */
  finish(): void {
    this.#socket.end();
  }

  /** Ends the peer, and returns its socket for another use. The other side must wait for a response before it writes anything else. */
  detach(): Socket {
    for (const event of ["data", "end", "error", "close"]) this.#socket.removeAllListeners(event);
    this.#socket.pause();
    this.#end();
    return this.#socket;
  }

  /** False if the message cannot be serialised: a server may send JSON that is nested too deeply for JSON.stringify. */
  #send(message: JsonObject): boolean {
    if (this.#closed || !this.#socket.writable) return true;
    if (this.#socket.writableLength > MAX_WAITING_BYTES) {
      this.close();
      return true;
    }
    let text: string;
    try {
      text = JSON.stringify({ jsonrpc: "2.0", ...message });
    } catch {
      return false;
    }
    this.#socket.write(`${text}\n`);
    return true;
  }

  #sendError(id: RequestId, thrown: unknown): void {
    const error = toPortolanError(thrown);
    const send = (data: JsonObject): boolean =>
      this.#send({ id, error: { code: ERROR_CODES[error.code].jsonrpc, message: data["message"], data } });
    // The data of an error may come from a server, too.
    if (!send(error.toJSON())) send(new PortolanError(error.code, error.message).toJSON());
  }

  #receive(message: RpcMessage): void {
    if (!hasMethod(message)) return this.#settle(message as unknown as JsonObject);
    const params = message.params ?? {};
    if ("id" in message && message.id != null) return this.#start(message.id, message.method, params);
    if (message.method === CANCEL) this.#running.get(params.id as RequestId)?.abort();
    if (message.method === NOTE)
      this.#pending.get(params.id as RequestId)?.onNote?.(String(params.name), params.value);
  }

  #settle({ id, result, error }: JsonObject): void {
    const pending = this.#pending.get(id as RequestId);
    this.#pending.delete(id as RequestId);
    if (error === undefined) pending?.resolve(result);
    else pending?.reject(toError(error));
  }

  #start(id: RequestId, method: string, params: JsonObject): void {
    if (this.#running.size >= MAX_RUNNING || this.#running.has(id)) return this.close();
    const abort = new AbortController();
    let taken: ((socket: Socket) => void) | undefined;
    this.#running.set(id, abort);
    const request: IncomingRequest = {
      method,
      params,
      signal: abort.signal,
      note: (name, value) => {
        if (!abort.signal.aborted) this.#send({ method: NOTE, params: { id, name, value } });
      },
      ask: (name, value) => this.request(ASK, { id, name, value }, { signal: abort.signal }),
      takeOver: (use) => void (taken = use),
    };
    const answered = method === ASK ? this.#askedBack(params, abort.signal) : this.#answer(request);
    answered
      .then(
        (result) => {
          if (!this.#send({ id, result: result ?? null })) return this.#sendError(id, tooDeep("response"));
          if (!this.#closed) taken?.(this.detach());
        },
        (thrown: unknown) => this.#sendError(id, thrown),
      )
      // A fault here ends this connection, not the gateway.
      .catch(() => this.close())
      .finally(() => this.#running.delete(id));
  }

  async #askedBack({ id, name, value }: JsonObject, signal: AbortSignal): Promise<unknown> {
    return this.#pending.get(id as RequestId)?.onAsk?.(String(name), value, signal);
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const abort of this.#running.values()) abort.abort();
    for (const { reject } of this.#pending.values()) reject(lost());
    this.#pending.clear();
    for (const listener of this.#whenClosed) listener();
  }
}

function cancelled(signal: AbortSignal | undefined): PortolanError {
  const reason: unknown = signal?.reason;
  return toPortolanError(
    reason instanceof PortolanError ? reason : new PortolanError("CANCELLED", "the request was cancelled"),
  );
}

function tooDeep(message: "request" | "response"): PortolanError {
  // A request contains the arguments of the user; only a response comes from a server.
  return message === "request"
    ? new PortolanError("PROTOCOL_ERROR", "the request is nested too deeply to be forwarded")
    : new PortolanError("PROTOCOL_ERROR", "the response of the server is nested too deeply to be forwarded", {
        hint: "Report this to the author of the server.",
      });
}

function lost(): PortolanError {
  return new PortolanError("CONNECTION_LOST", "the connection to the running gateway was lost", {
    hint: "The gateway stopped or crashed. A call that was running may have taken effect; check this before you repeat the call. To see why the gateway ended: portolan status. To start it again: portolan serve --daemon",
  });
}

/** The other side may be another version of Portolan, so its codes are checked. */
function toError(error: unknown): PortolanError {
  const data = isObject(error) && isObject(error.data) ? error.data : {};
  const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
  const code = text(data.code) ?? "";
  const known = Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : "INTERNAL";
  const message =
    text(data.message) ?? (isObject(error) ? text(error.message) : undefined) ?? "unknown error";
  return new PortolanError(known, message, {
    server: text(data.server),
    tool: text(data.tool),
    hint: text(data.hint),
    stderr: text(data.stderr),
    data: isObject(data.data) ? data.data : undefined,
  });
}
