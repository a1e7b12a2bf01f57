// The fault catalogue over HTTP: broken responses fail at once with a reason, and a call that may have run is not repeated.

import { describe, expect, it } from "vitest";
import type { McpConnection } from "../../src/index.ts";
import { type HttpServer, startHttpServer } from "../fixtures/http-server.mjs";
import { startSseServer } from "../fixtures/sse-server.mjs";
import { startWsServer } from "../fixtures/ws-server.mjs";
import { connectUrl, failure, started, until } from "../helpers/connect.ts";

const ERAS = ["legacy", "modern"] as const;
type Options = Parameters<typeof startHttpServer>[0];

async function setUp(options: Options, limits = {}): Promise<{ server: HttpServer; mcp: McpConnection }> {
  const server = await started(startHttpServer({ ttl: 60_000, ...options }));
  const mcp = await connectUrl(server.url, { limits });
  await mcp.listTools();
  return { server, mcp };
}

const echo = (mcp: McpConnection, text = "x"): Promise<string> =>
  mcp.callTool("echo", { text }).then((result) => result.text);

describe.each(ERAS)("%s", (era) => {
  it("F21: a call without an answer runs into its time limit", async () => {
    const { server, mcp } = await setUp({ era });
    server.setFault({ name: "hang", on: "tools/call" });
    expect(await failure(mcp.callTool("echo", { text: "x" }, { timeoutMs: 150 }))).toMatchObject({
      code: "TIMEOUT",
      hint: expect.stringContaining("The call may or may not have taken effect"),
    });
    server.clearFaults();
    expect(await echo(mcp)).toBe("x");
  });

  it("F21: a stream without an answer runs into the time limit of the call", async () => {
    const { server, mcp } = await setUp({ era });
    server.setFault({ name: "hang-stream", on: "tools/call" });
    expect((await failure(mcp.callTool("echo", { text: "x" }, { timeoutMs: 150 }))).code).toBe("TIMEOUT");
  });

  it.each([500, 502, 503])(
    "F22: HTTP %i is an error with the status and a short body, and a call is not repeated",
    async (status) => {
      const { server, mcp } = await setUp({ era });
      server.setFault({ name: "status", arg: status, on: "tools/call" });
      const error = await failure(echo(mcp));
      expect(error).toMatchObject({ code: "HTTP_ERROR", tool: "echo", data: { status } });
      expect(String(error.data.body).length).toBeLessThanOrEqual(512);
      expect(server.requests.filter(({ body }) => body?.method === "tools/call")).toHaveLength(1);
    },
  );

  it("F22: read-only requests are repeated, at most twice", async () => {
    const { server, mcp } = await setUp({ era });
    server.setFault({ name: "status", arg: 503, on: "resources/read", times: 2 });
    expect((await mcp.readResource("test://static-text")).contents).toHaveLength(1);
    server.setFault({ name: "status", arg: 503, on: "prompts/get" });
    expect((await failure(mcp.getPrompt("simple"))).code).toBe("HTTP_ERROR");
    expect(server.requests.filter(({ body }) => body?.method === "prompts/get")).toHaveLength(3);
  });

  it("F22: after five failures in a row, no more requests are sent", async () => {
    const { server, mcp } = await setUp({ era });
    server.setFault({ name: "status", arg: 500, on: "tools/call" });
    for (let i = 0; i < 5; i += 1) expect((await failure(echo(mcp))).code).toBe("HTTP_ERROR");
    const error = await failure(echo(mcp));
    expect(error.code).toBe("SERVER_UNAVAILABLE");
    expect(error.message).toContain("HTTP 500");
    expect(server.requests.filter(({ body }) => body?.method === "tools/call")).toHaveLength(5);
  });

  it.each(["1", "date"])(
    "F23: waits for the time in Retry-After (%s), and repeats the call",
    async (form) => {
      const { server, mcp } = await setUp({ era });
      server.setFault({ name: "rate-limit", arg: form, on: "tools/call", times: 1 });
      expect(await echo(mcp, "later")).toBe("later");
    },
  );

  it("F23: a call is not repeated if Retry-After is too long", async () => {
    const { server, mcp } = await setUp({ era });
    server.setFault({ name: "rate-limit", arg: "99999", on: "tools/call" });
    expect(await failure(echo(mcp))).toMatchObject({
      code: "RATE_LIMITED",
      data: { status: 429, retryAfter: "99999" },
    });
  });

  it("F24: redirects are followed only within the same origin", async () => {
    const { server, mcp } = await setUp({ era });
    for (const status of [307, 308]) {
      server.clearFaults();
      server.setFault({ name: "redirect-same-origin", arg: status, on: "tools/call" });
      expect(await echo(mcp, "moved")).toBe("moved");
    }
    server.clearFaults();
    server.setFault({ name: "redirect-loop", on: "tools/call" });
    expect((await failure(echo(mcp))).message).toContain("redirects more than 5 times");
    server.clearFaults();
    const trap = await server.openTrap();
    server.setFault({ name: "redirect-cross-origin", on: "tools/call" });
    expect((await failure(echo(mcp))).message).toContain(trap.origin);
    expect(trap.requests).toEqual([]);
  });

  it.each(["sse-drop", "sse-early-end", "sse-half-event", "json-drop"])(
    "F26: %s fails at once, and the call is not repeated",
    async (fault) => {
      const { server, mcp } = await setUp({ era });
      server.setFault({ name: fault, on: "tools/call" });
      expect((await failure(echo(mcp))).code).toBe("CONNECTION_LOST");
      expect(server.stats.calls.echo).toBe(1);
      server.clearFaults();
      expect(await echo(mcp, "fine")).toBe("fine");
    },
  );

  it.each(["html-200", "json-garbage-200"])("F27: %s is not accepted as an answer", async (fault) => {
    const { server, mcp } = await setUp({ era });
    server.setFault({ name: fault, on: "tools/call" });
    expect((await failure(echo(mcp))).code).toBe("PROTOCOL_ERROR");
  });

  it.each([{ answer: "json" }, { answer: "sse" }] as const)(
    "F28: a body above the size limit is cut off ($answer)",
    async ({ answer }) => {
      const { server, mcp } = await setUp({ era, answer }, { maxMessageBytes: 1_000_000 });
      server.setFault({ name: "huge-body", arg: 200_000_000, on: "tools/call" });
      const before = process.memoryUsage().rss;
      expect((await failure(echo(mcp))).code).toBe("MESSAGE_TOO_LARGE");
      expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
      server.clearFaults();
      expect(await echo(mcp)).toBe("x");
    },
  );

  it("F29: a body that arrives too slowly runs into the time limit", async () => {
    const { server, mcp } = await setUp({ era });
    server.setFault({ name: "drip", arg: 100, on: "tools/call" });
    expect((await failure(mcp.callTool("echo", { text: "x" }, { timeoutMs: 300 }))).code).toBe("TIMEOUT");
  });

  it.each(["sse-crlf", "sse-cr", "sse-multiline", "sse-comments", "sse-bom"])(
    "reads an unusual but valid event stream: %s",
    async (fault) => {
      const { server, mcp } = await setUp({ era, answer: "sse" });
      server.setFault(fault);
      expect(await echo(mcp, "Grüße")).toBe("Grüße");
    },
  );

  it("sends the configured headers, and a 401 rejects with the challenge of the server", async () => {
    const server = await started(startHttpServer({ era }));
    server.setFault("auth401:s3cret");
    const error = await failure(connectUrl(server.url));
    expect(error).toMatchObject({ code: "AUTH_REQUIRED", data: { status: 401 } });
    expect(error.data.challenge).toContain("Bearer");
    const mcp = await connectUrl(server.url, { headers: { Authorization: "Bearer s3cret" } });
    expect(await echo(mcp)).toBe("x");
  });

  it("reports HTTP 403 as FORBIDDEN", async () => {
    const server = await started(startHttpServer({ era }));
    server.setFault("status:403");
    expect(await failure(connectUrl(server.url))).toMatchObject({ code: "FORBIDDEN", data: { status: 403 } });
  });

  it("F37: a thousand calls leave none in flight", async () => {
    const { mcp } = await setUp({ era });
    for (let round = 0; round < 20; round += 1)
      await Promise.all(Array.from({ length: 50 }, () => echo(mcp)));
    expect(mcp.stats()).toMatchObject({ lateAnswers: 0, unknownAnswers: 0 });
    expect(mcp.stats().inFlight).toBeLessThanOrEqual(1);
  });
});

