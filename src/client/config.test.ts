import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { PortolanError } from "../errors/index.ts";
import { toServerDefinition, type TransportConfig, unreplacedReferences, withTransport } from "./config.ts";
import type { RequestAuth } from "../oauth/index.ts";
import type { McpConfig } from "./types.ts";

describe("toServerDefinition", () => {
  it("names a server by its command, or by its URL without secrets", () => {
    const named = (...args: string[]): string =>
      toServerDefinition({ transport: "stdio", command: "/usr/bin/npx", args }).name;
    expect(named("-y", "@scope/server", "--api-key=s3cret")).toBe("npx @scope/server");
    expect(named("/n/node_modules/@scope/server/dist/index.mjs")).toBe("npx dist/index.mjs");
    expect(named("--token", "https://user:pw@host/")).toBe("npx");
    expect(toServerDefinition({ transport: "http", url: "https://u:pw@h.test/mcp?token=s" }).name).toBe(
      "https://h.test/mcp",
    );
  });

  it("keeps the defaults of limits that are not given", () => {
    const { limits } = toServerDefinition({
      transport: "stdio",
      command: "x",
      limits: { requestTimeoutMs: 5, maxMessageBytes: undefined },
    });
    expect(limits).toMatchObject({ requestTimeoutMs: 5, maxMessageBytes: 10 * 1024 * 1024 });
  });

  it.each([
    ["ws", resolve("ws")],
    [".", process.cwd()],
    ["/tmp/ws", "/tmp/ws"],
    [undefined, undefined],
  ])("makes an absolute path of the working folder %s", (cwd, absolute) => {
    const { endpoint } = toServerDefinition({ transport: "stdio", command: "x", cwd });
    expect(endpoint).toMatchObject({ cwd: absolute });
  });

  it.each([false, "off", { mode: "off" }] as const)("reads the sandbox %j as off", (sandbox) => {
    const { launch } = toServerDefinition({ transport: "stdio", command: "x", sandbox });
    expect(launch?.sandbox).toEqual({ mode: "off" });
  });

  it.each([
    ["a missing token", { token: undefined }, {}, "auth.token must be a string, not undefined"],
    ["settings of OAuth", { token: "a", clientId: "b" }, {}, 'unknown key "clientId" in auth'],
    ["a header", { token: "a" }, { authorization: "b" }, "auth.token and headers.Authorization cannot be"],
    ["a line break", { token: "a\nb" }, {}, "HTTP does not allow"],
  ])("refuses a fixed token with %s", (_, auth, headers, problem) => {
    const config = { transport: "http", url: "http://h.test/mcp", auth, headers };
    const thrown = catchError(() => toServerDefinition(config as unknown as TransportConfig));
    expect(thrown.message).toContain(problem);
  });

  it("leaves the token of a provider to the provider", () => {
    const auth = { token: "a", headers: async () => ({}), refused: async () => "retry" as const };
    const { endpoint } = toServerDefinition({
      ...{ transport: "http", url: "http://h.test/mcp" },
      auth: auth as unknown as RequestAuth,
    });
    expect(endpoint).not.toHaveProperty("headers.Authorization");
  });

  it("reports every problem at once", () => {
    const config = {
      transport: "http",
      url: "ftp://x",
      headers: { "a b": "1" },
      era: "old",
      limits: { foo: 1, maxPages: -1 },
    };
    const thrown = catchError(() => toServerDefinition(config as unknown as TransportConfig));
    expect(thrown.code).toBe("CONFIG_INVALID");
    expect(thrown.data.problems).toHaveLength(5);
  });

  it.each([
    ["nothing", undefined],
    ["no transport", {}],
    ["an unknown transport", { transport: "carrier-pigeon" }],
    ["no command", { transport: "stdio" }],
    ["args that are a string", { transport: "stdio", command: "a", args: "b c" }],
    ["a NUL", { transport: "stdio", command: "a", args: ["\0"] }],
    ["a header with a line break", { transport: "http", url: "http://x", headers: { a: "b\r\nc: d" } }],
    ["headers that are null", { transport: "http", url: "http://x", headers: null }],
    ["a header beyond Latin-1", { transport: "http", url: "http://x", headers: { a: "→" } }],
    ["a WebSocket with a fragment", { transport: "websocket", url: "ws://x/#y" }],
    ["a WebSocket at an HTTP URL", { transport: "websocket", url: "http://x" }],
  ])("refuses %s", (_name, config) => {
    expect(catchError(() => toServerDefinition(config as unknown as TransportConfig)).code).toBe(
      "CONFIG_INVALID",
    );
  });
});

