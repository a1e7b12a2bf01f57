// G4: no resolved secret leaves the program, although the servers repeat it wherever they can.

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { readdirSync, readFileSync } from "node:fs";
import { inspect } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { WorkspaceOptions } from "../../src/hub/index.ts";
import { startWsServer } from "../fixtures/ws-server.mjs";
import { failure, started, until } from "../helpers/connect.ts";
import { declare, type Entry, filesBelow, open, type Opened, temporary } from "../helpers/workspace.ts";

/** Hard to redact: JSON, URLs and base64 encode some of its characters differently. */
const CANARY = 'cnry/7Qz+"9f\\e2-4b&61 d0';
/** A secret that a URL can contain without encoding. */
const PLAIN_CANARY = "cnry-51d6f2c0-a1b7-4de8";
const FORMS = [CANARY, PLAIN_CANARY].flatMap((value) => [
  value,
  JSON.stringify(value).slice(1, -1),
  encodeURIComponent(value),
  Buffer.from(value).toString("base64").replace(/=+$/, ""),
  // The first half of a secret that was cut in two.
  value.slice(0, 12),
]);

function expectClean(what: string, ...values: unknown[]): void {
  const text = values
    .map((value) =>
      typeof value === "string"
        ? value
        : `${inspect(value, { depth: Infinity, maxArrayLength: null, maxStringLength: null, getters: true, showHidden: true })}\n${JSON.stringify(value)}`,
    )
    .join("\n");
  for (const form of FORMS) {
    const at = text.indexOf(form);
    const around = at === -1 ? "" : text.slice(Math.max(0, at - 200), at + 200);
    expect(around, `${what} holds ${form}`).toBe("");
  }
}

/** A server that repeats its secret in everything that it sends. `given` is an expression for the secret. */
function blabber(given: string): string[] {
  const script = `
    const given = ${given};
    const forms = [given, Buffer.from(given).toString("base64"), encodeURIComponent(given), JSON.stringify(given)].join(" | ");
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    console.log("listening with " + forms);
    console.log("x".repeat(104) + " token " + given);
    console.error("started with " + forms);
    process.stderr.write("in two pieces: " + given.slice(0, 9));
    setTimeout(() => process.stderr.write(given.slice(9) + "\\n"), 50);
    const tool = (name) => ({ name, title: forms, description: "Uses " + forms, inputSchema: { type: "object", properties: { [given]: { type: "string", default: forms } }, description: forms }, _meta: { [given]: forms } });
    const results = {
      initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {}, prompts: {}, resources: {}, logging: {} }, serverInfo: { name: forms, version: given }, instructions: "Say " + forms },
      ping: {},
      "tools/list": { tools: ["result", "refuse", "tell", "die", "hang", "ask", given].map(tool) },
      "prompts/list": { prompts: [{ name: "p", description: forms }] },
      "prompts/get": { messages: [{ role: "user", content: { type: "text", text: forms } }] },
      "resources/list": { resources: [{ uri: "x://y", name: forms, description: forms }] },
      "resources/templates/list": { resourceTemplates: [{ uriTemplate: "x://{z}", name: forms }] },
      "resources/read": { contents: [{ uri: "x://y", text: "content " + forms }] },
    };
    const call = (id, name, token) => {
      if (name === "refuse") return send({ id, error: { code: -32000, message: "refused " + forms, data: { [given]: [forms] } } });
      if (name === "tell") {
        send({ method: "notifications/message", params: { level: "error", logger: given, data: { [given]: forms } } });
        if (token !== undefined) send({ method: "notifications/progress", params: { progressToken: token, progress: 1, message: forms } });
        return send({ id, result: { isError: true, content: [{ type: "text", text: forms }] } });
      }
      if (name === "die") { console.error("y".repeat(40) + " dying with " + forms + " " + ("z".repeat(70) + " ").repeat(40) + given + " " + "w ".repeat(2040 - given.length)); return process.exit(7); }
      if (name === "ask") return send({ id: "q", method: "elicitation/create", params: { message: forms, requestedSchema: { type: "object", properties: {} } } }), (results.waiting = id);
      if (name === "result") send({ id, result: { content: [{ type: "text", text: forms }, { type: "resource", resource: { uri: "x://" + encodeURIComponent(given), text: forms } }], structuredContent: { [given]: { deep: [forms] } }, _meta: { forms } } });
    };
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params, result } = JSON.parse(line);
      if (id === "q") return send({ id: results.waiting, result: { content: [{ type: "text", text: JSON.stringify(result) }] } });
      if (method === "tools/call") return call(id, params.name, params._meta?.progressToken);
      if (id === undefined) return;
      send(results[method] ? { id, result: results[method] } : { id, error: { code: -32601, message: "no " + method + " " + forms } });
    }).on("close", () => process.exit());`;
  return ["-e", script];
}

