// Denied host names are reported without secrets: a name that a server looks up may contain a secret.

import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { openWorkspaceWith } from "../../src/hub/index.ts";
import { connectMcp, type Diagnostic, type HubEvent } from "../../src/index.ts";
import { needs } from "../helpers/needs.ts";

const SERVER = fileURLToPath(new URL("../fixtures/network-server.mjs", import.meta.url));
const SECRET = "SekretCanary1234567890";
const url = `http://${SECRET}.evil.example/`;

it(
  "the diagnostic of a denied host name redacts secrets in the name and in the hint",
  needs("bubblewrap"),
  async () => {
    const told: Diagnostic[] = [];
    const mcp = await connectMcp({
      ...{ transport: "stdio", command: process.execPath, args: [SERVER], env: { API_TOKEN: SECRET } },
      sandbox: { mode: "enforce", network: ["allowed.example"] },
      onDiagnostic: (one) => told.push(one),
    });
    onTestFinished(() => mcp.close());
    await mcp.callTool("reach", { way: "fetch", url });
    await expect.poll(() => told.map(({ code }) => code)).toContain("SANDBOX_DENIED");
    expect(JSON.stringify(told)).toContain("[redacted].evil.example");
    expect(JSON.stringify(told)).not.toMatch(/canary/i);
    // A program has no command line: the hint names the field of its config.
    const { hint } = told.find(({ code }) => code === "SANDBOX_DENIED") ?? {};
    expect(hint).toMatch(/^To allow it: sandbox: \{ network: \["allowed\.example", "[^"]+"\] \}$/);
  },
);

it("the event of a denied host name redacts secrets in the name", needs("bubblewrap"), async () => {
  const events: HubEvent[] = [];
  process.env.PORTOLAN_TEST_CANARY = SECRET;
  onTestFinished(() => void delete process.env.PORTOLAN_TEST_CANARY);
  const workspace = await openWorkspaceWith(
    {
      servers: [
        {
          alias: "one",
          origin: { file: "/portolan.yaml", line: 1, column: 1, format: "workspace" },
          enabled: true,
          endpoint: {
            ...{ transport: "stdio", command: process.execPath, args: [SERVER] },
            env: { API: "${PORTOLAN_TEST_CANARY}" },
          },
          launch: { sandbox: { mode: "enforce", network: ["allowed.example"] }, cwdImplied: true },
        },
      ],
    },
    { snapshots: false, onEvent: (event) => events.push(event) },
  );
  onTestFinished(() => workspace.close());
  await workspace.callTool("one.reach", { way: "fetch", url });
  await expect.poll(() => events.find(({ type }) => type === "mcp.sandbox_denied")).toBeDefined();
  expect(JSON.stringify(events)).toContain("[redacted].evil.example");
  expect(JSON.stringify(events)).not.toMatch(/canary1/i);
});
