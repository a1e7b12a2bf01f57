// mcpfiles with the built command: served, checked, created and converted.

import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  envelope,
  MAIN,
  portolan,
  type Ran,
  resultText as wholeText,
  temporaryFolder,
} from "../helpers/cli.ts";
import { until } from "../helpers/connect.ts";
import { head, ONE, tool, TWO } from "../helpers/mcpfile-texts.ts";

const fixtures = fileURLToPath(new URL("../fixtures/", import.meta.url));
const PETSTORE = join(fixtures, "openapi/petstore-3.0.json");
const MODERN = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** Creates a folder with these files, without the user's own settings. */
function setUp(files: Record<string, string> = {}) {
  const top = temporaryFolder();
  const cwd = join(top, "project");
  mkdirSync(cwd);
  mkdirSync(join(top, "home"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  const env = {
    HOME: join(top, "home"),
    XDG_CACHE_HOME: join(top, "cache"),
    XDG_CONFIG_HOME: join(top, "config"),
    XDG_DATA_HOME: join(top, "data"),
  };
  return {
    cwd,
    run: (...words: string[]): Promise<Ran> => portolan(words, { cwd, env }),
    runWith: (more: Record<string, string>, ...words: string[]): Promise<Ran> =>
      portolan(words, { cwd, env: { ...env, ...more } }),
    file: (name: string): string => readFileSync(join(cwd, name), "utf8"),
    write: (name: string, text: string): void => writeFileSync(join(cwd, name), text),
    serve: (...words: string[]) => serve(words, cwd, env),
  };
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: Record<string, unknown>;
}

/** A running `portolan serve`. */
function serve(words: readonly string[], cwd: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [MAIN, "serve", ...words], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", ...env },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  child.stdin.on("error", () => {});
  const messages = (): Message[] =>
    out
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Message);
  const say = (message: object): void =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  let last = 0;
  return {
    err: () => err,
    /** The output of --json. */
    ready: async () => {
      await until(() => {
        if (child.exitCode !== null) throw new Error(err);
        return out.includes("\n");
      });
      return JSON.parse(out) as { url: string };
    },
    say,
    ask: async (method: string, params: object = {}): Promise<Record<string, unknown>> => {
      const id = (last += 1);
      say({ id, method, params });
      await until(() => messages().some((message) => message.id === id));
      return messages().find((message) => message.id === id)?.result ?? {};
    },
    news: () => messages().filter(({ method }) => method === "notifications/tools/list_changed").length,
  };
}

async function post(url: string, method: string, params: object = {}) {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": MODERN,
      "mcp-method": method,
      ...("name" in params ? { "mcp-name": String(params.name) } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: META } }),
  });
  const text = await response.text();
  const json = text.startsWith("{") ? text : (/^data: (.+)$/m.exec(text)?.[1] ?? "{}");
  return (JSON.parse(json) as { result?: Record<string, unknown> }).result ?? {};
}

const toolNames = (result: Record<string, unknown>): string[] =>
  (result["tools"] as { name: string }[]).map(({ name }) => name);

/** Commands end their output with a line break. */
const resultText = (ran: Ran): string => wholeText(ran).trimEnd();

const INITIALIZE = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
};

