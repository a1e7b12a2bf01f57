// The built command in scripts and pipes: its output, exit codes and files.

import { spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  envelope,
  EVERYTHING,
  fixture,
  MAIN,
  portolan,
  publicServer,
  quoted,
  resultText,
  loadedBy,
  start,
  temporaryFolder,
} from "../helpers/cli.ts";
import { type HttpServer, startHttpServer } from "../fixtures/http-server.mjs";
import { stdioCommand } from "../fixtures/processes.mjs";
import { startSseServer } from "../fixtures/sse-server.mjs";
import { startWsServer } from "../fixtures/ws-server.mjs";
import { started } from "../helpers/connect.ts";
import { needs } from "../helpers/needs.ts";

type Listing = Record<"timing" | "diagnostics", unknown> & {
  server: Record<string, unknown>;
  tools: { name: string }[];
};

let modern: HttpServer;
let legacy: HttpServer;
beforeAll(async () => {
  [modern, legacy] = await Promise.all([
    startHttpServer({ era: "modern" }),
    startHttpServer({ era: "legacy" }),
  ]);
});
afterAll(() => Promise.all([modern.close(), legacy.close()]));

describe("list", () => {
  it.each([
    ["legacy", "2025-11-25"],
    ["modern", "2026-07-28"],
  ])(
    "JSON of a %s server has its name, era, tools, prompts, resources, and duration",
    async (era, revision) => {
      const { code, out, err } = await portolan(["list", fixture(`--era=${era}`, "--instructions=Be kind.")]);
      expect({ code, err }).toEqual({ code: 0, err: "" });
      const listing = JSON.parse(out) as Listing;
      expect(Object.keys(listing)).toEqual([
        "server",
        "tools",
        "resources",
        "resourceTemplates",
        "prompts",
        "timing",
        "diagnostics",
      ]);
      expect(listing.server).toMatchObject({
        info: { name: "fixture", version: "1.0.0" },
        era,
        revision,
        transport: "stdio",
        instructions: "Be kind.",
      });
      expect(listing.tools).toHaveLength(19);
      expect(listing.tools[0]).toMatchObject({
        name: "echo",
        inputSchema: { properties: { text: { type: "string" } } },
      });
      expect(listing).toMatchObject({
        resources: [{ uri: "test://static-text" }, { uri: "test://static-binary" }],
        resourceTemplates: [{ uriTemplate: "test://template/{id}/data" }],
        prompts: [{ name: "simple" }, { name: "with_args" }],
        diagnostics: [],
      });
      expect(listing.timing).toEqual({ connectMs: expect.any(Number), listMs: expect.any(Number) });
    },
  );

  it("text shows signatures, resources and prompts in one column, without colour or cuts", async () => {
    const { code, out, err } = await portolan(["list", EVERYTHING, "--text"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(
      /^Everything Reference Server \S+ \(mcp-servers\/everything\)\nMCP 2025-11-25 \(legacy\) · stdio · connected in \d+ ms · listed in \d+ ms\n/,
    );
    expect(out).toContain("  // Echoes back the input string\n  function echo(message: string): string\n");
    expect(out).toContain("  function trigger-elicitation-request(): string\n");
    expect(out).toMatch(
      /\n {2}demo:\/\/resource\/static\/document\/startup\.md {2,}text\/markdown · Static document file exposed from \/docs: startup\.md\n/,
    );
    expect(out).toMatch(/\n {2}args-prompt\(city, state\?\) {2,}A prompt with two arguments/);
    expect(out).not.toContain("\u001b");
  });

  it("a malformed tool is left out, and reported", async () => {
    const { code, out } = await portolan(["list", fixture("--fault=odd-tools")]);
    expect(code).toBe(0);
    const listing = JSON.parse(out) as Listing;
    expect(listing.tools.map((tool) => tool.name)).toContain("good_between");
    expect(listing.diagnostics).toContainEqual(
      expect.objectContaining({ code: "TOOL_DROPPED", tool: "no_schema" }),
    );
  });
});

describe("targets", () => {
  const facts = async (words: string[]): Promise<unknown> => {
    const ran = await portolan(["list", ...words]);
    const { server } = JSON.parse(ran.out) as Listing;
    return [ran.code, server["transport"], server["era"]];
  };

  it("a URL: HTTP in both eras, the fallback to SSE, and WebSocket", async () => {
    const sse = await started(startSseServer());
    const ws = await started(startWsServer({ era: "modern" }));
    expect(await Promise.all([facts([legacy.url]), facts([modern.url])])).toEqual([
      [0, "http", "legacy"],
      [0, "http", "modern"],
    ]);
    expect(await Promise.all([facts([sse.url]), facts([ws.url])])).toEqual([
      [0, "sse", "legacy"],
      [0, "websocket", "modern"],
    ]);
  });

  it("a quoted command, or the words after --, with options before it", async () => {
    const { command, args } = stdioCommand("--era=dual", "--name=it's a; 'name' | $HOME");
    expect(await facts([quoted([command, ...args]), "--era", "legacy"])).toEqual([0, "stdio", "legacy"]);
    const ran = await portolan(["call", "echo", "text=--json", "--text", "--", command, ...args]);
    expect(ran).toEqual({ code: 0, out: "--json\n", err: "" });
  });

  it("a command gets the variables, the folder and the roots of the options", async () => {
    const folder = temporaryFolder();
    const env = ["--env", "PORTOLAN_ONE=a=b", "--env", "PORTOLAN_TWO", "--cwd", folder];
    const seen = await portolan(["call", EVERYTHING, "get-env", ...env], {
      env: { PORTOLAN_TWO: "passed on", PORTOLAN_THREE: "kept back" },
    });
    expect(JSON.parse(resultText(seen))).toMatchObject({ PORTOLAN_ONE: "a=b", PORTOLAN_TWO: "passed on" });
    expect(resultText(seen)).not.toContain("kept back");
    const roots = await portolan(["call", fixture(), "ask_roots", "--root", folder]);
    expect(JSON.parse(resultText(roots))).toMatchObject({ roots: [{ uri: pathToFileURL(folder).href }] });
  });

  it("a URL gets the headers of the options", async () => {
    const server = await started(startHttpServer({ era: "modern" }));
    server.setFault("auth401:s3cret");
    const ran = await portolan([
      "call",
      server.url,
      "echo",
      "text=in",
      "--header",
      "Authorization: Bearer s3cret",
    ]);
    expect(resultText(ran)).toBe("in");
  });
});

describe("arguments of call", () => {
  let folder: string;
  const given = async (words: string[], stdin?: string): Promise<unknown> =>
    JSON.parse(
      resultText(
        await portolan(["call", modern.url, ...words], {
          cwd: folder,
          ...(stdin === undefined ? {} : { stdin }),
        }),
      ),
    );

  it("key=value is converted by the schema; nested keys, JSON and files work", async () => {
    folder = temporaryFolder();
    writeFileSync(join(folder, "query.txt"), "from a\nfile");
    writeFileSync(join(folder, "nested.json"), '{ "tenant": "json" }');
    const [coerced, parts, json, files] = await Promise.all([
      given(["with_header", "region=5", "priority=5", "dry_run=true", "query=a=b, c"]),
      given(["with_header", "region=eu", "nested.tenant=7"]),
      given(["with_header", 'region:="eu"', "priority:=-1", 'nested={"tenant":"x"}']),
      given(["with_header", "region=@@eu", "query=@query.txt", "nested:=@nested.json"]),
    ]);
    expect(coerced).toEqual({ region: "5", priority: 5, dry_run: true, query: "a=b, c" });
    expect(parts).toEqual({ region: "eu", nested: { tenant: "7" } });
    expect(json).toEqual({ region: "eu", priority: -1, nested: { tenant: "x" } });
    expect(files).toEqual({ region: "@eu", query: "from a\nfile", nested: { tenant: "json" } });
  });

  it("--args takes JSON from the command line or stdin, and key=value overrides it", async () => {
    folder = temporaryFolder();
    const [line, stdin] = await Promise.all([
      given(["with_header", "--args", '{"region":"eu","nested":{"tenant":"t"}}', "priority=2"]),
      given(["with_header", "--args", "-", "region=us"], '\ufeff{"region":"eu","query":"Zürich 東京"}\n'),
    ]);
    expect(line).toEqual({ region: "eu", nested: { tenant: "t" }, priority: 2 });
    expect(stdin).toEqual({ region: "us", query: "Zürich 東京" });
  });

  it("a call in code syntax, and a signature from list with values filled in, are accepted", async () => {
    folder = temporaryFolder();
    const listed = (await portolan(["list", modern.url, "--text"])).out;
    const signature = /function with_header\(.*/.exec(listed)?.[0] ?? "";
    expect(signature).toContain("region: string");
    const [pasted, positional] = await Promise.all([
      given([
        signature.replace("region: string", 'region: "eu"').replace("priority?: integer", "priority: 3"),
      ]),
      given(["with_header('eu', 3, nested: { tenant: 't' })"]),
    ]);
    expect(pasted).toEqual({ region: "eu", priority: 3 });
    expect(positional).toEqual({ region: "eu", priority: 3, nested: { tenant: "t" } });
  });

  it("a key that is repeated becomes an array", async () => {
    folder = temporaryFolder();
    for (const name of ["a", "b"]) writeFileSync(join(folder, name), `text of ${name}`);
    const files = publicServer("@modelcontextprotocol/server-filesystem", folder);
    const ran = await portolan(["call", files, "read_multiple_files", "paths=a", "paths=b", "--text"], {
      cwd: folder,
    });
    expect(ran.code).toBe(0);
    expect(ran.out).toMatch(/text of a[^]*text of b/);
  });

  it("all errors in the arguments are reported at once, with suggestions, and no tool is called", async () => {
    const before = { ...modern.stats.calls };
    const [tool, keys, types, prompt, files] = await Promise.all([
      portolan(["call", modern.url, "with_headr"]),
      portolan([
        "call",
        modern.url,
        "with_header",
        "regin=eu",
        "priority=high",
        "dry_run=yes",
        "nested.tenat=1",
        "query=@nowhere",
      ]),
      portolan(["call", modern.url, "with_header", "region=eu", 'priority:="high"', "dry_run:=1"]),
      portolan(["prompt", modern.url, "with_args", "cty=Rome"]),
      portolan(["read", modern.url, "test://a", "test://b"]),
    ]);
    expect([tool, keys, types, prompt, files].map((ran) => ran.code)).toEqual([2, 2, 2, 2, 2]);
    expect(envelope(tool)).toMatchObject({ code: "TOOL_NOT_FOUND", hint: 'Did you mean "with_header"?' });
    const { message, hint, data } = envelope(keys) as {
      message: string;
      hint: string;
      data?: { problems: { key: string; message: string }[] };
    };
    expect(data?.problems.map(({ key }) => key)).toEqual([
      "query",
      "regin",
      "priority",
      "dry_run",
      "nested.tenat",
      "region",
    ]);
    expect(message).toMatch(
      /^The arguments of .* are not valid:[^]*regin is not known\. Did you mean "region"\?[^]*Did you mean "tenant"\?[^]*region is required/,
    );
    expect(hint).toMatch(/^function with_header\(region: string/);
    expect(envelope(types)).toMatchObject({
      code: "INPUT_INVALID",
      data: { problems: [{ path: "/priority" }, { path: "/dry_run" }] },
    });
    expect(envelope(prompt).message).toMatch(/cty is not known\. Did you mean "city"\?[^]*city is required/);
    expect(envelope(files).message).toContain("test://b");
    expect(modern.stats.calls).toEqual(before);
  });
});

describe("read and prompt", () => {
  it("JSON has the result as the server sent it, text is readable", async () => {
    const [json, text, template, prompt, filled] = await Promise.all([
      portolan(["read", legacy.url, "test://static-text"]),
      portolan(["read", legacy.url, "test://static-text", "--text"]),
      portolan(["read", legacy.url, "test://template/4%202/data", "--text"]),
      portolan(["prompt", legacy.url, "with_args", "city=Rome"]),
      portolan(["prompt", legacy.url, "with_args", "city=Rome", "--text"]),
    ]);
    expect(JSON.parse(json.out)).toEqual({
      contents: [{ uri: "test://static-text", mimeType: "text/plain", text: "Héllo, wörld ✓ 漢字 🧭" }],
    });
    expect(text).toEqual({ code: 0, out: "Héllo, wörld ✓ 漢字 🧭\n", err: "" });
    expect(template.out).toBe('{"id":"4 2"}\n');
    expect(JSON.parse(prompt.out)).toMatchObject({
      messages: [{ role: "user", content: { text: "What is the weather in Rome?" } }],
    });
    expect(filled.out).toBe("From the fixture\n\nuser\nWhat is the weather in Rome?\n");
  });
});

describe("exit codes", () => {
  it.each<[number, string, string[], string[]]>([
    [2, "RESOURCE_NOT_FOUND", ["read"], ["test://nowhere"]],
    [2, "TOOL_NOT_FOUND", ["call"], ["nope"]],
    [3, "SERVER_START_FAILED", ["call", "--fault=exit-at-start"], ["echo", "text=x"]],
    [3, "SERVER_CRASHED", ["call"], ["crash"]],
    [3, "SERVER_CRASHED", ["call", "--fault=half-line-exit"], ["echo", "text=x"]],
    [4, "OUTPUT_INVALID", ["call", "--fault=bad-output"], ["add", "a=1", "b=2"]],
    [4, "VERSION_UNSUPPORTED", ["call", "--fault=bad-version", "--era=legacy"], ["echo", "text=x"]],
    [4, "MESSAGE_TOO_LARGE", ["call", "--fault=huge"], ["echo", "text=x"]],
    [4, "CAPABILITY_MISSING", ["call", "--era=modern"], ["ask_sample"]],
    [124, "TIMEOUT", ["call"], ["hang", "--timeout", "300ms"]],
    [124, "TIMEOUT", ["call"], ["slow", "ms=60000", "--max-time", "0.3s"]],
  ])("%i for %s: %j %j", async (code, name, [command = "", ...flags], words) => {
    const ran = await portolan([command, fixture(...flags), ...words]);
    expect(ran.code).toBe(code);
    expect(ran.err.trimEnd()).not.toContain("\n");
    expect(envelope(ran)).toMatchObject({
      code: name,
      message: expect.stringMatching(/./),
      hint: expect.stringMatching(/./),
    });
  });

  it("5 if a login is needed, 4 if the URL is no MCP server, 3 if no server listens", async () => {
    const server = await started(startHttpServer({ era: "legacy" }));
    server.setFault("auth401");
    const auth = await portolan(["list", server.url]);
    expect(auth.code).toBe(5);
    expect(envelope(auth)).toMatchObject({
      code: "AUTH_REQUIRED",
      hint: expect.stringContaining("--header"),
    });
    server.clearFaults();
    server.setFault("html-200");
    const html = await portolan(["list", server.url]);
    expect([html.code, envelope(html).code]).toEqual([4, "PROTOCOL_ERROR"]);
    await server.close();
    const nobody = await portolan(["list", server.url]);
    expect([nobody.code, envelope(nobody).code]).toEqual([3, "SERVER_START_FAILED"]);
  });

  it("1 if a tool returns an error; the result is still printed", async () => {
    const [json, text] = await Promise.all([
      portolan(["call", modern.url, "fail", "message=no luck"]),
      portolan(["call", modern.url, "fail", "--text"]),
    ]);
    expect(json).toMatchObject({ code: 1, err: "" });
    expect(JSON.parse(json.out)).toMatchObject({ isError: true, content: [{ text: "no luck" }] });
    expect(text).toEqual({ code: 1, out: "it failed\n", err: "error fail returned an error\n" });
  });

  it("70 if the output cannot be written", needs("/dev/full"), () => {
    const command = `${quoted([process.execPath, MAIN, "list", fixture()])} > /dev/full`;
    const { status, stderr } = spawnSync("sh", ["-c", command], { encoding: "utf8" });
    expect(status).toBe(70);
    expect(JSON.parse(stderr)).toMatchObject({ error: { message: expect.stringContaining("ENOSPC") } });
  });

  it("the error of a server that exits has its last stderr lines, as JSON and as text", async () => {
    const [json, text] = await Promise.all([
      portolan(["call", fixture(), "crash"]),
      portolan(["list", fixture("--fault=exit-at-start:9"), "--text"]),
    ]);
    expect(envelope(json)).toMatchObject({
      stderr: "fixture: the crash tool was called",
      data: { exitCode: 3 },
      tool: "crash",
    });
    expect(text).toMatchObject({ code: 3, out: "" });
    expect(text.err).toMatch(
      /^error .* exited with code 9: fixture: cannot start, FIXTURE_TOKEN is not set \[SERVER_START_FAILED\]\n {3}the last lines of the server's stderr:\n {3}│ fixture: cannot start, FIXTURE_TOKEN is not set\n hint /,
    );
  });
});

describe("control characters from servers", () => {
  const UNSAFE = /[^\P{Cc}\n\t]|[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/u;

  it("do not reach the terminal, neither as text nor as JSON", async () => {
    const server = fixture("--fault=escape-text");
    const [list, call, json, full] = await Promise.all([
      portolan(["list", server, "--text"]),
      portolan(["call", server, "echo", "text=x", "--text"]),
      portolan(["call", server, "echo", "text=x"]),
      portolan(["list", server, "--text", "--all", "--schema"]),
    ]);
    for (const ran of [list, call, json, full]) {
      expect(ran.code).toBe(0);
      expect(ran.out).not.toMatch(UNSAFE);
    }
    expect(call.out).toBe("x red ␛]52;c;aGFja2Vk␇ ␛]8;;http://evil.test␇link␛]8;;␇  \ufffdgnp.exe␍\n");
    expect(resultText(json)).toContain("\u001b[31mred\u001b[0m");
  });

  it("do not reach the terminal in errors or server requests", async () => {
    const evil = "\u001b]0;title\u0007\u202e";
    const ran = await portolan(["read", modern.url, `test://${evil}`, "--text"]);
    expect(ran.code).toBe(2);
    expect(ran.err).toContain("has no resource");
    expect(ran.err).not.toMatch(UNSAFE);
  });
});

describe("files", () => {
  it("--out saves images and audio with --text and --json, and never overwrites a file by itself", async () => {
    const folder = temporaryFolder();
    const saved = await portolan(["call", modern.url, "rich", "--out", "media/"], { cwd: folder });
    expect(saved.code).toBe(0);
    expect(saved.err).toBe(
      `saved ${join(folder, "media/image-1.png")}\nsaved ${join(folder, "media/audio-1.wav")}\n`,
    );
    const { content } = JSON.parse(saved.out) as { content: { data: string }[] };
    expect(readFileSync(join(folder, "media/image-1.png")).toString("base64")).toBe(content[1]?.data);
    const image = ["call", EVERYTHING, "get-tiny-image", "--text", "--out", "logo.png"];
    const first = await portolan(image, { cwd: folder });
    expect(first.out).toContain(`[image image/png, `);
    expect(readFileSync(join(folder, "logo.png")).subarray(1, 4).toString()).toBe("PNG");
    expect(
      envelope(
        await portolan(
          image.filter((word) => word !== "--text"),
          { cwd: folder },
        ),
      ),
    ).toMatchObject({ code: "USAGE", hint: expect.stringContaining("--force") });
  });

  it("without --out, images and audio go to private files; --out saves text unchanged", async () => {
    const folder = temporaryFolder();
    const shown = await portolan(["call", modern.url, "rich", "--text"], { env: { TMPDIR: folder } });
    const path = /\[image image\/png, 70 B\] (\S+)/.exec(shown.out)?.[1] ?? "";
    expect(path.startsWith(join(folder, "portolan-"))).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const read = await portolan(
      ["read", modern.url, "test://static-binary", "--out", "pixel.png", "--quiet"],
      { cwd: folder },
    );
    expect(read).toMatchObject({ code: 0, err: "" });
    expect(statSync(join(folder, "pixel.png")).size).toBe(70);
  });
});

describe("pipes", () => {
  it("large output arrives completely, and a reader that closes the pipe is not an error", async () => {
    const { code, out } = await portolan(["call", modern.url, "big", "bytes=3000000", "--text"]);
    expect([code, out.length]).toEqual([0, 3_000_001]);
    const [list, call] = [
      start(["list", EVERYTHING]),
      start(["call", modern.url, "big", "bytes=3000000", "--text"]),
    ];
    for (const { child } of [list, call]) child.stdout?.once("data", () => child.stdout?.destroy());
    expect(await list.done).toMatchObject({ code: 0, err: "" });
    expect(await call.done).toMatchObject({ code: 0, err: "" });
  });

  it("an empty or wrong stdin is an error", async () => {
    const [empty, wrong] = await Promise.all([
      portolan(["call", modern.url, "echo", "--args", "-"]),
      portolan(["call", modern.url, "echo", "--args", "-"], { stdin: "[1]" }),
    ]);
    expect(envelope(empty)).toMatchObject({
      code: "USAGE",
      message: "stdin is empty.",
      hint: expect.stringContaining("Pipe"),
    });
    expect(envelope(wrong)).toMatchObject({ code: "USAGE", message: "stdin must be a JSON object." });
  });
});

describe("portolan", () => {
  it("prints its version and its commands", async () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
      version: string;
    };
    const [told, help, call, nothing, command, option] = await Promise.all(
      [["--version"], ["--help"], ["call", "--help"], [], ["lst", "x"], ["list", "x", "--jsn"]].map((words) =>
        portolan(words),
      ),
    );
    expect(told).toEqual({ code: 0, out: `${version}\n`, err: "" });
    expect(help).toMatchObject({ code: 0, err: "" });
    for (const word of ["list", "call", "read", "prompt", "completion", "First use:"])
      expect(help?.out).toContain(word);
    expect(call?.out).toMatch(/key=@file[^]*--args <json>|--args <json>[^]*key=@file/);
    expect(nothing).toMatchObject({ code: 2, out: "" });
    expect(nothing?.err).toMatch(/^Usage: portolan/);
    expect(envelope(command as never)).toMatchObject({ code: "USAGE", hint: "Did you mean list?" });
    expect(envelope(option as never)).toMatchObject({ code: "USAGE", hint: "Did you mean --json?" });
  });

  it("--help loads no modules for servers or prompts", async () => {
    const { files, modules } = await loadedBy(["--help"]);
    // Files are named after the starts that need them.
    const own = /^(?:command|help|start|rolldown-runtime)-/;
    expect(files.length).toBeGreaterThan(2);
    expect(files.filter((file) => !own.test(file))).toEqual([]);
    expect(modules.filter((name) => /^NativeModule (?:_?http|https|crypto)/.test(name))).toEqual([]);
  });
});
