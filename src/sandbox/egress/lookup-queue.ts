// Queue of DNS lookups: limits how many one server, and all servers together, have under way, so that one server
// cannot block the others.

import type { Lookup } from "./allow-list.ts";

/** The server has too many lookups waiting. */
export class TooManyLookups extends Error {}

export interface Lookups {
  readonly find: (host: string) => Promise<readonly string[]>;
  /** Cancels all running and waiting lookups. */
  close(): void;
}

export interface LookupLimits {
  readonly atOnce?: number;
  readonly waiting?: number;
  readonly timeoutMs?: number;
}

interface Job {
  readonly host: string;
  readonly requestedAt: number;
  readonly resolve: (addresses: readonly string[]) => void;
  readonly reject: (error: Error) => void;
}

/** Limit for all servers of the process, because they share its resolver. */
const ALL_AT_ONCE = 32;
/** Time between the cancellation and giving up on the lookup. */
const GRACE_MS = 50;

/** Lookups of all servers of the process, which share its resolver. */
let running = 0;
/** Queues that could run a job; a queue that ran one goes to the end. */
const ready = new Set<ServerQueue>();

export function createLookups(lookup: Lookup, limits: LookupLimits = {}): Lookups {
  const queue = new ServerQueue(lookup, limits);
  return { find: (host) => queue.find(host), close: () => queue.close() };
}

class ServerQueue {
  readonly #lookup: Lookup;
  readonly #limits: { readonly atOnce: number; readonly waiting: number; readonly timeoutMs: number };
  readonly #known = new Map<string, Promise<readonly string[]>>();
  readonly #live = new Set<AbortController>();
  #waiting: Job[] = [];
  #isClosed = false;

  constructor(lookup: Lookup, { atOnce = 4, waiting = 256, timeoutMs = 5000 }: LookupLimits) {
    this.#lookup = lookup;
    this.#limits = { atOnce, waiting, timeoutMs };
  }

  get canStart(): boolean {
    return this.#waiting.length > 0 && this.#live.size < this.#limits.atOnce;
  }

  find(host: string): Promise<readonly string[]> {
    const known = this.#known.get(host);
    if (known !== undefined) return known;
    if (this.#isClosed) return Promise.reject(new Error("closed"));
    const { atOnce, waiting } = this.#limits;
    if (this.#waiting.length >= waiting) {
      return Promise.reject(
        new TooManyLookups(`more than ${atOnce + waiting} names are being looked up at once`),
      );
    }
    const found = new Promise<readonly string[]>((resolve, reject) => {
      this.#waiting.push({ host, requestedAt: performance.now(), resolve, reject });
    }).finally(() => this.#known.delete(host));
    this.#known.set(host, found);
    ready.add(this);
    advance();
    return found;
  }

  startNext(): void {
    const job = this.#waiting.shift();
    if (job === undefined) return;
    // The server has given up on the answer by now.
    if (performance.now() - job.requestedAt > this.#limits.timeoutMs * 2) job.reject(new Error("too late"));
    else void this.#run(job);
  }

  close(): void {
    this.#isClosed = true;
    ready.delete(this);
    for (const { reject } of this.#waiting.splice(0)) reject(new Error("closed"));
    for (const controller of this.#live) controller.abort();
  }

  async #run({ host, resolve, reject }: Job): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    const timer = setTimeout(() => controller.abort(), this.#limits.timeoutMs);
    this.#live.add(controller);
    running += 1;
    try {
      resolve(await Promise.race([this.#lookup(host, signal), rejectAfterAbort(signal)]));
    } catch (error) {
      reject(error as Error);
    } finally {
      clearTimeout(timer);
      running -= 1;
      this.#live.delete(controller);
      if (this.canStart) ready.add(this);
      advance();
    }
  }
}

function advance(): void {
  while (running < ALL_AT_ONCE) {
    const [queue] = ready;
    if (queue === undefined) return;
    ready.delete(queue);
    if (queue.canStart) queue.startNext();
    if (queue.canStart) ready.add(queue);
  }
}

/** Rejects shortly after the signal: a lookup that reacts to it may still return what it has. */
function rejectAfterAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => setTimeout(() => reject(new Error("cancelled")), GRACE_MS), {
      once: true,
    });
  });
}