describe("serve with an mcpfile", () => {
  it("on stdio keeps the tool names and identity of a single server, also when the file changes", async () => {
    const { serve, write } = setUp({ "mcpfile.yaml": ONE });
    const gateway = serve("mcpfile.yaml", "--stdio");
    const { serverInfo } = await gateway.ask("initialize", INITIALIZE);
    expect(serverInfo).toEqual({ name: "my-tools", version: "1.2.3" });
    gateway.say({ method: "notifications/initialized" });
    expect(toolNames(await gateway.ask("tools/list"))).toEqual(["say"]);
    expect(await gateway.ask("tools/call", { name: "say", arguments: { text: "hi" } })).toMatchObject({
      content: [{ text: "hi\n" }],
    });
    write("mcpfile.yaml", `${ONE}${tool("more", "1")}`);
    await until(async () => toolNames(await gateway.ask("tools/list")).join() === "more,say");
    await until(() => gateway.news() > 0);
    // A file with errors changes nothing.
    write("mcpfile.yaml", `${ONE}${tool("other", "1")}  - nonsense`);
    await until(() => /^mcpfile\.yaml:\d+:\d+ error tools\[2\] must be an object/m.test(gateway.err()));
    expect(toolNames(await gateway.ask("tools/list"))).toEqual(["more", "say"]);
  });

  it("at /mcp serves a single server without a prefix, until the file has a second one", async () => {
    const { serve, write } = setUp({ "tools.yaml": TWO.slice(0, TWO.indexOf("  - name: two")) });
    const gateway = serve("tools.yaml", "--port", "0", "--json", "--no-auth");
    const { url } = await gateway.ready();
    const listed = await post(url, "tools/list");
    expect(toolNames(listed)).toEqual(["say"]);
    expect(listed["_meta"]).toMatchObject({
      "io.modelcontextprotocol/serverInfo": { name: "one", version: "1.0.0" },
    });
    expect(await post(url, "tools/call", { name: "say", arguments: { text: "a  b" } })).toMatchObject({
      content: [{ text: "a  b\n" }],
    });
    write("tools.yaml", TWO);
    await until(async () => toolNames(await post(url, "tools/list")).join() === "mcp_one_say,mcp_two_shout");
    const several = await post(url, "tools/list");
    expect(several["_meta"]).toMatchObject({ "io.modelcontextprotocol/serverInfo": { name: "portolan" } });
    expect(toolNames(await post(url.replace("/mcp", "/servers/two/mcp"), "tools/list"))).toEqual(["shout"]);
    write("tools.yaml", TWO.slice(0, TWO.indexOf("  - name: two")));
    await until(async () => toolNames(await post(url, "tools/list")).join() === "say");
  });

  it("with several servers uses prefixes, and notifies clients of changes", async () => {
    const { serve, write } = setUp({ "mcpfile.yaml": TWO });
    const gateway = serve("mcpfile.yaml", "--stdio");
    const { serverInfo } = await gateway.ask("initialize", INITIALIZE);
    expect(serverInfo).toMatchObject({ name: "portolan" });
    gateway.say({ method: "notifications/initialized" });
    expect(toolNames(await gateway.ask("tools/list"))).toEqual(["mcp_one_say", "mcp_two_shout"]);
    write("mcpfile.yaml", TWO.replace("name: shout", "name: yell"));
    await until(async () => toolNames(await gateway.ask("tools/list")).includes("mcp_two_yell"));
    await until(() => gateway.news() > 0);
  });

  it("keeps prefixes with --only and in a workspace", async () => {
    const { serve } = setUp({ "mcpfile.yaml": TWO, "portolan.yaml": "version: 1\n" });
    for (const words of [
      ["mcpfile.yaml", "--only", "two"],
      ["portolan.yaml", "--only", "two"],
    ]) {
      const gateway = serve(...words, "--stdio");
      await gateway.ask("initialize", INITIALIZE);
      expect(toolNames(await gateway.ask("tools/list"))).toEqual(["mcp_two_shout"]);
    }
  });

  it("uses the port of an mcpserver.yaml, and reports unused settings", async () => {
    const free = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => free.once("listening", resolve));
    const { port } = free.address() as AddressInfo;
    await new Promise((resolve) => free.close(resolve));
    const { serve, run } = setUp({
      "mcpfile.yaml": ONE,
      "mcpserver.yaml": `kind: MCPServerConfig\nschemaVersion: "0.2.0"\nruntime:\n  transportProtocol: streamablehttp\n  streamableHttpConfig: {port: ${port}, basePath: /x}\n`,
    });
    const gateway = serve("mcpfile.yaml", "--json");
    expect((await gateway.ready()).url).toBe(`http://127.0.0.1:${port}/mcp`);
    const validated = await run("validate", "mcpfile.yaml", "--text");
    expect(validated.code).toBe(0);
    expect(validated.out).toContain("mcpserver.yaml:1:1 note portolan serve ignores basePath of the runtime");
  });
});

