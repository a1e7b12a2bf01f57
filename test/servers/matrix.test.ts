// Every transport in every protocol era: the operations of a program with a healthy server.

import { describe, expect, it } from "vitest";
import type { ElicitRequest } from "../../src/index.ts";
import { connectFixture, failure, MATRIX, nextEvent, serverStats, until } from "../helpers/connect.ts";

describe.each(MATRIX)("%s, %s server", (way, era) => {
  it("has the name, era, revision and capabilities of the server", async () => {
    const mcp = await connectFixture(way, era);
    expect(mcp.server).toMatchObject({
      name: "fixture",
      era,
      revision: era === "modern" ? "2026-07-28" : "2025-11-25",
      transport: way.replace(/ .*/, ""),
      info: { name: "fixture", version: "1.0.0" },
    });
    expect(mcp.server.capabilities.tools).toBeDefined();
    expect((await serverStats(mcp)).violations).toEqual([]);
  });

  it("lists and calls tools", async () => {
    const mcp = await connectFixture(way, era);
    const tools = await mcp.listTools({ prefix: "fx" });
    const echo = tools.find((tool) => tool.name === "fx_echo");
    expect(await echo?.execute({ text: "Grüße 👋" })).toBe("Grüße 👋");
    expect(echo?.schema.safeParse({ text: "x" }).success).toBe(true);
    expect(echo?.schema.safeParse({ text: 1 }).success).toBe(false);
    const sum = await mcp.callTool("add", { a: 2, b: 40 });
    expect(sum.structuredContent).toEqual({ sum: 42 });
    expect(
      await Promise.all(Array.from({ length: 50 }, (_, n) => mcp.callTool("echo", { text: `call ${n}` }))),
    ).toHaveLength(50);
  });

  it("keeps all fields of a result, also unknown ones", async () => {
    const mcp = await connectFixture(way, era);
    const result = await mcp.callTool("rich");
    expect(result.content?.map((block) => block.type)).toEqual([
      "text",
      "image",
      "audio",
      "resource_link",
      "resource",
      "future_thing",
    ]);
    expect(result.content?.[5]).toEqual({ type: "future_thing", payload: { nested: [1, 2, 3] } });
    expect(result).toMatchObject({ "x-vendor": { kept: true } });
    expect(result.text).toContain("[image: image/png");
    expect(JSON.parse(JSON.stringify(result))).not.toHaveProperty("text");
  });

  it("reports failures with code, server and tool", async () => {
    const mcp = await connectFixture(way, era);
    const tools = await mcp.listTools();
    const failed = await failure(
      tools.find((tool) => tool.name === "fail")?.execute({ message: "no luck" }) as Promise<string>,
    );
    expect(failed).toMatchObject({
      code: "TOOL_FAILED",
      message: "no luck",
      server: "fixture",
      tool: "fail",
    });
    expect((await mcp.callTool("fail", { message: "no luck" })).isError).toBe(true);
    const wrong = await failure(mcp.callTool("add", { a: "two", c: 1 }));
    expect(wrong).toMatchObject({ code: "INPUT_INVALID", tool: "add" });
    expect(wrong.message).toMatch(/a must be a number/);
    expect(wrong.message).toMatch(/b is required/);
    expect(await failure(mcp.callTool("ecko"))).toMatchObject({
      code: "TOOL_NOT_FOUND",
      tool: "ecko",
      hint: 'Did you mean "echo"?',
    });
  });

  it("reads resources and templates, gets and completes prompts", async () => {
    const mcp = await connectFixture(way, era);
    expect((await mcp.listResources()).map((resource) => resource.uri)).toContain("test://static-text");
    expect((await mcp.listResourceTemplates()).map((template) => template.uriTemplate)).toContain(
      "test://template/{id}/data",
    );
    expect((await mcp.readResource("test://static-text")).contents[0]?.text).toEqual(expect.any(String));
    expect((await mcp.readResource("test://template/7/data")).contents[0]?.uri).toBe(
      "test://template/7/data",
    );
    // A template matches this URI, so only the server can report the error.
    expect(await failure(mcp.readResource("test://template/7"))).toMatchObject({ code: "RPC_ERROR" });
    expect(await failure(mcp.readResource("test://static-texts"))).toMatchObject({
      ...{ code: "RESOURCE_NOT_FOUND", server: "fixture", data: { uri: "test://static-texts" } },
      message: 'fixture has no resource "test://static-texts".',
      hint: 'Did you mean "test://static-text"?',
    });
    const unknown = await failure(mcp.getPrompt("simpel"));
    expect(unknown).toMatchObject({
      ...{ code: "PROMPT_NOT_FOUND", server: "fixture", hint: 'Did you mean "simple"?' },
      cause: { code: "RPC_ERROR" },
    });
    expect((await mcp.listPrompts()).map((prompt) => prompt.name)).toEqual(
      expect.arrayContaining(["simple", "with_args"]),
    );
    expect(JSON.stringify((await mcp.getPrompt("with_args", { city: "Lisbon" })).messages)).toContain(
      "Lisbon",
    );
    expect(
      (await mcp.complete({ prompt: "with_args" }, { name: "city", value: "" })).values.length,
    ).toBeGreaterThan(0);
  });

  it("passes progress notifications on, and cancels calls at the server too", async () => {
    const mcp = await connectFixture(way, era);
    const seen: number[] = [];
    await mcp.callTool("slow", { ms: 800, every: 30 }, { onProgress: ({ progress }) => seen.push(progress) });
    expect(seen.length).toBeGreaterThan(1);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));

    const controller = new AbortController();
    const call = failure(
      mcp.callTool(
        "slow",
        { ms: 60_000, every: 10 },
        { signal: controller.signal, onProgress: () => controller.abort("enough") },
      ),
    );
    expect(await call).toMatchObject({ code: "CANCELLED", tool: "slow" });
    await until(async () => (await serverStats(mcp)).cancelled.length > 0);
  });

  it("keeps a long call alive as long as progress arrives, up to maxTimeoutMs", async () => {
    const mcp = await connectFixture(way, era);
    expect((await mcp.callTool("slow", { ms: 1_500, every: 40 }, { timeoutMs: 1_000 })).text).toBe(
      "done after 1500 ms",
    );
    expect(
      await failure(
        mcp.callTool("slow", { ms: 60_000, every: 20 }, { timeoutMs: 1_000, maxTimeoutMs: 1_300 }),
      ),
    ).toMatchObject({
      code: "TIMEOUT",
      data: { hard: true },
    });
  });

  it("caches the tool list, and lists again only after a list_changed notification", async () => {
    const mcp = await connectFixture(way, era);
    const before = await mcp.listTools();
    await mcp.listTools();
    expect((await serverStats(mcp)).requests["tools/list"]).toBe(1);
    const changed = nextEvent(mcp, "toolsChanged");
    await until(async () => {
      // Over HTTP, the notification stream opens later; notifications before that are lost.
      await mcp.callTool("change_tools");
      return Promise.race([
        changed.then(() => true),
        new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 200)),
      ]);
    });
    expect((await mcp.listTools()).length).toBeGreaterThan(before.length);
  });

  it("gets updates of a resource from subscribe to unsubscribe", async () => {
    const mcp = await connectFixture(way, era);
    const updates: string[] = [];
    mcp.on("resourceUpdated", (uri) => updates.push(uri));
    const unsubscribe = await mcp.subscribe("test://static-text");
    await until(async () => {
      await mcp.callTool("touch_resource", { uri: "test://static-text" });
      return updates.length > 0;
    });
    expect(updates[0]).toBe("test://static-text");
    await unsubscribe();
    await mcp.ping();
    const heard = updates.length;
    await mcp.callTool("touch_resource", { uri: "test://static-text" });
    await mcp.ping();
    expect(updates.length).toBe(heard);
  });

  it("passes log messages from the requested level on", async () => {
    const mcp = await connectFixture(way, era, { logLevel: "warning" });
    const messages: unknown[] = [];
    mcp.on("log", (message) => messages.push(message.data));
    await until(
      async () => (await mcp.callTool("log", { level: "error", message: "bad" })).text === "emitted",
    );
    expect((await mcp.callTool("log", { level: "debug", message: "small" })).text).toBe("suppressed");
    await until(() => messages.length > 0);
    expect(JSON.stringify(messages)).toContain("bad");
    expect(JSON.stringify(messages)).not.toContain("small");
    await mcp.setLogLevel("debug");
    expect((await mcp.callTool("log", { level: "debug", message: "small" })).text).toBe("emitted");
  });

  it("answers all server requests with the same handlers", async () => {
    const asked: ElicitRequest[] = [];
    const mcp = await connectFixture(way, era, {
      handlers: {
        elicit: (request) => {
          asked.push(request);
          const [field] =
            request.mode === "form" ? Object.keys(request.requestedSchema["properties"] ?? {}) : [];
          return {
            action: "accept",
            ...(field === undefined ? {} : { content: { [field]: `my ${field}` } }),
          };
        },
        sample: (request) => ({
          role: "assistant",
          model: "m",
          content: { type: "text", text: `max ${String(request.maxTokens)}` },
        }),
        roots: () => [{ uri: "file:///w", name: "w" }],
      },
    });
    expect(JSON.parse((await mcp.callTool("ask_form")).text)).toMatchObject({
      action: "accept",
      content: { name: "my name" },
    });
    expect(JSON.parse((await mcp.callTool("ask_url")).text)).toMatchObject({ action: "accept" });
    expect(asked.map((request) => request.mode)).toEqual(["form", "url"]);
    expect(JSON.parse((await mcp.callTool("ask_sample")).text)).toMatchObject({
      content: { text: "max 100" },
    });
    expect(JSON.parse((await mcp.callTool("ask_roots")).text)).toMatchObject({
      roots: [{ uri: "file:///w" }],
    });
    expect(JSON.parse((await mcp.callTool("ask_twice")).text)).toMatchObject({
      first: { content: { first: "my first" } },
      left: { content: { left: "my left" } },
      right: { content: { right: "my right" } },
    });
    expect((await serverStats(mcp)).violations).toEqual([]);
  });

  it("declines server requests without a handler, and the connection continues", async () => {
    const mcp = await connectFixture(way, era);
    if (era === "legacy") {
      expect((await mcp.callTool("ask_sample")).isError).toBe(true);
      expect(mcp.stats().inFlight).toBe(0);
    } else {
      expect(await failure(mcp.callTool("ask_form"))).toMatchObject({
        code: "CAPABILITY_MISSING",
        tool: "ask_form",
      });
    }
    expect((await mcp.callTool("echo", { text: "still there" })).text).toBe("still there");
  });

  it("rejects all calls after close(), which may be called twice", async () => {
    const mcp = await connectFixture(way, era);
    const [tool] = await mcp.listTools();
    const hanging = failure(mcp.callTool("hang"));
    await mcp.close();
    await mcp.close();
    expect((await hanging).code).toBe("CONNECTION_CLOSED");
    const closed = {
      code: "CONNECTION_CLOSED",
      hint: "The program has closed this connection; connect again.",
    };
    for (const list of [
      mcp.listTools({ refresh: true }),
      mcp.listTools(),
      mcp.listPrompts(),
      mcp.listResources(),
      mcp.listResourceTemplates(),
    ])
      expect(await failure(list)).toMatchObject(closed);
    expect((await failure(tool?.execute({ text: "x" }) as Promise<string>)).code).toBe("CONNECTION_CLOSED");
  });
});
