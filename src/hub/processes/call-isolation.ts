// Call isolation: keeps calls of different clients apart where a server does not say which call its requests belong to. All
// calls share the main process as long as the server sends no requests; then they get dedicated processes.

import { removeFrom } from "../../base/collections/in-flight-list.ts";
import { merge } from "../../base/collections/merge.ts";
import { isPortolanError, type PortolanError } from "../../errors/index.ts";
import type { JsonObject } from "../../model/index.ts";
import { type Call, mayRepeatElsewhere, type Upstream, within } from "../../upstream/index.ts";
import {
  DedicatedProcesses,
  type DedicatedProcessesOptions,
  type ProcessSlot,
} from "./dedicated-processes.ts";
import { type PlacedCall, ServerRequestHistory, targetOf } from "./server-request-history.ts";

/** How long a call of an unknown target waits for others to end before it joins them; a tenth of it without a handler. */
const PATIENCE_MS = 1_000;
/** How long an abandoned call may still cause server requests. */
const ABANDONED_MS = 30_000;
const MAX_REPEATS = 2;
const SILENT = { noServerRequests: true };

export interface CallIsolationOptions extends DedicatedProcessesOptions {
  /** The process that all calls share. */
  readonly main: () => Upstream | undefined;
  readonly patienceMs?: number;
}

interface Waiter {
  readonly call: PlacedCall;
  readonly place: (slot: ProcessSlot) => void;
  readonly reject: (error: PortolanError) => void;
  /** True when the call has waited long enough to join other calls, unless its target or theirs is known to send requests. */
  isLate: boolean;
  slot?: ProcessSlot;
}

export class CallIsolation {
  #options: CallIsolationOptions;
  readonly #history = new ServerRequestHistory(() => this.#placeWaiting());
  readonly #main: ProcessSlot = { calls: [], isRetired: false };
  /** Calls on the main process that were abandoned, which the server may not know yet. */
  readonly #abandoned = new Set<PlacedCall>();
  readonly #dedicated: DedicatedProcesses;
  #waiting: Waiter[] = [];
  /** Number of calls on the main process whose targets never send requests. */
  #silentCalls = 0;
  #isClosed = false;

  constructor(options: CallIsolationOptions) {
    this.#options = options;
    this.#dedicated = new DedicatedProcesses(options, () => this.#placeWaiting());
  }

  /** Number of processes beside the main one. */
  get dedicatedCount(): number {
    return this.#dedicated.size;
  }

  configure(options: CallIsolationOptions): void {
    this.#options = options;
    this.#dedicated.configure(options);
  }

  request(main: Upstream, call: Call): Promise<JsonObject> {
    const target = targetOf(call);
    if (target === undefined) return main.request(call);
    if (call.onServerRequest === undefined && this.#history.of(target) === "never")
      return this.#sendSilent(main, call);
    return this.#sendPlaced(main, call, target, 0);
  }

  /** A call that causes no server requests, and has no handler. It is only counted. */
  #sendSilent(main: Upstream, call: Call): Promise<JsonObject> {
    const ended = (): void => {
      this.#silentCalls -= 1;
      if (this.#silentCalls === 0) this.#placeWaiting();
    };
    this.#silentCalls += 1;
    const answer = main.request(merge(call, SILENT));
    answer.then(ended, ended);
    return answer;
  }

  #sendPlaced(main: Upstream, call: Call, target: string, repeats: number): Promise<JsonObject> {
    const placed: PlacedCall = {
      target,
      handler: call.onServerRequest,
      callerId: call.caller?.id,
      account: call.caller?.account,
      hasRequest: false,
      isSuspect: false,
    };
    const slot = this.#find(placed, this.#waiting, false);
    if (slot === undefined) return this.#sendLater(main, placed, call, repeats);
    slot.calls.push(placed);
    return this.#sendTo(slot, main, placed, call, repeats);
  }

