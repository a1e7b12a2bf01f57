// `portolan serve` as a real process on a real port, stopped by real signals.

import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { keptToken, MAIN, portolan, quoted, temporaryFolder, terminal } from "../helpers/cli.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { until } from "../helpers/connect.ts";
import { isRunning } from "../helpers/workspace.ts";
import { needs } from "../helpers/needs.ts";
import { freePort } from "../helpers/free-port.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const MODERN = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientCapabilities": {},
};

const entry = (...flags: string[]): { command: string; args: string[] } => {
  const { command, args } = stdioCommand(...flags);
  return { command, args: [...args] };
};
const yaml = (servers: Record<string, unknown>, gateway: object = {}): string =>
  JSON.stringify({ version: 1, servers, gateway });
const GOOD = yaml({ good: entry("--era=modern") });

interface Served {
  url: string;
  auth: string;
  tokenCommand?: string;
  endpoints: { servers: Record<string, string>; tags: Record<string, string>; [name: string]: unknown };
  servers: { alias: string; state: string; tools: number; error?: { code: string } }[];
}

/** Creates a folder with these files, and separate home, cache and data folders. */
function setUp(files: Record<string, string> = { "portolan.yaml": GOOD }) {
  const top = temporaryFolder();
  const cwd = join(top, "project");
  const home = join(top, "home");
  for (const folder of [cwd, home]) mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) {
    const file = join(name.startsWith("~/") ? home : cwd, name.replace(/^~\//, ""));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const env = {
    HOME: home,
    XDG_CACHE_HOME: join(top, "cache"),
    XDG_CONFIG_HOME: join(top, "config"),
    XDG_DATA_HOME: join(top, "data"),
  };
  const run = (...words: string[]) => portolan(words, { cwd, env });
  return { cwd, home, env, run, serve: (...words: string[]) => begin(["serve", ...words], cwd, env) };
}

/** A running command. */
function begin(words: readonly string[], cwd: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [MAIN, ...words], {
    cwd,
    env: {
      PATH: process.env["PATH"] ?? "",
      PORTOLAN_SANDBOX: process.env["PORTOLAN_SANDBOX"] ?? "",
      ...env,
    },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  child.stdin.on("error", () => {});
  const done = new Promise<number | null>((resolve) => child.once("close", resolve));
  const shows = async (text: string | RegExp, stream: () => string = () => err): Promise<string> => {
    await until(() => {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${err}`);
      return typeof text === "string" ? stream().includes(text) : text.test(stream());
    });
    return stream();
  };
  return {
    child,
    done,
    err: () => err,
    out: () => out,
    shows,
    /** The output of --json, and the token, which it never contains. */
    ready: async () => {
      const printed = JSON.parse(await shows("\n", () => out)) as Served;
      expect(printed).not.toHaveProperty("token");
      return { ...printed, token: keptToken(env) };
    },
    /** The processes that the command started, and their children. */
    descendants: () => childrenOf(child.pid ?? 0),
    say: (message: object) => void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`),
    /** The response to the request with this id. */
    answer: async (id: number) => {
      const find = (): string | undefined =>
        out.split("\n").find((line) => line !== "" && (JSON.parse(line) as { id?: number }).id === id);
      await until(() => find() !== undefined);
      return JSON.parse(find() ?? "") as { result: Record<string, never>; error?: { code: number } };
    },
  };
}

function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  const own = readFileSync(file, "utf8").trim().split(" ").filter(Boolean).map(Number);
  return own.flatMap((child) => [child, ...childrenOf(child)]);
}

async function post(url: string, token: string | undefined, method: string, params: object = {}) {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": MODERN,
      "mcp-method": method,
      ...("name" in params ? { "mcp-name": String(params.name) } : {}),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: META } }),
  });
  const text = await response.text();
  const json = text.startsWith("{") ? text : (/^data: (.+)$/m.exec(text)?.[1] ?? "{}");
  return { response, body: JSON.parse(json) as { result?: Record<string, never>; error?: object } };
}

