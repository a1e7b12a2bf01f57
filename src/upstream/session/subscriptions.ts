// Subscriptions of one session to list changes and resource updates: by requests in the legacy era, by one stream in the modern era.

import { backoffMs } from "../../base/time/retry.ts";
import { isPortolanError, type PortolanError, toPortolanError } from "../../errors/index.ts";
import type { JsonObject, RequestId } from "../../model/index.ts";
import { envelope } from "./envelope.ts";
import type { Session } from "./session.ts";
import type { Call, Caller } from "../upstream.ts";

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;
const ACKNOWLEDGE_MS = 10_000;

export interface SubscriptionsOptions {
  readonly caller: Caller;
  /** True when list changes are wanted. */
  readonly watching: boolean;
  /** Sends a request on the open session. */
  readonly request: (call: Call) => Promise<JsonObject>;
  /** A stream was opened again after a gap in which notifications may have been lost. */
  readonly missed: () => void;
}

export class Subscriptions {
  readonly #options: SubscriptionsOptions;
  readonly #uris = new Map<string, number>();
  #session: Session | undefined;
  #stream: AbortController | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Modern era: the replacement of the stream in progress, and whether it must be repeated. */
  #replacing: Promise<void> | undefined;
  #outdated = false;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
  }

  /** Subscribes at a new session to everything that is wanted. */
  attach(session: Session): void {
    this.#session = session;
    if (session.modern) return void this.#replaceStream().catch(() => {});
    if (this.#options.watching) session.peer.transport.listen?.();
    for (const uri of this.#uris.keys()) {
      session.request({ method: "resources/subscribe", params: { uri } }).catch(() => {});
    }
  }

  detach(): void {
    clearTimeout(this.#retry);
    this.#stream?.abort();
    this.#stream = undefined;
    this.#session = undefined;
  }

  async add(uri: string): Promise<void> {
    const users = this.#uris.get(uri) ?? 0;
    this.#uris.set(uri, users + 1);
    try {
      if (this.#session?.modern) await this.#replaceStream();
      else if (users === 0) await this.#options.request({ method: "resources/subscribe", params: { uri } });
    } catch (error) {
      this.#release(uri);
      // The refusal also ended the stream that was open, so it is opened again for the other URIs.
      if (this.#session?.modern) this.#replaceStream().then(this.#options.missed, () => {});
      throw error;
    }
  }

  async remove(uri: string): Promise<void> {
    if (!this.#release(uri)) return;
    if (this.#session?.modern) await this.#replaceStream();
    else await this.#options.request({ method: "resources/unsubscribe", params: { uri } });
  }

  /** True when the last user of the URI has released it. */
  #release(uri: string): boolean {
    const users = (this.#uris.get(uri) ?? 0) - 1;
    if (users > 0) this.#uris.set(uri, users);
    else return this.#uris.delete(uri);
    return false;
  }

  /** Resolves when a stream is open that covers all URIs, also those added meanwhile. */
  #replaceStream(): Promise<void> {
    this.#outdated = true;
    this.#replacing ??= this.#replaceUntilCurrent().finally(() => {
      this.#replacing = undefined;
    });
    return this.#replacing;
  }

  async #replaceUntilCurrent(): Promise<void> {
    while (this.#outdated) {
      this.#outdated = false;
      clearTimeout(this.#retry);
      const old = this.#stream;
      this.#stream = undefined;
      try {
        // The new stream is acknowledged before the old one is closed, so that no notification is lost.
        await this.#listen(0);
      } finally {
        old?.abort();
      }
    }
  }

  #filter(session: Session): JsonObject | undefined {
    const { tools, prompts, resources } = session.description.capabilities;
    const { watching } = this.#options;
    const wanted = {
      ...(watching && tools?.listChanged === true ? { toolsListChanged: true } : {}),
      ...(watching && prompts?.listChanged === true ? { promptsListChanged: true } : {}),
      ...(watching && resources?.listChanged === true ? { resourcesListChanged: true } : {}),
      ...(this.#uris.size > 0 ? { resourceSubscriptions: [...this.#uris.keys()] } : {}),
    };
    return Object.keys(wanted).length === 0 ? undefined : wanted;
  }

  /** Opens a stream. Resolves when the server has acknowledged it, or has taken too long to do so. */
  async #listen(failures: number): Promise<void> {
    const session = this.#session;
    const filter = session === undefined ? undefined : this.#filter(session);
    if (session === undefined || filter === undefined) return;
    const stream = new AbortController();
    this.#stream = stream;
    await new Promise<void>((resolve, reject) => {
      let acknowledged = false;
      let streamId: RequestId = -1;
      const timer = setTimeout(resolve, ACKNOWLEDGE_MS).unref();
      const ended = (error?: PortolanError): void => {
        clearTimeout(timer);
        session.notifications.acknowledged.delete(streamId);
        if (error === undefined || stream.signal.aborted) resolve();
        else reject(error);
        if (this.#stream === stream && !stream.signal.aborted && !isFinal(error))
          this.#again(acknowledged ? 0 : failures + 1);
      };
      session.peer
        .request({
          method: "subscriptions/listen",
          params: { notifications: filter },
          meta: envelope(this.#options.caller, session.description.revision),
          onSent: (id) => {
            streamId = id;
            session.notifications.acknowledged.set(id, () => {
              acknowledged = true;
              clearTimeout(timer);
              resolve();
            });
          },
          signal: stream.signal,
          timeoutMs: 0,
          maxTimeoutMs: 0,
        })
        .then(
          () => ended(),
          (error: unknown) => ended(toPortolanError(error)),
        );
    });
  }

  #again(failures: number): void {
    const delay = backoffMs(failures, FIRST_RETRY_MS, MAX_RETRY_MS);
    this.#retry = setTimeout(() => {
      this.#listen(failures).then(this.#options.missed, () => {});
    }, delay).unref();
  }
}

/** The server refused the subscription; another attempt would be refused too. */
function isFinal(error: PortolanError | undefined): boolean {
  return (
    isPortolanError(error) &&
    ["RPC_ERROR", "CAPABILITY_MISSING", "AUTH_REQUIRED", "FORBIDDEN", "CONNECTION_CLOSED"].includes(
      error.code,
    )
  );
}
