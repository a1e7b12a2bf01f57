// Requests of a package's mcpfile: which hosts they reach, and when a private address is allowed.

import { expect, test } from "vitest";
import { failure } from "../../../test/helpers/connect.ts";
import type { HttpInvocation, InvokedServer } from "../../model/index.ts";
import { DEFAULT_LIMITS } from "../../model/index.ts";
import { openInvoked } from "../open.ts";
import { checkAllowedHost } from "./allowed-hosts.ts";

const request = (url: string, more: Partial<HttpInvocation> = {}): HttpInvocation => ({
  ...{ kind: "http", method: "GET", url: [{ kind: "text", text: url }], headers: [], rest: "query" },
  ...{ query: [], bodyAsArray: false, ...more },
});

test.each([
  ["http://localhost:8080/users", [], false],
  ["http://localhost:8080/users", ["localhost:8081"], false],
  ["http://localhost:8080/users", ["*", "*:8080"], false],
  ["http://localhost:8080/users", ["localhost:8080"], true],
  ["http://127.0.0.1:8080/", ["*:8080"], false],
  ["http://169.254.169.254/latest", ["*"], false],
  ["http://2130706433/", ["*"], false],
  ["https://user@api.example.com/", ["api.example.com"], true],
  ["https://api.example.com@evil.example/", ["api.example.com"], false],
  ["https://api.example.com/", ["*"], true],
])("a request to %s with the allowed hosts %j is allowed: %j", (url, allowedHosts, isAllowed) => {
  const check = (): HttpInvocation => checkAllowedHost(request(url, { allowedHosts }));
  if (isAllowed) expect(check().allowedHosts).toEqual(allowedHosts);
  else expect(check).toThrow(expect.objectContaining({ code: "SANDBOX_DENIED" }));
});

test("a host name may resolve to a private address only if a rule names the host", () => {
  const url = "https://intranet.example.com/";
  const isAllowed = (allowedHosts?: string[]): boolean | undefined =>
    checkAllowedHost(request(url, { allowedHosts, allowPrivate: true })).allowPrivate;
  expect([isAllowed(), isAllowed(["intranet.example.com"]), isAllowed(["*"])]).toEqual([
    true,
    true,
    undefined,
  ]);
});

const withHost = (allowedHosts: readonly string[]): InvokedServer => {
  const url = [
    { kind: "env", name: "API_URL" },
    { kind: "text", text: "/users" },
  ] as const;
  const tool = {
    definition: { name: "users", description: "", inputSchema: { type: "object" } },
    invocation: request("", { url, allowedHosts }),
  } as const;
  return {
    ...{ info: { name: "s", version: "1.0.0" }, folder: "/", tools: [tool, { ...tool, ...plainTool() }] },
    ...{ prompts: [], resources: [], resourceTemplates: [] },
  };
};
const plainTool = (): object => ({
  definition: { name: "plain", description: "", inputSchema: { type: "object" } },
  invocation: request("https://api.example.com/", { allowedHosts: ["api.example.com"] }),
});

const open = async (allowedHosts: readonly string[], url: string | undefined): Promise<string[]> => {
  const upstream = await openInvoked(withHost(allowedHosts), {
    ...{ name: "s", limits: DEFAULT_LIMITS, report: () => {} },
    resolveEnv: () => url,
    resolveLater: async () => new Map([["API_URL", "http://127.0.0.1:9"]]),
  });
  try {
    const { tools } = await upstream.request({ method: "tools/list" });
    await upstream.request({ method: "tools/call", params: { name: "users", arguments: {} } });
    return (tools as { name: string }[]).map(({ name }) => name);
  } finally {
    await upstream.close();
  }
};

test("a host from a setting is checked when the setting is known: at the start, or at the call", async () => {
  const refused = { code: "SANDBOX_DENIED", data: { rule: "127.0.0.1:9" } };
  expect(await failure(open(["api.example.com", "*"], "http://127.0.0.1:9"))).toMatchObject(refused);
  expect(await failure(open(["api.example.com"], undefined))).toMatchObject(refused);
  expect(await open(["127.0.0.1:9"], "http://127.0.0.1:9")).toEqual(["users", "plain"]);
});