describe("output of serve", () => {
  it("has the address, the servers and the command for the token; only a terminal shows the token", async () => {
    const { serve, run, env } = setUp({
      "portolan.yaml": yaml({ good: entry("--era=modern"), dead: entry("--fault=exit-at-start") }),
    });
    const first = serve("--port", "0", "--log-format", "pretty");
    const text = await first.shows("VS Code");
    const url = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(text)?.[0] ?? "";
    expect(text).toMatch(/^Serving 1 of 2 servers, \d+ tools, at http/);
    expect(text).toMatch(/^ {2}good +ready +\d+ tools$/m);
    expect(text).toMatch(/^ {2}dead +failed +.*\[SERVER_START_FAILED\] The server may need FIXTURE_TOKEN/m);
    const command = /The gateway has a new token\. (.+ token) prints it/.exec(text)?.[1] ?? "";
    expect(text).toContain(
      `\n  claude mcp add --transport http portolan ${url} --header "Authorization: Bearer $(${command})"\n`,
    );
    const headers = { Authorization: "Bearer <token>" };
    expect(text).toContain(JSON.stringify({ mcpServers: { portolan: { url, headers } } }));
    expect(text).toContain(JSON.stringify({ servers: { portolan: { type: "http", url, headers } } }));
    expect(text).not.toContain("\u001b");
    first.child.kill("SIGTERM");
    expect(await first.done).toBe(0);
    expect(first.out()).toBe("");

    const token = keptToken(env) ?? "";
    expect(token).toMatch(/^ptl_[\w-]{43}$/);
    expect(await run("token")).toEqual({ code: 0, out: `${token}\n`, err: "" });
    const second = serve("--port", "0", "--show-token", "--log-format", "pretty");
    expect(await second.shows("VS Code")).toContain("shown only on a terminal");
    const renewed = serve("--port", "0", "--new-token", "--json");
    const fresh = (await renewed.ready()).token ?? "";
    expect(fresh).not.toBe(token);
    expect((await run("token", "--new")).err).toContain("still accepts the old token");
    for (const gateway of [first, second, renewed])
      for (const said of [gateway.err(), gateway.out()]) {
        expect(said).not.toContain("ptl_");
        expect(said).not.toContain(fresh);
      }
  });

  it("with --json is one line of JSON, without the token", async () => {
    const { serve } = setUp({
      "portolan.yaml": yaml({ good: { ...entry("--era=modern"), tags: ["demo"] } }),
    });
    const gateway = serve("--port", "0", "--json", "--sse", "--websocket");
    const { url, endpoints, auth, tokenCommand, servers } = await gateway.ready();
    expect(gateway.out().trim().split("\n")).toHaveLength(1);
    // Tests run without sandboxes, and the output always reports that.
    await until(() => /^\S+ \S+ PORTOLAN_SANDBOX is off, .* sandbox: good\.\n$/.test(gateway.err()));
    const base = url.replace(/\/mcp$/, "");
    expect(endpoints).toEqual({
      servers: { good: `${base}/servers/good/mcp` },
      tags: { demo: `${base}/tags/demo/mcp` },
      console: `${base}/`,
      health: `${base}/healthz`,
      ready: `${base}/readyz`,
      sse: `${base}/sse`,
      websocket: `${base.replace("http", "ws")}/mcp`,
    });
    expect(auth).toBe("token");
    expect(tokenCommand).toMatch(/ token$/);
    expect(servers).toMatchObject([{ alias: "good", state: "ready" }]);
    await serve("--port", "0", "--json", "--show-token").ready();
    expect(await serve("--port", "0", "--json", "--no-auth").ready()).toMatchObject({ auth: "none" });
  });

  it("is empty with --quiet, and has each call with --verbose", async () => {
    const { serve } = setUp();
    const loud = serve("--port", "0", "--json", "--verbose", "--no-auth");
    const { url } = await loud.ready();
    await post(url, undefined, "tools/call", { name: "mcp_good_echo", arguments: { text: "hi" } });
    await loud.shows(/good tool called mcp_good_echo for anyone \d+ ms/);
    const quiet = serve("--port", "0", "--json", "--quiet", "--no-auth");
    await quiet.ready();
    quiet.child.kill("SIGTERM");
    expect(await quiet.done).toBe(0);
    expect(quiet.err()).toBe("");
  });

  it("has the crash and the restart of a server", async () => {
    const { serve } = setUp();
    const gateway = serve("--port", "0", "--json", "--no-auth");
    await gateway.ready();
    const [server = 0] = gateway.descendants();
    process.kill(server, "SIGKILL");
    await gateway.shows("good failed");
    await gateway.shows("good restarted");
  });

  it("on a terminal has the token, and Ctrl-C stops the gateway", needs("a terminal"), async () => {
    const { cwd, env } = setUp();
    const screen = terminal(`cd ${quoted([cwd])}; portolan serve --port 0`, 100, env);
    await screen.shows("Serving 1 server");
    await until(() => keptToken(env) !== undefined);
    await screen.shows(`\n  ${keptToken(env)}`);
    await screen.shows("Press Ctrl-C to stop the gateway.");
    screen.press("\u0003");
    await screen.shows("Stopping. Press Ctrl-C again to quit immediately.");
    expect((await screen.done).code).toBe(130);
  });
});

