// No method of the control interface shows a resolved secret. The console serves the same methods.

import { expect, it, onTestFinished, vi } from "vitest";
import { ControlSession } from "../../src/control/index.ts";
import { METHODS } from "../../src/control/messages.ts";
import { type HubEvent, openWorkspaceHub } from "../../src/hub/index.ts";
import type { JsonObject } from "../../src/model/index.ts";
import { declare } from "../helpers/workspace.ts";
import { stdioCommand } from "../fixtures/processes.mjs";

const CANARY = "cnry-8d5c-4e1f-control";
/** Methods that end the session or the gateway, or hand over the socket. */
const OTHERS: ReadonlySet<string> = new Set(["hello", "client", "stop", "consoleLink"]);

it("every method of the control socket answers without the values of secrets", async () => {
  vi.stubEnv("CONTROL_CANARY", CANARY);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { command, args } = stdioCommand("--era=modern");
  const folder = declare([
    {
      alias: "one",
      transport: "stdio",
      command,
      args: [...args, "--token=${CONTROL_CANARY}"],
      env: { TOKEN: "x ${CONTROL_CANARY} y" },
    },
  ]);
  const workspace = await openWorkspaceHub(folder, { snapshots: false, watchFiles: false });
  onTestFinished(() => workspace.close());
  const events: HubEvent[] = [];
  workspace.events.on((event) => events.push(event));
  const session = new ControlSession({
    workspace,
    facts: () => ({
      pid: 1,
      version: "0",
      kind: "http",
      path: folder,
      startedAt: "",
      servers: [],
      problems: [],
    }),
    recentEvents: () => events,
    reload: async () => ({ hasFiles: true, problems: [] }),
    stop: () => {},
    ...{ token: undefined, approvals: () => undefined, way: "console", transport: "http", id: "test" },
  });
  onTestFinished(() => session.close());
  const answers = new Map<string, string>();
  // The server is stopped last.
  const methods = Object.values(METHODS).filter((method) => !OTHERS.has(method));
  for (const method of [...methods.filter((one) => one !== "stopServer"), "stopServer"]) {
    const notes: unknown[] = [];
    const params: JsonObject =
      method === "request"
        ? { method: "tools/list", params: {}, capabilities: {} }
        : { server: "one", follow: false };
    const ended = new AbortController();
    const answer = session.answer({
      ...{ method, params, signal: ended.signal, ask: async () => undefined },
      note: (name, value) => void notes.push([name, value]),
    });
    // Only this one runs until it is cancelled.
    if (method === "serverLogs") ended.abort();
    const value = await answer.catch((thrown: unknown) => String(thrown));
    answers.set(method, JSON.stringify({ value, notes }));
  }
  for (const [method, text] of answers) expect(text, method).not.toContain(CANARY);
  expect(answers.get("sandbox")).toContain("--token=[redacted]");
});
