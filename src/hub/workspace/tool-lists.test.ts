// Warnings about names in a tool list, such as tool_allowlist, that match no tool of the server.

import { expect, test } from "vitest";
import { type ListedServer, unknownListedTools } from "./tool-lists.ts";

function server(
  alias: string,
  tools: readonly string[],
  more: Partial<ListedServer["config"]> = {},
  state = "ready",
): ListedServer {
  const origin = { file: "/w/portolan.yaml", line: 1, column: 1, format: "workspace" };
  const endpoint = { transport: "stdio", command: "x" } as const;
  const inventory = { tools: tools.map((name) => ({ name })) };
  return { alias, inventory, state, config: { enabled: true, endpoint, origin, ...more } };
}

const allow = (...allowTools: string[]) => ({ allowTools });
const messages = (...servers: ListedServer[]) => unknownListedTools(servers).map(({ message }) => message);

test("warns about a listed name if the server is ready and has no such tool", () => {
  const wrong = allow("read", "raed", "read_*");
  expect(unknownListedTools([server("files", ["read"], wrong)])).toEqual([
    {
      code: "CONFIG_INVALID",
      severity: "warning",
      message: 'tool_allowlist of files names the tool "raed", but the server has no such tool',
      hint: 'Did you mean "read"?',
    },
  ]);
  expect(messages(server("files", [], wrong, "starting"))).toEqual([]);
  expect(messages(server("files", [], wrong, "failed"))).toEqual([]);
  expect(messages(server("files", ["read"], { ...wrong, enabled: false }))).toEqual([]);
});

test("a name in a list for several servers is valid if one of them has or may have the tool", () => {
  const both = allow("read", "search");
  expect(messages(server("files", ["read"], both), server("web", ["search"], both))).toEqual([]);
  expect(messages(server("files", ["read"], both), server("web", [], both, "starting"))).toEqual([]);
  expect(messages(server("files", ["read"], both), server("web", ["find"], both))).toHaveLength(2);
});
