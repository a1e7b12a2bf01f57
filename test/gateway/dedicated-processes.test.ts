// Dedicated processes for a server whose requests do not name their call, with many callers at once. Every process is real.

import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Diagnostic } from "../../src/errors/index.ts";
import { healthOf } from "../../src/hub/member/health.ts";
import { openHub } from "../../src/hub/index.ts";
import type { ServerConfig, JsonObject } from "../../src/model/index.ts";
import { pinOf, renderLock } from "../../src/packages/index.ts";
import type { ServerRequestHandler, Call } from "../../src/upstream/index.ts";
import { pidsWithEnv, stdioCommand } from "../fixtures/processes.mjs";
import { startSseServer } from "../fixtures/sse-server.mjs";
import { failure, started, until } from "../helpers/connect.ts";

interface Text {
  readonly content: readonly { readonly text: string }[];
}

async function setUp(more: Partial<ServerConfig> = {}, flags: string[] = []) {
  const mark = randomUUID();
  const diagnostics: Diagnostic[] = [];
  const opened = await openHub({
    snapshots: false,
    // This handler only declares the capability; each call has its own handler.
    handlers: { elicit: async () => ({ action: "accept", content: { name: "the hub" } }) },
    onDiagnostic: (diagnostic) => diagnostics.push(diagnostic),
  });
  onTestFinished(() => opened.hub.close());
  const member = opened.member({
    alias: "one",
    enabled: true,
    origin: { file: "/somewhere/manifest.yaml", line: 1, column: 1, format: "manifest" },
    endpoint: { transport: "stdio", ...stdioCommand("--era=legacy", ...flags), env: { MARK: mark } },
    ...more,
  });
  opened.hub.add(member);
  await member.begin();
  /** Names of the callers that got a request, in order. */
  const asked: string[] = [];
  const send = async (
    name: string,
    call: Omit<Call, "caller">,
    ask?: ServerRequestHandler,
  ): Promise<JsonObject> =>
    opened.hub.request({
      caller: { id: name, clientInfo: { name, version: "1" }, capabilities: { elicitation: {} } },
      onServerRequest: ask,
      ...call,
    });
  /** A caller that answers with its own name. */
  const answering =
    (name: string): ServerRequestHandler =>
    async ({ params }) => {
      const [field = ""] = Object.keys((params.requestedSchema as JsonObject).properties as JsonObject);
      asked.push(name);
      return { action: "accept", content: { [field]: name } };
    };
  const tool = async (
    name: string,
    toolName: string,
    args: JsonObject = {},
    ask?: ServerRequestHandler,
  ): Promise<string> => {
    const params = { name: `mcp_one_${toolName}`, arguments: args };
    const result = (await send(name, { method: "tools/call", params }, ask)) as unknown as Text;
    return result.content[0]?.text ?? "";
  };
  return {
    ...opened,
    member,
    diagnostics,
    asked,
    send,
    answering,
    tool,
    /** Calls `ask_form`; the result is the answer that the server got. */
    form: async (name: string, ask: ServerRequestHandler | undefined = answering(name)): Promise<unknown> =>
      JSON.parse(await tool(name, "ask_form", {}, ask)),
    /** Linux only. */
    pids: (): number[] => pidsWithEnv("MARK", mark),
  };
}

const NAMES = Array.from({ length: 16 }, (_, n) => `caller ${n}`);
const answer = (name: string): JsonObject => ({ action: "accept", content: { name } });
/** A handler that answers when the test calls `answer`. */
function patient(name: string): { ask: ServerRequestHandler; asked: Promise<void>; answer: () => void } {
  let arrived: () => void = () => {};
  let release: () => void = () => {};
  const asked = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const ask: ServerRequestHandler = async () => {
    arrived();
    await released;
    return answer(name);
  };
  return { ask, asked, answer: release };
}

