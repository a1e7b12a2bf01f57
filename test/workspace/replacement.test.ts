// Replacement of running servers: a new process that cannot start does not end the old one, unless the change takes rights away.

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openGateway, type OpenedGateway } from "../../src/gateway/index.ts";
import type { HubEvent, ServerHealth } from "../../src/hub/index.ts";
import { until } from "../helpers/connect.ts";
import { isRunning, temporary } from "../helpers/workspace.ts";

/** Answers `who` with its process id. It loads the files among its arguments. */
const PROGRAM = `
for (const word of process.argv.slice(2)) if (word.endsWith(".cjs")) require(word);
const send = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (method === "initialize") send(id, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } });
  else if (method === "tools/list") send(id, { tools: [{ name: "who", inputSchema: { type: "object" } }] });
  else if (id !== undefined) send(id, { content: [{ type: "text", text: String(process.pid) }] });
}).on("close", () => process.exit());
`;

interface Settings {
  readonly args?: readonly string[];
  readonly [setting: string]: unknown;
}

interface Running {
  readonly events: HubEvent[];
  /** Writes the config and the program, and waits until the gateway has applied them. */
  save(server: Settings, program?: string): Promise<void>;
  program(text: string): void;
  restart(): Promise<void>;
  reload(): Promise<void>;
  health(): ServerHealth;
  /** The process id that a call returns, or the error of the call. */
  who(): Promise<string>;
}

async function run(first: Settings = {}): Promise<Running> {
  const folder = temporary();
  const file = join(folder, "server.cjs");
  const write = ({ args = [], ...more }: Settings, program: string): void => {
    writeFileSync(file, program);
    const local = { command: process.execPath, sandbox: "off", ...more, args: [file, ...args] };
    const one = "url" in more ? more : local;
    writeFileSync(join(folder, "portolan.yaml"), JSON.stringify({ version: 1, servers: { one } }));
  };
  write(first, PROGRAM);
  const events: HubEvent[] = [];
  const gateway: OpenedGateway = await openGateway(folder, {
    ...{ snapshots: false, onDiagnostic: () => {}, settings: { auth: "none" } },
    onEvent: (event: HubEvent) => void events.push(event),
  });
  onTestFinished(() => gateway.close());
  await gateway.settled();
  const { hub } = gateway.workspace;
  const reload = async (): Promise<void> => void (await gateway.reload());
  return {
    events,
    reload,
    save: (server, program = PROGRAM) => {
      write(server, program);
      return reload();
    },
    program: (text) => writeFileSync(file, text),
    restart: () => gateway.workspace.restart("one"),
    health: () => gateway.health()[0] as ServerHealth,
    who: () =>
      hub.request({ method: "tools/call", params: { name: hub.fullToolName("one", "who") } }).then(
        ({ content }) => (content as { text: string }[])[0]?.text ?? "",
        (error: Error) => error.message,
      ),
  };
}

const BROKEN = 'throw new Error("broken script");';

test("a restart whose process cannot start leaves the old process, and the next restart replaces it", async () => {
  const one = await run();
  const before = await one.who();
  await one.save({}, BROKEN);
  await one.restart();
  expect(await one.who()).toBe(before);
  expect(one.health()).toMatchObject({
    state: "ready",
    failedReplacement: {
      code: "SERVER_START_FAILED",
      message:
        "one was not restarted, and its earlier process continues to run, because the new process failed: one exited with code 1: Error: broken script",
      hint: expect.stringContaining("To try again: portolan restart one") as string,
    },
  });
  const types = (): string[] => one.events.map(({ type }) => type);
  expect(types()).toContain("mcp.server_replacement_failed");
  expect(types()).not.toContain("mcp.server_failed");
  expect(types()).not.toContain("mcp.server_restarted");
  await one.save({}, PROGRAM);
  await one.restart();
  expect(one.health().state).toBe("ready");
  expect(one.health()).not.toHaveProperty("failedReplacement");
  expect(await one.who()).not.toBe(before);
});

test("a failed restart does not stop a running lazy server", async () => {
  const one = await run({ start: "lazy" });
  const before = await one.who();
  await one.save({ start: "lazy" }, BROKEN);
  await one.restart();
  expect(await one.who()).toBe(before);
});

test("a changed command that cannot start leaves the old process; a later change shows only its own cause", async () => {
  const one = await run();
  const before = await one.who();
  await one.save({ args: ["./first.cjs"], tool_blocklist: ["who"] });
  const message = (): string | undefined => one.health().failedReplacement?.message;
  expect(message()).toMatch(
    /^one runs with its earlier configuration, because it could not start with the new one: .*first\.cjs/,
  );
  // Rules apply to the old process too.
  expect(await one.who()).toContain("who");
  expect(one.health()).toMatchObject({ state: "ready", tools: 0 });
  const reloads = one.events.filter((event) => event.type === "mcp.config_reloaded");
  expect(reloads.at(-1)).toMatchObject({ changed: ["one"], failed: [{ server: "one", reason: message() }] });
  await one.save({ args: ["./second.cjs"] });
  expect(message()).toContain("second.cjs");
  expect(message()).not.toContain("first.cjs");
  expect(await one.who()).toBe(before);
  // The earlier config is in use already.
  await one.save({});
  expect(message()).toBeUndefined();
  expect(await one.who()).toBe(before);
});