describe("legacy sessions", () => {
  it.each([404, 400] as const)(
    "F25: a session that the server lost (HTTP %i) is opened again once, and the call is repeated",
    async (lostSession) => {
      const { server, mcp } = await setUp({ era: "legacy", lostSession });
      server.forgetSessions();
      expect(await Promise.all([echo(mcp, "a"), echo(mcp, "b"), echo(mcp, "c")])).toEqual(["a", "b", "c"]);
      expect(server.stats.requests.initialize).toBe(2);
      expect(server.stats.calls.echo).toBe(3);
    },
  );

  it("F25: a call fails as SESSION_LOST if the server loses the new session too", async () => {
    const { server, mcp } = await setUp({ era: "legacy" });
    server.setFault({ name: "status", arg: 404, on: "tools/call" });
    expect((await failure(echo(mcp))).code).toBe("SESSION_LOST");
    expect(server.stats.requests.initialize).toBe(2);
  });

  it("end when the connection closes", async () => {
    const { server, mcp } = await setUp({ era: "legacy" });
    expect(server.sessions.size).toBe(1);
    await mcp.close();
    expect(server.requests.at(-1)?.method).toBe("DELETE");
    expect(server.sessions.size).toBe(0);
  });

  it("resume a stream with event ids after its last event, after the requested delay", async () => {
    const { server, mcp } = await setUp({ era: "legacy", answer: "sse" });
    server.setFault({ name: "sse-resume", arg: 100, on: "tools/call" });
    expect(await echo(mcp, "resumed")).toBe("resumed");
    expect(
      server.requests.some(
        ({ method, headers }) => method === "GET" && headers["last-event-id"] !== undefined,
      ),
    ).toBe(true);
    expect(server.stats.calls.echo).toBe(1);
  });

  it("are optional: a server may have no sessions and no notification stream", async () => {
    const { mcp } = await setUp({ era: "legacy", sessions: false, getStream: false });
    expect(await echo(mcp)).toBe("x");
  });
});

