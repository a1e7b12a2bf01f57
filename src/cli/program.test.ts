// Whole command lines, with a fake connection and a fake terminal.

import { EventEmitter } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { McpConfig, McpConnection, RequestOptions } from "../client/index.ts";
import { PortolanError } from "../errors/index.ts";
import type { CallToolResult, JsonObject, PromptDefinition, ToolDefinition } from "../model/index.ts";
import type { CliIo } from "./context.ts";
import { COMMANDS, run } from "./program.ts";

const URL_TARGET = "https://mcp.example.com/mcp?key=s3cret";
let cwd: string;

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), "portolan-cli-"));
  writeFileSync(join(cwd, "text.txt"), "from a file");
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const tools: ToolDefinition[] = [
  {
    name: "echo",
    description: "Echoes.\n\nAt length.",
    inputSchema: {
      type: "object",
      properties: { message: { type: "string" }, times: { type: "integer" } },
      required: ["message"],
    },
  },
  {
    name: "evil\u001b[2J",
    description: "\u001b]0;x\u0007hi",
    inputSchema: { type: "object", properties: { "a\u202e": {} } },
  },
];
const prompts: PromptDefinition[] = [
  { name: "greet", description: "Greets.", arguments: [{ name: "who", required: true }, { name: "how" }] },
];

interface Fake {
  configs: McpConfig[];
  calls: [string, object][];
  closed: number;
  result: CallToolResult;
  call?: (name: string, input: object, options: RequestOptions, config: McpConfig) => Promise<CallToolResult>;
  connectError?: Error;
  resourcesError?: Error;
}
let fake: Fake;

beforeEach(() => {
  fake = {
    configs: [],
    calls: [],
    closed: 0,
    result: { content: [{ type: "text", text: "ok" }], _meta: { kept: true } },
  };
});

async function connect(config: McpConfig): Promise<McpConnection> {
  fake.configs.push(config);
  if (fake.connectError !== undefined) throw fake.connectError;
  const connection: Partial<McpConnection> = {
    server: {
      name: "srv",
      info: { name: "demo", version: "1.2", title: "Demo" },
      era: "modern",
      revision: "2026-07-28",
      transport: "http",
      capabilities: {},
      instructions: "Be kind.\u001b[2J",
    },
    diagnostics: [],
    listToolDefinitions: async () => tools,
    listResources: async () => {
      if (fake.resourcesError !== undefined) throw fake.resourcesError;
      return [{ uri: "demo://a", name: "a", mimeType: "text/plain" }];
    },
    listResourceTemplates: async () => [{ uriTemplate: "demo://{x}", name: "x" }],
    listPrompts: async () => prompts,
    callTool: async (name, input = {}, options = {}) => {
      fake.calls.push([name, input]);
      const result = fake.call === undefined ? fake.result : await fake.call(name, input, options, config);
      return Object.defineProperty(result, "text", { value: "", enumerable: false }) as never;
    },
    readResource: async (uri) => ({ contents: [{ uri, text: "body\u001b[31m" }] }),
    getPrompt: async (_, args) => ({
      messages: [{ role: "user", content: { type: "text", text: JSON.stringify(args) } }],
    }),
    on: () => () => {},
    close: async () => void (fake.closed += 1),
  };
  return connection as McpConnection;
}

interface Ran {
  code: number;
  out: string;
  err: string;
}
const signals = Object.assign(new EventEmitter(), { exit: vi.fn() });

async function portolan(
  argv: string[],
  { tty = false, stdin = "", columns = 100 }: { tty?: boolean; stdin?: string; columns?: number } = {},
): Promise<Ran> {
  let out = "";
  let err = "";
  const io: CliIo = {
    stdin: {
      isTTY: tty,
      async *[Symbol.asyncIterator]() {
        yield stdin;
      },
    },
    stdout: { isTTY: tty, columns, write: (text) => ((out += text), true) },
    stderr: { isTTY: tty, columns, write: (text) => ((err += text), true) },
    env: { NO_COLOR: "1", PATH: process.env["PATH"], TOKEN: "t0k3n" },
    cwd,
    platform: process.platform,
    version: "9.9.9",
    signals,
    connect,
    openWorkspace: async () => {
      throw new Error("no workspace here");
    },
    findGateways: async () => ({ gateways: [], ended: [], problems: [] }),
    findAllGateways: async () => [],
    openRunning: async () => {
      throw new Error("no gateway runs here");
    },
    loadCatalog: async (folder) => ({
      folder,
      usedPaths: { folder, isWhole: true, paths: [] },
      servers: [],
      settings: { defaults: {} },
      files: [],
      diagnostics: [],
    }),
    importClients: async () => [],
    beginServing: () => {},
    hasTerminal: () => false,
    createPrompter: async () => ({
      say: () => {},
      text: async () => "x",
      password: async () => "x",
      select: async ({ options }) => options[0]?.value,
      multiselect: async () => [],
    }),
    openBrowser: async () => false,
  };
  const code = await run(argv, io);
  expect(signals.eventNames()).toEqual([]);
  return { code, out, err };
}