test("while a second change starts, the cause of the first one is not shown", async () => {
  const one = await run();
  await one.save({ env: { RUN: "1" }, args: ["./first.cjs"] });
  expect(one.health().error?.message).toContain("first.cjs");
  const [gate, slow] = [join(temporary(), "gate"), join(temporary(), "slow.cjs")];
  writeFileSync(
    slow,
    `while (!require("node:fs").existsSync(${JSON.stringify(gate)})) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);`,
  );
  const saved = one.save({ env: { RUN: "2" }, args: [slow] });
  await until(() => one.health().error === undefined);
  expect(one.health()).toMatchObject({ state: "starting" });
  writeFileSync(gate, "");
  await saved;
  expect(one.health().state).toBe("ready");
  expect(one.health()).not.toHaveProperty("error");
  expect(one.health()).not.toHaveProperty("stderr");
});

test("a server that works after a restart does not show the output of the failed start", async () => {
  const one = await run({ env: { RUN: "1" } });
  await one.save({ env: { RUN: "2" } }, BROKEN);
  expect(one.health().stderr).toContain("broken script");
  one.program(PROGRAM);
  await one.restart();
  expect(one.health().state).toBe("ready");
  expect(one.health()).not.toHaveProperty("error");
  expect(one.health()).not.toHaveProperty("stderr");
});

test("a reload tries the new configuration again", async () => {
  const late = join(temporary(), "late.cjs");
  const one = await run();
  const before = await one.who();
  await one.save({ args: [late] });
  expect(await one.who()).toBe(before);
  writeFileSync(late, "");
  await one.reload();
  expect(one.health().failedReplacement).toBeUndefined();
  expect(await one.who()).toMatch(/^\d+$/);
  expect(await one.who()).not.toBe(before);
});

/** The name of a variable that an argument or a login uses. */
const NAME = "PORTOLAN_REPLACEMENT_TEST";

test("a new process that answers initialize with an error leaves the old process", async () => {
  const one = await run();
  const before = await one.who();
  const refusing = PROGRAM.replace(
    'if (method === "initialize")',
    'if (method === "initialize") console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message: "no license" } })); else if (method === "none")',
  );
  await one.save({ args: ["--new"] }, refusing);
  expect(one.health()).toMatchObject({
    state: "ready",
    failedReplacement: { code: "RPC_ERROR", message: expect.stringContaining("no license") as string },
  });
  expect(await one.who()).toBe(before);
});

/** A server with the tool `who` at /mcp; `refuse` answers every other path. */
async function serveUrl(refuse: (response: ServerResponse, base: string) => void): Promise<string> {
  const http = createServer((request, response) => {
    void json(request).then((message) => {
      if (request.url !== "/mcp") return refuse(response, base);
      const { id, method } = message as { id?: number; method?: string };
      if (id === undefined) return response.writeHead(202).end();
      const results: Readonly<Record<string, unknown>> = {
        initialize: {
          ...{ protocolVersion: "2025-11-25", capabilities: { tools: {} } },
          serverInfo: { name: "s", version: "1" },
        },
        "tools/list": { tools: [{ name: "who", inputSchema: { type: "object" } }] },
        "tools/call": { content: [{ type: "text", text: "url" }] },
      };
      const result = results[method ?? ""];
      const answer = result === undefined ? { error: { code: -32601, message: "unknown" } } : { result };
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    });
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const base = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return base;
}

async function json(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text === "" ? {} : JSON.parse(text);
}

test.each<[string, (response: ServerResponse, base: string) => void]>([
  ["RATE_LIMITED", (response) => void response.writeHead(429).end()],
  [
    "AUTH_UNAVAILABLE",
    (response, base) => {
      const challenge = `Bearer resource_metadata="${base}/metadata"`;
      const isServer = response.req.url === "/refused";
      void (
        isServer ? response.writeHead(401, { "www-authenticate": challenge }) : response.writeHead(503)
      ).end();
    },
  ],
])("a new url that fails with %s leaves the connection to the old one", async (code, refuse) => {
  const base = await serveUrl(refuse);
  vi.stubEnv(NAME, "value");
  onTestFinished(() => void vi.unstubAllEnvs());
  const auth = { grant: "client_credentials", client_id: "nightly", client_secret: `\${${NAME}}` };
  const one = await run({ url: `${base}/mcp`, auth });
  expect(await one.who()).toBe("url");
  await one.save({ url: `${base}/refused`, auth });
  expect(one.health()).toMatchObject({ state: "ready", failedReplacement: { code } });
  expect(await one.who()).toBe("url");
});

test.each([
  ["a removed variable", { env: { A: "1" } }, {}],
  ["another sandbox", {}, { sandbox: { mode: "off", network: [] } }],
  ["a removed reference in an argument", { args: [`\${${NAME}}`] }, {}],
])("%s ends the old process, although the new one cannot start", async (_, first, second) => {
  vi.stubEnv(NAME, "value");
  onTestFinished(() => void vi.unstubAllEnvs());
  const one = await run(first);
  const before = Number(await one.who());
  expect(isRunning(before)).toBe(true);
  await one.save({ ...second, args: ["./nowhere.cjs"] });
  expect(one.health()).not.toHaveProperty("failedReplacement");
  expect(one.health().error?.message).toContain("nowhere.cjs");
  await until(() => !isRunning(before));
});

test("a program that says that another process runs is started again after the old one has ended", async () => {
  const lock = join(temporary(), "lock");
  const program = `
const { mkdirSync, rmdirSync } = require("node:fs");
try { mkdirSync(${JSON.stringify(lock)}); } catch { console.error("already running"); process.exit(1); }
process.on("exit", () => rmdirSync(${JSON.stringify(lock)}));
process.on("SIGTERM", () => process.exit());
${PROGRAM}`;
  const one = await run();
  await one.save({ env: { RUN: "1" } }, program);
  const before = await one.who();
  await one.restart();
  await until(async () => {
    const now = await one.who();
    return /^\d+$/.test(now) && now !== before;
  });
});