it("serve needs no data folder when it needs no token", async () => {
  const { cwd, env } = setUp();
  // No user can create a folder there.
  const without = { ...env, XDG_DATA_HOME: "/dev/null/none" };
  const gateway = begin(["serve", "--port", "0", "--json", "--no-auth"], cwd, without);
  const call = { name: "mcp_good_echo", arguments: { text: "hello" } };
  const { url } = await gateway.ready();
  expect((await post(url, undefined, "tools/call", call)).body.result).toBeDefined();
  const stdio = begin(["serve", "--stdio"], cwd, without);
  stdio.say({ id: 1, method: "tools/call", params: { ...call, _meta: META } });
  expect((await stdio.answer(1)).error).toBeUndefined();
});

describe("serve", () => {
  it("serves the workspace at /mcp to clients with the token", async () => {
    const { serve } = setUp();
    const { url, token, endpoints } = await serve("--port", "0", "--json").ready();
    const list = await post(url, token, "tools/list");
    const names = (list.body.result as unknown as { tools: { name: string }[] }).tools.map(
      ({ name }) => name,
    );
    expect(names).toContain("mcp_good_echo");
    const call = { name: "mcp_good_echo", arguments: { text: "hello" } };
    expect((await post(url, token, "tools/call", call)).body.result).toMatchObject({
      content: [{ type: "text", text: "hello" }],
    });
    const alone = endpoints.servers["good"] ?? "";
    expect((await post(alone, token, "tools/call", { ...call, name: "echo" })).body.result).toBeDefined();
    for (const wrong of [undefined, "ptl_wrong"]) {
      const { response, body } = await post(url, wrong, "tools/list");
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toMatch(/^Bearer/);
      expect(JSON.stringify(body)).toContain("AUTH_REQUIRED");
    }
    expect((await fetch(`${new URL(url).origin}/readyz`)).status).toBe(200);
  });

  it("serves the servers of --only with the gateway settings of portolan.yaml; options override these", async () => {
    const { serve, run } = setUp({
      "portolan.yaml": yaml(
        { good: entry("--era=modern"), other: entry("--era=legacy") },
        { port: 0, auth: "none", transports: { sse: true } },
      ),
    });
    const { auth, servers, endpoints } = await serve("--only", "other", "--websocket", "--json").ready();
    expect(auth).toBe("none");
    expect(servers.map(({ alias }) => alias)).toEqual(["other"]);
    expect(Object.keys(endpoints)).toEqual([
      ...["servers", "tags", "console", "health", "ready", "sse", "websocket"],
    ]);
    const unknown = await run("serve", "--only", "othr");
    expect(unknown.code).toBe(2);
    expect(unknown.err).toContain('Did you mean "other"?');
  });

  it.each([
    ["words after --", (words: string[]) => ["--", ...words]],
    ["a quoted command", (words: string[]) => [quoted(words)]],
  ])("serves one server with its own tool names: %s", async (_, target) => {
    const { serve } = setUp({});
    const { command, args } = entry("--era=legacy");
    const gateway = serve("--port", "0", "--json", "--no-auth", ...target([command, ...args]));
    const { url, servers } = await gateway.ready();
    expect(servers).toMatchObject([{ state: "ready" }]);
    const call = { name: "echo", arguments: { text: "${HOME}" } };
    expect((await post(url, undefined, "tools/call", call)).body.result).toMatchObject({
      content: [{ text: "${HOME}" }],
    });
  });

  it("serves the servers of other clients if there is no config file, but never itself", async () => {
    const port = String(await freePort());
    const { serve, run } = setUp({
      "~/.cursor/mcp.json": JSON.stringify({
        mcpServers: {
          good: entry("--era=modern"),
          gateway: { url: `http://localhost:${port}/mcp` },
          again: { command: "npx", args: ["-y", "portolan", "serve", "--stdio"] },
          here: { command: "node", args: [MAIN, "serve", "--stdio"] },
        },
      }),
    });
    const gateway = serve("--port", port, "--no-auth", "--log-format", "pretty");
    const text = await gateway.shows("VS Code");
    expect(text).toContain("There is no config file here. These servers come from Cursor");
    expect(text).toContain("The gateway does not serve gateway: its URL is the address of this gateway.");
    // Portolan's own entry in a client's file is no server.
    expect(text).not.toMatch(/^ +(?:again|here) /m);
    expect(text).toMatch(/^Serving 1 server, /m);
    expect(gateway.descendants()).toHaveLength(1);
    const nothing = setUp({});
    expect(await nothing.run("serve")).toMatchObject({ code: 2, out: "" });
    expect((await run("serve", "--port", port)).code).toBe(2);
  });

  it("ignores an entry for the gateway itself that a client adds while it runs", async () => {
    const { serve, cwd } = setUp();
    const gateway = serve("--port", "0", "--json", "--no-auth");
    const { url } = await gateway.ready();
    const servers = { self: { type: "http", url }, more: { type: "stdio", ...entry("--era=modern") } };
    writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
    await gateway.shows("The gateway does not serve self: its URL is the address of this gateway.");
    await gateway.shows("more ready");
  });

  it("serves the quickstart example of npm start", async () => {
    const { env } = setUp({});
    const gateway = begin(["serve", "examples/quickstart", "--port", "0", "--json"], root, env);
    const { url, token, servers } = await gateway.ready();
    expect(servers).toMatchObject([{ alias: "everything" }, { alias: "handy", state: "ready", tools: 2 }]);
    const call = { name: "mcp_everything_get-sum", arguments: { a: 2, b: 40 } };
    // On a busy machine, the server may still be starting.
    await until(async () => (await post(url, token, "tools/call", call)).body.error === undefined);
    expect((await post(url, token, "tools/call", call)).body.result).toMatchObject({
      content: [{ text: "The sum of 2 and 40 is 42." }],
    });
    const roll = { name: "mcp_handy_roll_dice", arguments: { dice: 3, sides: 6 } };
    expect((await post(url, token, "tools/call", roll)).body.result).toMatchObject({
      content: [{ text: expect.stringMatching(/^[1-6] [1-6] [1-6]\n$/) }],
    });
    const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      scripts: { start: string };
    };
    expect(manifest.scripts.start).toBe("npm run build && node dist/cli/main.js serve examples/quickstart");
  });
});

