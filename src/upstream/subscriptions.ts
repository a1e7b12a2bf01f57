// What is wanted from a server beside answers: list changes and resource updates, asked for in the words of its era.

import { toPortolanError } from "../errors/index.ts";
import type { JsonObject } from "../model/index.ts";
import { envelope } from "./negotiate.ts";
import type { RequestId } from "./rpc.ts";
import type { Session } from "./session.ts";
import type { Caller } from "./types.ts";

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;
const ACKNOWLEDGE_MS = 10_000;

export class Subscriptions {
  readonly #caller: Caller;
  readonly #uris = new Map<string, number>();
  #watching: boolean;
  #session: Session | undefined;
  #stream: AbortController | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(caller: Caller, watching: boolean) {
    this.#caller = caller;
    this.#watching = watching;
  }

  /** Asks a fresh session for all that is wanted. */
  attach(session: Session): void {
    this.#session = session;
    clearTimeout(this.#retry);
    this.#stream = undefined;
    if (session.modern) {
      this.#listen(0)?.catch(() => {});
      return;
    }
    if (this.#watching) session.peer.wire.listen();
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
    const users = (this.#uris.get(uri) ?? 0) + 1;
    this.#uris.set(uri, users);
    if (users > 1) return;
    try {
      if (this.#session?.modern) await this.#replaceStream();
      else await this.#session?.request({ method: "resources/subscribe", params: { uri } });
    } catch (error) {
      this.#uris.delete(uri);
      throw error;
    }
  }

  async remove(uri: string): Promise<void> {
    const users = (this.#uris.get(uri) ?? 0) - 1;
    if (users > 0) {
      this.#uris.set(uri, users);
      return;
    }
    if (!this.#uris.delete(uri)) return;
    if (this.#session?.modern) await this.#replaceStream();
    else await this.#session?.request({ method: "resources/unsubscribe", params: { uri } });
  }

  #filter(session: Session): JsonObject | undefined {
    const { tools, prompts, resources } = session.description.capabilities;
    const wanted = {
      ...(this.#watching && tools?.listChanged === true ? { toolsListChanged: true } : {}),
      ...(this.#watching && prompts?.listChanged === true ? { promptsListChanged: true } : {}),
      ...(this.#watching && resources?.listChanged === true ? { resourcesListChanged: true } : {}),
      ...(this.#uris.size > 0 ? { resourceSubscriptions: [...this.#uris.keys()] } : {}),
    };
    return Object.keys(wanted).length === 0 ? undefined : wanted;
  }

  /** The new stream is acknowledged before the old one is dropped, so that nothing falls between them. */
  async #replaceStream(): Promise<void> {
    const old = this.#stream;
    clearTimeout(this.#retry);
    try {
      await this.#listen(0);
    } finally {
      old?.abort();
    }
  }

  #listen(failures: number): Promise<void> | undefined {
    const session = this.#session;
    const filter = session === undefined ? undefined : this.#filter(session);
    if (session === undefined || filter === undefined) {
      this.#stream = undefined;
      return undefined;
    }
    const stream = new AbortController();
    this.#stream = stream;
    let acknowledged = false;
    return new Promise((resolve, reject) => {
      let streamId: RequestId | undefined;
      const before = session.onAcknowledged;
      session.onAcknowledged = (id) => {
        before?.(id);
        if (id !== streamId) return;
        acknowledged = true;
        resolve();
      };
      // A server that forgets to acknowledge is still listened to.
      setTimeout(resolve, ACKNOWLEDGE_MS).unref();
      const ended = (error?: unknown): void => {
        session.onAcknowledged = before;
        if (error === undefined) resolve();
        else reject(toPortolanError(error));
        if (this.#stream === stream && !stream.signal.aborted && !isFinal(error))
          this.#again(acknowledged ? 0 : failures + 1);
      };
      session.peer
        .request({
          method: "subscriptions/listen",
          params: { notifications: filter },
          meta: envelope(this.#caller, session.description.revision),
          onSent: (id) => {
            streamId = id;
          },
          signal: stream.signal,
          timeoutMs: 0,
          maxTimeoutMs: 0,
        })
        .then(() => ended(), ended);
    });
  }

  #again(failures: number): void {
    const delay = Math.min(FIRST_RETRY_MS * 2 ** failures, MAX_RETRY_MS);
    this.#retry = setTimeout(() => void this.#listen(failures)?.catch(() => {}), delay).unref();
  }
}

/** The server said no; asking again would not change that. */
function isFinal(error: unknown): boolean {
  const code = (error as { code?: string } | undefined)?.code;
  return (
    code === "RPC_ERROR" ||
    code === "CAPABILITY_MISSING" ||
    code === "AUTH_REQUIRED" ||
    code === "CONNECTION_CLOSED"
  );
}