describe("many callers of one server that sends requests", () => {
  it("get their own answers, in the first round and in the second", async () => {
    const { form, asked, member } = await setUp();
    for (const _round of [1, 2]) {
      expect(await Promise.all(NAMES.map((name) => form(name)))).toEqual(NAMES.map(answer));
      expect(asked.splice(0).toSorted()).toEqual(NAMES.toSorted());
    }
    // Processes that were asked for may still be starting when the last call is answered.
    await expect.poll(() => member.processes.dedicatedCount).toBeGreaterThan(0);
    expect(member.processes.dedicatedCount).toBeLessThanOrEqual(15);
  });

  it("can all wait for their users at the same time", async () => {
    const { form } = await setUp();
    const users = NAMES.map((name) => ({ name, ...patient(name) }));
    const calls = Promise.all(users.map(({ name, ask }) => form(name, ask)));
    await Promise.all(users.map(({ asked }) => asked));
    for (const user of users) user.answer();
    expect(await calls).toEqual(NAMES.map(answer));
  });

  it("get their own answers beside callers without a handler and tools without server requests", async () => {
    const { form, tool, asked, answering } = await setUp();
    const results = await Promise.all(
      NAMES.flatMap((name, n) => [
        form(name),
        tool(name, "echo", { text: name }, answering(name)),
        tool(name, "slow", { ms: 20 * n }, answering(name)),
        ...(n % 4 === 0 ? [tool(`mute ${n}`, "ask_form")] : []),
      ]),
    );
    const mute = results.filter((text) => typeof text === "string" && text.startsWith("{")).map(String);
    expect(results.filter((result) => typeof result === "object")).toEqual(NAMES.map(answer));
    expect(results.filter((text) => NAMES.includes(text as string))).toEqual(NAMES);
    // No caller got the requests of calls without a handler.
    expect(mute).toHaveLength(4);
    for (const text of mute) expect(text).not.toContain("caller");
    expect(asked.toSorted()).toEqual(NAMES.toSorted());
  });

  it("get their own answers to several server requests in one call", async () => {
    const { tool, answering } = await setUp();
    const names = NAMES.slice(0, 4);
    const texts = await Promise.all(names.map((name) => tool(name, "ask_twice", {}, answering(name))));
    expect(texts.map((text) => JSON.parse(text) as unknown)).toEqual(
      names.map((name) => ({
        first: { action: "accept", content: { first: name } },
        left: { action: "accept", content: { left: name } },
        right: { action: "accept", content: { right: name } },
      })),
    );
  });

  it("get their own answers from a prompt that sent no server requests at first", async () => {
    const { send, asked, answering } = await setUp();
    const prompt = (name: string, city: string): Promise<JsonObject> =>
      send(
        name,
        { method: "prompts/get", params: { name: "mcp_one_with_args", arguments: { city } } },
        answering(name),
      );
    await Promise.all(NAMES.map((name) => prompt(name, "Porto")));
    expect(asked).toEqual([]);
    // The tool has sent no requests so far, so the call shares the process; its request waits for the other responses.
    const [first] = await Promise.all([prompt("first", "ask"), ...NAMES.map((name) => prompt(name, "Rome"))]);
    expect(JSON.stringify(first)).toContain("first");
    expect(asked.splice(0)).toEqual(["first"]);
    const names = NAMES.slice(0, 6);
    const results = await Promise.all(
      names.flatMap((name) => [prompt(name, "ask"), prompt(`${name} in Rome`, "Rome")]),
    );
    expect(asked.toSorted()).toEqual(names.toSorted());
    for (const [n, name] of names.entries()) {
      expect(JSON.stringify(results[2 * n])).toContain(name);
      expect(JSON.stringify(results[2 * n + 1])).not.toContain("caller");
    }
  });

  it("get their own answers one after the other if no dedicated process is allowed", async () => {
    const { form, member, pids } = await setUp({ lanes: 0 });
    expect(await Promise.all(NAMES.map((name) => form(name)))).toEqual(NAMES.map(answer));
    expect(member.processes.dedicatedCount).toBe(0);
    if (process.platform === "linux") expect(pids()).toHaveLength(1);
  });

  it("get their own answers over HTTP+SSE", async () => {
    const server = await started(startSseServer({}));
    const { form, asked } = await setUp({ endpoint: { transport: "sse", url: server.url } });
    const names = NAMES.slice(0, 4);
    expect(await Promise.all(names.map((name) => form(name)))).toEqual(names.map(answer));
    expect(asked.toSorted()).toEqual(names);
  });
});

it("a server that sends no requests needs only one process for fifty calls at once", async () => {
  const { tool, answering, member, pids } = await setUp();
  const calls = Array.from({ length: 50 }, (_, n) =>
    tool(`caller ${n}`, "slow", { ms: 1_500 }, answering(`caller ${n}`)),
  );
  const quiet = tool("another", "echo", { text: "hi" }, answering("another"));
  expect(new Set(await Promise.all(calls))).toEqual(new Set(["done after 1500 ms"]));
  expect(await quiet).toBe("hi");
  expect(member.processes.dedicatedCount).toBe(0);
  if (process.platform === "linux") expect(pids()).toHaveLength(1);
});

