// Names of tools and prompts at the gateway: a single server keeps its own names, with any characters.

import { expect, it } from "vitest";
import { INITIALIZE, serve } from "../helpers/http.ts";
import { type Loose, RawLegacy, RawModern } from "../helpers/raw-clients.ts";
import { openTestGateway, TOKEN } from "../helpers/raw-gateways.ts";

const NAMES = ["fs.read/file", "größe", "plain", "x".repeat(100), "with space", "{alias}"];

it.each(["modern", "legacy"] as const)("a server alone keeps its own names (%s)", async (era) => {
  const { url: server } = await serve("legacy", {
    initialize: ({ json }) =>
      json({ ...INITIALIZE, capabilities: { tools: {}, prompts: {} } }, { "mcp-session-id": "s" }),
    "tools/list": ({ json }) =>
      json({ tools: NAMES.map((name) => ({ name, inputSchema: { type: "object" } })) }),
    "tools/call": ({ json, params }) => json({ content: [{ type: "text", text: String(params.name) }] }),
    "prompts/list": ({ json }) => json({ prompts: NAMES.map((name) => ({ name })) }),
    "prompts/get": ({ json, params }) =>
      json({ messages: [{ role: "user", content: { type: "text", text: String(params.name) } }] }),
  });
  const { url } = await openTestGateway([{ alias: "one", endpoint: { transport: "http", url: server } }]);
  for (const path of ["/servers/one/mcp", "/mcp"]) {
    const client =
      era === "modern"
        ? new RawModern(url, { token: TOKEN, path })
        : await RawLegacy.open(url, { token: TOKEN, path });
    const tools = (await client.call("tools/list")).result.tools.map(({ name }: Loose) => name);
    const prompts = (await client.call("prompts/list")).result.prompts.map(({ name }: Loose) => name);
    if (path === "/mcp") {
      for (const name of [...tools, ...prompts]) expect(name).toMatch(/^mcp_one_[\w-]{1,56}$/);
      continue;
    }
    expect(tools).toEqual(NAMES.toSorted());
    expect(prompts).toEqual(NAMES.toSorted());
    for (const name of NAMES) {
      expect((await client.call("tools/call", { name })).result.content[0].text).toBe(name);
      expect((await client.call("prompts/get", { name })).result.messages[0].content.text).toBe(name);
    }
  }
});
