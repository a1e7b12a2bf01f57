// Keeps calls apart that might ask at the same time, where a server does not say which of them a question belongs to:
// on other processes of the same definition when it must be, and all on one as long as nothing asks.

import { isPortolanError, type PortolanError } from "../../errors/index.ts";
import type { JsonObject } from "../../model/index.ts";
import { type Call, type Upstream, within } from "../../upstream/index.ts";
import { Asking, type Running, thingOf } from "./server-request-history.ts";
import { type Lane, Spares, type SparesOptions } from "./dedicated-processes.ts";

/** How long a call of which nothing is known waits for others to end before it joins them; a tenth of it, when nobody could be asked. */
const PATIENCE_MS = 1_000;
/** How long a call that was given up may still ask something. */
const GHOST_MS = 30_000;

export interface LanesOptions extends SparesOptions {
  /** How long a call may wait that does not say so itself. */
  readonly timeoutMs: number;
  /** The process that all calls share. */
  readonly main: () => Upstream | undefined;
  readonly patienceMs?: number | undefined;
}

interface Waiter {
  readonly running: Running;
  readonly placed: (lane: Lane) => void;
  readonly refuse: (error: PortolanError) => void;
  /** Has waited long enough to join others, if nothing is known of it even now, or of them that they ask. */
  late: boolean;
  lane?: Lane;
}

export class Lanes {
  #options: LanesOptions;
  readonly #asking = new Asking(() => this.#settle());
  readonly #main: Lane = { running: new Set(), retired: false };
  /** Calls on the main process that were given up: the server may not know yet. */
  readonly #ghosts = new Set<Running>();
  readonly #spares: Spares;
  #waiting: Waiter[] = [];
  /** Calls on the main process that are known to ask nothing. */
  #passing = 0;

  constructor(options: LanesOptions) {
    this.#options = options;
    this.#spares = new Spares(options, () => this.#settle());
  }

  /** How many processes there are beside the main one. */
  get spares(): number {
    return this.#spares.size;
  }

  /** Goes on for another owner. */
  configure(options: LanesOptions): void {
    this.#options = options;
    this.#spares.configure(options);
  }

  request(main: Upstream, call: Call): Promise<JsonObject> {
    const thing = thingOf(call);
    if (thing === undefined) return main.request(call);
    if (call.onServerRequest === undefined && this.#asking.of(thing) === "quiet")
      return this.#pass(main, call);
    const running: Running = {
      thing,
      ask: call.onServerRequest,
      callerId: call.caller?.id,
      account: call.caller?.account,
      asked: false,
      suspected: false,
    };
    const lane = this.#find(running, this.#waiting, false);
    if (lane !== undefined) {
      this.#enter(lane, running);
      return this.#run(lane, lane.lease?.upstream ?? main, running, call);
    }
    return this.#later(main, running, call);
  }

  /** A call that asks nothing, of a client that could not be asked: it only must be known to be there. */
  #pass(main: Upstream, call: Call): Promise<JsonObject> {
    const over = (): void => {
      this.#passing -= 1;
      if (this.#passing === 0) this.#settle();
    };
    this.#passing += 1;
    const answer = main.request({ ...call, noServerRequests: true });
    answer.then(over, over);
    return answer;
  }

  async #later(main: Upstream, running: Running, call: Call): Promise<JsonObject> {
    const arrived = performance.now();
    const later = await this.#wait(running, call);
    const upstream = later.lease?.upstream ?? this.#options.main() ?? main;
    return this.#run(later, upstream, running, leftOf(call, performance.now() - arrived));
  }