const blabbing = (alias: string, given: string, more: object): Entry => ({
  alias,
  transport: "stdio",
  command: process.execPath,
  ...more,
  args: [...blabber(given), ...((more as { args?: string[] }).args ?? [])],
  resources_as_tools: true,
  prompts_as_tools: true,
  context: [{ uri: "x://y" }],
});

async function setUp(servers: Entry[], options: WorkspaceOptions = {}): Promise<Opened & { cache: string }> {
  const cache = temporary();
  vi.stubEnv("XDG_CACHE_HOME", cache);
  vi.stubEnv("CANARY", CANARY);
  vi.stubEnv("PLAIN_CANARY", PLAIN_CANARY);
  onTestFinished(() => void vi.unstubAllEnvs());
  const opened = await open(declare(servers), { snapshots: `${cache}/tools`, ...options });
  return { ...opened, cache };
}

/** Everything that a workspace shows without a call. */
async function expectQuiet({ workspace, events, diagnostics, cache }: Opened & { cache: string }) {
  const tools = await workspace.tools();
  expectClean("tools", tools);
  expectClean(
    "schemas",
    tools.map((tool) => tool.inputSchema),
  );
  expectClean("resources and prompts", await workspace.resources(), await workspace.prompts());
  expectClean("context", await workspace.context());
  expectClean("health", workspace.health());
  expectClean("events", events);
  expectClean("diagnostics", diagnostics, workspace.diagnostics);
  const files = filesBelow(cache);
  for (const { file, text } of files) expectClean(file, file, text);
  return { tools, files };
}

/** The command lines of this program's children; other processes are not part of the test. */
function commandLines(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const [command, parent] = ["cmdline", "stat"].map((file) =>
          readFileSync(`/proc/${pid}/${file}`, "utf8"),
        );
        return parent?.slice(parent.lastIndexOf(")")).split(" ")[2] === String(process.pid)
          ? [command ?? ""]
          : [];
      } catch {
        return [];
      }
    });
}

describe("the secret in the environment of a stdio server", () => {
  it("is redacted in everything that the server sends or prints", async () => {
    const asked: unknown[] = [];
    const logs: unknown[] = [];
    const progress: unknown[] = [];
    const opened = await setUp([blabbing("env", "process.env.TOKEN", { env: { TOKEN: "${CANARY}" } })], {
      handlers: {
        elicit: (request, { server }) => {
          asked.push({ ...request, server });
          return { action: "decline" };
        },
      },
    });
    const { workspace, state, diagnostics } = opened;
    expect(state("env")).toBe("ready");
    workspace.on("log", (message) => logs.push(message));
    const result = await workspace.callTool("env.result");
    expectClean("a result", result, result.text);
    expect(result.text).toContain("[redacted]");
    const refused = await failure(workspace.callTool("env.refuse"));
    expectClean("an error answer", refused, refused.message, refused.stack);
    const told = await workspace.callTool("env.tell", {}, { onProgress: (step) => progress.push(step) });
    expectClean("an error result", told, told.text);
    expectClean("logs", logs);
    expect(logs).toHaveLength(1);
    expectClean("progress", progress);
    expect(progress).toHaveLength(1);
    await workspace.callTool("env.ask");
    expectClean("questions", asked);
    expect(asked).toEqual([expect.objectContaining({ server: "env" })]);
    expectClean("a resource", await workspace.readResource("x://y"));
    expectClean("a resource as a tool", await workspace.callTool("env.read_resource", { uri: "x://y" }));
    expectClean("a prompt", await workspace.getPrompt("mcp_env_p"));
    const tool = (await workspace.tools()).find(({ name }) => name === "mcp_env_tell");
    const failed = await failure(tool?.execute({}) as Promise<unknown>);
    expectClean("an agent's tool", failed, failed.message, failed.stack);

    const crashed = await failure(workspace.callTool("env.die"));
    expect(crashed.stderr).toContain("w w");
    expectClean("a crash", crashed, crashed.message, crashed.stderr, crashed.stack, crashed.cause);
    await until(() => state("env") === "ready");
    const { tools, files } = await expectQuiet(opened);
    expect(tools.length).toBeGreaterThan(6);
    expect(files.length).toBeGreaterThan(0);
    expect(workspace.health()[0]?.stderr).toContain("[redacted]");
    expect(diagnostics.some(({ message }) => message.includes("not JSON-RPC"))).toBe(true);
    expectClean("the list of processes", ...commandLines());
  });

  it("is redacted in the stderr of a failed start", async () => {
    const script = `console.error("no luck with " + process.env.TOKEN); console.log(process.env.TOKEN); process.exit(2)`;
    const opened = await setUp([
      {
        alias: "dead",
        transport: "stdio",
        command: process.execPath,
        args: ["-e", script],
        env: { TOKEN: "x ${CANARY} y" },
      },
    ]);
    const { workspace, state } = opened;
    expect(state("dead")).toBe("failed");
    expect(workspace.health()[0]?.stderr).toContain("no luck with");
    await expectQuiet(opened);
  });
});

