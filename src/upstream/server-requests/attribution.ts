// Attribution: finds the one call that a server request or a log message belongs to. It never guesses.

import { isObject, type JsonObject, type LogMessage, type RequestId } from "../../model/index.ts";
import type { Peer, PeerRequest, Pending } from "../session/peer.ts";
import type { ServerRequestHandler } from "../upstream.ts";

/** Requests during which a server may send requests of its own. */
export const MAY_CAUSE_REQUESTS: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
]);

/** Names the task that a server request belongs to: the call that created the task has been answered long ago. */
const RELATED_TASK = "io.modelcontextprotocol/related-task";

/** How long a server request waits for other calls to be answered, until only its own call is left. */
const DECISION_MS = 10_000;
/** How long an abandoned call may still cause requests. A server that obeys its cancellation stops at once. */
const ABANDONED_MS = 30_000;

/** A call that may be the cause: in flight, or abandoned while the server may not know it yet. */
interface Candidate {
  readonly id: number;
  readonly request: Pick<PeerRequest, "onServerRequest" | "callerId" | "onLog">;
}

interface AbandonedCall extends Candidate {
  readonly until: number;
  /** The server has read the cancellation, after which it logs nothing more about the call. */
  cancelled: boolean;
}

/** The handler that answers a server request; without one it is declined. */
interface Claim {
  readonly handler: ServerRequestHandler | undefined;
  /** The call that certainly caused the server request, if one is known. */
  readonly cause: Pick<PeerRequest, "onDeclined"> | undefined;
  /** The server request is over: the timeout of its call continues. */
  readonly closed: () => void;
}

export class Attribution {
  /** Number of server requests that could not be attributed in time. */
  ambiguous = 0;
  /** True when calls of several clients share the connection: the messages of one call are then not for all listeners. */
  manyClients = false;
  readonly #peer: Peer;
  readonly #fallback: ServerRequestHandler | undefined;
  readonly #ping: () => Promise<unknown>;
  readonly #abandoned = new Map<RequestId, AbandonedCall>();
  /** One callback per undecided server request: it rules out a call that was answered. */
  readonly #undecided = new Set<(id: RequestId) => void>();

  /** `fallback` answers for calls without a handler; `ping` sends a request that any server answers. */
  constructor(peer: Peer, fallback: ServerRequestHandler | undefined, ping: () => Promise<unknown>) {
    this.#peer = peer;
    this.#fallback = fallback;
    this.#ping = ping;
  }

