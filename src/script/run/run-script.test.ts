// Runs of scripts against servers in this process: values, arguments, errors, budgets, and that values are never parsed.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import type { CallToolResult, JsonObject } from "../../model/index.ts";
import { Secret } from "../../secrets/index.ts";
import { parseScript } from "../script.ts";
import type { OpenServerOptions, ScriptServers } from "../servers/script-servers.ts";
import { runScript } from "./run-script.ts";

const tool = (name: string, properties: JsonObject = {}, required: string[] = []) => ({
  name,
  inputSchema: { type: "object" as const, properties, required },
});
const TOOLS = [
  tool("give"),
  tool("create_issue", { body: {}, repo: {}, title: {} }, ["repo", "title"]),
  tool("hang"),
];

interface Setup {
  readonly result?: CallToolResult;
  readonly variables?: Record<string, unknown>;
  readonly secrets?: Record<string, string>;
  readonly signal?: AbortSignal;
}

async function run(text: string, { result, variables = {}, secrets = {}, signal }: Setup = {}) {
  const calls: { name: string; input: JsonObject }[] = [];
  const opened: OpenServerOptions[] = [];
  let closed = 0;
  const open: ScriptServers["open"] = async (_name, options) => {
    opened.push(options);
    const close = async (): Promise<void> => void (closed += 1);
    return {
      listTools: async () => TOOLS,
      callTool: async (name, input, request) => {
        calls.push({ name, input });
        if (name === "hang")
          await new Promise((_, reject) =>
            request.signal?.addEventListener("abort", () => reject(request.signal?.reason as Error)),
          );
        return result ?? { content: [{ type: "text", text: JSON.stringify(input) }] };
      },
      readResource: async (uri) => ({ contents: [{ uri, text: `{"uri":${JSON.stringify(uri)}}` }] }),
      close,
      [Symbol.asyncDispose]: close,
    };
  };
  const find = (): ReturnType<ScriptServers["find"]> => ({ label: "x", takesSettings: true });
  const servers: ScriptServers = { find, open, findTarget: find, openTarget: open };
  const source = text.startsWith("@import") ? text : `@import mcp x from @a/b\n${text}`;
  const { script, diagnostics } = parseScript(source, { file: "x.mld", variables: Object.keys(variables) });
  if (script === undefined) throw new Error(JSON.stringify(diagnostics));
  const ran = await runScript(script, {
    servers,
    secrets: new Map(
      Object.entries(secrets).map(([name, value]) => [
        name,
        { name, secret: new Secret(value), isStored: false },
      ]),
    ),
    variables: new Map(Object.entries(variables)),
    signal: signal ?? new AbortController().signal,
  });
  return { ...ran, calls, opened, closed };
}

test("all calls of a script use one process of a server, which is closed at the end", async () => {
  const { outputs, variables, opened, closed, error } = await run(
    "@mcp a = x.create_issue({ repo: 'r', title: \"t\", labels: ['p', 'q',], })\n@mcp b = x.resource(\"u://{{a.labels[1]}}\")\n{{a.title}} {{ @a.labels[0] }} {{b.uri}}\n\n{{a[\"repo\"]}}",
  );
  expect(error).toBeUndefined();
  expect(outputs).toEqual(["t p u://q\n\nr"]);
  expect(variables).toMatchObject({ b: { uri: "u://q" } });
  expect([opened.length, closed]).toEqual([1, 1]);
});

test("a server that is not used is not started", async () => {
  expect((await run("Text.")).opened).toEqual([]);
});

describe("arguments", () => {
  test.each<[string, JsonObject]>([
    ["x.createIssue({ repo: null, title: true, n: -1.5e2 })", { repo: null, title: true, n: -150 }],
    ["x['create-issue']('r', 't')", { repo: "r", title: "t" }],
    ["x.create_issue('r', 't', [[\nl1\nl2\n]])", { repo: "r", title: "t", body: "l1\nl2" }],
    ["x.create_issue(d)", { repo: "r", list: [{ a: 1 }] }],
    ["x.create_issue()", {}],
  ])("are passed on by the call %s", async (call, input) => {
    const { calls, error } = await run(`@data d = { "repo": "r", list: [{ a: 1 }] } # c\n@mcp r = ${call}`);
    expect(error).toBeUndefined();
    expect(calls).toEqual([{ name: "create_issue", input }]);
  });
});

