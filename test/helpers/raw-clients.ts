// Raw clients of the gateway, one per protocol era: they send exactly the given messages and keep every message that they receive.

import { Agent as HttpAgent, type IncomingHttpHeaders, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { onTestFinished } from "vitest";

// oxlint-disable-next-line typescript/no-explicit-any -- tests reach into messages of any shape
export type Loose = any;

export interface Message {
  readonly jsonrpc?: string;
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Loose;
  readonly result?: Loose;
  readonly error?: { code: number; message: string; data?: Loose };
}

export type Answer = (question: { method: string; params: Loose }) => object | undefined;

const META = "io.modelcontextprotocol/";
export const MODERN = "2026-07-28";
export const ALL_CAPABILITIES: object = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const BOTH = "application/json, text/event-stream";

/** One HTTP request and what came back, as it comes. */
export class Exchange {
  status = 0;
  headers: IncomingHttpHeaders = {};
  /** The whole body as text, whatever it was. */
  text = "";
  readonly messages: Message[] = [];
  /** The ids of the events, for streams that have them; the last is where the stream can be taken up. */
  readonly eventIds: string[] = [];
  /** The connection broke before the end. */
  broken = false;
  ended = false;
  /** Resolves when the headers are there, or never will be. */
  readonly head: Promise<void>;
  /** Resolves when it is over, in whatever way. */
  readonly over: Promise<void>;
  /** Called with every message. */
  heard: ((message: Message) => void) | undefined;
  readonly #waiting = new Set<() => void>();
  #rest = "";
  #stop: () => void = () => {};
  #pause: () => void = () => {};

  constructor(
    url: URL,
    agent: HttpAgent,
    options: { method: string; headers: Record<string, string>; body?: string | Buffer },
  ) {
    let headThere: () => void = () => {};
    let allThere: () => void = () => {};
    this.head = new Promise((resolve) => {
      headThere = resolve;
    });
    this.over = new Promise((resolve) => {
      allThere = resolve;
    });
    const end = (broken: boolean): void => {
      if (this.ended) return;
      this.broken = broken;
      this.ended = true;
      headThere();
      allThere();
      this.#wake();
    };
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    const { method, headers, body } = options;
    const request = send(url, { method, headers, agent, rejectUnauthorized: false } as object, (response) => {
      this.status = response.statusCode ?? 0;
      this.headers = response.headers;
      this.#pause = () => void response.pause();
      headThere();
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => this.#take(chunk));
      response.on("end", () => {
        this.#whole();
        end(false);
      });
      response.on("error", () => end(true));
      response.on("close", () => end(!response.complete));
    });
    request.on("error", () => end(true));
    this.#stop = () => request.destroy();
    request.end(body);
  }

  get isStream(): boolean {
    return this.headers["content-type"]?.startsWith("text/event-stream") === true;
  }

  get json(): Loose {
    return JSON.parse(this.text);
  }

  /** The first message that fits, among those that came and will come. Fails when the exchange ends without it. */
  async find(fits: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.messages.find(fits);
      if (found !== undefined) return found;
      if (this.ended) throw new Error(`it never came; ${this.status} ${this.text.slice(0, 2_000)}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** The answer to the request of this id; to the only one, unless told. */
  answer(id?: string | number): Promise<Message> {
    return this.find((message) => message.method === undefined && (id === undefined || message.id === id));
  }

  notices(method: string): Loose[] {
    return this.messages.filter((message) => message.method === method).map(({ params }) => params);
  }

  /** Breaks the connection. */
  destroy(): void {
    this.#stop();
  }

  /** Reads nothing more, while the connection stays. */
  stopReading(): void {
    this.#pause();
  }

  #take(chunk: string): void {
    this.text += chunk;
    if (!this.isStream) return;
    const events = (this.#rest + chunk).split("\n\n");
    this.#rest = events.pop() ?? "";
    for (const event of events) {
      const field = (name: string): string | undefined =>
        event
          .split("\n")
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2);
      const id = field("id");
      if (id !== undefined) this.eventIds.push(id);
      const data = field("data");
      if (data !== undefined && data !== "" && field("event") !== "endpoint")
        this.#hear(JSON.parse(data) as Message);
    }
  }

  #whole(): void {
    if (this.isStream || this.text === "") return;
    try {
      const parsed = JSON.parse(this.text) as Message | Message[];
      for (const message of Array.isArray(parsed) ? parsed : [parsed]) this.#hear(message);
    } catch {
      // Not JSON: the text says what it is.
    }
  }

  #hear(message: Message): void {
    this.messages.push(message);
    this.heard?.(message);
    this.#wake();
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
    this.#waiting.clear();
  }
}

export interface ClientOptions {
  readonly token?: string;
  readonly path?: string;
  readonly capabilities?: object;
  /** Answers what it is asked; undefined never does. */
  readonly answer?: Answer;
  readonly headers?: Record<string, string>;
}

/** Base of both clients: an address, a token, and sockets of its own. */
export class RawHttp {
  readonly base: string;
  readonly path: string;
  readonly token: string | undefined;
  readonly #agent: HttpAgent;
  readonly #headers: Record<string, string>;

  constructor(base: string, options: ClientOptions = {}) {
    this.base = base;
    this.path = options.path ?? "/mcp";
    this.token = options.token;
    this.#headers = options.headers ?? {};
    const Agent = base.startsWith("https:") ? HttpsAgent : HttpAgent;
    this.#agent = new Agent({ keepAlive: true, maxSockets: Infinity });
    onTestFinished(() => this.kill());
  }

  send(
    method: string,
    headers: Record<string, string> = {},
    body?: string | Buffer | object,
    path: string = this.path,
  ): Exchange {
    const authorization: Record<string, string> =
      this.token === undefined ? {} : { authorization: `Bearer ${this.token}` };
    return new Exchange(new URL(path, this.base), this.#agent, {
      method,
      headers: { ...authorization, ...this.#headers, ...headers },
      body:
        body === undefined || typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    });
  }

  /** All connections break at once, as when the process dies. */
  kill(): void {
    this.#agent.destroy();
  }
}

export interface ModernOptions extends ClientOptions {
  readonly logLevel?: string;
}

export class RawModern extends RawHttp {
  readonly #options: ModernOptions;
  #nextId = 1;

  constructor(base: string, options: ModernOptions = {}) {
    super(base, options);
    this.#options = options;
  }

  /** The message and its headers, as the revision has them. */
  request(
    method: string,
    params: Loose = {},
    id: string | number = this.#nextId++,
  ): { headers: Record<string, string>; body: Message } {
    const { logLevel, capabilities = ALL_CAPABILITIES } = this.#options;
    const meta = {
      ...params._meta,
      [`${META}protocolVersion`]: MODERN,
      [`${META}clientCapabilities`]: capabilities,
      [`${META}clientInfo`]: { name: "raw", version: "1" },
      ...(logLevel === undefined ? {} : { [`${META}logLevel`]: logLevel }),
    };
    const name: unknown = params.name ?? params.uri ?? params.taskId;
    return {
      headers: {
        "content-type": "application/json",
        accept: BOTH,
        "mcp-protocol-version": MODERN,
        "mcp-method": method,
        ...(typeof name === "string" ? { "mcp-name": encodeHeader(name) } : {}),
      },
      body: { jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } },
    };
  }

  post(method: string, params: Loose = {}, headers: Record<string, string> = {}): Exchange {
    const made = this.request(method, params);
    return this.send("POST", { ...made.headers, ...headers }, made.body);
  }

  /** One request and its answer, without further rounds. */
  async ask(method: string, params: Loose = {}): Promise<Message> {
    return this.post(method, params).answer();
  }

  /** The request with all its rounds: what is asked is answered, and the request made again. */
  async call(method: string, params: Loose = {}): Promise<Message> {
    const { answer } = this.#options;
    let again: Loose = params;
    for (let round = 0; round < 20; round += 1) {
      const message = await this.ask(method, again);
      if (message.result?.resultType !== "input_required") return message;
      again = { ...params, ...answersTo(message.result, answer) };
    }
    throw new Error("it never stops asking");
  }

  tool(name: string, args: object = {}): Promise<Message> {
    return this.call("tools/call", { name, arguments: args });
  }
}

/** The parameters of a retry: the answers, and the state of the first response. */
export function answersTo(result: Loose, answer: Answer | undefined): object {
  const questions = Object.entries<{ method: string; params: Loose }>(result.inputRequests ?? {});
  const inputResponses = Object.fromEntries(
    questions.flatMap(([key, question]) => {
      const given = answer?.(question);
      return given === undefined ? [] : [[key, given]];
    }),
  );
  return {
    inputResponses,
    ...(result.requestState === undefined ? {} : { requestState: result.requestState }),
  };
}

/** Header values are ASCII; anything else travels as Base64. */
function encodeHeader(value: string): string {
  return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value)
    ? value
    : `=?base64?${Buffer.from(value).toString("base64")}?=`;
}

export interface LegacyOptions extends ClientOptions {
  readonly revision?: string;
}

export class RawLegacy extends RawHttp {
  session = "";
  greeting: Message = {};
  /** Every question that reached this client, on whatever stream. */
  readonly asked: Message[] = [];
  readonly revision: string;
  readonly #options: LegacyOptions;
  #nextId = 1;

  constructor(base: string, options: LegacyOptions = {}) {
    super(base, options);
    this.#options = options;
    this.revision = options.revision ?? "2025-11-25";
  }

  static async open(base: string, options: LegacyOptions = {}): Promise<RawLegacy> {
    const client = new RawLegacy(base, options);
    const exchange = client.initialize();
    client.greeting = await exchange.answer();
    client.session = String(exchange.headers["mcp-session-id"]);
    await client.notify("notifications/initialized").over;
    return client;
  }

  initialize(): Exchange {
    const { capabilities = ALL_CAPABILITIES } = this.#options;
    return this.send(
      "POST",
      { "content-type": "application/json", accept: BOTH },
      {
        jsonrpc: "2.0",
        id: 0,
        method: "initialize",
        params: {
          protocolVersion: this.revision,
          capabilities,
          clientInfo: { name: "raw legacy", version: "1" },
        },
      },
    );
  }

  get headers(): Record<string, string> {
    return {
      "content-type": "application/json",
      accept: BOTH,
      "mcp-session-id": this.session,
      "mcp-protocol-version": this.revision,
    };
  }

  /** A request; what is asked on its stream is answered, if this client answers. */
  post(method: string, params: Loose = {}, id: string | number = this.#nextId++): Exchange {
    return this.#hear(this.send("POST", this.headers, { jsonrpc: "2.0", id, method, params }));
  }

  call(method: string, params: Loose = {}): Promise<Message> {
    const id = this.#nextId++;
    return this.post(method, params, id).answer(id);
  }

  tool(name: string, args: object = {}): Promise<Message> {
    return this.call("tools/call", { name, arguments: args });
  }

  notify(method: string, params: object = {}): Exchange {
    return this.send("POST", this.headers, { jsonrpc: "2.0", method, params });
  }

  respond(id: Message["id"], result: object): Exchange {
    return this.send("POST", this.headers, { jsonrpc: "2.0", id, result });
  }

  /** The stream for what belongs to no request, or the rest of one that broke. */
  async listen(lastEventId?: string): Promise<Exchange> {
    const { "content-type": _type, ...headers } = this.headers;
    const exchange = this.#hear(
      this.send("GET", {
        ...headers,
        accept: "text/event-stream",
        ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
      }),
    );
    await exchange.head;
    return exchange;
  }

  end(): Exchange {
    return this.send("DELETE", this.headers);
  }

  #hear(exchange: Exchange): Exchange {
    exchange.heard = (message) => {
      if (message.method === undefined || message.id == null) return;
      this.asked.push(message);
      const given = this.#options.answer?.({ method: message.method, params: message.params });
      if (given !== undefined) this.respond(message.id, given);
    };
    return exchange;
  }
}

/** The JSON that a tool gave as its first text. */
export function textOf(message: Message): Loose {
  const text: string = message.result?.content?.[0]?.text ?? JSON.stringify(message);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