  abandoned({ id, request }: Pending): void {
    if (request.noServerRequests === true || !MAY_CAUSE_REQUESTS.has(request.method)) return;
    const { onServerRequest, callerId, onLog } = request;
    const until = performance.now() + ABANDONED_MS;
    const call: AbandonedCall = {
      id,
      request: { onServerRequest, callerId, onLog },
      until,
      cancelled: false,
    };
    this.#abandoned.set(id, call);
    // Only calls of several clients on one channel need separate log messages.
    if (this.manyClients && !this.#peer.transport.perRequestStreams) this.#confirm(call);
  }

  /**
   * A channel keeps the order of messages: a server that answers a request sent after the cancellation has read the
   * cancellation too.
   */
  #confirm(call: AbandonedCall): void {
    // The peer announces the cancellation after this function returns.
    queueMicrotask(() => {
      this.#ping().then(
        () => {
          call.cancelled = true;
        },
        () => {},
      );
    });
  }

  answeredLate(id: RequestId): void {
    if (!this.#abandoned.delete(id)) return;
    for (const ruleOut of [...this.#undecided]) ruleOut(id);
  }

  /** Finds the handler. `end` aborts with the last call in flight that may have caused the server request. */
  async claim(
    params: JsonObject | undefined,
    origin: RequestId | undefined,
    end: AbortController,
  ): Promise<Claim> {
    const task = taskOf(params);
    if (origin !== undefined || task !== undefined) {
      const cause = task === undefined ? this.#peer.pending.get(origin ?? 0) : this.#waitingFor(task);
      // The call has ended, so its handler is not available any more.
      if (cause === undefined)
        return {
          handler: task === undefined ? undefined : this.#fallback,
          cause: undefined,
          closed: () => {},
        };
      return {
        handler: cause.request.onServerRequest ?? this.#fallback,
        cause: cause.request,
        closed: this.#peer.openServerRequest([cause], end),
      };
    }
    const live = this.#inFlight();
    const candidates: Candidate[] = [...live, ...this.#abandonedBeside(live)];
    const cause = candidates.length === 1 ? live[0]?.request : undefined;
    if (candidates.every(({ request }) => request.onServerRequest === undefined))
      return { handler: this.#fallback, cause, closed: this.#peer.openServerRequest(live, end) };
    if (live.length === 0) return { handler: undefined, cause: undefined, closed: () => {} };
    if (haveSameHandler(candidates))
      return {
        handler: candidates[0]?.request.onServerRequest,
        cause,
        closed: this.#peer.openServerRequest(live, end),
      };
    return this.#decideLater(live, candidates, end);
  }

  /** The listener for a log message: that of a call, one that drops it, or undefined for the connection's listeners. */
  logListener(origin: RequestId | undefined): ((message: LogMessage) => void) | undefined {
    const otherwise = this.manyClients ? ignore : undefined;
    if (origin !== undefined) return this.#peer.pending.get(origin)?.request.onLog ?? otherwise;
    const live = this.#inFlight();
    const abandoned = this.#abandonedBeside(live);
    if (live.length === 0) return abandoned.length === 0 ? undefined : otherwise;
    const candidates: Candidate[] = [...live, ...abandoned.filter(({ cancelled }) => !cancelled)];
    const listening = candidates.find(({ request }) => request.onLog !== undefined);
    if (listening === undefined || candidates.length === 1) return listening?.request.onLog ?? otherwise;
    const { callerId } = listening.request;
    if (callerId !== undefined && candidates.every(({ request }) => request.callerId === callerId))
      return listening.request.onLog;
    // The message could belong to calls of several clients, so none of them gets it.
    return ignore;
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
      if (MAY_CAUSE_REQUESTS.has(pending.request.method)) found.push(pending);
    return found;
  }

  /** Recently abandoned calls, without those of the client that made all calls in flight: it is the right one anyway. */
  #abandonedBeside(live: readonly Pending[]): AbandonedCall[] {
    const now = performance.now();
    const client = live[0]?.request.callerId;
    const oneClient = client !== undefined && live.every(({ request }) => request.callerId === client);
    const found: AbandonedCall[] = [];
    for (const call of this.#abandoned.values()) {
      if (call.until <= now) this.#abandoned.delete(call.id);
      else if (!oneClient || call.request.callerId !== client) found.push(call);
    }
    return found;
  }

  /**
   * Waits until the cause is clear. A call that the server answers was not waiting for this request. The decision is made
   * when one call is left, or only calls with the same handler. An abandoned call, or one lost with the connection, is not
   * ruled out by that.
   */
  #decideLater(
    live: readonly Pending[],
    candidates: readonly Candidate[],
    end: AbortController,
  ): Promise<Claim> {
    const left = new Map(candidates.map((candidate) => [candidate.id as RequestId, candidate]));
    return new Promise((resolve) => {
      const decide = (handler: ServerRequestHandler | undefined, owners: readonly Pending[]): void => {
        clearTimeout(timer);
        this.#undecided.delete(ruleOut);
        end.signal.removeEventListener("abort", decline);
        release();
        const cause = owners.length === 1 ? owners[0]?.request : undefined;
        resolve({ handler, cause, closed: this.#peer.openServerRequest(owners, end) });
      };
      const decline = (): void => decide(undefined, []);
      const late = (): void => {
        this.ambiguous += 1;
        decline();
      };
      const ruleOut = (id: RequestId): void => {
        if (!left.delete(id)) return;
        const owners = live.filter((one) => left.has(one.id) && this.#peer.pending.has(one.id));
        // Only abandoned calls are left. If that was the last call in flight, `end` aborts.
        if (owners.length === 0) return;
        if (haveSameHandler([...left.values()])) decide(owners[0]?.request.onServerRequest, owners);
      };
      const release = this.#peer.openServerRequest(live, end, ({ id }) => ruleOut(id));
      const timer = setTimeout(late, DECISION_MS);
      end.signal.addEventListener("abort", decline, { once: true });
      this.#undecided.add(ruleOut);
    });
  }
}

function taskOf(params: JsonObject | undefined): unknown {
  const related = isObject(params?._meta) ? params._meta[RELATED_TASK] : undefined;
  return isObject(related) ? related.taskId : undefined;
}

/** True when the same client answers for all of them, so that the choice makes no difference. */
function haveSameHandler(candidates: readonly Candidate[]): boolean {
  const { onServerRequest, callerId } = candidates[0]?.request ?? {};
  return candidates.every(
    ({ request }) =>
      request.onServerRequest === onServerRequest ||
      (callerId !== undefined &&
        request.callerId === callerId &&
        request.onServerRequest !== undefined &&
        onServerRequest !== undefined),
  );
}

function ignore(): void {}