const error = (ran: Ran): JsonObject =>
  (JSON.parse(ran.err.trimEnd().split("\n").at(-1) ?? "") as { error: JsonObject }).error;

describe("the program", () => {
  test("prints help and version", async () => {
    const help = await portolan(["--help"]);
    expect(help.code).toBe(0);
    expect(help.out).toMatch(/First use:\n {2}add, remove +[^]*Machine:\n/);
    expect(help.out).toContain(
      "If stdout is not a terminal, most commands print JSON; --text prints text there.\n",
    );
    for (const command of ["list", "call", "read", "prompt"]) {
      const { code, out } = await portolan([command, "--help"]);
      expect(code).toBe(0);
      expect(out).toMatch(/Examples:[^]*Exit codes:/);
    }
    expect(await portolan(["--version"])).toEqual({ code: 0, out: "9.9.9\n", err: "" });
    expect((await portolan(["help", "call"])).code).toBe(0);
  });

  test("the help of every command shows an example before its options, and fits 60 columns", async () => {
    const own = [...COMMANDS.flatMap(([names]) => names.split(" ")).filter(Boolean), "completion"];
    const lines = ["secrets set", "secrets list", "secrets rm", "secrets check", "convert openapi"];
    for (const line of ["", ...own, ...lines, "convert mcpfile", "init mcpfile", "drivers accept"]) {
      const words = line.split(" ").filter((word) => word !== "");
      const { out } = await portolan([...words, "--help"], { columns: 60 });
      expect(out, line).toMatch(/\n\nExamples:\n[^]+\n\nOptions:\n/);
      const [before = "", after = ""] = out.split(/^Examples:[^]*?\n\n/m);
      const wide = `${before}\n${after}`.split("\n").filter((text) => text.length > 60);
      expect(
        wide.filter((text) => !/^(?:Usage:| {7})/.test(text)),
        line,
      ).toEqual([]);
    }
  });

  test("the help names every command once, in groups that fit a terminal of 80 columns", async () => {
    const { out } = await portolan(["--help"], { columns: 80 });
    const groups = out.slice(out.indexOf("First use:")).split("\n");
    const named = groups.flatMap((line) => /^ {2}([a-z, ]+?) {2,}\S/.exec(line)?.[1]?.split(", ") ?? []);
    const own = [...COMMANDS.flatMap(([names]) => names.split(" ")).filter(Boolean), "completion"];
    expect(named.toSorted()).toEqual(own.toSorted());
    expect(groups.filter((line) => /^ {3,}/.test(line))).toEqual([]);
    expect(out.split("\n").length).toBeLessThanOrEqual(65);
  });

  test("shows the usage without a command, and suggests similar commands and options", async () => {
    const nothing = await portolan([]);
    expect(nothing).toMatchObject({ code: 2, out: "" });
    expect(nothing.err).toContain("Usage:");
    const unknown = await portolan(["lst"]);
    expect(unknown.code).toBe(2);
    expect(error(unknown)).toMatchObject({ code: "USAGE", hint: "Did you mean list?" });
    expect(error(await portolan(["stat"]))).toMatchObject({ code: "USAGE", hint: "Did you mean status?" });
    expect((await portolan(["list", URL_TARGET, "--jsn"], { tty: true })).err).toContain(
      "Did you mean --json?",
    );
  });

  test("completion scripts name commands and options", async () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const { code, out } = await portolan(["completion", shell]);
      expect(code).toBe(0);
      for (const word of ["list", "call", "read", "prompt", "completion", "start-timeout"])
        expect(out).toContain(word);
    }
    expect(error(await portolan(["completion", "fis"]))).toMatchObject({
      code: "USAGE",
      hint: 'Did you mean "fish"?',
    });
  });
});

