// Robustness: almost valid responses, races at the end of a connection, and extreme values of limits.

import { spawn } from "node:child_process";
import { getEventListeners, once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectMcp, type McpConfig, type McpConnection, type McpOptions } from "../../src/index.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { connectFixture, connectStdio, failure, serverStats, until } from "../helpers/connect.ts";
import { isRunning } from "../helpers/workspace.ts";

const ERAS = ["legacy", "modern"] as const;
type Era = (typeof ERAS)[number];

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
}

/** Behaviour of a child process for calls. The child gets it as text, so it must not use other variables. */
type Behaviour = (
  send: (message: object) => void,
  fs: typeof import("node:fs"),
) => (message: Message) => void;

/** A server in its own process that completes the handshake and lists one tool, `t`; `Behaviour` does the rest. */
function child(
  era: Era | { modernOnceExists: string },
  behaviour: Behaviour,
): { command: string; args: string[] } {
  const modern =
    typeof era === "string"
      ? String(era === "modern")
      : `fs.existsSync(${JSON.stringify(era.modernOnceExists)})`;
  const script = `
    const fs = require("node:fs");
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    const modern = ${modern};
    const behave = (${String(behaviour)})(send, fs);
    const greetings = modern
      ? { "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: { listChanged: true } } } }
      : { initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } } };
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const message = JSON.parse(line);
      const { id, method } = message;
      if (method === "tools/call" || method === undefined) behave(message);
      else if (greetings[method] !== undefined) send({ id, result: greetings[method] });
      else if (method === "tools/list") send({ id, result: { tools: [{ name: "t", inputSchema: { type: "object" } }], ttlMs: 60000 } });
      else if (id !== undefined) send({ id, error: { code: -32601, message: "no " + method } });
    });`;
  return { command: process.execPath, args: ["-e", script] };
}

async function connectChild(
  server: { command: string; args: string[] },
  options: McpOptions & { env?: Record<string, string> } = {},
): Promise<McpConnection> {
  const mcp = await connectMcp({
    transport: "stdio",
    ...server,
    name: "child",
    onDiagnostic: () => {},
    ...options,
  });
  onTestFinished(() => mcp.close());
  return mcp;
}

const scratch = (name: string): string => join(mkdtempSync(join(tmpdir(), "portolan-robust-")), name);

/** Runs a program with the built library, and returns whether it ends by itself. */
async function ends(program: string): Promise<boolean> {
  const library = JSON.stringify(new URL("../../dist/index.js", import.meta.url).href);
  const script = `import { connectMcp } from ${library};\n${program}`;
  const running = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "ignore" });
  const timer = setTimeout(() => running.kill("SIGKILL"), 15_000);
  const [code] = (await once(running, "exit")) as [number | null];
  clearTimeout(timer);
  return code === 0;
}