describe("validate and secrets", () => {
  it("validate shows every error with its place", async () => {
    const { run } = setUp({
      "mcpfile.yaml": `${head("bad")}tools:
  - name: a
    description: d
    invocation: {cli: {command: "ls | wc"}}
  - name: b
    description: d
    invocation: {http: {method: FETCH, url: "https://{host}/"}}
  - name: c
    description: d
    invocation: {cli: {command: "\${PROGRAM} x"}}
`,
    });
    const { code, out } = await run("validate", "mcpfile.yaml", "--text");
    expect(code).toBe(1);
    expect(out).toMatch(/mcpfile\.yaml:8:\d+ error .*\|/);
    expect(out).toMatch(/mcpfile\.yaml:11:\d+ error /);
    expect(out).toMatch(/mcpfile\.yaml:14:\d+ error the program itself cannot be a variable/);
    expect(out.match(/ error /g)?.length).toBeGreaterThanOrEqual(4);
  });

  it("secrets check, why and list report the secrets that the file needs", async () => {
    const { run, runWith } = setUp({
      "mcpfile.yaml": `${head("api")}tools:
  - {name: a, description: d, invocation: {http: {method: GET, url: "http://127.0.0.1:1/", headers: {Authorization: "Bearer \${API_TOKEN}"}}}}
  - {name: b, description: d, invocation: {http: {method: GET, url: "http://127.0.0.1:1/b", headers: {Authorization: "Bearer \${API_TOKEN}"}}}}
`,
    });
    const lacking = await run("secrets", "check");
    expect(lacking.code).toBe(1);
    expect(JSON.parse(lacking.out)).toMatchObject({
      needs: [{ name: "API_TOKEN", state: "missing", neededBy: [{ server: "api", where: "a and 1 more" }] }],
    });
    expect(envelope(await run("list", "mcpfile.yaml"))).toMatchObject({ code: "SECRET_MISSING" });
    const set = { API_TOKEN: "s3cret-value-1" };
    expect((await runWith(set, "secrets", "check")).code).toBe(0);
    const why = await runWith(set, "why", "api", "--text");
    expect(why.out).toMatch(/^runs +api 1\.2\.3: 2 HTTP requests to http:\/\/127\.0\.0\.1:1$/m);
    expect(why.out).toMatch(/^variables +API_TOKEN$/m);
    expect(why.out).not.toContain("s3cret");
    expect((await runWith(set, "status", "--text")).out).toMatch(/^api +ready +mcpfile +2 /m);
  });
});

describe("init mcpfile", () => {
  it("writes a file that works, and never overwrites one", async () => {
    const { run, file, write } = setUp();
    const { code, out } = await run("init", "mcpfile", "--text");
    expect(code).toBe(0);
    expect(out).toContain("portolan call mcpfile.yaml evaluate expression='6 * 7'");
    expect(resultText(await run("call", "mcpfile.yaml", "evaluate", "expression=6 * 7"))).toBe("42");
    expect((await run("validate", "mcpfile.yaml")).code).toBe(0);
    write("mcpfile.yaml", "mine");
    expect(envelope(await run("init", "mcpfile"))).toMatchObject({ code: "USAGE" });
    expect(file("mcpfile.yaml")).toBe("mine");
    expect(JSON.parse((await run("init", "mcpfile", "sub/")).out)).toMatchObject({
      next: expect.arrayContaining(["portolan list sub/mcpfile.yaml"]),
    });
    expect(envelope(await run("init", "mcpfile", "a.txt"))).toMatchObject({ code: "USAGE" });
  });
});