describe("modern HTTP", () => {
  it("continues after a restart of the server", async () => {
    const first = await startHttpServer({ era: "modern", ttl: 60_000 });
    const mcp = await connectUrl(first.url, { watch: false });
    await mcp.listTools();
    await first.close();
    await started(startHttpServer({ era: "modern", port: first.port }));
    // The ping replaces the old sockets; a call that is lost on an old socket is not sent again.
    await mcp.ping();
    expect(await echo(mcp, "new")).toBe("new");
  });

  it("mirrors annotated parameters into headers", async () => {
    const { server, mcp } = await setUp({ era: "modern" });
    const input = { region: "Köln", priority: 3, dry_run: true, nested: { tenant: "t 1" }, query: "q" };
    expect(JSON.parse((await mcp.callTool("with_header", input)).text)).toEqual(input);
    expect(server.requests.at(-1)?.headers).toMatchObject({
      "mcp-method": "tools/call",
      "mcp-name": "with_header",
      "mcp-param-region": "=?base64?S8O2bG4=?=",
      "mcp-param-priority": "3",
      "mcp-param-dry-run": "true",
      "mcp-param-tenant": "t 1",
    });
    await mcp.callTool("with_header", { region: "eu" });
    expect(server.requests.at(-1)?.headers).not.toHaveProperty("mcp-param-priority");
  });

  it("lists the tools again if the server requires a missing header, and the call then succeeds", async () => {
    const { server, mcp } = await setUp({ era: "modern" });
    await mcp.callTool("change_tools", { action: "annotate", silent: true });
    expect(await echo(mcp, "annotated")).toBe("annotated");
    expect(server.requests.at(-1)?.headers["mcp-param-text"]).toBe("annotated");
    expect(server.stats.requests["tools/list"]).toBe(2);
  });

  it("drops only the tools whose header annotations are invalid", async () => {
    const { mcp } = await setUp({ era: "modern", faults: ["bad-header-tools"] });
    const names = (await mcp.listTools())
      .map((tool) => tool.name)
      .filter((name) => name.startsWith("header_"));
    expect(names.toSorted()).toEqual(["header_nested_ok", "header_ok"]);
    expect(mcp.diagnostics.filter((one) => one.code === "TOOL_DROPPED")).toHaveLength(14);
  });

  it.each(["graceful", "cancelled", "drop"] as const)(
    "opens its notification stream again after the stream ended (%s)",
    async (how) => {
      const { server, mcp } = await setUp({ era: "modern" });
      await until(() => server.endSubscriptions(how) > 0);
      let heard = 0;
      mcp.on("toolsChanged", () => {
        heard += 1;
      });
      await until(async () => {
        server.emit("notifications/tools/list_changed");
        await mcp.ping();
        return heard > 0;
      });
    },
  );

  it("keeps a tool list for the ttl of the server", async () => {
    const server = await started(startHttpServer({ era: "modern", ttl: 0 }));
    const mcp = await connectUrl(server.url, { watch: false });
    await mcp.listTools();
    await mcp.listTools();
    expect(server.stats.requests["tools/list"]).toBe(2);
    // A call with an expired tool definition needs no new list.
    await echo(mcp);
    await echo(mcp);
    expect(server.stats.requests["tools/list"]).toBe(2);
  });

  it("ends a call after too many input rounds", async () => {
    const server = await started(startHttpServer({ era: "modern" }));
    const handlers = { elicit: () => ({ action: "accept", content: { name: "n" } }) as const };
    const mcp = await connectUrl(server.url, { handlers, limits: { maxInputRounds: 3 } });
    expect((await failure(mcp.callTool("ask_form", { variant: "endless" }))).code).toBe("TOO_MANY_ROUNDS");
    expect((await mcp.callTool("ask_form", { variant: "state-only" })).isError).not.toBe(true);
    expect((await mcp.callTool("ask_form", { variant: "no-state" })).isError).not.toBe(true);
    expect(server.stats.violations).toEqual([]);
  });
});