describe("serve --stdio", () => {
  it("serves a legacy session until stdin ends, and prints only MCP messages on stdout", async () => {
    const gateway = setUp().serve("--stdio");
    const clientInfo = { name: "by hand", version: "1" };
    const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    gateway.say({ id: 1, method: "initialize", params: hello });
    expect((await gateway.answer(1)).result).toMatchObject({ protocolVersion: "2025-06-18" });
    gateway.say({ method: "notifications/initialized" });
    gateway.say({ id: 2, method: "tools/list" });
    expect(JSON.stringify((await gateway.answer(2)).result)).toContain('"mcp_good_echo"');
    gateway.say({
      id: 3,
      method: "tools/call",
      params: { name: "mcp_good_echo", arguments: { text: "a" } },
    });
    expect((await gateway.answer(3)).result).toMatchObject({ content: [{ text: "a" }] });
    const children = gateway.descendants();
    gateway.child.stdin.end();
    expect(await gateway.done).toBe(0);
    expect(gateway.err()).toMatch(/^This process starts servers of its own: .*\n$/);
    expect(children.filter(isRunning)).toEqual([]);
  });

  it("serves modern requests without a handshake, and stderr reports a server that is not running", async () => {
    const files = { "portolan.yaml": yaml({ good: entry(), dead: entry("--fault=exit-at-start") }) };
    const gateway = setUp(files).serve("--stdio");
    gateway.say({ id: 1, method: "server/discover", params: { _meta: META } });
    expect((await gateway.answer(1)).result).toMatchObject({ supportedVersions: [MODERN] });
    const params = { name: "mcp_good_echo", arguments: { text: "b" }, _meta: META };
    gateway.say({ id: 2, method: "tools/call", params });
    expect((await gateway.answer(2)).result).toMatchObject({ content: [{ text: "b" }] });
    expect(gateway.err()).toMatch(/^This .*\ndead is not running: .*\[SERVER_START_FAILED\] .*TOKEN.*\n$/);
    gateway.child.kill("SIGTERM");
    expect(await gateway.done).toBe(0);
  });
});