describe("withTransport", () => {
  it.each([
    ["a command", { command: "node" }, "stdio"],
    ["an http URL", { url: "http://h.test/mcp" }, "http"],
    ["an https URL", { url: "https://h.test/mcp" }, "http"],
    ["a ws URL", { url: "ws://h.test/mcp" }, "websocket"],
    ["a wss URL", { url: "WSS://h.test/mcp" }, "websocket"],
    ["a transport", { transport: "sse" as const, url: "http://h.test/sse" }, "sse"],
    ["an undefined transport", { transport: undefined, command: "node" }, "stdio"],
  ])("chooses the transport of a config with %s", (_name, config, transport) => {
    expect(toServerDefinition(withTransport(config)).endpoint.transport).toBe(transport);
  });

  it.each([
    ["neither a command nor a URL", {}, "the config must have a command or a url"],
    [
      "a command and a URL",
      { command: "node", url: "http://h.test/mcp" },
      "url belongs to transport http, sse or websocket",
    ],
    [
      "transport http with a command",
      { transport: "http", url: "http://h.test/mcp", command: "node" },
      "command belongs to transport stdio",
    ],
    ["a URL with args", { url: "http://h.test/mcp", args: [] }, "args belongs to transport stdio"],
    [
      "an unknown limit",
      { command: "node", limits: { requestTimeout: 1 } },
      'limits.requestTimeout is not a known limit. Did you mean "requestTimeoutMs"?',
    ],
    [
      "a header from a variable that is not set",
      { url: "http://h.test/mcp", headers: { Authorization: undefined } },
      "headers.Authorization must be a string, but is undefined",
    ],
    [
      "a number in env",
      { command: "node", env: { A: 1 } },
      "env.A must be a string, but is of the type number",
    ],
    ["NUL in env", { command: "node", env: { A: "a\0" } }, "env.A must not contain NUL"],
    ["a URL without a scheme", { url: "h.test/mcp" }, "url must be an absolute URL"],
    ["another scheme", { url: "ftp://h.test" }, "url must begin with http:// or https://"],
  ])("leads to an error for %s", (_name, config, problem) => {
    const error = catchError(() => toServerDefinition(withTransport(config as McpConfig)));
    expect(error.data.problems).toEqual([problem]);
  });
});

it("toServerDefinition refuses roots that are paths instead of URIs", () => {
  const handlers = { roots: [{ uri: "/a b" }, { uri: "file:///a" }] };
  const error = catchError(() => toServerDefinition({ transport: "stdio", command: "x", handlers }));
  expect(error.data.problems).toEqual(['handlers.roots[0].uri must be a URI such as "file:///workspace"']);
  expect(error.hint).toBe('Write "file:///a%20b".');
});

it.each([
  [
    "env",
    { command: "x", env: { TOKEN: "${MY_TOKEN}", OTHER: "a ${b}", PLAIN: "x" } },
    "env.TOKEN",
    "MY_TOKEN",
  ],
  [
    "headers",
    { url: "http://h.test", headers: { authorization: "Bearer ${KEY}" } },
    "headers.authorization",
    "KEY",
  ],
])("unreplacedReferences() warns about a reference in %s", (_field, config, place, variable) => {
  const warnings = unreplacedReferences(toServerDefinition(withTransport(config)));
  expect(warnings).toHaveLength(1);
  expect(warnings[0]?.message).toContain(`${place} is the text`);
  expect(warnings[0]?.hint).toContain(`process.env.${variable}`);
});

function catchError(run: () => unknown): PortolanError {
  try {
    run();
  } catch (error) {
    if (error instanceof PortolanError) return error;
  }
  throw new Error("nothing was thrown");
}