  /** What concerns the client itself is told to every process. */
  each(tell: (upstream: Upstream) => void): void {
    for (const { lease } of this.#spares) if (lease !== undefined) tell(lease.upstream);
  }

  /** Closes every spare, with what is still in flight there. Calls in line hear the reason. */
  async close(reason: PortolanError): Promise<void> {
    for (const { refuse } of this.#waiting.splice(0)) refuse(reason);
    await this.#spares.close();
  }

  async #run(lane: Lane, upstream: Upstream, running: Running, call: Call): Promise<JsonObject> {
    const ask = this.#asking.watch(running);
    const before = upstream.stats();
    const onDeclined: Call["onDeclined"] = (question) => {
      this.#asking.asked(running);
      call.onDeclined?.(question);
    };
    let answered = false;
    try {
      const result = await upstream.request({
        ...call,
        ...(ask === undefined ? { onDeclined } : { onServerRequest: ask }),
        noServerRequests: this.#asking.of(running.thing) === "quiet",
      });
      answered = true;
      return result;
    } catch (error) {
      const code = isPortolanError(error) ? error.code : undefined;
      answered = code === "RPC_ERROR";
      if (code === "CANCELLED" || code === "TIMEOUT") this.#gaveUp(lane, running);
      throw error;
    } finally {
      const { ambiguous, declined } = upstream.stats();
      // Without an `ask`, a question of its own that was not known to be that is only seen as one more that was declined.
      const doubtful =
        answered && (ambiguous !== before.ambiguous || (ask === undefined && declined !== before.declined));
      this.#leave(lane, running);
      this.#asking.over(running, { answered, doubtful });
      this.#settle();
    }
  }

  /** Where the call can go now. `ahead` are those that were here first; a call that is late is content with less. */
  #find(running: Running, ahead: readonly Waiter[], late: boolean): Lane | undefined {
    const { thing, ask } = running;
    const verdict = this.#asking.of(thing);
    if (verdict === "quiet") return this.#main;
    if (late && verdict === "unknown" && !this.#needsSpare(running)) return this.#main;
    // Who has all the spares that an account may have does not keep others from theirs.
    const overtakes = ahead.some(
      ({ running: first }) =>
        first.ask !== ask &&
        this.#asking.isAsker(first.thing) &&
        (first.account === running.account || !this.#hasEnough(first)),
    );
    if (overtakes) return undefined;
    const fits = !this.#conflicts(running, this.#main.running) && !this.#conflicts(running, this.#ghosts);
    // A question that comes beside other calls waits for them to end. One that is sure to come had better be alone.
    const prefersAlone = ask !== undefined && this.#asking.isAsker(thing);
    if (fits && (!prefersAlone || this.#isAlone(running))) return this.#main;
    const enough = this.#hasEnough(running);
    for (const lane of this.#spares)
      if (!enough && !lane.retired && !this.#conflicts(running, lane.running)) return lane;
    return fits && (late || !this.#spares.mayGrow) ? this.#main : undefined;
  }

  /** Whether one of them might ask at the same time, and somebody else would have to answer. */
  #conflicts(running: Running, others: ReadonlySet<Running>): boolean {
    for (const other of others) {
      if (other.ask === running.ask || this.#asking.of(other.thing) === "quiet") continue;
      if (others !== this.#ghosts || !isSameCaller(other, running)) return true;
    }
    return false;
  }

  /** Whether the account has all the spares that one may have. A few more can be opened, for others. */
  #hasEnough({ account }: Running): boolean {
    return this.#spares.heldBy(account) >= this.#spares.maxPerAccount;
  }

  /** How many of those in line would get a spare of their own, if there were enough. */
  #wanted(): number {
    const held = new Map<string | undefined, number>();
    let wanted = 0;
    for (const { running } of this.#waiting) {
      const own = held.get(running.account) ?? this.#spares.heldBy(running.account);
      if (own >= this.#spares.maxPerAccount || !this.#needsSpare(running)) continue;
      held.set(running.account, own + 1);
      wanted += 1;
    }
    return wanted;
  }

  /** Another process is worth it for what is known to ask, and for what would share the main one with what does. */
  #needsSpare(running: Running): boolean {
    if (this.#asking.isAsker(running.thing)) return true;
    if (running.ask === undefined || !this.#spares.mayGrow || this.#hasEnough(running)) return false;
    for (const other of this.#main.running)
      if (other.ask !== running.ask && this.#asking.isAsker(other.thing)) return true;
    return false;
  }

  #isAlone(running: Running): boolean {
    if (this.#passing > 0) return false;
    for (const others of [this.#main.running, this.#ghosts])
      for (const other of others)
        if (other.ask !== running.ask && !isSameCaller(other, running)) return false;
    return true;
  }

  async #wait(running: Running, call: Call): Promise<Lane> {
    const { alias, timeoutMs, patienceMs = PATIENCE_MS } = this.#options;
    let waiter: Waiter | undefined;
    const place = new Promise<Lane>((placed, refuse) => {
      waiter = { running, placed, refuse, late: false };
      this.#waiting.push(waiter);
    });
    const impatient = setTimeout(
      () => {
        if (waiter !== undefined) waiter.late = true;
        this.#settle();
      },
      running.ask === undefined ? patienceMs / 10 : patienceMs,
    );
    this.#spares.grow(this.#wanted());
    try {
      return await within(place, {
        server: alias,
        what: "waiting for a free process",
        ms: call.timeoutMs ?? timeoutMs,
        signal: call.signal,
      });
    } catch (error) {
      // It may have got its place in the very moment in which it was given up.
      if (waiter?.lane !== undefined) this.#leave(waiter.lane, running);
      this.#waiting = this.#waiting.filter((one) => one !== waiter);
      this.#settle();
      throw error;
    } finally {
      clearTimeout(impatient);
    }
  }

  /** Something is not what it was: those in line are tried again, first come first served. */
  #settle(): void {
    if (this.#waiting.length === 0) return;
    const still: Waiter[] = [];
    for (const waiter of this.#waiting) {
      const { running, late } = waiter;
      const lane = this.#find(running, still, late);
      if (lane === undefined) {
        still.push(waiter);
        continue;
      }
      waiter.lane = lane;
      this.#enter(lane, running);
      waiter.placed(lane);
    }
    this.#waiting = still;
    this.#spares.grow(this.#wanted());
  }

  #enter(lane: Lane, running: Running): void {
    clearTimeout(lane.idle);
    lane.running.add(running);
  }

  #leave(lane: Lane, running: Running): void {
    lane.running.delete(running);
    if (lane.running.size === 0) this.#spares.rest(lane);
  }

  /** Nobody waits for it any more, but a question of it may still come: not into the call of another. */
  #gaveUp(lane: Lane, running: Running): void {
    if (lane !== this.#main) return this.#spares.retire(lane);
    this.#ghosts.add(running);
    setTimeout(() => {
      this.#ghosts.delete(running);
      this.#settle();
    }, GHOST_MS).unref();
  }
}

function isSameCaller(a: Running, b: Running): boolean {
  return a.callerId !== undefined && a.callerId === b.callerId;
}

/** The hard limit has been running while the call waited. */
function leftOf(call: Call, waitedMs: number): Call {
  if (call.maxTimeoutMs === undefined || call.maxTimeoutMs === 0) return call;
  return { ...call, maxTimeoutMs: Math.max(1, call.maxTimeoutMs - waitedMs) };
}
