import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { ServerConfig, ToolDefinition } from "../../model/index.ts";
import { createTokenCounter, type TokenCounter } from "./counter.ts";
import { createReport, type OfferedTool } from "./report.ts";

let counter: TokenCounter;
beforeAll(async () => {
  counter = await createTokenCounter();
});

const tool = (server: string, own: string, more: Partial<ToolDefinition> = {}): OfferedTool => ({
  server,
  own,
  definition: {
    name: `mcp_${server}_${own}`,
    description: `Does ${own}.`,
    inputSchema: { type: "object", properties: {} },
    ...more,
  },
});

describe("the token counter", () => {
  test("counts like the tokenizer tiktoken", () => {
    // The tokens of the reference implementation, tiktoken.
    expect(counter.text("hello world")).toBe(2);
    expect(counter.text("お誕生日おめでとう")).toBe(8);
    expect(counter.text("")).toBe(0);
  });

  test("counts names of special tokens as text", () => {
    expect(counter.text("<|endoftext|>")).toBeGreaterThan(1);
  });

  test("counts long texts in parts, with the same sum at spaces", () => {
    const sentence = "The quick brown fox jumps over the lazy dog.";
    const long = Array.from({ length: 200 }, () => sentence).join(" ");
    expect(counter.text(long)).toBe(counter.text(sentence) * 200);
    // Without parts, the time would grow with the square of the length.
    expect(counter.text("a".repeat(50_000))).toBe(6_250);
  });

  test("separates the parts that clients pass to the model", () => {
    const { definition } = tool("one", "a", { title: "A title", annotations: { readOnlyHint: true } });
    const { tokens, rest, description } = counter.definition(definition);
    const { name, description: text, inputSchema } = definition;
    expect(tokens).toBe(counter.text(JSON.stringify({ name, description: text, inputSchema })));
    expect(rest).toBe(counter.text('{"title":"A title","annotations":{"readOnlyHint":true}}'));
    expect(description).toBe(counter.text("Does a."));
  });
});

describe("the token report", () => {
  test("lists servers and tools, the largest first, with their shares", () => {
    const large = tool("two", "b", { description: "word ".repeat(100) });
    const report = createReport([tool("one", "a"), large], counter);
    expect(report.encoding).toBe("o200k_base");
    expect(report.servers.map(({ server }) => server)).toEqual(["two", "one"]);
    expect(report.tools.map(({ name }) => name)).toEqual(["mcp_two_b", "mcp_one_a"]);
    expect(report.servers.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
    expect(report.tokens).toBe(report.tools.reduce((sum, { tokens }) => sum + tokens, 0));
    expect(report.savings).toEqual([]);
  });

  test("names tools without a call in the audit log, with YAML that disables them", () => {
    const offered = [tool("one", "a"), tool("one", "b"), tool("t.w", "c")];
    const called = { names: new Set(["one.a"]), calls: 25, since: "2026-03-01T10:00:00Z" };
    const { savings } = createReport(offered, counter, called);
    expect(savings.map(({ message }) => message).toSorted()).toEqual([
      "1 tool of one was not called in 25 calls since 2026-03-01: one.b",
      "1 tool of t.w was not called in 25 calls since 2026-03-01: t.w.c",
    ]);
    expect(savings.map(({ yaml }) => parse(yaml ?? "") as unknown)).toEqual(
      expect.arrayContaining([
        { servers: { one: { tool_blocklist: ["b"] } } },
        { servers: { "t.w": { enabled: false } } },
      ]),
    );
    expect(createReport(offered, counter, { ...called, calls: 3 }).savings).toEqual([]);
  });

  test("names equal tools of two servers in one finding", () => {
    const offered = [tool("one", "a"), tool("two", "a"), tool("two", "own")];
    const [saving, ...more] = createReport(offered, counter).savings;
    expect(more).toEqual([]);
    expect(saving).toMatchObject({
      kind: "duplicate",
      message: "one.a, two.a have the same name, description and input schema",
    });
    expect(parse(saving?.yaml ?? "")).toEqual({ servers: { two: { tool_blocklist: ["a"] } } });
  });

  test("names two configs of one server as one finding, with YAML that disables the second", () => {
    const both = ["one", "two"].flatMap((server) => [tool(server, "a"), tool(server, "b")]);
    const { savings } = createReport([...both, tool("three", "a")], counter);
    expect(savings.map(({ message }) => message).toSorted()).toEqual([
      "one.a, two.a, three.a have the same name, description and input schema",
      "one.b, two.b have the same name, description and input schema",
    ]);
    const [saving, ...more] = createReport(both, counter).savings;
    expect([saving?.message, more]).toEqual([
      "2 tools of one and two have the same name, description and input schema: a, b",
      [],
    ]);
    expect(parse(saving?.yaml ?? "")).toEqual({ servers: { two: { enabled: false } } });
  });

  test("suggests nothing for servers of one program that differ in their arguments", () => {
    const both = ["one", "two"].flatMap((server) => [tool(server, "a"), tool(server, "b")]);
    const config = (alias: string, folder: string): ServerConfig =>
      ({
        alias,
        endpoint: { transport: "stdio", command: "files", args: [folder] },
        origin: { format: "workspace" },
      }) as unknown as ServerConfig;
    const savingOf = (...folders: string[]) =>
      createReport(
        both,
        counter,
        undefined,
        folders.map((folder, index) => config(["one", "two"][index] ?? "", folder)),
      ).savings[0];
    expect(savingOf("/a", "/b")).toEqual({
      kind: "duplicate",
      tokens: expect.any(Number) as number,
      message:
        "2 tools of one and two have the same name, description and input schema: a, b; the servers differ in their arguments or variables, so you may need all of them",
      yaml: undefined,
    });
    expect(savingOf("/a", "/a")?.yaml).toContain("enabled: false");
  });

  test("names prefixes and long descriptions", () => {
    const prefixed = tool("one", "a", { description: "[MCP: one] Does a." });
    const long = tool("one", "b", { description: "word ".repeat(400) });
    const { savings } = createReport([prefixed, long], counter);
    expect(savings).toMatchObject([
      { kind: "description", tokens: expect.any(Number) as number },
      { kind: "prefix", yaml: "description_prefix: false", tokens: counter.text("[MCP: one] ") },
    ]);
    expect(savings[0]?.yaml).toBeUndefined();
  });
});