describe("targets and options", () => {
  test("a URL is connected with the headers and limits of the options", async () => {
    await portolan([
      "list",
      URL_TARGET,
      "--header",
      "Authorization: Bearer x",
      "--timeout",
      "5",
      "--era",
      "legacy",
    ]);
    expect(fake.configs[0]).toMatchObject({
      transport: "http",
      url: URL_TARGET,
      headers: { Authorization: "Bearer x" },
      limits: { requestTimeoutMs: 5_000 },
      era: "legacy",
      watch: false,
      name: "https://mcp.example.com/mcp",
    });
    expect(fake.closed).toBe(1);
  });

  test("a command can be quoted, or follow --", async () => {
    await portolan(["list", "node 'my server.js' --x", "--env", "A=1", "--env", "TOKEN", "--cwd", "."]);
    expect(fake.configs[0]).toMatchObject({
      transport: "stdio",
      command: "node",
      args: ["my server.js", "--x"],
      env: { A: "1", TOKEN: "t0k3n" },
      cwd,
    });
    await portolan(["call", "echo", "message=x", "--json", "--", "node", "s.js", "--json", "--", "y"]);
    expect(fake.configs[1]).toMatchObject({ command: "node", args: ["s.js", "--json", "--", "y"] });
    expect(fake.calls).toEqual([["echo", { message: "x" }]]);
  });

  test("--root declares a root to the server", async () => {
    await portolan(["list", URL_TARGET, "--root", "."]);
    expect(fake.configs[0]?.handlers?.roots).toEqual([
      { uri: pathToFileURL(cwd).href, name: expect.any(String) },
    ]);
  });

  test.each<[string[], string, RegExp]>([
    [["list", "no-such-program-anywhere"], "TARGET_INVALID", /neither/],
    [["list", URL_TARGET, "--", "node"], "USAGE", /both/],
    [["list", "node", "server.js"], "TARGET_INVALID", /alone/],
    [["list", URL_TARGET, "server.js", "--flag"], "USAGE", /unknown option/],
    [["list", URL_TARGET, "echo", "more"], "USAGE", /unexpected argument/],
    [["list", "npx", "-y", "server"], "USAGE", /unknown option '-y'/],
    [["list", "--"], "TARGET_INVALID", /There is no command after --/],
    [["list", "node x | y"], "TARGET_INVALID", /shell/],
    [["list", URL_TARGET, "--env", "A=1", "--cwd", "."], "USAGE", /--env[^]*--cwd/],
    [["list", "node x", "--header", "A: b", "--transport", "sse"], "USAGE", /--header[^]*--transport/],
    [["list", URL_TARGET, "--transport", "websocket"], "USAGE", /wss/],
    [["list", "node x", "--cwd", "nowhere", "--root", "nowhere"], "USAGE", /--root[^]*--cwd/],
    [["list", URL_TARGET, "--timeout", "soon"], "USAGE", /500ms/],
    [["list", URL_TARGET, "--json", "--text"], "USAGE", /exclude/],
    [["call", URL_TARGET], "USAGE", /No tool/],
    [["read", URL_TARGET], "USAGE", /No resource/],
    [["prompt", URL_TARGET], "USAGE", /No prompt/],
    [["call", URL_TARGET, "echo", "--args", "{"], "USAGE", /not JSON/],
    [["call", URL_TARGET, "echo", "--args", "[]"], "USAGE", /object/],
    [["call", URL_TARGET, "echo", "--out", "text.txt"], "USAGE", /exists already/],
  ])("%j fails with %s", async (argv, code, message) => {
    const ran = await portolan(argv);
    expect(ran.code).toBe(2);
    expect(ran.out).toBe("");
    if (argv.includes("--json")) return;
    expect(error(ran)).toMatchObject({ code, message: expect.stringMatching(message) });
  });

  test("a failed connection gives the exit code of its error", async () => {
    fake.connectError = new PortolanError("SERVER_START_FAILED", "no", { stderr: "boom" });
    const ran = await portolan(["list", URL_TARGET], { tty: true });
    expect(ran.code).toBe(3);
    expect(ran.err).toContain("│ boom");
    fake.connectError = new PortolanError("AUTH_REQUIRED", "no");
    expect((await portolan(["list", URL_TARGET])).code).toBe(5);
    fake.connectError = new Error("a bug");
    expect((await portolan(["list", URL_TARGET])).code).toBe(70);
  });
});

