// Calls that fail after a server request that their client cannot answer: the server's own error, or the missing capability.

import { describe, expect, it } from "vitest";
import { RawModern } from "../helpers/raw-clients.ts";
import { openTestGateway, TOKEN } from "../helpers/raw-gateways.ts";

/** A legacy server whose tools send the request in their name, and then fail with an error of the server. */
const FAILING = `const { createInterface } = require("node:readline");
const send = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
const tool = (name) => ({ name, inputSchema: { type: "object" } });
const tools = ["roots/list", "sampling/createMessage", "crash"].map((name) => tool(name.replace(/\\W/g, "_")));
let call;
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") send({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "f", version: "1" } } });
  else if (method === "tools/list") send({ id, result: { tools } });
  else if (method === "tools/call") {
    call = { id, name: params.name };
    const asked = params.name === "roots_list" ? "roots/list" : "sampling/createMessage";
    send({ id: "ask", method: asked, params: { messages: [], maxTokens: 1 } });
  } else if (method === undefined && id === "ask") {
    if (call.name === "crash") process.exit(3);
    send({ id: call.id, result: { isError: true, content: [{ type: "text", text: "the disk is full" }] } });
  } else if (id !== undefined) send({ id, error: { code: -32601, message: "unknown" } });
}).on("close", () => process.exit());`;

describe("a call that fails after a request that its client cannot answer", () => {
  const endpoint = { transport: "stdio", command: process.execPath, args: ["-e", FAILING] } as const;
  const open = async (): Promise<RawModern> => {
    const { url } = await openTestGateway([{ alias: "one", endpoint }]);
    return new RawModern(url, { token: TOKEN, capabilities: {} });
  };

  it("keeps the server's own error after a roots request, because servers send these in the background", async () => {
    const { error, result } = await (await open()).tool("mcp_one_roots_list");
    expect(error).toBeUndefined();
    expect(result).toMatchObject({ isError: true, content: [{ type: "text", text: "the disk is full" }] });
  });

  it("names the missing capability together with the server's own error", async () => {
    const { error } = await (await open()).tool("mcp_one_sampling_createMessage");
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { sampling: {} } } });
    expect(error?.message).toBe(
      "The server needs capabilities that this client did not declare: sampling. The server answered: the disk is full",
    );
  });

  it("reports a crash as a crash", async () => {
    const { error } = await (await open()).tool("mcp_one_crash");
    expect(error).toMatchObject({ data: { code: "SERVER_CRASHED" } });
  });
});