describe("a process that is killed", () => {
  it("fails the calls in flight, and their server requests reach no other caller", async () => {
    const { form, tool, asked, answering, pids, member } = await setUp({ lanes: 0 });
    const user = patient("first");
    const first = failure(form("first", user.ask));
    await user.asked;
    // The tool is known to send requests, so the call waits; the others are in flight beside the request.
    const waiting = form("second");
    const hanging = ["a", "b"].map((name) => failure(tool(name, "hang", {}, answering(name))));
    await until(() => member.processes.dedicatedCount === 0);
    await until(async () => {
      const { calls } = JSON.parse(await tool("looking", "stats")) as { calls: Record<string, number> };
      return calls.hang === 2;
    });
    for (const pid of pids()) process.kill(pid, "SIGKILL");
    for (const error of await Promise.all([first, ...hanging]))
      expect(error).toMatchObject({ code: "SERVER_CRASHED", server: "one" });
    user.answer();
    expect(await waiting).toEqual(answer("second"));
    expect(asked).toEqual(["second"]);
  });

  it("fails only its own call if it is a dedicated process", async () => {
    const { form, pids, member } = await setUp();
    const users = ["first", "second"].map((name) => ({ name, ...patient(name) }));
    const [main] = pids();
    const calls = users.map(({ name, ask }) => form(name, ask));
    const crashed = failure(calls[1] as Promise<unknown>);
    await Promise.all(users.map(({ asked }) => asked));
    for (const pid of pids()) if (pid !== main) process.kill(pid, "SIGKILL");
    expect(await crashed).toMatchObject({ code: "SERVER_CRASHED" });
    expect(member.state).toBe("ready");
    await until(() => member.processes.dedicatedCount === 0);
    users[0]?.answer();
    expect(await calls[0]).toEqual(answer("first"));
    expect(await Promise.all(["third", "fourth"].map((name) => form(name)))).toEqual([
      answer("third"),
      answer("fourth"),
    ]);
  });
});

it("stopping a server ends its dedicated processes and fails its calls", async () => {
  const { form, member, pids } = await setUp({ lanes: 1 });
  const users = ["1", "2", "3"].map((name) => ({ name, ...patient(name) }));
  const calls = users.map(({ name, ask }) => failure(form(name, ask)));
  await Promise.all(users.slice(0, 2).map(({ asked }) => asked));
  expect(healthOf(member)).toMatchObject({ state: "ready", dedicatedProcesses: 1 });
  await member.stop();
  expect(new Set((await Promise.all(calls)).map(({ code }) => code))).toEqual(new Set(["CONNECTION_CLOSED"]));
  expect(member.processes.dedicatedCount).toBe(0);
  if (process.platform === "linux") expect(pids()).toEqual([]);
});

it("a log message reaches only the caller whose call it belongs to, with the logger of the server", async () => {
  const { send, hub } = await setUp();
  const events: unknown[] = [];
  hub.on("log", (message) => events.push(message));
  const heard: unknown[] = [];
  await send("a", {
    method: "tools/call",
    params: { name: "mcp_one_log", arguments: { level: "info", message: "hello" } },
    onLog: (message) => heard.push(message),
  });
  expect(heard).toEqual([{ level: "info", logger: "fixture", data: "hello" }]);
  expect(events).toEqual([]);
});

describe("dedicated processes of a pinned server", () => {
  /** A server whose later processes have another description of a tool if `changes` is true. */
  function program(changes: boolean): string {
    const folder = mkdtempSync(join(tmpdir(), "portolan-pinned-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, "server.mjs");
    const lib = new URL("../fixtures/lib/surface.mjs", import.meta.url).href;
    writeFileSync(
      file,
      `import { existsSync, writeFileSync } from "node:fs";
import { createServer } from ${JSON.stringify(lib)};
const server = createServer({ era: "legacy", name: "pinned" });
const isLater = existsSync(${JSON.stringify(join(folder, "started"))});
writeFileSync(${JSON.stringify(join(folder, "started"))}, "");
if (isLater && ${String(changes)})
  server.tools = server.tools.map((tool) => (tool.name === "ask_form" ? { ...tool, description: "Other" } : tool));
const peer = server.connect((message) => process.stdout.write(JSON.stringify(message) + "\\n"));
process.stdin.setEncoding("utf8");
let rest = "";
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const line of lines) if (line.trim()) void peer.receive(JSON.parse(line));
});
process.stdin.on("end", () => process.exit(0));
`,
    );
    return file;
  }

  async function pinned(changes: boolean) {
    const args = [program(changes)];
    const used = await setUp({ endpoint: { transport: "stdio", command: process.execPath, args } });
    const tools = used.member.inventory.tools.map((tool) => [tool.name, pinOf(tool) ?? ""] as const);
    const text = renderLock({ lockfileVersion: 1, servers: { one: { tools: Object.fromEntries(tools) } } });
    await used.pinBook.read({ file: "portolan.lock", text });
    await expect.poll(() => used.member.pins.isWithheld("ask_form")).toBe(false);
    return used;
  }

  it("get calls if their tools are the approved ones", async () => {
    const { form, member } = await pinned(false);
    const callers = NAMES.slice(0, 4);
    expect(await Promise.all(callers.map((name) => form(name)))).toEqual(callers.map(answer));
    await expect.poll(() => member.processes.dedicatedCount).toBeGreaterThan(0);
  });

  it("get no call if the definition of a tool differs", async () => {
    const { form, member, diagnostics } = await pinned(true);
    const callers = NAMES.slice(0, 4);
    expect(await Promise.all(callers.map((name) => form(name)))).toEqual(callers.map(answer));
    await expect
      .poll(() => diagnostics.map(({ code, message }) => [code, message]))
      .toContainEqual([
        "TOOL_WITHHELD",
        expect.stringContaining('definition of the tool "ask_form" differs'),
      ]);
    expect(member.processes.dedicatedCount).toBe(0);
  });
});
