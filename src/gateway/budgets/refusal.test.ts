import { expect, test } from "vitest";
import { budgetText, formatPeriod, loopText } from "./refusal.ts";

const NOW = Date.parse("2026-03-01T14:00:00.250Z");

test("a refusal names the budget, the used amount, and when calls are possible again", () => {
  const text = budgetText(
    {
      budget: "github",
      kind: "calls",
      amount: { amount: 100, periodMs: 3_600_000 },
      used: 100,
      until: NOW + 23 * 60_000,
    },
    NOW,
  );
  expect(text).toMatchInlineSnapshot(
    `"This call was not sent: the budget "github" is used up. 100 of 100 calls in 1 hour are used. Calls are possible again at 2026-03-01T14:23:00Z (in 23 minutes). Do not repeat the call before that: continue without the call, or tell the user. The operator sets this limit in portolan.yaml, gateway.budgets.github."`,
  );
});

test("a refusal because of cost says how much the call needs", () => {
  const cost = { amount: 10, periodMs: 86_400_000 };
  const text = budgetText(
    { budget: "b", kind: "cost", amount: cost, used: 0.1 + 0.2, units: 9.9, until: NOW },
    NOW,
  );
  expect(text).toContain(
    'the budget "b" has too little left. 0.3 of 10 cost units in 1 day are used and this call',
  );
  expect(text).toContain("and this call needs 9.9. This call is possible again at");
  const large = budgetText({ budget: "b", kind: "cost", amount: cost, used: 0, units: 11, until: NOW }, NOW);
  expect(large).toContain(
    "this call needs 11. This call needs more than the whole budget, so it is never possible.",
  );
});

test("the refusal of a loop names the tool and the time", () => {
  const text = loopText({ tool: "mcp_one_echo", calls: 5, until: NOW + 30_000 }, 60_000, NOW);
  expect(text).toContain("mcp_one_echo was called 5 times with the same arguments within 1 minute.");
  expect(text).toContain("at 2026-03-01T14:00:30Z (in 30 seconds)");
});

test.each([
  [1_000, "1 second"],
  [60_000, "1 minute"],
  [90_000, "90 seconds"],
  [3_600_000, "1 hour"],
  [5_000_000, "84 minutes"],
  [86_400_000, "1 day"],
  [30 * 86_400_000, "30 days"],
  [400, "1 second"],
])("formatPeriod writes %d ms as %s", (ms, words) => expect(formatPeriod(ms)).toBe(words));