describe("the value of a result", () => {
  const text = (value: string): CallToolResult => ({ content: [{ type: "text", text: value }] });
  const image = { type: "image", data: "AA==", mimeType: "image/png" } as const;
  test.each<[string, CallToolResult, unknown]>([
    ["structured content", { ...text("{}"), structuredContent: { a: 1 } }, { a: 1 }],
    ["JSON", text(' {"a":[1]}'), { a: [1] }],
    ["text that only looks like JSON", text("{a"), "{a"],
    ["a number stays text", text("007"), "007"],
    [
      "several texts",
      {
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      "a\nb",
    ],
    ["bytes", { content: [image] }, [image]],
  ])("%s", async (_, result, value) => {
    expect((await run("@mcp a = x.give()", { result })).variables).toEqual({ a: value });
  });
});

test("results are data: templates and statements in them are not executed", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("{{b}}", "@mcp z = x.give()", "\\{{", "]]", '"', "$&", "${HOME}"),
      fc.string(),
      async (part, more) => {
        const value = `${more}${part}${more}`;
        const result = { structuredContent: { v: value }, content: [] };
        const { outputs, calls } = await run(
          '@text b = "secret"\n@mcp a = x.give()\n@text c = "<{{a.v}}>"\n{{c}}',
          { result },
        );
        expect(outputs).toEqual([`<${value}>`]);
        expect(calls).toHaveLength(1);
      },
    ),
    { numRuns: 50 },
  );
});

test("properties of the prototype, such as constructor, are not fields", async () => {
  const { error } = await run("@data a = { b: 1 }\n{{a.constructor}}");
  expect(error).toMatchObject({ code: "INPUT_INVALID", data: { line: 3, column: 1 } });
  const { calls } = await run('@mcp r = x.give({ "__proto__": 1 })');
  expect(Object.getOwnPropertyNames(calls[0]?.input)).toEqual(["__proto__"]);
});

describe("an error has a position in the script, and the server is closed", () => {
  test.each<[string, string, number, number]>([
    ["@mcp a = x.give({})\n{{a.b}}", "INPUT_INVALID", 3, 1],
    ["@mcp a = x.giv()", "TOOL_NOT_FOUND", 2, 12],
    ["@data l = [1]\n@mcp a = x.create_issue(\n  l[1])", "INPUT_INVALID", 4, 3],
    ["@mcp a = x.create_issue(1, 2, 3, 4)", "INPUT_INVALID", 2, 10],
  ])("%j", async (text, code, line, column) => {
    const { error, opened, closed } = await run(text);
    expect(error).toMatchObject({ code, data: { file: "x.mld", line, column } });
    expect(closed).toBe(opened.length);
  });

  test("a tool that fails", async () => {
    const result = { isError: true, content: [{ type: "text" as const, text: "no rights" }] };
    const { error, outputs } = await run("Before.\nshow @x.give()\nAfter.", { result });
    expect(error).toMatchObject({
      code: "TOOL_FAILED",
      message: "x.give failed: no rights",
      data: { line: 3, column: 6 },
    });
    expect(outputs).toEqual(["Before."]);
  });

  test("an interrupt", async () => {
    const controller = new AbortController();
    const running = run("@mcp a = x.hang()", { signal: controller.signal });
    setImmediate(() => controller.abort(new PortolanError("CANCELLED", "stop")));
    expect(await running).toMatchObject({ error: { code: "CANCELLED" }, closed: 1 });
  });
});

test("secrets reach the server only, and are redacted in results and errors", async () => {
  const config = '@mcp:config x { apiToken: "Bearer {{TOKEN}}", url: "{{host}}/v1", retries: 3 }';
  const setup = { secrets: { TOKEN: "s3cr3t-value" }, variables: { host: "h" } };
  const echo = { content: [{ type: "text" as const, text: "your token is s3cr3t-value" }] };
  const { outputs, opened, variables } = await run(`${config}\nshow @x.give()`, { ...setup, result: echo });
  expect(opened[0]?.env).toMatchObject({
    API_TOKEN: ["Bearer ", { name: "TOKEN" }],
    URL: ["h", "/v1"],
    RETRIES: ["3"],
  });
  expect(outputs).toEqual(["your token is [redacted]"]);
  expect(JSON.stringify(variables)).not.toContain("s3cr3t");
  const { error } = await run(`${config}\nshow @x.give()`, { ...setup, result: { ...echo, isError: true } });
  expect(error?.message).toBe("x.give failed: your token is [redacted]");
});

test("a variable of the caller replaces a definition of the script", async () => {
  expect(
    (await run('@text a = "1"\n@data b = 2\n{{a}} {{b.c}}', { variables: { a: "x", b: { c: 3 } } })).outputs,
  ).toEqual(["x 3"]);
});

describe("a script that grows without end is stopped", () => {
  const doubled = (define: (i: number) => string): string =>
    ["@data v0 = ['0123456789']", ...Array.from({ length: 60 }, (_, i) => define(i))].join("\n");
  test.each([
    ["text", doubled((i) => `@text v${i + 1} = "{{v${i}}}{{v${i}}}"`)],
    ["lists", doubled((i) => `@data v${i + 1} = [v${i}, v${i}]`)],
    [
      "depth",
      ["@data v0 = 1", ...Array.from({ length: 300 }, (_, i) => `@data v${i + 1} = { a: v${i} }`)].join("\n"),
    ],
  ])("%s", async (_, text) => {
    expect((await run(text)).error).toMatchObject({ code: "MESSAGE_TOO_LARGE" });
  });
});
