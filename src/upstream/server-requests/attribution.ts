// Whose call was it? Finds the one call that a server's question or log message is about. Never by a guess.

import { isObject, type JsonObject, type LogMessage, type RequestId } from "../../model/index.ts";
import type { Peer, PeerRequest, Pending } from "../session/peer.ts";
import type { Ask } from "../upstream.ts";

/** Requests in the middle of which a server may ask. */
export const MAY_ASK: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"]);

/** Where a question of a task says so: the call that began the task has long been answered. */
const RELATED_TASK = "io.modelcontextprotocol/related-task";

/** How long a question waits for the calls that did not cause it to be answered. */
const HOLD_MS = 10_000;
/** How long a call that was given up may still speak up. A server that heeds its cancellation is done at once. */
const GHOST_MS = 30_000;

/** A call that may be the one: in flight, or given up while the server may not know it yet. */
interface Suspect {
  readonly id: number;
  readonly request: Pick<PeerRequest, "ask" | "callerId" | "onLog">;
}

interface Ghost extends Suspect {
  readonly until: number;
  /** The server has read the cancellation, after which it logs nothing more about the call. */
  cancelled: boolean;
}

/** Who answers a question; nobody when `ask` is undefined. */
interface Claim {
  readonly ask: Ask | undefined;
  /** The call that is known to have caused it, if any. */
  readonly cause: Pick<PeerRequest, "onDeclined"> | undefined;
  /** The question is over: the clock of its call goes on. */
  readonly closed: () => void;
}

export class Attribution {
  /** Questions that did not become clear in time. */
  ambiguous = 0;
  /** Log messages that might have been about the call of one client or another, and so reached neither. */
  unheard = 0;
  /** Calls are made for several clients: what is about the call of one is not for whoever listens to the connection. */
  manyClients = false;
  readonly #peer: Peer;
  readonly #own: Ask | undefined;
  readonly #ping: () => Promise<unknown>;
  readonly #ghosts = new Map<RequestId, Ghost>();
  /** One per question that waits to become clear. */
  readonly #held = new Set<(id: RequestId) => void>();

  /** `own` answers for calls that bring no `ask`; `ping` sends a request that any server answers. */
  constructor(peer: Peer, own: Ask | undefined, ping: () => Promise<unknown>) {
    this.#peer = peer;
    this.#own = own;
    this.#ping = ping;
  }