it("a secret in arguments is a warning, because ps shows it, and is redacted everywhere else", async () => {
  const more = { args: ["${CANARY}"] };
  const opened = await setUp([
    blabbing("args", "process.argv[1]", more),
    {
      alias: "absent",
      transport: "stdio",
      command: "/no/such/program",
      args: ["--key=${CANARY}"],
      cwd: "/no/such",
    },
  ]);
  const { workspace, diagnostics, state } = opened;
  await expect.poll(() => [state("args"), state("absent")]).toEqual(["ready", "failed"]);
  for (const server of ["args", "absent"])
    expect(diagnostics).toContainEqual(
      expect.objectContaining({ server, severity: "warning", message: expect.stringContaining("CANARY") }),
    );
  const result = await workspace.callTool("args.result");
  expectClean("a result", result, result.text);
  const crashed = await failure(workspace.callTool("args.die"));
  expectClean("a crash", crashed, crashed.message, crashed.stderr, crashed.stack, crashed.cause);
  await expectQuiet(opened);
});

describe("the secret of a remote server", () => {
  /** A legacy server that repeats headers and URL wherever it can. */
  async function startMirror(): Promise<{ url: string; fail(status: number | "cut"): void }> {
    let failing: number | "cut" | undefined;
    const server = createServer((request, response) => void answer(request).then((send) => send(response)));
    const answer = async (request: IncomingMessage) => {
      let body = "";
      for await (const chunk of request) body += String(chunk);
      const seen = `${request.url} ${request.headers.authorization} ${request.rawHeaders.join(" ")}`;
      const { id, method } = JSON.parse(body || "{}") as { id?: number; method?: string };
      return (response: import("node:http").ServerResponse): void => {
        if (failing === "cut") return void response.destroy();
        if (failing !== undefined)
          return void response
            .writeHead(failing, { "www-authenticate": `Bearer realm="${encodeURI(seen)}"` })
            // A cut of this long text also cuts one secret in two.
            .end(`${seen} ${`${PLAIN_CANARY} `.repeat(500)}`);
        if (id === undefined) return void response.writeHead(202).end();
        const results: Record<string, unknown> = {
          initialize: {
            protocolVersion: "2025-11-25",
            capabilities: { tools: {} },
            serverInfo: { name: seen, version: "1" },
            instructions: seen,
          },
          "tools/list": { tools: [{ name: "t", description: seen, inputSchema: { type: "object" } }] },
          "tools/call": { content: [{ type: "text", text: seen }] },
        };
        const error = { code: -32601, message: `no ${method} for ${seen}`, data: { seen } };
        response.writeHead(200, { "content-type": "application/json" });
        const result = results[method ?? ""];
        response.end(
          JSON.stringify({ jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) }),
        );
      };
    };
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/mcp`, fail: (how) => (failing = how) };
  }

  const headers = { "X-Key": "${CANARY}", Authorization: "Bearer ${PLAIN_CANARY}" };

  it("in headers and URL is redacted over HTTP", async () => {
    const mirror = await startMirror();
    const url = `${mirror.url}/\${PLAIN_CANARY}?key=\${PLAIN_CANARY}`;
    const opened = await setUp([{ alias: "web", transport: "streamable-http", url, headers }]);
    const { workspace, state } = opened;
    expect(state("web")).toBe("ready");
    const result = await workspace.callTool("web.t");
    expect(result.text).toContain("[redacted]");
    expectClean("a result", result, result.text);
    for (const how of [500, 401, 403, 404, 429, "cut"] as const) {
      mirror.fail(how);
      const error = await failure(workspace.callTool("web.t"));
      expectClean(`an answer of ${how}`, error, error.message, error.stack, error.cause, error.data);
    }
    await expectQuiet(opened);
  });

  it("is redacted over every transport if the server refuses the connection", async () => {
    const mirror = await startMirror();
    mirror.fail(500);
    const ws = await started(startWsServer());
    await ws.close();
    const dead = ws.url;
    const opened = await setUp([
      { alias: "web", transport: "streamable-http", url: `${mirror.url}?k=\${PLAIN_CANARY}`, headers },
      { alias: "events", transport: "sse", url: `${mirror.url}?k=\${PLAIN_CANARY}`, headers },
      { alias: "socket", transport: "websocket", url: `${dead}?k=\${PLAIN_CANARY}`, headers },
      {
        alias: "page",
        transport: "websocket",
        url: `${mirror.url.replace("http", "ws")}?k=\${PLAIN_CANARY}`,
      },
      { alias: "host", transport: "streamable-http", url: "http://${PLAIN_CANARY}.invalid/mcp" },
    ]);
    const { workspace } = opened;
    expect(new Set(workspace.health().map(({ state }) => state))).toEqual(new Set(["failed"]));
    await expectQuiet(opened);
    const again = await failure(workspace.callTool("web.t"));
    expectClean("a call to it", again, again.message, again.stack);
  });
});
