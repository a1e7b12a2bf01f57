// The reducer of verifications as a table: (state, event) to (state, effects).

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import { fail, toFailure } from "../dispatch/failure.ts";
import {
  isPaused,
  NEW_VERIFICATION,
  reduceVerification,
  type ServerFault,
  type SettledState,
  settledOf,
  toServerFault,
  UNVERIFIED,
  type Verification,
  type VerificationEffect,
  type VerificationEvent,
  type VerificationState,
} from "./verification.ts";

const fault = (more: Partial<ServerFault> = {}): ServerFault => ({
  reason: "down",
  code: "tool_unavailable",
  isFinal: false,
  blame: "server",
  ...more,
});
const VERIFIED: SettledState = { kind: "verified", isCurrent: true };
const STOPPED: SettledState = { kind: "verified", isCurrent: false };
const REFUSED: SettledState = { kind: "refused", reason: "no tool", isPaused: false };
const REFUSED_PAUSED: SettledState = { ...REFUSED, isPaused: true };
const UNAVAILABLE: SettledState = { kind: "unavailable", fault: fault() };
const FINAL: SettledState = { kind: "unavailable", fault: fault({ isFinal: true }) };
const RETRY_DUE: SettledState = { kind: "retryDue", fault: fault() };
const verifying = (before: SettledState, comparison = 1): VerificationState => ({
  kind: "verifying",
  before,
  comparison,
});

const acquired = (isNew: boolean): VerificationEvent => ({ type: "acquired", isNew });
const compared = (mismatch?: string, isRunning = true, comparison = 1): VerificationEvent => ({
  type: "compared",
  comparison,
  mismatch,
  isRunning,
});
const comparisonFailed = (more: Partial<ServerFault> = {}, comparison = 1): VerificationEvent => ({
  type: "comparisonFailed",
  comparison,
  fault: fault(more),
});
const startFailed = (more: Partial<ServerFault> = {}): VerificationEvent => ({
  type: "startFailed",
  fault: fault(more),
});
const LOST: VerificationEvent = { type: "sessionLost", fault: fault() };
const FAILED: VerificationEvent = { type: "serverFailed", fault: fault() };
const ended = (isGone: boolean): VerificationEvent => ({ type: "serverEnded", isGone });

const COMPARE: VerificationEffect = { type: "compare", comparison: 1 };
const COMPARE_AGAIN: VerificationEffect = { type: "compare", comparison: 2 };
const DETACH: VerificationEffect = { type: "detach" };
const pause = (ms: number): VerificationEffect => ({ type: "pause", ms });

const of = (state: VerificationState, more: Partial<Verification> = {}): Verification => ({
  ...NEW_VERIFICATION,
  state,
  comparisons: state.kind === "verifying" ? state.comparison : 0,
  isKnown: state.kind !== "unverified",
  ...more,
});

type Row = [
  string,
  Verification,
  VerificationEvent,
  VerificationState,
  readonly VerificationEffect[],
  Partial<Verification>?,
];

