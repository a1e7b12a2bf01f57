// The text of a launch plan.

import { expect, test } from "vitest";
import type { LaunchPlan } from "../../launch/index.ts";
import { createColors } from "../terminal/colors.ts";
import { commandsJson, describePlan, planJson, wouldStart } from "./plan-view.ts";

const view = { colors: createColors(false), width: 80, label: (path: string) => path };

const PLAN: LaunchPlan = {
  server: "files",
  kind: "npm",
  source: "@scope/files@1.2.3 sha512-abc",
  program: "/usr/bin/node",
  args: ["/store/files/index.js", "--token", "s3cret-value", "${NAME}"],
  cwd: "/project",
  env: ["API_KEY", "PATH"],
  sandbox: {
    mode: "warn",
    by: "config",
    backend: "bubblewrap",
    policy: {
      mounts: [
        { path: "/usr", access: "read", reason: "system" },
        { path: "/etc/ssl", access: "read", reason: "system" },
        { path: "/store/files", access: "read", reason: "own" },
        { path: "/data", access: "write", reason: "declared" },
        { path: "/data/private", access: "hidden", reason: "declared" },
      ],
      home: "/home/box",
      network: ["api.example.com", "*.example.com"],
      exec: { allow: ["git"], spawn: true },
      limits: { memoryBytes: 2 * 1024 ** 3, processes: 64, cpuSeconds: 60 },
      configuredLimits: new Set(["processes"]),
    },
    missing: [{ rule: "limits.processes: 64", problem: "cannot be counted", remedy: "apt install x" }],
    unenforcedDefaults: [],
  },
  notGranted: [],
  spawn: ["/usr/bin/bwrap", "--setenv", "LD_PRELOAD", "hidden-value", "--", "/usr/bin/node"],
};

test("describePlan shows the paths inside a grant that are read-only or hidden", () => {
  const mounts = [
    { path: "/data", access: "write", reason: "declared" },
    { path: "/data/portolan.yaml", access: "read", reason: "config file" },
    { path: "/data/store", access: "hidden", reason: "portolan" },
  ] as const;
  const { sandbox } = PLAN;
  const text = describePlan(
    { ...PLAN, sandbox: { ...sandbox, policy: { ...sandbox.policy, mounts } } },
    view,
  );
  expect(text).toContain(`
  write   /data  from its config
  read    /data/portolan.yaml  a config file with sandbox settings
  hidden  /data/store  Portolan's own data
`);
});

test("describePlan shows the whole launch plan", () => {
  expect(describePlan(PLAN, view)).toBe(
    `files
runs      /usr/bin/node /store/files/index.js --token … \${NAME}
from      npm: @scope/files@1.2.3 sha512-abc
in        /project
env       API_KEY, PATH
sandbox   warn (set by its config), enforced by bubblewrap
network   api.example.com, *.example.com
home      /home/box, empty at each start, deleted when the server stops
programs  itself, git
limits    2 GiB of memory, 64 processes, 60 s of processor time

Files and folders
  read    /store/files  its own program
  write   /data  from its config
  hidden  /data/private  from its config
  read    /usr /etc/ssl  the system

Not enforced
  limits.processes: 64 cannot be counted
    hint apt install x

Command line
  /usr/bin/bwrap --setenv LD_PRELOAD … -- /usr/bin/node`,
  );
});

test("describePlan without a sandbox says that the server has all rights of the user", () => {
  const { sandbox } = PLAN;
  const text = describePlan(
    {
      ...PLAN,
      kind: "binary",
      sandbox: { ...sandbox, mode: "off", by: "PORTOLAN_SANDBOX", backend: "none", missing: [] },
    },
    view,
  );
  expect(text).toContain(
    "sandbox  off (set by PORTOLAN_SANDBOX), not enforced\nrights   all your rights: every file and host that you can use",
  );
  expect(text).not.toMatch(/Files and folders|network|Not enforced|npm:/);
});

test('describePlan shows "none" for a network, programs and limits that are not granted', () => {
  const { sandbox } = PLAN;
  const policy = { ...sandbox.policy, network: [], exec: { allow: undefined, spawn: false }, limits: {} };
  const kept = [...policy.mounts, { path: "/kept", access: "write", reason: "kept home" } as const];
  const text = describePlan({ ...PLAN, sandbox: { ...sandbox, policy: { ...policy, mounts: kept } } }, view);
  expect(text).toContain("network   none\nhome      /kept, persistent\nprograms  only itself");
  expect(text).toContain("limits    none");
});

test("a server whose required sandbox cannot be enforced would not start", () => {
  const plan: LaunchPlan = { ...PLAN, sandbox: { ...PLAN.sandbox, mode: "enforce", by: "default" } };
  expect(wouldStart(PLAN)).toBe(true);
  expect(wouldStart(plan)).toBe(false);
  expect(describePlan(plan, view)).toContain(
    "enforce, but this machine cannot enforce all rules: the server would\n          not start",
  );
});

test("planJson contains no values that may be secret", () => {
  const text = JSON.stringify(planJson(PLAN));
  expect(text).not.toContain("s3cret-value");
  expect(text).not.toContain("hidden-value");
  expect(JSON.parse(text)).toMatchObject({
    server: "files",
    sandbox: { by: "config", policy: { configuredLimits: ["processes"] } },
  });
});

test("the JSON of commands says which of them have a sandbox", () => {
  const commands = [
    { of: "tool a", words: ["git", "log"], plan: undefined },
    { of: "tool b", words: ["node", "b.js"], plan: PLAN },
  ];
  expect(commandsJson("files", commands)).toMatchObject({
    commands: [
      { of: "tool a", sandboxed: false },
      { of: "tool b", sandboxed: true },
    ],
  });
});
