// Suspended calls of modern clients: a legacy server sent a request during the call, and the client must answer it with its next request.

import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { isObject, RPC, type JsonObject } from "../../model/index.ts";
import { RpcRefusal } from "../common/messages.ts";

/** The request to which a suspended call is bound: only the same request of the same caller resumes it. */
export interface CallBinding {
  readonly caller: string;
  /** Key of the view in which the call was made. */
  readonly view: string;
  readonly method: string;
  readonly params: JsonObject;
}

/** A call that can be suspended. */
export interface Suspendable {
  /** Cancels the call: it waited too long, or newer calls need the space. */
  expire(reason: string): void;
}

export interface SuspendedCallsOptions {
  /** Signs the states of clients. It survives a restart, so that an old state is refused as expired and not as forged. */
  readonly key: Buffer;
  readonly maxPerCaller: number;
  readonly maxTotal: number;
  readonly keepMs: number;
  /** Most bytes of params that the suspended calls of one caller may take. */
  readonly maxBytesPerCaller?: number;
  readonly now?: () => number;
}

interface Entry<C extends Suspendable> {
  readonly call: C;
  readonly id: string;
  readonly caller: string;
  /** Approximate size of its params. */
  readonly bytes: number;
  readonly expiresAt: number;
  readonly timer: NodeJS.Timeout;
}

const PREFIX = "portolan1.";
const MAX_BYTES_PER_CALLER = 32 * 1024 * 1024;

/** True for a state of the gateway, false for a state of a server. */
export function isOwnState(state: unknown): state is string {
  return typeof state === "string" && state.startsWith(PREFIX);
}

export class SuspendedCalls<C extends Suspendable> {
  readonly #options: SuspendedCallsOptions;
  readonly #now: () => number;
  /** Suspended calls by id, the oldest first. */
  readonly #entries = new Map<string, Entry<C>>();
  readonly #perCaller = new Map<string, { calls: number; bytes: number }>();

  constructor(options: SuspendedCallsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Stores the call, and returns the state that the client must send to resume it. */
  suspend(call: C, bound: CallBinding): string {
    const id = randomBytes(16).toString("base64url");
    const expiresAt = this.#now() + this.#options.keepMs;
    const payload = `${id}.${expiresAt}`;
    // Signing comes first, so that params that cannot be signed are not stored.
    const mac = this.#sign(payload, bound);
    const { caller } = bound;
    const bytes = 2 * JSON.stringify(bound.params).length;
    this.#evict(caller, bytes);
    const timer = setTimeout(
      () =>
        this.#expire(
          id,
          "the client did not answer the requests of the server in time (gateway.limits.suspended_for)",
        ),
      this.#options.keepMs,
    ).unref();
    this.#entries.set(id, { call, id, caller, bytes, expiresAt, timer });
    const before = this.#perCaller.get(caller) ?? { calls: 0, bytes: 0 };
    this.#perCaller.set(caller, { calls: before.calls + 1, bytes: before.bytes + bytes });
    return `${PREFIX}${payload}.${mac}`;
  }

  /** Removes and returns the call of a state. A state works once. */
  take(state: string, bound: CallBinding): C {
    const [id = "", expiresAt = "", mac = ""] = state.slice(PREFIX.length).split(".");
    const expected = Buffer.from(this.#sign(`${id}.${expiresAt}`, bound));
    const given = Buffer.from(mac);
    if (given.length !== expected.length || !timingSafeEqual(given, expected))
      throw refused("it does not belong to this request, or was changed");
    const entry = this.#entries.get(id);
    if (entry === undefined)
      throw refused(
        Number(expiresAt) < this.#now() ? "it has expired" : "it was used before, or its call has ended",
      );
    this.#remove(entry);
    return entry.call;
  }

  /** Expires every call. */
  clear(reason: string): void {
    for (const id of [...this.#entries.keys()]) this.#expire(id, reason);
  }

  #evict(caller: string, bytes: number): void {
    const { maxPerCaller, maxTotal, maxBytesPerCaller = MAX_BYTES_PER_CALLER } = this.#options;
    for (let own = this.#perCaller.get(caller); own !== undefined;) {
      if (own.calls < maxPerCaller && own.bytes + bytes <= maxBytesPerCaller) break;
      this.#expireOldest((entry) => entry.caller === caller);
      own = this.#perCaller.get(caller);
    }
    if (this.#entries.size >= maxTotal) this.#expireOldest(() => true);
  }

  #expireOldest(which: (entry: Entry<C>) => boolean): void {
    for (const entry of this.#entries.values())
      if (which(entry))
        return this.#expire(
          entry.id,
          "other calls that wait for answers of their clients use up the limits of the gateway",
        );
  }

  #expire(id: string, reason: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#remove(entry);
    entry.call.expire(reason);
  }

  #remove({ id, caller, bytes, timer }: Entry<C>): void {
    clearTimeout(timer);
    this.#entries.delete(id);
    const own = this.#perCaller.get(caller);
    if (own === undefined || own.calls <= 1) this.#perCaller.delete(caller);
    else this.#perCaller.set(caller, { calls: own.calls - 1, bytes: own.bytes - bytes });
  }

  #sign(payload: string, { caller, view, method, params }: CallBinding): string {
    return createHmac("sha256", this.#options.key)
      .update(JSON.stringify([payload, caller, view, method, digestOf(params)]))
      .digest("base64url");
  }
}

function refused(reason: string): RpcRefusal {
  return new RpcRefusal(RPC.INVALID_PARAMS, `requestState is not accepted: ${reason}`, {
    data: {
      hint: "The earlier call may have had an effect already. Check this before you send the original request again, without requestState and inputResponses.",
    },
  });
}

/** Digest of a request, independent of the order of its keys; answers, state and metadata are not part of it. */
function digestOf(params: JsonObject): string {
  const { inputResponses: _responses, requestState: _state, _meta, ...salient } = params;
  const hash = createHash("sha256");
  let text = "";
  // The explicit stack handles nesting that would exceed the call stack.
  const stack: unknown[] = [salient];
  while (stack.length > 0) {
    const part = stack.pop();
    if (part === END) text += "]";
    else if (Array.isArray(part)) {
      text += "[";
      stack.push(END);
      for (const item of part.toReversed() as unknown[]) stack.push(item);
    } else if (isObject(part)) {
      text += "{";
      stack.push(END);
      for (const key of Object.keys(part).toSorted().toReversed()) stack.push(part[key], key);
    } else text += `${JSON.stringify(part)},`;
    if (text.length < CHUNK_CHARS) continue;
    hash.update(text);
    text = "";
  }
  return hash.update(text).digest("base64url");
}

const END = Symbol("the end of an array or an object");
const CHUNK_CHARS = 64 * 1024;
