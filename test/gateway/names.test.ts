// Names of tools and prompts at the gateway: a single server keeps its own names, with any characters.

import { expect, it } from "vitest";
import { INITIALIZE, serve } from "../helpers/http.ts";
import { type Loose, RawLegacy, RawModern } from "../helpers/raw-clients.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { openTestGateway, TOKEN } from "../helpers/raw-gateways.ts";

const NAMES = ["fs.read/file", "größe", "plain", "x".repeat(100), "with space", "{alias}"];

it.each(["modern", "legacy"] as const)(
  "the address of one server has the server's own tool and prompt names (%s)",
  async (era) => {
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
  },
);

it("a call of a tool whose server is down returns the reason, if the caller may call the tool", async () => {
  const callers = [
    { name: "named", token: "token-of-named-0123456789", allow: { tools: ["mcp_dead_*", "one.*"] } },
    { name: "denied", token: "token-of-denied-0123456789", deny: { tools: ["one.fail"] } },
    { name: "other", token: "token-of-other-0123456789", allow: { tools: ["one.*"] } },
    { name: "reader", token: "token-of-reader-0123456789", allow: { annotations: ["read-only"] } },
    { name: "elsewhere", token: "token-of-elsewhere-0123456789", allow: { servers: ["one"] } },
  ] as const;
  const dead = { transport: "stdio", ...stdioCommand("--fault=exit-at-start") } as const;
  const { url } = await openTestGateway(
    [
      { alias: "one", endpoint: { transport: "stdio", ...stdioCommand("--era=modern") } },
      { alias: "dead", endpoint: dead },
      { alias: "dead too", endpoint: dead },
    ],
    { callers: [...callers] },
    undefined,
    "all",
  );
  const codeOf = async (token: string, name: string, path = "/mcp"): Promise<unknown> => {
    const { error } = await new RawModern(url, { token, path }).call("tools/call", { name });
    // A call during the next start waits for it.
    return error?.data.code === "SERVER_START_FAILED" ? "SERVER_UNAVAILABLE" : error?.data.code;
  };
  for (const name of ["mcp_dead_echo", "dead.echo", "mcp_dead_too_echo_0123abcd"])
    expect([name, await codeOf(TOKEN, name)]).toEqual([name, "SERVER_UNAVAILABLE"]);
  for (const [index, code] of [
    "SERVER_UNAVAILABLE",
    "SERVER_UNAVAILABLE",
    ...["TOOL_NOT_FOUND", "TOOL_NOT_FOUND", "TOOL_NOT_FOUND"],
  ].entries()) {
    const { name, token } = callers[index] as (typeof callers)[number];
    for (const tool of ["mcp_dead_echo", "dead.echo"])
      expect([name, tool, await codeOf(token, tool)]).toEqual([name, tool, code]);
    expect(await codeOf(token, "mcp_nowhere_echo")).toBe("TOOL_NOT_FOUND");
  }
  expect(await codeOf(callers[0].token, "echo", "/servers/dead/mcp")).toBe("SERVER_UNAVAILABLE");
  // The error does not name the caller's server for a tool whose name has another prefix.
  const { token } = callers[4];
  const messageOf = async (name: string): Promise<unknown> =>
    (await new RawModern(url, { token }).call("tools/call", { name })).error?.message;
  expect(await messageOf("mcp_nowhere_echo")).toContain('No server has a tool "mcp_nowhere_echo"');
  expect(await messageOf("mcp_one_nothing")).toContain('one has no tool "mcp_one_nothing"');
});
