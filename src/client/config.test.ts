import { describe, expect, it } from "vitest";
import { PortolanError } from "../errors/index.ts";
import { toServerDefinition } from "./config.ts";
import type { McpConfig } from "./types.ts";

describe("toServerDefinition", () => {
  it("names a server by its command, or by its URL without secrets", () => {
    const named = (...args: string[]): string =>
      toServerDefinition({ transport: "stdio", command: "/usr/bin/npx", args }).name;
    expect(named("-y", "@scope/server", "--api-key=s3cret")).toBe("npx @scope/server");
    expect(named("--token", "https://user:pw@host/")).toBe("npx");
    expect(toServerDefinition({ transport: "http", url: "https://u:pw@h.test/mcp?token=s" }).name).toBe(
      "https://h.test/mcp",
    );
  });

  it("keeps the defaults of limits that are not given", () => {
    const { limits } = toServerDefinition({
      transport: "stdio",
      command: "x",
      limits: { requestTimeoutMs: 5 },
    });
    expect(limits).toMatchObject({ requestTimeoutMs: 5, maxMessageBytes: 10 * 1024 * 1024 });
  });

  it("reports every problem at once", () => {
    const config = {
      transport: "http",
      url: "ftp://x",
      headers: { "a b": "1" },
      era: "old",
      limits: { foo: 1, maxPages: -1 },
    };
    const thrown = catchError(() => toServerDefinition(config as unknown as McpConfig));
    expect(thrown.code).toBe("CONFIG_INVALID");
    expect(thrown.data.problems).toHaveLength(5);
  });

  it.each([
    ["nothing", undefined],
    ["no transport", {}],
    ["an unknown transport", { transport: "carrier-pigeon" }],
    ["no command", { transport: "stdio" }],
    ["a shell line of the wrong type", { transport: "stdio", command: "a", args: "b c" }],
    ["a NUL", { transport: "stdio", command: "a", args: ["\0"] }],
    ["a header with a line break", { transport: "http", url: "http://x", headers: { a: "b\r\nc: d" } }],
    ["headers that are none", { transport: "http", url: "http://x", headers: null }],
    ["a header beyond Latin-1", { transport: "http", url: "http://x", headers: { a: "→" } }],
    ["a WebSocket with a fragment", { transport: "websocket", url: "ws://x/#y" }],
    ["a WebSocket at an HTTP URL", { transport: "websocket", url: "http://x" }],
  ])("refuses %s", (_name, config) => {
    expect(catchError(() => toServerDefinition(config as unknown as McpConfig)).code).toBe("CONFIG_INVALID");
  });
});

function catchError(run: () => unknown): PortolanError {
  try {
    run();
  } catch (error) {
    if (error instanceof PortolanError) return error;
  }
  throw new Error("nothing was thrown");
}
