// A server that writes null into every optional field, used by the official SDK clients through the gateway.

import { fileURLToPath } from "node:url";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { openTestGateway, TOKEN } from "../helpers/raw-gateways.ts";

const SERVER = fileURLToPath(new URL("../fixtures/null-server.mjs", import.meta.url));
const LIMIT = { timeout: 5_000 };
const ACCEPT = { action: "accept", content: { name: "Bo" } } as const;

async function gateway(): Promise<{ url: URL; requestInit: RequestInit }> {
  const { url, diagnostics } = await openTestGateway([
    { alias: "nulls", endpoint: { transport: "stdio", command: process.execPath, args: [SERVER] } },
  ]);
  expect(diagnostics).toEqual([]);
  return {
    url: new URL("/servers/nulls/mcp", url),
    requestInit: { headers: { authorization: `Bearer ${TOKEN}` } },
  };
}

/** Uses all operations that both clients have. */
async function useAll(client: ClientV1 | ClientV2): Promise<void> {
  const { tools } = await client.listTools(undefined, LIMIT);
  expect(tools.map(({ name }) => name)).toEqual(["hinted", "plain"]);
  expect(tools[1]?.inputSchema.properties).toEqual({ a: { type: ["string", "null"], default: null } });
  const progress: unknown[] = [];
  const result = await client.callTool({ name: "plain", arguments: {} }, ...onProgress(client, progress));
  expect((result.content as unknown[])[0]).toEqual({ type: "text", text: "hello" });
  expect(progress).toContainEqual({ progress: 1 });
  expect((await client.listPrompts(undefined, LIMIT)).prompts).toHaveLength(2);
  expect((await client.getPrompt({ name: "p" }, LIMIT)).messages).toHaveLength(3);
  expect((await client.listResources(undefined, LIMIT)).resources).toHaveLength(1);
  expect((await client.listResourceTemplates(undefined, LIMIT)).resourceTemplates).toEqual([]);
  expect((await client.readResource({ uri: "test://r" }, LIMIT)).contents).toHaveLength(1);
  const completed = await client.complete(
    { ref: { type: "ref/prompt", name: "q" }, argument: { name: "city", value: "P" } },
    LIMIT,
  );
  expect(completed.completion.values).toEqual(["Paris"]);
}

/** Version 1 takes a result schema before the options. */
function onProgress(client: ClientV1 | ClientV2, heard: unknown[]): never[] {
  const options = { ...LIMIT, onprogress: (progress: unknown) => heard.push(progress) };
  return (client instanceof ClientV1 ? [undefined, options] : [options]) as never[];
}

describe("a server that writes null into optional fields", () => {
  it("works with SDK v1 through the gateway", async () => {
    const { url, requestInit } = await gateway();
    const client = new ClientV1({ name: "v1", version: "1" }, { capabilities: { elicitation: {} } });
    const logged: unknown[] = [];
    client.setRequestHandler(ElicitRequestSchema, async () => ACCEPT);
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params));
    onTestFinished(() => client.close());
    await client.connect(new HttpV1(url, { requestInit }));
    await useAll(client);
    expect(logged).toEqual([{ level: "info", logger: "nulls", data: "logged" }]);
  });

  it("works with SDK v2 in the modern era through the gateway", async () => {
    const { url, requestInit } = await gateway();
    const client = new ClientV2(
      { name: "v2", version: "1" },
      { capabilities: { elicitation: {} }, versionNegotiation: { mode: "auto" } },
    );
    client.setRequestHandler("elicitation/create", async () => ACCEPT);
    onTestFinished(() => client.close());
    await client.connect(new HttpV2(url, { requestInit }));
    expect(client.getProtocolEra()).toBe("modern");
    await useAll(client);
  });
});