describe("list", () => {
  test("prints JSON without a terminal", async () => {
    const { code, out, err } = await portolan(["list", URL_TARGET]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const listing = JSON.parse(out) as JsonObject;
    expect(Object.keys(listing)).toEqual([
      "server",
      "tools",
      "resources",
      "resourceTemplates",
      "prompts",
      "timing",
      "diagnostics",
    ]);
    expect(listing["tools"]).toEqual(tools);
    expect(listing["timing"]).toEqual({ connectMs: expect.any(Number), listMs: expect.any(Number) });
  });

  test("prints text at a terminal", async () => {
    const { code, out } = await portolan(["list", URL_TARGET], { tty: true });
    expect(code).toBe(0);
    expect(out.replace(/\d+ ms/g, "N ms")).toBe(`Demo 1.2 (demo)
MCP 2026-07-28 (modern) · http · connected in N ms · listed in N ms

Instructions
  Be kind.

Tools (2)
  // Echoes.
  function echo(message: string, times?: integer): string

  // ␛]0;x␇hi
  function "evil\\u001b[2J"("a\\u202e"?: unknown): string

Resources (1)
  demo://a  text/plain

Resource templates (1)
  demo://{x}  x

Prompts (1)
  greet(who, how?)  Greets.
`);
  });

  test("--schema shows schemas, and --all shows full descriptions", async () => {
    const { out } = await portolan(["list", URL_TARGET, "--text", "--schema", "--all"]);
    expect(out).toContain('"required": [');
    expect(out).toContain("// At length.");
  });

  test("a failed list of resources is a diagnostic, not an error", async () => {
    fake.resourcesError = new PortolanError("RPC_ERROR", "broken");
    const { code, out } = await portolan(["list", URL_TARGET]);
    expect(code).toBe(0);
    expect((JSON.parse(out) as { diagnostics: unknown[] }).diagnostics).toEqual([
      { code: "RPC_ERROR", severity: "warning", message: "the resources cannot be listed: broken" },
    ]);
  });
});

describe("call", () => {
  test("prints the whole result as JSON, or its text", async () => {
    expect(JSON.parse((await portolan(["call", URL_TARGET, "echo", "message=5", "times=2"])).out)).toEqual(
      fake.result,
    );
    expect(fake.calls).toEqual([["echo", { message: "5", times: 2 }]]);
    expect((await portolan(["call", URL_TARGET, "echo", "message=5", "--text"])).out).toBe("ok\n");
    expect((await portolan(["call", URL_TARGET, "echo", "message=5"], { tty: true })).out).toBe("ok\n");
  });

  test("accepts arguments in every form", async () => {
    await portolan(["call", URL_TARGET, 'echo(message: "a", times: 2)']);
    await portolan(["call", URL_TARGET, "echo('a', 2)"]);
    await portolan(["call", URL_TARGET, "function echo(message: 'a', times?: integer): string", "times=2"]);
    await portolan(["call", URL_TARGET, "echo", "--args", '{"message":"a"}', "times=2"]);
    await portolan(["call", URL_TARGET, "echo", "--args", "-"], { stdin: '{"message":"a","times":2}' });
    expect(fake.calls).toEqual(Array.from({ length: 5 }, () => ["echo", { message: "a", times: 2 }]));
    await portolan(["call", URL_TARGET, "echo", "message=@text.txt"]);
    expect(fake.calls.at(-1)).toEqual(["echo", { message: "from a file" }]);
  });

  test("reports wrong tools and arguments, all at once, and calls no tool", async () => {
    expect(error(await portolan(["call", URL_TARGET, "ecco"]))).toMatchObject({
      code: "TOOL_NOT_FOUND",
      hint: 'Did you mean "echo"?',
    });
    const wrong = await portolan(["call", URL_TARGET, "echo", "mesage=x", "times=many"]);
    expect(wrong.code).toBe(2);
    expect(error(wrong)["data"]).toEqual({
      problems: [
        { key: "mesage", message: 'is not known. Did you mean "message"?' },
        { key: "times", message: 'must be an integer, got "many"' },
        { key: "message", message: "is required" },
      ],
    });
    const unfilled = await portolan([
      "call",
      URL_TARGET,
      "function echo(message: string, times?: integer): string",
    ]);
    expect(error(unfilled)["message"]).toBe(
      "The arguments of echo are not valid: message: put a value in place of the type string",
    );
    expect(fake.calls).toEqual([]);
    expect(fake.closed).toBe(3);
  });

  test("an error result of the tool gives the exit code 1", async () => {
    fake.result = { content: [{ type: "text", text: "no such thing" }], isError: true };
    expect(await portolan(["call", URL_TARGET, "echo", "message=x"])).toMatchObject({ code: 1, err: "" });
    const shown = await portolan(["call", URL_TARGET, "echo", "message=x"], { tty: true });
    expect(shown).toMatchObject({ code: 1, out: "no such thing\n" });
    expect(shown.err).toContain("echo returned an error");
  });

  test("--out saves content to a file, also with JSON output", async () => {
    fake.result = { content: [{ type: "image", data: "aGk=", mimeType: "image/png" }] };
    const shown = await portolan(["call", URL_TARGET, "echo", "message=x", "--out", "a.png"], { tty: true });
    expect(shown.out).toBe(`[image image/png, 2 B] ${join(cwd, "a.png")}\n`);
    const json = await portolan(["call", URL_TARGET, "echo", "message=x", "--out", "a.png", "--force"]);
    expect(JSON.parse(json.out)).toEqual(fake.result);
    expect(json.err).toBe(`saved ${join(cwd, "a.png")}\n`);
    fake.result = { content: [{ type: "text", text: "raw\u001b" }] };
    await portolan(["call", URL_TARGET, "echo", "message=x", "--out", "b.txt", "--quiet"]);
    expect(readFileSync(join(cwd, "b.txt"), "utf8")).toBe("raw\u001b");
  });

  test("a signal cancels the call, closes the server, and sets the exit code", async () => {
    fake.call = (_, __, { signal }) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(new PortolanError("CONNECTION_LOST", "whatever")));
        signals.emit("SIGINT");
      });
    const ran = await portolan(["call", URL_TARGET, "echo", "message=x"]);
    expect(ran.code).toBe(130);
    expect(error(ran)["code"]).toBe("CANCELLED");
    expect(fake.closed).toBe(1);
    expect(signals.exit).not.toHaveBeenCalled();
  });

  test("elicitations are asked at a terminal, and declined without one", async () => {
    fake.call = async (_, __, ___, config) => {
      const answer = await config.handlers?.elicit?.(
        { mode: "form", message: "Sure?", requestedSchema: {} },
        { signal: new AbortController().signal, server: undefined },
      );
      return { content: [{ type: "text", text: answer?.action ?? "" }] };
    };
    expect((await portolan(["call", URL_TARGET, "echo", "message=x"], { tty: true })).out).toBe("accept\n");
    expect((await portolan(["call", URL_TARGET, "echo", "message=x", "--no-input"], { tty: true })).out).toBe(
      "decline\n",
    );
    const ran = await portolan(["call", URL_TARGET, "echo", "message=x", "--text"]);
    expect(ran.out).toBe("decline\n");
    expect(ran.err).toContain("requests input: Sure?");
  });
});

