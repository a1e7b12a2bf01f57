import { expect, test } from "vitest";
import { isPortolanError } from "../../errors/index.ts";
import type { GatewaySettings } from "../../model/index.ts";
import { checkSettings } from "./check-settings.ts";

const SERVERS = ["files", "mail"];
const caller = { name: "agent", token: "a-long-token-of-this-caller" };

function problems(settings: GatewaySettings): unknown {
  try {
    checkSettings(settings, SERVERS);
    return undefined;
  } catch (error) {
    if (!isPortolanError(error)) throw error;
    expect(error.code).toBe("CONFIG_INVALID");
    return error.data.problems;
  }
}

test("checkSettings accepts settings that name existing servers and callers", () => {
  expect(
    problems({
      callers: [
        { ...caller, allow: { servers: ["files"] }, deny: { servers: ["mail"] } },
        { name: "ann", oauth: { subject: "ann" } },
      ],
      oauth: { issuer: "https://issuer.example", audience: "x" },
      approval: [{ servers: ["mail"], callers: ["agent", "local", "oauth:*", "a*"] }],
      budgets: { all: { callers: ["agent"], calls: { amount: 1, periodMs: 1_000 } } },
      telemetry: { prometheus: { callers: ["agent"] } },
    }),
  ).toBeUndefined();
  expect(problems({ auth: "none" })).toBeUndefined();
});

test.each<[GatewaySettings, string]>([
  [
    { callers: [{ ...caller, deny: { servers: ["file"] } }] },
    'callers[0].deny.servers names "file", but there is no such server',
  ],
  [
    { callers: [{ ...caller, allow: { servers: ["x"] } }] },
    'callers[0].allow.servers names "x", but there is no such server',
  ],
  [{ approval: [{ servers: ["file"] }] }, 'approval[0].servers names "file", but there is no such server'],
  [
    { callers: [caller], approval: [{ callers: ["agnet"] }] },
    'approval[0].callers names "agnet", but no caller has this name',
  ],
  [
    { budgets: { a: { callers: ["b"], calls: { amount: 1, periodMs: 1 } } } },
    'budgets.a.callers names "b", but no caller has this name',
  ],
  [
    { telemetry: { prometheus: { callers: ["b"] } } },
    'telemetry.prometheus.callers names "b", but no caller has this name',
  ],
  [
    { callers: [{ name: "b" }] },
    "callers[0] has neither token nor tokenSha256 nor oauth, so that nobody can be this caller",
  ],
  [{ callers: [caller, caller] }, "callers[1] has the same name as an earlier caller, agent"],
  [
    { callers: [{ ...caller, name: "local" }] },
    'callers[0].name cannot be "local", which the gateway itself uses',
  ],
  [
    { callers: [{ name: "b", oauth: {} }] },
    "callers[0].oauth has no effect, because the settings have no oauth",
  ],
  [
    { auth: "none", callers: [caller] },
    'auth: "none" lets everyone in without a token, so that it cannot be combined with callers or oauth',
  ],
  [{ approval: [{ by: [] }] }, "approval[0].by names no way to approve a call"],
])("checkSettings refuses %j", (settings, problem) => {
  expect(problems(settings)).toEqual([problem]);
});

test("checkSettings reports all problems at once, with suggestions", () => {
  const settings = { approval: [{ servers: ["file"] }, { callers: ["locl"] }] };
  expect(problems(settings)).toHaveLength(2);
  expect(() => checkSettings(settings, SERVERS)).toThrow(
    expect.objectContaining({ hint: 'Did you mean "files"? Did you mean "local"?' }),
  );
});