/** The warnings that Node emits until the test ends. */
function warnings(): string[] {
  const names: string[] = [];
  const hear = (warning: Error): void => void names.push(warning.name);
  process.on("warning", hear);
  onTestFinished(() => void process.off("warning", hear));
  return names;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe.each(ERAS)("almost valid answers (%s)", (era) => {
  it("error: null beside a result is ignored", async () => {
    const mcp = await connectChild(
      child(
        era,
        (send) =>
          ({ id }) =>
            send({ id, result: { content: [] }, error: null }),
      ),
    );
    expect(await mcp.callTool("t")).toEqual({ content: [] });
  });

  it("method: null in an answer is ignored", async () => {
    const mcp = await connectChild(
      child(
        era,
        (send) =>
          ({ id }) =>
            send({ id, method: null, params: null, result: { content: [] } }),
      ),
    );
    expect(await mcp.callTool("t")).toEqual({ content: [] });
  });

  it.each([
    ["a null result", "null"],
    ["a result that is a list", "[]"],
    ["a result that is a word", '"fine"'],
  ])("%s is refused", async (_name, result) => {
    const server = child(
      era,
      (send) =>
        ({ id }) =>
          send({ id, result: JSON.parse("RESULT") as object }),
    );
    const args = server.args.map((arg) => arg.replace('"RESULT"', JSON.stringify(result)));
    const mcp = await connectChild({ ...server, args });
    expect((await failure(mcp.callTool("t"))).code).toBe("PROTOCOL_ERROR");
  });

  it("notifications with null ids and null params are accepted", async () => {
    const mcp = await connectChild(
      child(era, (send) => ({ id }) => {
        send({ id: null, method: "notifications/tools/list_changed", params: null });
        send({ id: null, method: "notifications/progress", params: { progressToken: id, progress: 1 } });
        send({ id, result: { content: [] } });
      }),
    );
    await mcp.listTools();
    const heard: unknown[] = [];
    mcp.on("toolsChanged", () => heard.push("tools"));
    await mcp.callTool("t", {}, { onProgress: ({ progress }) => heard.push(progress) });
    expect(heard).toEqual(["tools", 1]);
  });

  it("the size of image data of any shape is computed in linear time", async () => {
    const mcp = await connectChild(
      child(era, (send) => ({ id }) => {
        const data = `${"=".repeat(4_000_000)}x`;
        send({ id, result: { content: [{ type: "image", mimeType: "image/png", data }] } });
      }),
    );
    expect((await mcp.callTool("t")).text).toBe("[image: image/png, 3000000 bytes]");
  });
});

it("probes the era of a command again if a legacy server was updated to modern", async () => {
  const updated = scratch("updated");
  const server = child(
    { modernOnceExists: updated },
    (send) =>
      ({ id }) =>
        send({ id, result: { content: [] } }),
  );
  const before = await connectChild(server);
  expect(before.server.era).toBe("legacy");
  await before.close();
  writeFileSync(updated, "");
  for (let i = 0; i < 2; i += 1) {
    const mcp = await connectChild(server);
    expect(mcp.server.era).toBe("modern");
    await mcp.callTool("t");
    await mcp.close();
  }
});

describe("starting and closing", () => {
  /** Writes a byte for each start, and exits at the first call. */
  const counted: Behaviour = (_send, fs) => {
    fs.appendFileSync(process.env.STARTS as string, ".");
    return () => process.exit(3);
  };

  it.each(ERAS)("closing during the pause before a restart starts no process (%s)", async (era) => {
    const STARTS = scratch("starts");
    const mcp = await connectChild(child(era, counted), { env: { STARTS } });
    expect((await failure(mcp.callTool("t"))).code).toBe("SERVER_CRASHED");
    const waiting = failure(mcp.ping());
    await mcp.close();
    expect((await waiting).code).toBe("CONNECTION_CLOSED");
    expect(readFileSync(STARTS, "utf8")).toBe(".");
  });

  it("starts no process if the signal is aborted before", async () => {
    const STARTS = scratch("starts");
    const connecting = connectChild(child("modern", counted), {
      env: { STARTS },
      signal: AbortSignal.abort(),
    });
    expect((await failure(connecting)).code).toBe("CANCELLED");
    expect(existsSync(STARTS)).toBe(false);
  });

  it("rejects at once if the signal aborts, and ends the process in the background", async () => {
    const start = new AbortController();
    // The server answers nothing, and ends only with SIGKILL.
    const script = `process.on("SIGTERM", () => {}); setInterval(() => {}, 1e6); console.error(process.pid)`;
    let pid = 0;
    const connecting = connectMcp({
      ...{ transport: "stdio", command: process.execPath, args: ["-e", script], sandbox: "off" },
      ...{ signal: start.signal, onStderr: (text) => ((pid = Number(text)), start.abort("enough")) },
    });
    expect(await failure(connecting)).toMatchObject({ code: "CANCELLED", cause: "enough" });
    expect(isRunning(pid)).toBe(true);
    await until(() => !isRunning(pid));
  });

  it("a second close waits for the first", async () => {
    const mcp = await connectChild(
      child("modern", (send) => {
        // The server needs some time to end.
        process.stdin.on("end", () => setTimeout(() => {}, 300));
        return ({ id }) => send({ id, result: { content: [{ type: "text", text: String(process.pid) }] } });
      }),
    );
    const pid = Number((await mcp.callTool("t")).text);
    const order: string[] = [];
    await Promise.all([
      mcp.close().then(() => order.push("first")),
      mcp.close().then(() => order.push("second")),
    ]);
    expect(order).toEqual(["first", "second"]);
    expect(() => process.kill(pid, 0)).toThrow();
  });

  it.each([
    ["exits", "auto", "process.exit(1)"],
    [
      "refuses initialize",
      "legacy",
      `process.stdin.once("data", (text) => console.log(JSON.stringify({
        jsonrpc: "2.0", id: JSON.parse(text).id, error: { code: -32000, message: "no" } })))`,
    ],
  ])("a server that %s at its start does not keep the program alive", async (_how, era, script) => {
    const limits = { probeTimeoutMs: 60_000 };
    const config = { transport: "stdio", command: process.execPath, args: ["-e", script], era, limits };
    expect(await ends(`await connectMcp(${JSON.stringify(config)}).catch(() => {});`)).toBe(true);
  });
});

describe.each(ERAS)("a server request during a call (%s)", (era) => {
  /** A server whose `ask_form` sends a request that nobody answers; `asked` has the signal of this request. */
  async function askNobody(): Promise<{ mcp: McpConnection; asked: Promise<AbortSignal> }> {
    let tell: (signal: AbortSignal) => void = () => {};
    const asked = new Promise<AbortSignal>((resolve) => {
      tell = resolve;
    });
    const elicit = (_request: unknown, { signal }: { signal: AbortSignal }): Promise<never> => {
      tell(signal);
      return new Promise(() => {});
    };
    return { mcp: await connectStdio([`--era=${era}`], { handlers: { elicit } }), asked };
  }

  it("is aborted when the call is cancelled", async () => {
    const { mcp, asked } = await askNobody();
    const caller = new AbortController();
    const call = failure(mcp.callTool("ask_form", {}, { signal: caller.signal }));
    const question = await asked;
    caller.abort();
    expect((await call).code).toBe("CANCELLED");
    expect(question.aborted).toBe(true);
  });

  it("does not keep the program alive when nobody answers it", async () => {
    const config = { transport: "stdio", ...stdioCommand(`--era=${era}`) };
    const program = `
      const caller = new AbortController();
      const elicit = () => new Promise(() => setImmediate(() => caller.abort()));
      const mcp = await connectMcp({ ...${JSON.stringify(config)}, handlers: { elicit } });
      await mcp.callTool("ask_form", {}, { signal: caller.signal }).catch(() => {});
      await mcp.close();`;
    expect(await ends(program)).toBe(true);
  });

  it("is aborted when the connection closes", async () => {
    const { mcp, asked } = await askNobody();
    const call = failure(mcp.callTool("ask_form"));
    const question = await asked;
    await mcp.close();
    expect((await call).code).toBe("CONNECTION_CLOSED");
    expect(question.aborted).toBe(true);
  });

  it("is aborted at maxTimeoutMs of the call", async () => {
    const { mcp, asked } = await askNobody();
    const call = failure(mcp.callTool("ask_form", {}, { maxTimeoutMs: 300 }));
    const question = await asked;
    expect(await call).toMatchObject({
      code: "TIMEOUT",
      hint: expect.stringContaining("maxTimeoutMs") as string,
    });
    expect(question.aborted).toBe(true);
  });

  it("may take longer than timeoutMs of the call", async () => {
    const elicit = async (): Promise<{ action: "accept"; content: { name: string } }> => {
      await new Promise((resolve) => setTimeout(resolve, 1_400));
      return { action: "accept", content: { name: "slow" } };
    };
    const mcp = await connectStdio([`--era=${era}`], { handlers: { elicit } });
    await mcp.listTools();
    expect((await mcp.callTool("ask_form", {}, { timeoutMs: 800 })).text).toContain("slow");
  });
});

describe("server requests", () => {
  it("are aborted when the last call ends that can have caused them", async () => {
    const questions: AbortSignal[] = [];
    const mcp = await connectChild(
      child("legacy", (send) => () => {
        for (const id of ["first", "second"])
          send({ id, method: "elicitation/create", params: { message: "?" } });
      }),
      {
        handlers: {
          elicit: (_request, { signal }) => {
            questions.push(signal);
            return new Promise(() => {});
          },
        },
      },
    );
    const caller = new AbortController();
    const call = failure(mcp.callTool("t", {}, { signal: caller.signal }));
    await until(() => questions.length === 2);
    caller.abort();
    expect((await call).code).toBe("CANCELLED");
    expect(questions.map((signal) => signal.aborted)).toEqual([true, true]);
  });

  it("a server that only pings does not keep a hanging call alive", async () => {
    const mcp = await connectChild(
      child("legacy", (send) => {
        let id = 0;
        return ({ method }) => {
          if (method === "tools/call")
            setInterval(() => send({ id: `ping-${(id += 1)}`, method: "ping" }), 20).unref();
        };
      }),
    );
    const error = await failure(mcp.callTool("t", {}, { timeoutMs: 300, maxTimeoutMs: 20_000 }));
    expect(error).toMatchObject({ code: "TIMEOUT", data: { hard: false } });
  });

  it("one hard limit applies to all input rounds", async () => {
    const handlers = { elicit: () => ({ action: "accept", content: { name: "n" } }) as const };
    const limits = { maxInputRounds: 1e9 };
    const mcp = await connectStdio(["--era=modern"], { handlers, limits });
    const call = mcp.callTool("ask_form", { variant: "endless" }, { maxTimeoutMs: 300 });
    expect((await failure(call)).code).toBe("TIMEOUT");
  });

  it("a request that a modern server pushes is declined, and no handler is called", async () => {
    let asked = 0;
    const mcp = await connectChild(
      child("modern", (send) => {
        const answers: unknown[] = [];
        return (message) => {
          if (message.method !== "tools/call") return void answers.push(message);
          send({ id: 77, method: "elicitation/create", params: { message: "?", requestedSchema: {} } });
          send({ id: 78, method: "ping" });
          const text = (): string => JSON.stringify(answers);
          setTimeout(
            () => send({ id: message.id, result: { content: [{ type: "text", text: text() }] } }),
            150,
          );
        };
      }),
      {
        handlers: {
          elicit: () => {
            asked += 1;
            return { action: "accept", content: {} };
          },
        },
      },
    );
    expect((await mcp.callTool("t")).text).toBe("[]");
    expect(asked).toBe(0);
    expect(mcp.stats().declined).toBe(2);
  });
});

describe("time limits and signals", () => {
  it.each(ERAS)("several calls that time out together do not end a healthy process (%s)", async (era) => {
    const mcp = await connectStdio([`--era=${era}`]);
    const { pid } = await serverStats(mcp);
    const long = mcp.callTool("slow", { ms: 600, every: 60_000 });
    const short = [1, 2, 3, 4].map(() => failure(mcp.callTool("hang", {}, { timeoutMs: 50 })));
    for (const error of await Promise.all(short)) expect(error.code).toBe("TIMEOUT");
    expect((await long).text).toContain("done");
    expect((await serverStats(mcp)).pid).toBe(pid);
  });

  it.each([Infinity, 0])("a time limit of %d means no limit", async (ms) => {
    const heard = warnings();
    const limits = { startTimeoutMs: ms, requestTimeoutMs: ms, maxRequestMs: ms };
    const mcp = await connectStdio(["--era=legacy"], { limits });
    expect((await mcp.callTool("slow", { ms: 50, every: 60_000 })).text).toContain("done");
    await failure(mcp.callTool("crash"));
    // This request waits for the restart, also without a time limit.
    await mcp.ping();
    await turn();
    expect(heard).not.toContain("TimeoutOverflowWarning");
  });

  it("probeTimeoutMs: Infinity waits for the era probe without a limit", async () => {
    const heard = warnings();
    const limits = { probeTimeoutMs: Infinity };
    const mcp = await connectStdio(["--era=modern", "--fault=slow-start:300"], { limits });
    expect(mcp.server.era).toBe("modern");
    expect(mcp.stats().eraProbes).toBe(1);
    await turn();
    expect(heard).not.toContain("TimeoutOverflowWarning");
  });

  it.each(["stdio", "http (json)"] as const)(
    "many calls can share a signal without a warning of Node (%s)",
    async (way) => {
      const heard = warnings();
      const mcp = await connectFixture(way, "modern");
      await mcp.listTools();
      const { signal } = new AbortController();
      await Promise.all(Array.from({ length: 64 }, () => mcp.callTool("echo", { text: "x" }, { signal })));
      await turn();
      expect(heard).not.toContain("MaxListenersExceededWarning");
      expect(getEventListeners(signal, "abort")).toHaveLength(0);
    },
  );
});

it.each([
  ["headers that are null", { transport: "http", url: "http://127.0.0.1:1/", headers: null }],
  ["a header beyond Latin-1", { transport: "websocket", url: "ws://127.0.0.1:1/", headers: { a: "€" } }],
  ["a transport named constructor", { transport: "constructor", url: "http://127.0.0.1:1/" }],
  ["a WebSocket URL with a fragment", { transport: "websocket", url: "ws://127.0.0.1:1/#x" }],
  ["a signal that is a number", { transport: "http", url: "http://127.0.0.1:1/", signal: 5 }],
  ["a name that is a number", { transport: "stdio", command: "x", name: 5 }],
  ["a limit named toString", { transport: "stdio", command: "x", limits: { toString: 5 } }],
])("a configuration with %s is CONFIG_INVALID", async (_name, config) => {
  expect((await failure(connectMcp(config as unknown as McpConfig))).code).toBe("CONFIG_INVALID");
});

it("credentials in a URL may contain a bare percent sign", async () => {
  const error = await failure(connectMcp({ transport: "http", url: "http://user:100%@127.0.0.1:1/" }));
  expect(error.code).toBe("SERVER_START_FAILED");
});

it("an exception in onDiagnostic is a warning of Node, and affects nothing else", async () => {
  const warnings: string[] = [];
  const listen = ({ message }: Error): void => void warnings.push(message);
  process.on("warning", listen);
  onTestFinished(() => void process.off("warning", listen));
  const mcp = await connectStdio(["--era=modern", "--fault=odd-tools"], {
    onDiagnostic: () => {
      throw new Error("broken listener");
    },
  });
  const names = (await mcp.listTools()).map((tool) => tool.name);
  expect(names).toEqual(expect.arrayContaining(["good_between", "good_after"]));
  await expect
    .poll(() => warnings)
    .toContain('The function "onDiagnostic" of your program failed: broken listener');
});

it("a server may send a ping before the handshake; a program that echoes its input is refused", async () => {
  const early = 'console.log(JSON.stringify({jsonrpc:"2.0",id:"p1",method:"ping"}));';
  const script = `${early} process.stdin.on("data", () => process.exit(4));`;
  const config = { transport: "stdio", command: process.execPath, args: ["-e", script] } as const;
  expect((await failure(connectMcp(config))).code).toBe("SERVER_START_FAILED");
  expect((await failure(connectMcp({ transport: "stdio", command: "cat" }))).code).toBe("PROTOCOL_ERROR");
});