describe("read and prompt", () => {
  test("read prints or saves a resource", async () => {
    expect((await portolan(["read", URL_TARGET, "demo://a"], { tty: true })).out).toBe("body\n");
    expect(JSON.parse((await portolan(["read", URL_TARGET, "demo://a"])).out)).toEqual({
      contents: [{ uri: "demo://a", text: "body\u001b[31m" }],
    });
    await portolan(["read", URL_TARGET, "demo://a", "--out", "body.txt"]);
    expect(readFileSync(join(cwd, "body.txt"), "utf8")).toBe("body\u001b[31m");
  });

  test("prompt prints a prompt, and reports wrong arguments", async () => {
    expect(
      (await portolan(["prompt", URL_TARGET, "greet", "who=Ann", "how=@@loud"], { tty: true })).out,
    ).toBe('user\n{"who":"Ann","how":"@loud"}\n');
    expect(error(await portolan(["prompt", URL_TARGET, "gret"]))["hint"]).toBe('Did you mean "greet"?');
    const wrong = await portolan(["prompt", URL_TARGET, "greet", "hw=1", "how:=2"]);
    expect(wrong.code).toBe(2);
    expect(error(wrong)["message"]).toBe(
      'The arguments of greet are not valid:\n- hw is not known. Did you mean "how"?\n- how must be text: write how=value, not how:=value\n- who is required',
    );
  });
});
