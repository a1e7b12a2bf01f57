// The official SDK, version 2: @modelcontextprotocol/client, in either protocol era.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

export async function connect({ transport, command, args, url, era }) {
  const mode = era === "modern" ? { pin: "2026-07-28" } : "legacy";
  const client = new Client({ name: "sdk-v2", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(await createTransport(transport, { command, args, url }));
  await client.listTools();
  return {
    async call(text, signal) {
      const result = await client.callTool({ name: "echo", arguments: { text } }, signal && { signal });
      return result.content[0].text;
    },
    close: () => client.close(),
  };
}

async function createTransport(transport, { command, args, url }) {
  if (transport !== "stdio") return new StreamableHTTPClientTransport(new URL(url));
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  return new StdioClientTransport({ command, args });
}