describe("HTTP+SSE", () => {
  it.each([404, 405] as const)("is used after the server refuses a POST with %i", async (postStatus) => {
    const server = await started(startSseServer({ postStatus }));
    expect((await connectUrl(server.url)).server.transport).toBe("sse");
  });

  it("does not send messages, and credentials with them, to another origin", async () => {
    const server = await started(startSseServer({ faults: ["endpoint-cross-origin"] }));
    const trap = await server.openTrap();
    const error = await failure(connectUrl(server.url, { headers: { Authorization: "Bearer s3cret" } }));
    expect(JSON.stringify(error)).not.toContain("s3cret");
    expect(trap.requests).toEqual([]);
  });

  it("connects again after its stream is lost, and fails the calls in flight as CONNECTION_LOST", async () => {
    const server = await started(startSseServer({}));
    const mcp = await connectUrl(server.url);
    await mcp.listTools();
    const hanging = failure(mcp.callTool("hang"));
    await until(() => server.stats.calls.hang === 1);
    server.dropStreams();
    expect((await hanging).code).toBe("CONNECTION_LOST");
    expect(await echo(mcp, "again")).toBe("again");
  });
});

describe("WebSocket", () => {
  it("uses the legacy handshake if a server closes the connection on the era probe", async () => {
    const server = await started(startWsServer({ era: "legacy", faults: ["close-on-probe"] }));
    expect((await connectUrl(server.url)).server.era).toBe("legacy");
  });

  it.each([
    ["close-mid-call", "CONNECTION_LOST"],
    ["reset-mid-call", "CONNECTION_LOST"],
    ["oversize:5000000", "MESSAGE_TOO_LARGE"],
  ])("%s fails the call as %s, and the connection is opened again", async (fault, code) => {
    const server = await started(startWsServer({ era: "modern", ttl: 60_000 }));
    const mcp = await connectUrl(server.url, { limits: { maxMessageBytes: 1_000_000 } });
    await mcp.listTools();
    server.setFault(fault);
    expect((await failure(echo(mcp))).code).toBe(code);
    server.clearFaults();
    expect(await echo(mcp, "back")).toBe("back");
  });

  it("ignores frames that are not messages", async () => {
    const server = await started(startWsServer({ era: "modern", ttl: 60_000 }));
    const mcp = await connectUrl(server.url);
    server.setFault("garbage-frame");
    expect(await echo(mcp)).toBe("x");
    expect(mcp.stats().noise).toBeGreaterThan(0);
  });
});

it("the error of a URL without a server has the reason ECONNREFUSED", async () => {
  const error = await failure(connectUrl("http://127.0.0.1:1/mcp"));
  expect(error).toMatchObject({ code: "SERVER_START_FAILED", data: { reason: "ECONNREFUSED" } });
});