test.each<Row>([
  ["a new process is compared", of(UNVERIFIED), acquired(true), verifying(UNVERIFIED), [COMPARE]],
  ["a verified process is used", of(VERIFIED), acquired(false), VERIFIED, []],
  ["a refused process is not compared again", of(REFUSED), acquired(false), REFUSED, []],
  ["callers share a comparison", of(verifying(VERIFIED)), acquired(false), verifying(VERIFIED), []],
  ["another process is compared again", of(VERIFIED), acquired(true), verifying(VERIFIED), [COMPARE]],
  ["after a failed list", of(STOPPED), acquired(false), verifying(STOPPED), [COMPARE]],
  ["after a restart", of(RETRY_DUE), acquired(false), verifying(RETRY_DUE), [COMPARE]],
  ["changed lists", of(VERIFIED), { type: "listsChanged" }, verifying(VERIFIED), [COMPARE]],
  [
    "changed lists during a comparison",
    of(verifying(VERIFIED)),
    { type: "listsChanged" },
    verifying(VERIFIED, 2),
    [COMPARE_AGAIN],
  ],
  ["a match", of(verifying(UNVERIFIED), { failures: 3 }), compared(), VERIFIED, [], { failures: 0 }],
  ["a mismatch", of(verifying(VERIFIED)), compared("no tool"), REFUSED, []],
  [
    "only the last comparison counts",
    of(verifying(VERIFIED, 2)),
    compared("no tool"),
    verifying(VERIFIED, 2),
    [],
  ],
  [
    "a failure of an earlier comparison does not count",
    of(verifying(VERIFIED, 2)),
    comparisonFailed(),
    verifying(VERIFIED, 2),
    [],
  ],
  [
    "a match of a server that ended meanwhile",
    of(verifying(UNVERIFIED)),
    compared(undefined, false),
    STOPPED,
    [],
  ],
  [
    "a mismatch of a server that ended meanwhile",
    of(verifying(UNVERIFIED)),
    compared("no tool", false),
    REFUSED_PAUSED,
    [pause(1_000)],
  ],
  [
    "a new server whose lists fail",
    of(verifying(UNVERIFIED), { isKnown: false }),
    comparisonFailed({ blame: "unknown" }),
    { kind: "unavailable", fault: fault({ blame: "unknown" }) },
    [pause(1_000), DETACH],
  ],
  [
    "a new server whose caller left",
    of(verifying(UNVERIFIED), { isKnown: false }),
    comparisonFailed({ blame: "caller" }),
    UNVERIFIED,
    [DETACH],
  ],
  ["a list that fails once", of(verifying(VERIFIED)), comparisonFailed({ blame: "unknown" }), STOPPED, []],
  [
    "a list that fails with the server",
    of(verifying(VERIFIED)),
    comparisonFailed(),
    UNAVAILABLE,
    [pause(1_000)],
  ],
  ["a failed start", of(UNVERIFIED), startFailed(), UNAVAILABLE, [pause(1_000)], { failures: 1 }],
  ["a second failed start", of(RETRY_DUE, { failures: 1 }), startFailed(), UNAVAILABLE, [pause(2_000)]],
  ["pauses have a limit", of(RETRY_DUE, { failures: 20 }), startFailed(), UNAVAILABLE, [pause(60_000)]],
  [
    "a missing secret is looked up again soon",
    of(RETRY_DUE, { failures: 20 }),
    startFailed({ code: "auth_required" }),
    { kind: "unavailable", fault: fault({ code: "auth_required" }) },
    [pause(4_000)],
  ],
  [
    "many callers of one failed start",
    of(UNAVAILABLE, { failures: 1 }),
    startFailed(),
    UNAVAILABLE,
    [],
    { failures: 1 },
  ],
  ["a wrong version is final", of(UNVERIFIED), startFailed({ isFinal: true }), FINAL, []],
  ["a start that the caller may not make", of(UNVERIFIED), startFailed({ blame: "caller" }), UNVERIFIED, []],
  [
    "a start during a comparison",
    of(verifying(VERIFIED)),
    startFailed(),
    verifying(UNAVAILABLE),
    [pause(1_000)],
  ],
  ["a lost session", of(VERIFIED), LOST, RETRY_DUE, [], { failures: 0 }],
  ["a lost session during a comparison", of(verifying(VERIFIED)), LOST, verifying(RETRY_DUE), []],
  ["a server that gave up", of(RETRY_DUE), FAILED, UNAVAILABLE, [pause(1_000), DETACH], { isKnown: false }],
  [
    "a server that gave up during a comparison",
    of(verifying(VERIFIED)),
    FAILED,
    UNAVAILABLE,
    [pause(1_000), DETACH],
  ],
  [
    "a stopped server keeps its verification",
    of(VERIFIED),
    ended(true),
    STOPPED,
    [DETACH],
    { isKnown: false },
  ],
  ["a refused server that ends", of(REFUSED), ended(true), REFUSED_PAUSED, [pause(1_000), DETACH]],
  ["a server that ends and comes back", of(VERIFIED), ended(false), STOPPED, [], { isKnown: true }],
  ["a server that ends while it is paused", of(UNAVAILABLE), ended(true), UNAVAILABLE, [DETACH]],
  ["the end of a pause", of(UNAVAILABLE), { type: "pauseOver" }, RETRY_DUE, []],
  [
    "the end of a pause during a comparison",
    of(verifying(UNAVAILABLE)),
    { type: "pauseOver" },
    verifying(RETRY_DUE),
    [],
  ],
  ["a final failure does not end", of(FINAL), { type: "pauseOver" }, FINAL, []],
  ["the end of a pause that is over", of(VERIFIED), { type: "pauseOver" }, VERIFIED, []],
  [
    "a recheck without a result",
    of(RETRY_DUE, { failures: 1 }),
    { type: "recheckEnded" },
    UNAVAILABLE,
    [pause(2_000)],
  ],
  ["a recheck with a result", of(VERIFIED), { type: "recheckEnded" }, VERIFIED, []],
])("reduceVerification handles: %s", (_, before, event, state, effects, more = {}) => {
  const [after, done] = reduceVerification(before, event);
  expect(after.state).toEqual(state);
  expect(done).toEqual(effects);
  expect(after).toMatchObject(more);
});