  async #sendLater(main: Upstream, placed: PlacedCall, call: Call, repeats: number): Promise<JsonObject> {
    const arrived = performance.now();
    const slot = await this.#wait(placed, call);
    const left = leftOf(call, performance.now() - arrived);
    return this.#sendTo(slot, this.#options.main() ?? main, placed, left, repeats);
  }

  #sendTo(
    slot: ProcessSlot,
    main: Upstream,
    placed: PlacedCall,
    call: Call,
    repeats: number,
  ): Promise<JsonObject> {
    if (slot.instance === undefined) return this.#send(slot, main, placed, call);
    // A dedicated process that was lost is not restarted, so its call is placed again.
    return this.#send(slot, slot.instance, placed, call).catch((error: unknown) => {
      if (this.#isClosed || repeats >= MAX_REPEATS || !mayRepeatElsewhere(error, call)) throw error;
      return this.#sendPlaced(main, call, placed.target, repeats + 1);
    });
  }

  /** The pins have changed, so the tools of every dedicated process are compared again. */
  recheck(): void {
    this.#dedicated.recheck();
  }

  /** Visits every dedicated process. */
  each(visit: (upstream: Upstream) => void): void {
    for (const { instance } of this.#dedicated) if (instance !== undefined) visit(instance);
  }

  /** Stops all dedicated processes with their calls, and rejects waiting calls with the reason. */
  async close(reason: PortolanError): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(reason);
    await this.#dedicated.close();
  }

  async #send(slot: ProcessSlot, upstream: Upstream, placed: PlacedCall, call: Call): Promise<JsonObject> {
    const handler = this.#history.watch(placed);
    const before = upstream.stats();
    const onDeclined: Call["onDeclined"] = (request) => {
      this.#history.requested(placed);
      call.onDeclined?.(request);
    };
    let isAnswered = false;
    try {
      const result = await upstream.request(
        merge(call, {
          onDeclined: handler === undefined ? onDeclined : call.onDeclined,
          onServerRequest: handler,
          noServerRequests: this.#history.of(placed.target) === "never",
        }),
      );
      isAnswered = true;
      return result;
    } catch (error) {
      const code = isPortolanError(error) ? error.code : undefined;
      isAnswered = code === "RPC_ERROR";
      if (code === "CANCELLED" || code === "TIMEOUT") this.#abandon(slot, placed);
      throw error;
    } finally {
      const { ambiguous, declined } = upstream.stats();
      // Without a handler, a request that was not attributed to this call shows only in the number of declined ones.
      const isDoubtful =
        isAnswered &&
        (ambiguous !== before.ambiguous || (handler === undefined && declined !== before.declined));
      this.#leave(slot, placed);
      this.#history.ended(placed, { isAnswered, isDoubtful });
      this.#placeWaiting();
    }
  }

  /** The process for the call, if it can be sent now. `ahead` are calls that came earlier; a late call accepts more. */
  #find(placed: PlacedCall, ahead: readonly Waiter[], isLate: boolean): ProcessSlot | undefined {
    const { target, handler } = placed;
    const verdict = this.#history.of(target);
    if (verdict === "never") return this.#main;
    if (isLate && verdict === "unknown" && !this.#needsDedicated(placed)) return this.#main;
    // An account that uses all its dedicated processes does not delay the calls of others.
    const overtakes = ahead.some(
      ({ call: first }) =>
        first.handler !== handler &&
        this.#history.needsIsolation(first.target) &&
        (first.account === placed.account || !this.#hasMaximum(first)),
    );
    if (overtakes) return undefined;
    const fits = !this.#conflicts(placed, this.#main.calls) && !this.#conflicts(placed, this.#abandoned);
    // A server request waits until other calls end, so a call that will cause one should be alone.
    const prefersAlone = handler !== undefined && this.#history.needsIsolation(target);
    if (fits && (!prefersAlone || this.#isAlone(placed))) return this.#main;
    const hasMaximum = this.#hasMaximum(placed);
    for (const slot of this.#dedicated)
      if (!hasMaximum && !slot.isRetired && !this.#conflicts(placed, slot.calls)) return slot;
    return fits && (isLate || !this.#dedicated.mayGrow) ? this.#main : undefined;
  }

  /** True when one of the calls may cause a server request at the same time that another client must answer. */
  #conflicts(placed: PlacedCall, others: Iterable<PlacedCall>): boolean {
    for (const other of others) {
      if (other.handler === placed.handler || this.#history.of(other.target) === "never") continue;
      if (others !== this.#abandoned || !isSameCaller(other, placed)) return true;
    }
    return false;
  }

  /** True when the account uses as many dedicated processes as it may. */
  #hasMaximum({ account }: PlacedCall): boolean {
    return this.#dedicated.callsOf(account) >= this.#dedicated.maxPerAccount;
  }

  /** Number of waiting calls that should get a dedicated process. */
  #wanted(): number {
    const used = new Map<string | undefined, number>();
    let wanted = 0;
    for (const { call } of this.#waiting) {
      const own = used.get(call.account) ?? this.#dedicated.callsOf(call.account);
      if (own >= this.#dedicated.maxPerAccount || !this.#needsDedicated(call)) continue;
      used.set(call.account, own + 1);
      wanted += 1;
    }
    return wanted;
  }

  /** True for calls that cause server requests, and for calls that would share the main process with such a call. */
  #needsDedicated(placed: PlacedCall): boolean {
    if (this.#history.needsIsolation(placed.target)) return true;
    if (placed.handler === undefined || !this.#dedicated.mayGrow || this.#hasMaximum(placed)) return false;
    for (const other of this.#main.calls)
      if (other.handler !== placed.handler && this.#history.needsIsolation(other.target)) return true;
    return false;
  }

  #isAlone(placed: PlacedCall): boolean {
    if (this.#silentCalls > 0) return false;
    for (const others of [this.#main.calls, this.#abandoned])
      for (const other of others)
        if (other.handler !== placed.handler && !isSameCaller(other, placed)) return false;
    return true;
  }

  async #wait(placed: PlacedCall, call: Call): Promise<ProcessSlot> {
    const { alias, timeoutMs, patienceMs = PATIENCE_MS } = this.#options;
    let waiter: Waiter | undefined;
    const found = new Promise<ProcessSlot>((place, reject) => {
      waiter = { call: placed, place, reject, isLate: false };
      this.#waiting.push(waiter);
    });
    const becomeLate = setTimeout(
      () => {
        if (waiter !== undefined) waiter.isLate = true;
        this.#placeWaiting();
      },
      placed.handler === undefined ? patienceMs / 10 : patienceMs,
    );
    this.#dedicated.grow(this.#wanted());
    try {
      return await within(found, {
        server: alias,
        what: "waiting for a free process",
        ms: call.timeoutMs ?? timeoutMs,
        signal: call.signal,
      });
    } catch (error) {
      // The call may have been placed in the same moment in which it was abandoned.
      if (waiter?.slot !== undefined) this.#leave(waiter.slot, placed);
      this.#waiting = this.#waiting.filter((one) => one !== waiter);
      this.#placeWaiting();
      throw error;
    } finally {
      clearTimeout(becomeLate);
    }
  }

  /** Places the waiting calls that can be sent now, first come first served. */
  #placeWaiting(): void {
    if (this.#waiting.length === 0) return;
    const still: Waiter[] = [];
    for (const waiter of this.#waiting) {
      const { call, isLate } = waiter;
      const slot = this.#find(call, still, isLate);
      if (slot === undefined) {
        still.push(waiter);
        continue;
      }
      waiter.slot = slot;
      slot.calls.push(call);
      waiter.place(slot);
    }
    this.#waiting = still;
    this.#dedicated.grow(this.#wanted());
  }

  #leave(slot: ProcessSlot, placed: PlacedCall): void {
    removeFrom(slot.calls, placed);
    this.#dedicated.callEnded(slot);
  }

  /** A server request of an abandoned call may still come, and must not reach another client. */
  #abandon(slot: ProcessSlot, placed: PlacedCall): void {
    if (slot !== this.#main) return this.#dedicated.retire(slot);
    this.#abandoned.add(placed);
    setTimeout(() => {
      this.#abandoned.delete(placed);
      this.#placeWaiting();
    }, ABANDONED_MS).unref();
  }
}

function isSameCaller(a: PlacedCall, b: PlacedCall): boolean {
  return a.callerId !== undefined && a.callerId === b.callerId;
}

/** The hard limit of the call includes the time that it waited. */
function leftOf(call: Call, waitedMs: number): Call {
  if (call.maxTimeoutMs === undefined || call.maxTimeoutMs === 0) return call;
  return { ...call, maxTimeoutMs: Math.max(1, call.maxTimeoutMs - waitedMs) };
}
