// The official SDK, version 1: @modelcontextprotocol/sdk.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";

export async function connect({ transport, command, args, url }) {
  const client = new Client({ name: "sdk-v1", version: "1.0.0" });
  await client.connect(await createTransport(transport, { command, args, url }));
  await client.listTools();
  return {
    async call(text, signal) {
      const result = await client.callTool(
        { name: "echo", arguments: { text } },
        undefined,
        signal && { signal },
      );
      return result.content[0].text;
    },
    close: () => client.close(),
  };
}

async function createTransport(transport, { command, args, url }) {
  if (transport === "stdio") {
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    return new StdioClientTransport({ command, args });
  }
  const { StreamableHTTPClientTransport } =
    await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  return new StreamableHTTPClientTransport(new URL(url));
}