test("the pause of a refused server ends in the state retryDue", () => {
  const [after] = reduceVerification(of(REFUSED_PAUSED), { type: "pauseOver" });
  expect(after.state).toMatchObject({ kind: "retryDue", fault: { reason: "no tool" } });
});

describe("toServerFault", () => {
  test.each([
    [
      fail("upstream_error", "a-mcp: it broke"),
      { code: "tool_unavailable", reason: "it broke", blame: "server" },
    ],
    [fail("version_mismatch", "old"), { code: "version_mismatch", isFinal: true }],
    [fail("auth_required", "no key"), { code: "auth_required", blame: "unknown", isFinal: false }],
    [fail("unauthorised", "no"), { blame: "caller" }],
    [fail("timeout", "late"), { code: "tool_unavailable", blame: "unknown" }],
    [toFailure(new PortolanError("PLATFORM_UNSUPPORTED", "no")), { isFinal: true, blame: "server" }],
  ])("converts %s", (failure, expected) => {
    expect(toServerFault(failure, "a-mcp")).toMatchObject(expected);
  });
});

test("property: a pause has a timer, a usable server was compared, and only the latest comparison counts", () => {
  const event = fc.oneof(
    fc.constantFrom<VerificationEvent>(
      ...[acquired(true), acquired(false), LOST, FAILED, ended(true), ended(false), startFailed()],
      ...[
        { type: "listsChanged" } as const,
        { type: "pauseOver" } as const,
        { type: "recheckEnded" } as const,
      ],
    ),
    fc.record({ match: fc.boolean(), fails: fc.boolean(), offset: fc.integer({ min: 0, max: 2 }) }),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      let one = NEW_VERIFICATION;
      let hasTimer = false;
      for (const next of events) {
        const comparison = one.comparisons - ("offset" in next ? next.offset : 0);
        const happened: VerificationEvent =
          "type" in next
            ? next
            : next.fails
              ? comparisonFailed({}, comparison)
              : compared(next.match ? undefined : "no tool", true, comparison);
        const before = one;
        const [after, effects] = reduceVerification(one, happened);
        one = after;
        if (effects.some(({ type }) => type === "pause")) hasTimer = true;
        if (!isPaused(settledOf(one.state))) hasTimer = false;
        expect(hasTimer).toBe(isPaused(settledOf(one.state)));
        const { state } = one;
        if (state.kind === "verified" && state.isCurrent && before.state !== state)
          expect(happened.type).toBe("compared");
        if (effects.some(({ type }) => type === "compare"))
          expect(state).toMatchObject({ kind: "verifying", comparison: one.comparisons });
      }
    }),
  );
});