describe("convert", () => {
  /** A web server for the test. */
  async function web(listener: RequestListener): Promise<string> {
    const server = createServer(listener).listen(0, "127.0.0.1");
    onTestFinished(() => server.close().closeAllConnections());
    await new Promise((resolve) => server.once("listening", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it("openapi: prints the mcpfile on stdout, everything else on stderr", async () => {
    const { run, write } = setUp();
    const { code, out, err } = await run("convert", "openapi", PETSTORE);
    expect(code).toBe(0);
    expect(out).toMatch(/^# Made by portolan/);
    expect(err).toMatch(/^6 tools, 3 skipped\n {2}OPTIONS .*\(138:7\)\n/);
    expect(err).toContain("portolan secrets set PETSTORE_TOKEN\n");
    write("pets.mcpfile.yaml", out);
    expect((await run("validate", "pets.mcpfile.yaml")).code).toBe(0);
    const json = JSON.parse((await run("convert", "openapi", PETSTORE, "--json", "--quiet")).out) as object;
    expect(json).toMatchObject({ mcpfile: out, tools: 6 });
  });

  it("openapi: supports --out, --only, --name, --base-url, --force", async () => {
    const { run, file } = setUp();
    const words = ["convert", "openapi", PETSTORE, "--out", "p.mcpfile.yaml"];
    const { code, out, err } = await run(
      ...words,
      "--only",
      "listPets",
      "--name",
      "Pets",
      "--base-url",
      "https://x.test/v9",
    );
    expect({ code, out }).toEqual({ code: 0, out: "" });
    expect(err).toContain("1 tool\n");
    expect(err).toContain("portolan serve p.mcpfile.yaml");
    expect(file("p.mcpfile.yaml")).toMatch(/^name: pets$/m);
    expect(file("p.mcpfile.yaml")).toContain("https://x.test/v9");
    expect(envelope(await run(...words))).toMatchObject({
      code: "USAGE",
      hint: expect.stringContaining("--force"),
    });
    expect((await run(...words, "--force")).code).toBe(0);
    expect(file("p.mcpfile.yaml")).toMatch(/^name: petstore$/m);
  });

  it("openapi: the next steps add the file to the sources of the workspace, and keep the others", async () => {
    const { run, write, cwd } = setUp({ "mcpfile.yaml": ONE });
    mkdirSync(join(cwd, ".drivers/d"), { recursive: true });
    write(".drivers/d/DRIVER.md", "---\nid: d\n---\n");
    const words = ["convert", "openapi", PETSTORE, "--force", "--out", "p.mcpfile.yaml"];
    const line = 'sources: ["mcpfile.yaml", "p.mcpfile.yaml"]';
    expect((await run(...words)).err).toContain(`set this key in portolan.yaml:\n  ${line}\n`);
    write("portolan.yaml", `${line}\n`);
    expect((await run(...words)).err).not.toContain("sources");
    const { servers } = JSON.parse((await run("list", "--json")).out) as { servers: object[] };
    expect(servers).toHaveLength(2);
  });

  it("openapi: --split writes a folder that is a complete workspace", async () => {
    const operation = (tag: string): object => ({
      get: { operationId: `get_${tag}`, tags: [tag], responses: {} },
    });
    const api = {
      ...{
        openapi: "3.0.0",
        info: { title: "Shop", version: "1" },
        servers: [{ url: "https://shop.example" }],
      },
      paths: { "/pets": operation("pets"), "/orders": operation("orders") },
    };
    const { run, file } = setUp({ "shop.json": JSON.stringify(api) });
    const words = ["convert", "openapi", "shop.json", "--split", "tag"];
    expect((await run(...words)).out).toMatch(/^---\n# pets\.mcpfile\.yaml\n/);
    expect(envelope(await run(...words, "--out", "one.yaml"))).toMatchObject({ code: "USAGE" });
    expect(envelope(await run("convert", "openapi", "shop.json", "--split", "all"))).toMatchObject({
      code: "USAGE",
    });
    const { code, err } = await run(...words, "--out", "api/");
    expect(code).toBe(0);
    expect(err).toContain("portolan list -w api\n");
    expect(file("api/pets.mcpfile.yaml")).toMatch(/^name: shop-pets$/m);
    expect(envelope(await run(...words, "--out", "api/"))).toMatchObject({
      code: "USAGE",
      hint: expect.stringMatching(
        /^No file was changed\. .* --force: .*: api\/\S+, api\/\S+, api\/portolan\.yaml\.$/,
      ),
    });
    const listed = await run("list", "-w", "api", "--json");
    expect(listed.out).toContain("get_pets");
    expect(listed.out).toContain("get_orders");
    // One group is a workspace too.
    expect((await run(...words, "--only", "tag:pets", "--out", "pets/")).err).toContain(
      "portolan list -w pets\n",
    );
  });

  it("openapi: a description that cannot be converted is an error with its place", async () => {
    const { run } = setUp({ "bad.json": '{"openapi": "3.0.0", "paths": {}}', "no.yaml": "a: [" });
    for (const name of ["bad.json", "no.yaml"]) {
      const error = envelope(await run("convert", "openapi", name));
      expect(error).toMatchObject({ code: "FILE_INVALID" });
      expect(error.message).toMatch(new RegExp(`${name.replace(".", "\\.")}:\\d+:\\d+ `));
    }
    expect(envelope(await run("convert", "openapi", "none.json"))).toMatchObject({ code: "FILE_FAILED" });
    expect(envelope(await run("convert", "openapi"))).toMatchObject({ code: "USAGE" });
  });

  it("openapi: reads from a URL, within limits and from one host", async () => {
    const spec = JSON.stringify({
      openapi: "3.0.0",
      info: { title: "Near", version: "1" },
      servers: [{ url: "/v1" }],
      paths: { "/a": { get: { operationId: "a", responses: {} } } },
    });
    const other = await web((_request, response) => void response.end(spec));
    const origin = await web((request, response) => {
      const to = { "/moved": "/api.json", "/away": `${other}/x`, "/loop": "/loop" }[request.url ?? ""];
      if (to !== undefined) response.writeHead(302, { location: to }).end();
      else if (request.url === "/large") response.end(Buffer.alloc(17 * 1024 * 1024, 32));
      else if (request.url === "/api.json") response.end(spec);
      else response.writeHead(404).end();
    });
    const { run } = setUp();
    for (const path of ["/api.json", "/moved"]) {
      const { code, out } = await run("convert", "openapi", `${origin}${path}`);
      expect(code).toBe(0);
      // A relative server URL is relative to the URL of the description.
      expect(out).toContain(`${origin}/v1`);
    }
    const wrong = async (url: string): Promise<string> =>
      envelope(await run("convert", "openapi", url)).message;
    expect(await wrong(`${origin}/away`)).toContain("redirects to another host");
    expect(await wrong(`${origin}/loop`)).toContain("too many redirects");
    expect(await wrong(`${origin}/large`)).toContain("more than 16 MiB");
    expect(await wrong(`${origin}/none?token=abc`)).toMatch(/none cannot be fetched: the response was 404/);
    expect(await wrong("http://example.com/api.json")).toContain("must be https");
    expect(await wrong("https://user:pass@example.com/api.json")).not.toContain("pass@");
    expect(await wrong("ftp://example.com/api.json")).toContain("must be https");
  });

  it("mcpfile: an old file without servers gets a hint where the servers belong", async () => {
    const { run } = setUp({ "old.yaml": 'mcpFileVersion: "0.0.1"\nservers: []\n' });
    expect(envelope(await run("convert", "mcpfile", "old.yaml"))).toMatchObject({
      code: "FILE_INVALID",
      message: "old.yaml has no servers.",
      hint: expect.stringContaining("lists its servers under servers") as string,
    });
  });

  it("mcpfile: converts an old file into new ones with the same meaning", async () => {
    const { run, cwd } = setUp({ "old.yaml": TWO, "mcpfile.yaml": ONE, "bad.yaml": "mcpFileVersion: 9\n" });
    const single = await run("convert", "mcpfile", "mcpfile.yaml");
    expect(single).toMatchObject({ code: 0, err: "" });
    expect(single.out).toMatch(/^kind: MCPToolDefinitions\nschemaVersion: "0\.2\.0"\nname: my-tools\n/);
    expect((await run("convert", "mcpfile", "old.yaml")).out).toMatch(/^---\n# one\.mcpfile\.yaml\n/);
    expect(envelope(await run("convert", "mcpfile", "old.yaml", "--out", "x.yaml"))).toMatchObject({
      code: "USAGE",
      hint: expect.stringContaining("--out x/"),
    });
    expect((await run("convert", "mcpfile", "old.yaml", "--out", "new/")).code).toBe(0);
    expect(readdirSync(join(cwd, "new"))).toEqual(["one.mcpfile.yaml", "two.mcpfile.yaml"]);
    expect(resultText(await run("call", "new/two.mcpfile.yaml", "shout", "text=hi"))).toBe("HI");
    expect(envelope(await run("convert", "mcpfile", "bad.yaml"))).toMatchObject({
      code: "FILE_INVALID",
    });
  });

  it("help has examples, and completion knows the commands", async () => {
    const { run } = setUp();
    for (const words of [
      ["init"],
      ["init", "mcpfile"],
      ["convert"],
      ["convert", "openapi"],
      ["convert", "mcpfile"],
    ]) {
      const { code, out } = await run(...words, "--help");
      expect(code).toBe(0);
      expect(out).toContain(`Examples:\n  portolan ${words.join(" ")}`);
    }
    for (const shell of ["bash", "zsh", "fish"]) {
      const { out } = await run("completion", shell);
      expect(out).toMatch(/convert[^]*openapi mcpfile/);
      expect(out).toContain("base-url");
    }
  });
});
