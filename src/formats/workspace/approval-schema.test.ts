// Rules of `gateway.approval`: all fields, and errors about unknown names.

import { expect, test } from "vitest";
import { parseWorkspace } from "./read.ts";

const SERVERS = "servers: { files: { command: x } }\n";

test("reads every field of an approval rule", () => {
  const { settings, diagnostics } = parseWorkspace(
    `${SERVERS}gateway:
  callers: [{ name: agent, token: "\${A}" }]
  approval:
    - tools: ["files.write_*"]
      servers: [files]
      tags: [production]
      annotations: [destructive]
      callers: [agent, local, "people*"]
      by: [console, terminal, caller]
      for: 10m
      timeout: 90
      reason: It writes
    - contract: true
`,
    "portolan.yaml",
  );
  expect(diagnostics).toEqual([]);
  expect(settings.gateway?.approval).toEqual([
    {
      ...{ tools: ["files.write_*"], servers: ["files"], tags: ["production"], annotations: ["destructive"] },
      ...{ callers: ["agent", "local", "people*"], by: ["console", "terminal", "caller"] },
      ...{ forMs: 600_000, timeoutMs: 90_000, reason: "It writes" },
    },
    { contract: true },
  ]);
});

test("reports all unknown callers and servers of a rule, with similar names as hints", () => {
  const { settings, diagnostics } = parseWorkspace(
    `${SERVERS}gateway:
  callers: [{ name: agent, token: "\${A}" }]
  approval: [{ callers: [agnet], servers: [fles] }]
  budgets: { few: { callers: [agnt], calls: 1/h } }
`,
    "portolan.yaml",
  );
  expect(diagnostics.map(({ message, hint }) => `${message} ${hint}`)).toEqual([
    'no caller has the name "agnet" Did you mean "agent"?',
    'no caller is named "agnt" Did you mean "agent"?',
  ]);
  // The catalog compares these names with the servers of all files.
  expect(settings.gatewayServers).toMatchObject([{ text: "fles" }]);
});

test.each([
  ["callers: [agnet]", 'no caller has the name "agnet"'],
  ["by: []", "by names no way to approve a call"],
  ["by: [anybody]", "anybody"],
  ["annotations: [dangerous]", "dangerous"],
  ["for: soon", "soon"],
  ["tool: [x]", "tool"],
])("%s is an error, and Portolan does not use the gateway section", (rule, message) => {
  const { settings, diagnostics } = parseWorkspace(
    `${SERVERS}gateway:\n  callers: [{ name: agent, token: "\${A}" }]\n  approval: [{ ${rule} }]\n`,
    "portolan.yaml",
  );
  expect(diagnostics.map((one) => one.message).join()).toContain(message);
  if (diagnostics.some(({ severity }) => severity === "error")) expect(settings.gateway).toBeUndefined();
});