describe("the end of serve", () => {
  it.each([
    ["SIGTERM", 0],
    ["SIGINT", 130],
  ] as const)("%s ends the gateway and its servers, with exit code %i", async (signal, code) => {
    const files = {
      "portolan.yaml": yaml({
        a: { ...entry("--era=modern"), env: { A: "1" } },
        b: { ...entry("--era=legacy"), env: { B: "1" } },
      }),
    };
    const gateway = setUp(files).serve("--port", "0", "--json", "--no-auth");
    const { url } = await gateway.ready();
    const children = gateway.descendants();
    expect(children).toHaveLength(2);
    const since = Date.now();
    gateway.child.kill(signal);
    expect(await gateway.done).toBe(code);
    expect(Date.now() - since).toBeLessThan(15_000);
    expect(children.filter(isRunning)).toEqual([]);
    await expect(fetch(url)).rejects.toThrow();
  });

  it("SIGINT during the start ends the gateway and its servers", async () => {
    const files = { "portolan.yaml": yaml({ slow: entry("--fault=silent") }) };
    const gateway = setUp(files).serve("--port", "0");
    await until(() => gateway.descendants().length > 0);
    const children = gateway.descendants();
    gateway.child.kill("SIGINT");
    expect(await gateway.done).toBe(130);
    expect(children.filter(isRunning)).toEqual([]);
    expect(gateway.err()).toMatch(/^\S+ \S+ Stopping\. Press Ctrl-C again to quit immediately\.\n$/);
  });

  it("a second Ctrl-C exits at once, and ends the servers", async () => {
    const gateway = setUp().serve("--port", "0", "--json", "--no-auth");
    const { url } = await gateway.ready();
    const children = gateway.descendants();
    // The gateway gives a running call a moment to finish, unless the user interrupts again.
    const slow = post(url, undefined, "tools/call", { name: "mcp_good_slow", arguments: { ms: 20_000 } });
    slow.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 300));
    const since = Date.now();
    gateway.child.kill("SIGINT");
    await gateway.shows("Stopping.");
    gateway.child.kill("SIGINT");
    expect(await gateway.done).toBe(130);
    expect(Date.now() - since).toBeLessThan(15_000);
    await until(() => children.every((pid) => !isRunning(pid)));
  });
});

describe("wrong arguments of serve", () => {
  it("are all reported at once", async () => {
    const { run } = setUp();
    const bad = await run(
      ...["serve", "--port", "70000", "--host", "a b", "--tls-cert", "no.pem", "--allow-host", "http://x"],
      ...["--allow-origin", "x", "--no-auth", "--show-token"],
    );
    expect(bad.code).toBe(2);
    for (const flag of ["port", "host", "tls-cert", "allow-host", "allow-origin", "no-auth"])
      expect(bad.err).toContain(`--${flag} `);
    expect(bad.err).toContain("--tls-cert needs --tls-key");
    const stdio = await run("serve", "--stdio", "--port", "1", "--no-auth", "--sse");
    expect(stdio.code).toBe(2);
    expect(stdio.err.match(/cannot be used with --stdio/g)).toHaveLength(3);
  });

  it.each([
    [["serve", "a", "b"], "unexpected argument"],
    [["serve", ".", "-w", "."], "There is more than one workspace or command to serve"],
    [["serve", ".", "--", "node", "x.js"], "There is more than one workspace or command to serve"],
    [["serve", "no/such/folder"], "There is no folder, file or command"],
    [["serve", "--only", "a", "--", "node", "x.js"], "--only works only with a workspace"],
    [["serve", "--header", "A: b"], "--header works only with a URL or a command"],
    [["token", "a", "b"], "one workspace"],
  ])("%j: %s", async (words, message) => {
    const ran = await setUp().run(...words);
    expect(ran.code).toBe(2);
    expect(ran.err).toContain(message);
  });

  it("a port that is in use is refused before any server starts", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const [{ port }, { run }] = [server.address() as AddressInfo, setUp()];
    const text = await run("serve", "--port", String(port));
    expect(text).toMatchObject({ code: 2 });
    expect(text.err).toContain(`Cannot listen at 127.0.0.1:${port}: the port is in use.`);
    expect(text.err).toMatch(/Another program uses this port.*--port 0 chooses a free one/s);
    const json = await run("serve", "--port", String(port), "--json");
    expect(JSON.parse(json.err)).toMatchObject({ error: { code: "CONFIG_INVALID" } });
  });
});
