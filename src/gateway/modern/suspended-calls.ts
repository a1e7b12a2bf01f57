// Calls that wait for their client's answers between two requests of it (modern client, legacy server).

import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { isObject, RPC, type JsonObject } from "../../model/index.ts";
import { RpcRefusal } from "../common/messages.ts";

/** What a parked call is bound to. */
export interface ParkedFor {
  readonly principal: string;
  /** The address it was made at. */
  readonly offer: string;
  readonly method: string;
  readonly params: JsonObject;
}

/** A call as the parking sees it. */
export interface Parkable {
  /** It has waited too long, or others need the room. */
  expire(reason: string): void;
}

export interface ParkingOptions {
  /** Signs what clients bring back. The same after a restart, so that an old state reads as expired and not as forged. */
  readonly key: Buffer;
  readonly maxPerPrincipal: number;
  readonly maxTotal: number;
  readonly keepMs: number;
  /** How much the params of one caller's calls may take together. */
  readonly maxBytesPerPrincipal?: number;
  readonly now?: () => number;
}

interface Entry<C extends Parkable> {
  readonly call: C;
  readonly id: string;
  readonly principal: string;
  /** About what its params take. */
  readonly bytes: number;
  readonly expiresAt: number;
  readonly timer: NodeJS.Timeout;
}

const PREFIX = "portolan1.";
const MAX_BYTES_PER_PRINCIPAL = 32 * 1024 * 1024;

/** Whether a state is one of ours, as opposed to one of a server behind. */
export function isOwnState(state: unknown): state is string {
  return typeof state === "string" && state.startsWith(PREFIX);
}

export class Parking<C extends Parkable> {
  readonly #options: ParkingOptions;
  readonly #now: () => number;
  /** Oldest first. An id is good for one return. */
  readonly #entries = new Map<string, Entry<C>>();
  readonly #perPrincipal = new Map<string, { calls: number; bytes: number }>();

  constructor(options: ParkingOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Takes the call in, and gives the state that its client must bring back to go on with it. */
  park(call: C, bound: ParkedFor): string {
    const id = randomBytes(16).toString("base64url");
    const expiresAt = this.#now() + this.#options.keepMs;
    const payload = `${id}.${expiresAt}`;
    // First: params that cannot be signed are not taken in.
    const mac = this.#sign(payload, bound);
    const { principal } = bound;
    const bytes = 2 * JSON.stringify(bound.params).length;
    this.#makeRoom(principal, bytes);
    const timer = setTimeout(() => this.#expire(id, "nobody answered in time"), this.#options.keepMs).unref();
    this.#entries.set(id, { call, id, principal, bytes, expiresAt, timer });
    const before = this.#perPrincipal.get(principal) ?? { calls: 0, bytes: 0 };
    this.#perPrincipal.set(principal, { calls: before.calls + 1, bytes: before.bytes + bytes });
    return `${PREFIX}${payload}.${mac}`;
  }

  /** The call that this state belongs to. It is not parked any more: a state works once. */
  take(state: string, bound: ParkedFor): C {
    const [id = "", expiresAt = "", mac = ""] = state.slice(PREFIX.length).split(".");
    const expected = Buffer.from(this.#sign(`${id}.${expiresAt}`, bound));
    const given = Buffer.from(mac);
    if (given.length !== expected.length || !timingSafeEqual(given, expected))
      throw refused("it was not given for this request, or was changed");
    const entry = this.#entries.get(id);
    if (entry === undefined)
      throw refused(
        Number(expiresAt) < this.#now()
          ? "it has expired"
          : "it was used before, or what it belonged to is gone",
      );
    this.#remove(entry);
    return entry.call;
  }

  /** Gives up everything, as at the end. */
  clear(reason: string): void {
    for (const id of [...this.#entries.keys()]) this.#expire(id, reason);
  }

  #makeRoom(principal: string, bytes: number): void {
    const { maxPerPrincipal, maxTotal, maxBytesPerPrincipal = MAX_BYTES_PER_PRINCIPAL } = this.#options;
    for (let own = this.#perPrincipal.get(principal); own !== undefined;) {
      if (own.calls < maxPerPrincipal && own.bytes + bytes <= maxBytesPerPrincipal) break;
      this.#expireOldest((entry) => entry.principal === principal);
      own = this.#perPrincipal.get(principal);
    }
    if (this.#entries.size >= maxTotal) this.#expireOldest(() => true);
  }

  #expireOldest(which: (entry: Entry<C>) => boolean): void {
    for (const entry of this.#entries.values())
      if (which(entry)) return this.#expire(entry.id, "too many calls wait for answers");
  }

  #expire(id: string, reason: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#remove(entry);
    entry.call.expire(reason);
  }

  #remove({ id, principal, bytes, timer }: Entry<C>): void {
    clearTimeout(timer);
    this.#entries.delete(id);
    const own = this.#perPrincipal.get(principal);
    if (own === undefined || own.calls <= 1) this.#perPrincipal.delete(principal);
    else this.#perPrincipal.set(principal, { calls: own.calls - 1, bytes: own.bytes - bytes });
  }

  #sign(payload: string, { principal, offer, method, params }: ParkedFor): string {
    return createHmac("sha256", this.#options.key)
      .update(JSON.stringify([payload, principal, offer, method, digestOf(params)]))
      .digest("base64url");
  }
}

function refused(why: string): RpcRefusal {
  return new RpcRefusal(RPC.INVALID_PARAMS, `requestState is not accepted: ${why}`, {
    data: { hint: "Make the request again without requestState and inputResponses." },
  });
}

/** The same for the same request, whatever the order of its keys; answers, state and metadata are not part of it. */
function digestOf(params: JsonObject): string {
  const { inputResponses: _responses, requestState: _state, _meta, ...salient } = params;
  const hash = createHash("sha256");
  let text = "";
  // With a stack of its own: a client can nest deeper than a function can call itself.
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
