// The reducer of one instance: its transitions as a table, and its invariants over random runs.

import assert from "node:assert/strict";
import { describe, expect, it, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import { toFault } from "./faults.ts";
import {
  type Effect,
  type Facts,
  type Fault,
  type Instance,
  type InstanceEvent,
  type InstanceState,
  NEW_INSTANCE,
  type Policy,
  reduceInstance,
  type Timer,
} from "./instance.ts";

const FACTS: Facts = { now: 1_000, jitter: 1, inFlight: 0, waiting: 0, subscriptions: 0, lastUsedAt: 0 };
const EAGER: Policy = {
  restarts: true,
  keepsTrying: true,
  startRetries: 0,
  idleMs: undefined,
  drainMs: 1_000,
};
const CRASH = toFault(new PortolanError("SERVER_CRASHED", "it crashed"));
const FORGOTTEN = toFault(new PortolanError("SESSION_LOST", "it forgot"));
const NO_SECRET = toFault(new PortolanError("SECRET_MISSING", "no key"));
const NO_SANDBOX = toFault(new PortolanError("SANDBOX_UNAVAILABLE", "no bubblewrap"));

const STARTING: InstanceState = {
  kind: "starting",
  phase: "opening",
  why: "first",
  session: 1,
  retriesLeft: 0,
};
const DELAYED: InstanceState = { ...STARTING, phase: "delayed", why: "restart" };
const READY: InstanceState = { kind: "ready", session: 1 };
const FAILED: InstanceState = { kind: "failed", fault: CRASH, retryAt: 5_000 };
const DRAINING: InstanceState = { kind: "draining", session: 1 };

const at = (state: InstanceState, more: Partial<Instance> = {}): Instance => ({
  ...NEW_INSTANCE,
  sessions: 1,
  ...more,
  state,
});
const call: InstanceEvent = { type: "call" };
const opened: InstanceEvent = { type: "opened", session: 1 };
const lost: InstanceEvent = { type: "lost", session: 1, fault: CRASH };
const openFailed = (fault: Fault): InstanceEvent => ({ type: "openFailed", session: 1, fault });
const timer = (one: Timer): InstanceEvent => ({ type: "timer", timer: one });

type Row = readonly [string, Instance, InstanceEvent, string, string, Partial<Policy>?, Partial<Facts>?];
const ROWS: readonly Row[] = [
  ["a call starts an idle instance and waits", at({ kind: "idle" }), call, "starting/opening", "wait open"],
  ["a call waits for a start", at(STARTING), call, "starting/opening", "wait"],
  ["a call waits for a restart", at(DELAYED), call, "starting/delayed", "wait"],
  ["only so many wait", at(STARTING), call, "starting/opening", "reject", {}, { waiting: 1_000 }],
  ["a ready instance sends", at(READY), call, "ready", "wait sendWaiting"],
  ["a failed one rejects at once", at(FAILED), call, "failed", "reject"],
  ["and starts again after its pause", at(FAILED), call, "starting/opening", "wait open", {}, { now: 5_000 }],
  ["a draining one rejects", at(DRAINING), call, "draining", "reject"],
  ["opened sends the calls that waited", at(STARTING), opened, "ready", "emit sendWaiting"],
  ["a stale open is closed", at({ kind: "idle" }), opened, "idle", "close"],
  ["also beside a new one", at({ ...STARTING, session: 2 }), opened, "starting/opening", "close"],
  ["a stale failure is ignored", at({ ...STARTING, session: 2 }), openFailed(CRASH), "starting/opening", ""],
  ["a stale loss is ignored", at({ ...READY, session: 2 }), lost, "ready", ""],
  [
    "a failed start rejects and is retried",
    at(STARTING),
    openFailed(CRASH),
    "failed",
    "rejectWaiting emit timer",
  ],
  [
    "that of a lazy one waits for a call",
    at(STARTING),
    openFailed(CRASH),
    "failed",
    "rejectWaiting emit",
    { keepsTrying: false },
  ],
  [
    "max_retries keeps calls waiting",
    at({ ...STARTING, retriesLeft: 1 }),
    openFailed(CRASH),
    "starting/delayed",
    "timer",
  ],
  [
    "but not for a missing secret",
    at({ ...STARTING, retriesLeft: 1 }),
    openFailed(NO_SECRET),
    "blocked",
    "rejectWaiting emit timer",
  ],
  [
    "a failed restart rejects at once",
    at({ ...DELAYED, phase: "opening" }),
    openFailed(CRASH),
    "failed",
    "rejectWaiting emit timer",
  ],
  [
    "the retry timer starts it again",
    at(FAILED),
    timer("retry"),
    "starting/opening",
    "open",
    {},
    { now: 5_000 },
  ],
  ["recheck does so before its time", at(FAILED), { type: "recheck" }, "starting/opening", "open"],
  ["also for a restart", at(DELAYED), { type: "recheck" }, "starting/opening", "open"],
  ["a crash restarts after a pause", at(READY), lost, "starting/delayed", "close emit timer"],
  [
    "a dedicated process stops instead",
    at(READY),
    lost,
    "stopped",
    "rejectWaiting close emit",
    { restarts: false },
  ],
  ["the delay ends in a restart", at(DELAYED), timer("retry"), "starting/opening", "open"],
  [
    "the fifth crash in a minute fails fast",
    at(READY, { crashes: [1, 2, 3, 4] }),
    lost,
    "failed",
    "close rejectWaiting emit timer",
  ],
  [
    "older ones do not count",
    at(READY, { crashes: [1, 2, 3, 4] }),
    lost,
    "starting/delayed",
    "close emit timer",
    {},
    { now: 60_004 },
  ],
  ["idle stops", at(READY), timer("idle"), "idle", "close emit", { idleMs: 100 }],
  ["not with a call", at(READY), timer("idle"), "ready", "", { idleMs: 100 }, { inFlight: 1 }],
  ["nor with a subscription", at(READY), timer("idle"), "ready", "", { idleMs: 100 }, { subscriptions: 1 }],
  ["nor when used since", at(READY), timer("idle"), "ready", "timer", { idleMs: 100 }, { lastUsedAt: 950 }],
  [
    "the end of the last call starts the idle time",
    at(READY),
    { type: "quiet" },
    "ready",
    "timer",
    { idleMs: 100 },
  ],
  ["drain waits for calls", at(READY), { type: "drain" }, "draining", "timer", {}, { inFlight: 1 }],
  ["and stops at once without any", at(READY), { type: "drain" }, "stopped", "rejectWaiting close emit"],
  ["it ends with the last call", at(DRAINING), { type: "quiet" }, "stopped", "rejectWaiting close emit"],
  [
    "or with its time",
    at(DRAINING),
    timer("drain"),
    "stopped",
    "rejectWaiting close emit",
    {},
    { inFlight: 1 },
  ],
  ["or with its process", at(DRAINING), lost, "stopped", "rejectWaiting close emit"],
  ["stop aborts a start", at(STARTING), { type: "stop" }, "stopped", "rejectWaiting close emit"],
  ["an idle instance stops silently", at({ kind: "idle" }), { type: "stop" }, "stopped", "rejectWaiting"],
];

describe("transitions of an instance", () => {
  for (const [name, one, event, kind, effects, policy, facts] of ROWS)
    it(name, () => {
      const [{ state }, done] = reduceInstance(one, event, { ...FACTS, ...facts }, { ...EAGER, ...policy });
      expect(state.kind === "starting" ? `starting/${state.phase}` : state.kind).toBe(kind);
      expect(done.map(({ type }) => type).join(" ")).toBe(effects);
    });

  it("the delay grows with each failure, up to 30 seconds", () => {
    const delays = [0, 1, 2, 5, 6, 20].map((failures) => {
      const [{ state }] = reduceInstance(at(STARTING, { failures }), openFailed(CRASH), FACTS, EAGER);
      return state.kind === "failed" ? state.retryAt - FACTS.now : undefined;
    });
    expect(delays).toEqual([500, 1_000, 2_000, 16_000, 30_000, 30_000]);
  });

  it("a missing secret is checked again after 4 seconds, and a missing sandbox after 30 seconds", () => {
    const delays = [NO_SECRET, NO_SANDBOX].map((fault) => {
      const [{ state }] = reduceInstance(at(STARTING), openFailed(fault), FACTS, EAGER);
      return state.kind === "blocked" ? state.retryAt - FACTS.now : undefined;
    });
    expect(delays).toEqual([4_000, 30_000]);
  });

  it("the delay between checks of a missing secret grows", () => {
    const delays = [0, 1, 2, 3, 9].map((failures) => {
      const [{ state }] = reduceInstance(at(STARTING, { failures }), openFailed(NO_SECRET), FACTS, EAGER);
      return state.kind === "blocked" ? state.retryAt - FACTS.now : undefined;
    });
    expect(delays).toEqual([4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  test.each([
    [0, 30_000],
    [1, 60_000],
    [2, 120_000],
    [4, 480_000],
    [5, 600_000],
    [50, 600_000],
  ])(
    "after %i failures, Portolan looks for a package that is missing in its registry after %i ms",
    (failures, delay) => {
      const fault = toFault(
        new PortolanError("PACKAGE_NOT_FOUND", "no such package", {
          data: { reason: "E404", permanent: true },
        }),
      );
      const [failed] = reduceInstance(at(STARTING, { failures }), openFailed(fault), FACTS, EAGER);
      expect(failed.state).toMatchObject({ kind: "blocked", retryAt: FACTS.now + delay });
      // A restart by the user does not wait.
      const [retried] = reduceInstance(failed, { type: "recheck" }, FACTS, EAGER);
      expect(retried.state).toMatchObject({ kind: "starting", phase: "opening" });
    },
  );

  it("a session that the server forgot is replaced immediately and does not count as a crash", () => {
    const event: InstanceEvent = { type: "lost", session: 1, fault: FORGOTTEN };
    const [next, effects] = reduceInstance(at(READY, { crashes: [1, 2, 3, 4] }), event, FACTS, EAGER);
    expect(next.state.kind).toBe("starting");
    expect(next.crashes).toHaveLength(4);
    expect(effects).toContainEqual({ type: "timer", timer: "retry", at: FACTS.now });
  });
});

/** Numbers from 0 to 1 that depend on the seed only. */
function random(seed: number): () => number {
  let s = seed >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), 1 | s);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Carries out effects as the runner does, on a clock of its own, and checks every one. */
class World {
  one = NEW_INSTANCE;
  now = 0;
  inFlight = 0;
  waiting = 0;
  sent = 0;
  rejected = 0;
  calls = 0;
  /** Sessions that are being opened and were not closed, and those that were. */
  readonly opening = new Map<number, boolean>();
  readonly open = new Set<number>();
  readonly timers = new Map<Timer, number>();
  readonly #policy: Policy;

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  feed(event: InstanceEvent): void {
    const { now, inFlight, waiting } = this;
    const facts: Facts = { ...FACTS, now, inFlight, waiting };
    const [next, effects] = reduceInstance(this.one, event, facts, this.#policy);
    this.one = next;
    for (const effect of effects) this.#carryOut(effect);
    const wanted = [...this.opening.values()].filter(Boolean).length;
    assert.ok(this.open.size + wanted <= 1, "two processes of one instance");
    assert.equal(this.sent + this.rejected + this.waiting, this.calls);
  }

  call(): void {
    const { state } = this.one;
    const isPaused = (state.kind === "failed" || state.kind === "blocked") && this.now < state.retryAt;
    const { rejected } = this;
    this.calls += 1;
    this.feed({ type: "call" });
    if (isPaused) assert.equal(this.rejected, rejected + 1, "a call waits for what is known to be broken");
  }

  answer(works: boolean, fault: Fault): void {
    const [entry] = this.opening;
    if (entry === undefined) return;
    const [session, isWanted] = entry;
    this.opening.delete(session);
    if (works) this.open.add(session);
    this.feed(works ? { type: "opened", session } : { type: "openFailed", session, fault });
    if (works && !isWanted) assert.ok(!this.open.has(session), "a session that came too late stays open");
  }

  lose(fault: Fault): void {
    const [session] = this.open;
    if (session === undefined) return;
    this.inFlight = 0;
    this.feed({ type: "lost", session, fault });
  }

  endCall(): void {
    if (this.inFlight === 0) return;
    this.inFlight -= 1;
    if (this.inFlight === 0) this.feed({ type: "quiet" });
  }

  tick(): boolean {
    const [due] = [...this.timers].toSorted((a, b) => a[1] - b[1]);
    if (due === undefined) return false;
    this.timers.delete(due[0]);
    this.now = Math.max(this.now, due[1]);
    this.feed({ type: "timer", timer: due[0] });
    return true;
  }

  #carryOut(effect: Effect): void {
    switch (effect.type) {
      case "open":
        this.opening.set(effect.session, true);
        break;
      case "close":
        this.open.delete(effect.session);
        if (this.opening.has(effect.session)) this.opening.set(effect.session, false);
        this.inFlight = 0;
        break;
      case "wait":
        this.waiting += 1;
        break;
      case "reject":
        this.rejected += 1;
        break;
      case "sendWaiting":
        assert.equal(this.open.size, 1);
        this.sent += this.waiting;
        this.inFlight += this.waiting;
        this.waiting = 0;
        break;
      case "rejectWaiting":
        this.rejected += this.waiting;
        this.waiting = 0;
        break;
      case "timer":
        this.timers.set(effect.timer, effect.at);
        break;
      case "probe":
        assert.equal(this.open.size, 1);
        break;
      case "emit":
    }
  }
}

function run(seed: number): World {
  const r = random(seed);
  const world = new World({
    restarts: seed % 5 !== 0,
    keepsTrying: r() < 0.5,
    startRetries: Math.floor(r() * 3),
    idleMs: r() < 0.5 ? undefined : 300,
    drainMs: 1_000,
  });
  const faults = [CRASH, NO_SECRET, FORGOTTEN];
  for (let n = 0; n < 80; n += 1) {
    const dice = r();
    const fault = faults[Math.floor(r() * faults.length)] as Fault;
    if (dice < 0.4) world.call();
    else if (dice < 0.65) world.answer(r() < 0.7, fault);
    else if (dice < 0.8) world.tick();
    else if (dice < 0.9) world.endCall();
    else if (dice < 0.96) world.lose(fault);
    else if (dice < 0.99) world.feed({ type: "recheck" });
    else if (r() < 0.2) world.feed({ type: "drain" });
  }
  return world;
}

describe("random event sequences", () => {
  const SEEDS = 500;

  test("stop closes all sessions, and every call is sent or rejected exactly once", () => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const world = run(seed);
      world.feed({ type: "stop" });
      while (world.opening.size > 0) world.answer(true, CRASH);
      while (world.tick());
      expect([world.open.size, world.waiting, world.sent + world.rejected], `seed ${seed}`).toEqual([
        0,
        0,
        world.calls,
      ]);
    }
  });

  test("no call waits forever after the failures end", () => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const world = run(seed);
      for (let n = 0; n < 200; n += 1) {
        if (world.opening.size > 0) world.answer(true, CRASH);
        else if (world.inFlight > 0) world.endCall();
        else if (!world.tick()) break;
      }
      expect([world.waiting, world.sent + world.rejected], `seed ${seed}`).toEqual([0, world.calls]);
    }
  });
});
