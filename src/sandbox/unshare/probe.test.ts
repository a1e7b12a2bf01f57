// Results of the probe on machines of every kind: nothing installed, no namespaces, no Perl.

import { describe, expect, test } from "vitest";
import { needs } from "../../../test/helpers/needs.ts";
import { findPrograms, type Programs } from "./programs.ts";
import { runUnshareProbe } from "./probe.ts";
import { missing, unenforcedDefaults } from "./unenforceable.ts";
import type { SandboxPolicy } from "../types.ts";

const POLICY: SandboxPolicy = {
  ...{ mounts: [], home: "/tmp/home", network: [], limits: {}, configuredLimits: new Set() },
  exec: { allow: undefined, spawn: true },
};

test("unshare is available on Linux only", async () => {
  const found = await runUnshareProbe({ platform: "darwin" });
  expect(found.report).toMatchObject({ available: false });
  expect(missing(POLICY, found)).toMatchObject([{ rule: "sandbox", problem: "unshare cannot be used here" }]);
});

test("names missing programs, with the command that installs an alternative", async () => {
  const programs = { programs: undefined, missing: ["unshare", "setpriv"], optional: {} };
  const found = await runUnshareProbe({ platform: "linux", programs, readSystem: () => "ID=alpine" });
  expect(missing(POLICY, found)).toEqual([
    { rule: "sandbox", problem: "not installed: unshare, setpriv", remedy: "sudo apk add bubblewrap" },
  ]);
});

describe("the probe on this machine", needs("unshare"), () => {
  const machine = async (change: Partial<Programs>) => {
    const found = await findPrograms(undefined);
    return { ...found, programs: { ...(found.programs as Programs), ...change } };
  };

  test("accepts a sandbox without Perl, and reports that it has no system call filter", async () => {
    const found = await runUnshareProbe({
      programs: await machine({ perl: undefined, hostname: undefined }),
    });
    expect(found).toMatchObject({ hasFilter: false, report: { available: true } });
    expect(found.report.enforces).not.toContain("system call filter");
    expect(unenforcedDefaults(found).map(({ rule }) => rule)).toEqual(["system call filter", "host name"]);
    expect(missing(POLICY, found)).toEqual([]);
    const strict = { ...POLICY, exec: { allow: undefined, spawn: false } };
    expect(missing(strict, found).map(({ rule }) => rule)).toEqual(["exec.spawn: false"]);
  });

  test("reports that network rules need the program ip", async () => {
    const found = await runUnshareProbe({ programs: await machine({ ip: undefined }) });
    expect(missing({ ...POLICY, network: ["a.example"] }, found)).toMatchObject([
      { rule: "network: a.example", remedy: expect.stringContaining("iproute2") as string },
    ]);
    expect(found.report).toMatchObject({ available: true });
  });

  test.each([
    ["/proc/sys/user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=15000"],
    ["/proc/sys/kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"],
    ["/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "/etc/apparmor.d/portolan-unshare"],
    ["/.dockerenv", "", "docker run --security-opt"],
  ])("explains missing namespaces by %s", async (file, content, remedy) => {
    // A program that always fails stands in for a kernel that refuses namespaces.
    const programs = await machine({ unshare: "/bin/false" });
    const readSystem = (name: string): string | undefined => (name === file ? content : undefined);
    const found = await runUnshareProbe({ programs, readSystem });
    expect(found.report.available).toBe(false);
    const [problem] = missing(POLICY, found);
    expect(problem?.remedy).toContain(remedy);
    expect(`${problem?.problem}${problem?.remedy}`).not.toContain("\n");
  });
});
