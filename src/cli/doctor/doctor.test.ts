// The text of `portolan doctor`.

import { expect, test } from "vitest";
import type { Diagnosis } from "../../launch/index.ts";
import { createColors } from "../terminal/colors.ts";
import { canEnforce, describeDiagnosis } from "./doctor.ts";

const view = { colors: createColors(false), width: 100 };

const GOOD: Diagnosis = {
  backends: [
    {
      name: "bubblewrap",
      optional: false,
      chosen: true,
      report: { available: true, version: "0.11.0", findings: [{ what: "user namespaces", ok: true }] },
    },
    {
      name: "docker",
      optional: true,
      chosen: false,
      report: {
        available: false,
        findings: [
          { what: "a Docker engine", ok: false, detail: "not found", remedy: "apt install docker.io" },
        ],
      },
    },
  ],
  selfTest: [{ what: "cannot read outside", ok: true }],
  store: [],
};

test("doctor reports a machine that can enforce the sandbox", () => {
  expect(canEnforce(GOOD)).toBe(true);
  expect(describeDiagnosis(GOOD, view)).toBe(`bubblewrap 0.11.0 works here, and is used
  ok    user namespaces

docker does not work here (optional: for servers that are container images)
  fail  a Docker engine: not found
        fix apt install docker.io

Self-test: a program in the default profile
  ok    cannot read outside

This machine can enforce the default profile of the sandbox.`);
});

test.each<[string, Diagnosis]>([
  ["a self-test that fails", { ...GOOD, selfTest: [{ what: "cannot read outside", ok: false }] }],
  ["no self-test", { ...GOOD, selfTest: [] }],
  [
    "no backend",
    { ...GOOD, backends: GOOD.backends.filter(({ name }) => name === "docker"), selfTest: GOOD.selfTest },
  ],
])("doctor reports a machine that cannot enforce the sandbox: %s", (_, diagnosis) => {
  expect(canEnforce(diagnosis)).toBe(false);
  const text = describeDiagnosis(diagnosis, view);
  expect(text).toContain("This machine cannot enforce the default profile of the sandbox");
  expect(text).toContain("First step: apt install docker.io");
});