  gaveUp({ id, request }: Pending): void {
    if (request.quiet === true || !MAY_ASK.has(request.method)) return;
    const { ask, callerId, onLog } = request;
    const until = performance.now() + GHOST_MS;
    const ghost: Ghost = { id, request: { ask, callerId, onLog }, until, cancelled: false };
    this.#ghosts.set(id, ghost);
    // Only where calls of several clients share a channel does a log message have to be told from another's.
    if (this.manyClients && !this.#peer.wire.perRequestStreams) this.#confirm(ghost);
  }

  /**
   * A channel keeps its order: when the server answers a request that was sent after the cancellation, it has read the
   * cancellation too.
   */
  #confirm(ghost: Ghost): void {
    // After this function the peer announces the cancellation.
    queueMicrotask(() => {
      this.#ping().then(
        () => {
          ghost.cancelled = true;
        },
        () => {},
      );
    });
  }

  answeredLate(id: RequestId): void {
    if (!this.#ghosts.delete(id)) return;
    for (const clear of [...this.#held]) clear(id);
  }

  /** Finds who is to answer. The question ends, through `end`, with the last call in flight that may have caused it. */
  async claim(
    params: JsonObject | undefined,
    origin: RequestId | undefined,
    end: AbortController,
  ): Promise<Claim> {
    const task = taskOf(params);
    if (origin !== undefined || task !== undefined) {
      const cause = task === undefined ? this.#peer.pending.get(origin ?? 0) : this.#waitingFor(task);
      // Its call is over: nobody is left to be asked.
      if (cause === undefined)
        return { ask: task === undefined ? undefined : this.#own, cause: undefined, closed: () => {} };
      return {
        ask: cause.request.ask ?? this.#own,
        cause: cause.request,
        closed: this.#peer.openQuestion([cause], end),
      };
    }
    const live = this.#inFlight();
    const suspects: Suspect[] = [...live, ...this.#ghostsBeside(live)];
    const cause = suspects.length === 1 ? live[0]?.request : undefined;
    if (suspects.every(({ request }) => request.ask === undefined))
      return { ask: this.#own, cause, closed: this.#peer.openQuestion(live, end) };
    if (live.length === 0) return { ask: undefined, cause: undefined, closed: () => {} };
    if (agree(suspects))
      return { ask: suspects[0]?.request.ask, cause, closed: this.#peer.openQuestion(live, end) };
    return this.#hold(live, suspects, end);
  }

  /** Who hears a log message: a call, nobody, or (undefined) whoever listens to the connection. */
  hearer(origin: RequestId | undefined): ((message: LogMessage) => void) | undefined {
    const nobody = this.manyClients ? unwanted : undefined;
    if (origin !== undefined) return this.#peer.pending.get(origin)?.request.onLog ?? nobody;
    const live = this.#inFlight();
    const ghosts = this.#ghostsBeside(live);
    if (live.length === 0) return ghosts.length === 0 ? undefined : nobody;
    const suspects: Suspect[] = [...live, ...ghosts.filter(({ cancelled }) => !cancelled)];
    const listening = suspects.find(({ request }) => request.onLog !== undefined);
    if (listening === undefined || suspects.length === 1) return listening?.request.onLog ?? nobody;
    const { callerId } = listening.request;
    if (callerId !== undefined && suspects.every(({ request }) => request.callerId === callerId))
      return listening.request.onLog;
    return () => {
      this.unheard += 1;
    };
  }

  #waitingFor(task: unknown): Pending | undefined {
    for (const pending of this.#peer.pending.values()) {
      const { method, params } = pending.request;
      if (method === "tasks/result" && params?.taskId === task) return pending;
    }
    return undefined;
  }

  #inFlight(): Pending[] {
    const found: Pending[] = [];
    for (const pending of this.#peer.pending.values())
      if (MAY_ASK.has(pending.request.method)) found.push(pending);
    return found;
  }

  /** Calls that were given up lately, unless all in flight are of the same client: then it is the right one in any case. */
  #ghostsBeside(live: readonly Pending[]): Ghost[] {
    const now = performance.now();
    const client = live[0]?.request.callerId;
    const oneClient = client !== undefined && live.every(({ request }) => request.callerId === client);
    const found: Ghost[] = [];
    for (const ghost of this.#ghosts.values()) {
      if (ghost.until <= now) this.#ghosts.delete(ghost.id);
      else if (!oneClient || ghost.request.callerId !== client) found.push(ghost);
    }
    return found;
  }

  /**
   * A call that the server answers was not waiting for this question. When one call is left, or only calls that would be
   * answered by the same, it is clear. A call that was given up, or lost with the connection, is not ruled out by that.
   */
  #hold(live: readonly Pending[], suspects: readonly Suspect[], end: AbortController): Promise<Claim> {
    const left = new Map(suspects.map((suspect) => [suspect.id as RequestId, suspect]));
    return new Promise((resolve) => {
      const decide = (ask: Ask | undefined, owners: readonly Pending[]): void => {
        clearTimeout(timer);
        this.#held.delete(clear);
        end.signal.removeEventListener("abort", giveUp);
        release();
        const cause = owners.length === 1 ? owners[0]?.request : undefined;
        resolve({ ask, cause, closed: this.#peer.openQuestion(owners, end) });
      };
      const giveUp = (): void => decide(undefined, []);
      const late = (): void => {
        this.ambiguous += 1;
        giveUp();
      };
      const clear = (id: RequestId): void => {
        if (!left.delete(id)) return;
        const owners = live.filter((one) => left.has(one.id) && this.#peer.pending.has(one.id));
        // What is left is somebody who was given up. When that was the last in flight, `end` says so.
        if (owners.length === 0) return;
        const others = [...left.values()];
        if (agree(others)) decide(owners[0]?.request.ask, owners);
      };
      const release = this.#peer.openQuestion(live, end, ({ id }) => clear(id));
      const timer = setTimeout(late, HOLD_MS);
      end.signal.addEventListener("abort", giveUp, { once: true });
      this.#held.add(clear);
    });
  }
}

function taskOf(params: JsonObject | undefined): unknown {
  const related = isObject(params?._meta) ? params._meta[RELATED_TASK] : undefined;
  return isObject(related) ? related.taskId : undefined;
}

/** Whether it makes no difference which of them it is: the same client answers for all of them. */
function agree(suspects: readonly Suspect[]): boolean {
  const { ask, callerId } = suspects[0]?.request ?? {};
  return suspects.every(
    ({ request }) =>
      request.ask === ask ||
      (callerId !== undefined &&
        request.callerId === callerId &&
        request.ask !== undefined &&
        ask !== undefined),
  );
}

function unwanted(): void {}
