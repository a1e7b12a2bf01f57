// Clients that have one channel for everything: stdio, WebSocket, and the old HTTP+SSE.

import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { until } from "./helpers.ts";
import { type Loose, RawModern } from "./raw-clients.ts";
import { openTestGateway, type Runs, runsFile, stdioServer } from "./raw-gateways.ts";

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

describe("on one channel for everything", () => {
  async function talk(): Promise<{
    send: (message: object) => void;
    heard: Loose[];
    runs: Runs;
    close: () => Promise<void>;
  }> {
    const runs = runsFile();
    const { gateway } = await openTestGateway([stdioServer("one", ["--era=legacy", `--runs=${runs.file}`])]);
    const [input, output] = [new PassThrough(), new PassThrough()];
    const heard: Loose[] = [];
    let rest = "";
    output.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) heard.push(JSON.parse(line));
    });
    const over = gateway.serveStdio(input, output);
    return {
      heard,
      runs,
      send: (message) => void input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`),
      async close() {
        await gateway.close();
        await over;
      },
    };
  }
  const answerTo = (heard: Loose[], id: unknown): Loose => heard.find((one) => one.id === id && !one.method);
  const modern = (...given: Parameters<RawModern["request"]>): object =>
    new RawModern("http://localhost").request(...given).body;

  it("both eras are spoken, and each cancels by notification", async () => {
    const { send, heard, runs } = await talk();
    send({ id: 0, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {} } });
    await until(() => answerTo(heard, 0)?.result.protocolVersion === "2025-06-18");
    send({ id: "old", method: "tools/call", params: { name: "mcp_one_hang", arguments: { id: "old" } } });
    send(modern("tools/call", { name: "mcp_one_hang", arguments: { id: "new" } }, "new"));
    await until(() => runs.called("old") + runs.called("new") === 2);
    for (const requestId of ["old", "new"])
      send({ method: "notifications/cancelled", params: { requestId } });
    await until(() => runs.cancelled("old") + runs.cancelled("new") === 2);
    send({ id: "after", method: "ping" });
    await until(() => answerTo(heard, "after") !== undefined);
    expect([answerTo(heard, "old"), answerTo(heard, "new")]).toEqual([undefined, undefined]);
  });

  it("a stream that listens ends with a result when the gateway closes", async () => {
    const { send, heard, close } = await talk();
    send(modern("subscriptions/listen", { notifications: { toolsListChanged: true } }, "mine"));
    await until(() => heard.length > 0);
    expect(heard[0]).toMatchObject({
      method: "notifications/subscriptions/acknowledged",
      params: { _meta: { [SUBSCRIPTION]: "mine" } },
    });
    await close();
    expect(answerTo(heard, "mine").result).toMatchObject({ _meta: { [SUBSCRIPTION]: "mine" } });
  });
});
