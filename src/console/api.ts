// API of the console: requests of the control interface over HTTP. The response is lines of JSON: notes, server requests, then the end.

import { randomUUID } from "node:crypto";
import type { ControlRequest } from "../control/index.ts";
import { PortolanError, toPortolanError } from "../errors/index.ts";
import type { HttpRequest, HttpResponse } from "../gateway/index.ts";
import { isObject, type JsonObject } from "../model/index.ts";
import { sendProblem } from "./responses.ts";

const MAX_BODY_BYTES = 16 * 1024 * 1024;
/** A client that is not signed in sends a code or a token, and nothing else. */
export const SIGN_IN_BODY: BodyLimits = { maxBytes: 4 * 1024, timeoutMs: 5_000 };
const MAX_RUNNING = 200;
/** Notes are left out while a page does not read them. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

/** Answers a request of the page at this origin. */
export type Answer = (request: ControlRequest, origin: string) => Promise<unknown>;

/** One line of a response. */
type Line =
  | { readonly note: string; readonly value: unknown }
  /** A server request, such as an elicitation; the page answers with `answer`. */
  | { readonly ask: string; readonly name: string; readonly value: unknown }
  | { readonly result: unknown }
  | { readonly error: { readonly code: string; readonly message: string; readonly hint?: string } };

export class ConsoleApi {
  readonly #answer: Answer;
  /** Server requests without an answer, by id. */
  readonly #asked = new Map<string, (answer: unknown) => void>();
  #running = 0;

  constructor(answer: Answer) {
    this.#answer = answer;
  }

  /** Runs the request of a page that is signed in. It is cancelled when the page closes the connection. */
  async run(method: string, request: HttpRequest, response: HttpResponse): Promise<void> {
    if (this.#running >= MAX_RUNNING)
      return sendProblem(
        response,
        503,
        "LIMIT_REACHED",
        "the console already handles too many requests; try again",
      );
    this.#running += 1;
    const ended = new AbortController();
    response.on("close", () => ended.abort());
    try {
      const params = await readJson(request);
      if (method === "answer") return this.#answered(params, response);
      await this.#respond({ method, params, signal: ended.signal }, request.headers.origin ?? "", response);
    } catch (thrown) {
      const { code, message } = toPortolanError(thrown);
      if (!response.headersSent) sendProblem(response, 400, code, message);
    } finally {
      this.#running -= 1;
    }
  }

  async #respond(
    request: Pick<ControlRequest, "method" | "params" | "signal">,
    origin: string,
    response: HttpResponse,
  ): Promise<void> {
    const write = (line: Line): void => {
      if (response.destroyed) return;
      if (!response.headersSent) response.writeHead(200, HEADERS);
      response.write(`${JSON.stringify(line)}\n`);
    };
    const own = new Set<string>();
    const ask = (name: string, value: unknown): Promise<unknown> =>
      new Promise((resolve) => {
        const id = randomUUID();
        own.add(id);
        this.#asked.set(id, resolve);
        write({ ask: id, name, value });
      });
    const note = (name: string, value: unknown): void => {
      if (response.writableLength >= MAX_WAITING_BYTES) return;
      try {
        write({ note: name, value });
      } catch {
        // The value is nested too deeply to be serialised, so the note is dropped.
      }
    };
    request.signal.addEventListener("abort", () => {
      // A server that waits for an answer learns that nobody gives one.
      for (const id of own) this.#asked.get(id)?.(undefined);
    });
    try {
      const result = await this.#answer({ ...request, note, ask }, origin);
      write({ result: result ?? null });
    } catch (thrown) {
      const { code, message, hint } = toPortolanError(thrown);
      write({ error: { code, message, hint } });
    } finally {
      for (const id of own) this.#asked.delete(id);
      response.end();
    }
  }

  #answered({ id, result }: JsonObject, response: HttpResponse): void {
    const resolve = this.#asked.get(String(id));
    if (resolve === undefined)
      return sendProblem(response, 404, "NOT_FOUND", "the server request was already answered or cancelled");
    this.#asked.delete(String(id));
    resolve(result);
    response.writeHead(200, HEADERS);
    response.end(`${JSON.stringify({ result: null })}\n`);
  }
}

const HEADERS = {
  "content-type": "application/x-ndjson",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
} as const;

interface BodyLimits {
  readonly maxBytes: number;
  /** The connection is closed after this time. */
  readonly timeoutMs?: number;
}

/** An empty body is an empty object. Only JSON is accepted, because a form of another page cannot send it. */
export async function readJson(
  request: HttpRequest,
  { maxBytes, timeoutMs }: BodyLimits = { maxBytes: MAX_BODY_BYTES },
): Promise<JsonObject> {
  const type = request.headers["content-type"] ?? "application/json";
  if (!/^application\/json\b/i.test(type))
    throw new PortolanError("INPUT_INVALID", "the body must be application/json");
  const tooLarge = (): PortolanError =>
    new PortolanError("MESSAGE_TOO_LARGE", `the body is larger than ${maxBytes} bytes`);
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const late = timeoutMs === undefined ? undefined : setTimeout(() => request.destroy(), timeoutMs).unref();
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge();
      chunks.push(chunk);
    }
  } finally {
    clearTimeout(late);
  }
  if (bytes === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new PortolanError("INPUT_INVALID", "the body is not JSON");
  }
  if (isObject(value)) return value;
  throw new PortolanError("INPUT_INVALID", "the body must be a JSON object");
}
