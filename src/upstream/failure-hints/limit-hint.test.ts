import { expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import type { LaunchPlan } from "../../launch/index.ts";
import { limitHint } from "./limit-hint.ts";

const plan = (limits: object, backend = "bubblewrap"): LaunchPlan =>
  ({ sandbox: { backend, policy: { limits } } }) as unknown as LaunchPlan;
const died = (data: Record<string, unknown>): PortolanError =>
  new PortolanError("SERVER_CRASHED", "it died", { data });

test.each([
  [{ exitCode: 137 }, { cpuSeconds: 2 }, "limits.cpu: 2s"],
  [{ exitCode: null, signal: "SIGXCPU" }, { cpuSeconds: 2 }, "limits.cpu: 2s"],
  [{ exitCode: 139 }, { memoryBytes: 300_000_000 }, "limits.memory: 300MB"],
  [{ exitCode: 134 }, { memoryBytes: 2 ** 32, cpuSeconds: 1 }, "limits.memory: 4GiB"],
  [{ exitCode: 153 }, { fileBytes: 1_000 }, "limits.file_size: 1KB"],
])("%j with %j names the limit", (data, limits, named) => {
  expect(limitHint(plan(limits), died(data))).toContain(`It may have reached ${named} of its sandbox`);
});

test("there is no hint for other signals, other limits, or without a sandbox", () => {
  expect(limitHint(plan({ cpuSeconds: 2 }), died({ exitCode: 1 }))).toBeUndefined();
  expect(limitHint(plan({ memoryBytes: 2 }), died({ exitCode: 137 }))).toBeUndefined();
  expect(limitHint(plan({ cpuSeconds: 2 }, "none"), died({ exitCode: 137 }))).toBeUndefined();
  expect(limitHint(undefined, died({ exitCode: 137 }))).toBeUndefined();
  expect(limitHint(plan({ cpuSeconds: 2 }), died({}))).toBeUndefined();
});
