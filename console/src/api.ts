// Client of the console's API: requests whose responses are lines of JSON.

import { signal } from "@preact/signals";
import { frameHostOf } from "../../src/console/apps/frame-host.ts";
import { APPS_CAPABILITY } from "../../src/model/protocol/apps.ts";
import type { Problem } from "./types.ts";

/** An app needs a second name of the gateway's computer. */
export const canShowApps: boolean = frameHostOf(location.hostname) !== undefined;

/** False after the gateway has refused the session. */
export const isSignedIn = signal(true);
/** False on another computer than the gateway's, where only a link signs in. */
export const acceptsToken = signal(true);

export class ApiError extends Error {
  readonly code: string;
  readonly hint: string | undefined;

  constructor({ code, message, hint }: Problem) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

export interface CallOptions {
  /** Sends an MCP request to this server, with its own names. */
  readonly server?: string;
  readonly signal?: AbortSignal;
  readonly onNote?: (name: string, value: unknown) => void;
  /** A question of the gateway, which `answer` answers. */
  readonly onAsk?: (id: string, name: string, value: unknown) => void;
}

interface Line {
  readonly note?: string;
  readonly ask?: string;
  readonly name?: string;
  readonly value?: unknown;
  readonly result?: unknown;
  readonly error?: Problem;
}

export async function call<T>(method: string, params: object = {}, options: CallOptions = {}): Promise<T> {
  const response = await post(method, params, options.signal);
  if (response.status === 401) isSignedIn.value = false;
  if (!response.ok || response.body === null) throw new ApiError(await problemOf(response));
  for await (const line of readLines(response.body)) {
    if (line.note !== undefined) options.onNote?.(line.note, line.value);
    else if (line.ask !== undefined) options.onAsk?.(line.ask, line.name ?? "", line.value);
    else if (line.error !== undefined) throw new ApiError(line.error);
    else return line.result as T;
  }
  throw new ApiError({ code: "CONNECTION_LOST", message: "The gateway closed the connection." });
}

/** An MCP request to the servers. */
export function mcp<T>(method: string, params: object = {}, options: CallOptions = {}): Promise<T> {
  const clientInfo = { name: "portolan-console", version: "1" };
  const capabilities = {
    ...(options.onAsk === undefined ? {} : { elicitation: { form: {}, url: {} }, sampling: {} }),
    ...(canShowApps ? APPS_CAPABILITY : {}),
  };
  const { server } = options;
  return call<T>("request", { method, params, server, clientInfo, capabilities }, options);
}

export function answer(id: string, result: unknown): Promise<void> {
  return call("answer", { id, result });
}

/** True if the gateway accepted the code or the token. */
export async function signIn(given: { code: string } | { token: string }): Promise<boolean> {
  const response = await post("sign-in", given);
  isSignedIn.value = response.ok;
  return response.ok;
}

/** Asks whether this browser is signed in. Without a gateway, the page waits for one. */
export async function readSession(): Promise<void> {
  const response = await fetch("/console/api/session").catch(() => undefined);
  const body = (await response?.json().catch(() => undefined)) as
    | { signedIn?: boolean; acceptsToken?: boolean }
    | undefined;
  acceptsToken.value = body?.acceptsToken !== false;
  isSignedIn.value = body?.signedIn !== false;
}

export async function signOut(): Promise<void> {
  await post("sign-out", {});
  isSignedIn.value = false;
}

async function post(method: string, params: object, signal?: AbortSignal): Promise<Response> {
  try {
    return await fetch(`/console/api/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(params),
      signal,
    });
  } catch (error) {
    if (signal?.aborted === true)
      throw new ApiError({ code: "CANCELLED", message: "The call was cancelled." });
    throw new ApiError({
      code: "CONNECTION_LOST",
      message: `The gateway cannot be reached: ${(error as Error).message}`,
      hint: "The page reconnects when the gateway runs again.",
    });
  }
}

async function problemOf(response: Response): Promise<Problem> {
  const fallback = {
    code: String(response.status),
    message: `The gateway returned the HTTP status ${response.status}.`,
  };
  const body = (await response.json().catch(() => ({}))) as { error?: Problem };
  return body.error ?? fallback;
}

async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<Line> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield JSON.parse(line) as Line;
    }
  } catch (error) {
    if ((error as Error).name === "AbortError")
      throw new ApiError({ code: "CANCELLED", message: "The call was cancelled." });
    throw error;
  } finally {
    reader.cancel().catch(() => {});
  }
}
