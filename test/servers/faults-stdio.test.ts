// The fault catalogue over stdio: a misbehaving server fails only its own calls, quickly and with a reason.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { connectMcp, type Diagnostic } from "../../src/index.ts";
import { pidsWithEnv, stdioCommand } from "../fixtures/processes.mjs";
import { connectStdio, failure, nextEvent, serverStats, until } from "../helpers/connect.ts";

/** A path that exists only after the first start of a server: later starts are healthy. */
const firstStartOnly = (): string =>
  `--once=${join(mkdtempSync(join(tmpdir(), "portolan-once-")), "claimed")}`;
const ERAS = ["legacy", "modern"] as const;

describe.each(ERAS)("%s", (era) => {
  it("F1: a crash during a call is reported at once with exit code and stderr, and the server restarts", async () => {
    const mcp = await connectStdio([`--era=${era}`]);
    await mcp.listTools();
    const before = (await serverStats(mcp)).pid;
    const other = failure(mcp.callTool("hang"));
    const error = await failure(mcp.callTool("crash"));
    expect(error).toMatchObject({
      code: "SERVER_CRASHED",
      server: "fixture",
      tool: "crash",
      data: { exitCode: 3 },
    });
    expect(error.stderr).toContain("the crash tool was called");
    expect((await other).code).toBe("SERVER_CRASHED");
    expect((await mcp.callTool("echo", { text: "back" })).text).toBe("back");
    expect((await serverStats(mcp)).pid).not.toBe(before);
    expect(mcp.stats().restarts).toBe(1);
  });

  it("F1: after a crash, only read-only or idempotent calls are repeated, and only on request", async () => {
    const crash = [`--era=${era}`, "--fault=crash-on-call", firstStartOnly()];
    const mcp = await connectStdio(crash);
    expect((await failure(mcp.callTool("echo", { text: "x" }))).code).toBe("SERVER_CRASHED");
    const retrying = await connectStdio([`--era=${era}`, "--fault=crash-on-call", firstStartOnly()], {
      retryHinted: true,
    });
    expect((await retrying.callTool("echo", { text: "again" })).text).toBe("again");
    const careful = await connectStdio([`--era=${era}`, "--fault=crash-on-call", firstStartOnly()], {
      retryHinted: true,
    });
    expect((await failure(careful.callTool("fail"))).code).toBe("SERVER_CRASHED");
    expect((await serverStats(careful)).calls.fail).toBeUndefined();
  });

  it("F1: a crash changes the state of the connection, and list changes follow", async () => {
    const mcp = await connectStdio([`--era=${era}`]);
    const states: string[] = [];
    mcp.on("stateChanged", (state) => states.push(state));
    const changed = nextEvent(mcp, "toolsChanged");
    await failure(mcp.callTool("crash"));
    await changed;
    expect(states).toEqual(["reconnecting", "ready"]);
  });

  it("F3: a call without an answer times out and is cancelled at the server; a late answer is ignored", async () => {
    const mcp = await connectStdio([`--era=${era}`, "--fault=late-answer:50"]);
    const error = await failure(mcp.callTool("hang", {}, { timeoutMs: 100 }));
    expect(error).toMatchObject({ code: "TIMEOUT", tool: "hang", data: { timeoutMs: 100 } });
    await until(() => mcp.stats().lateAnswers === 1);
    expect((await serverStats(mcp)).cancelled).toHaveLength(1);
    expect(mcp.stats().restarts).toBe(0);
  });

  it("F3: three timeouts in a row end the process", async () => {
    const mcp = await connectStdio([`--era=${era}`], { watch: false });
    const before = (await serverStats(mcp)).pid;
    for (let i = 0; i < 3; i += 1)
      expect((await failure(mcp.callTool("hang", {}, { timeoutMs: 50 }))).code).toBe("TIMEOUT");
    expect((await serverStats(mcp)).pid).not.toBe(before);
  });

  it("F4: a slow start may take longer than the time limit of a call", async () => {
    const mcp = await connectStdio([`--era=${era}`, "--fault=slow-start:1200"], {
      limits: { requestTimeoutMs: 500, probeTimeoutMs: 300 },
    });
    expect(mcp.server.era).toBe(era);
  });

  it("F4: a start that takes too long fails, and leaves no process behind", async () => {
    const tag = `slow-${era}-${Date.now()}`;
    const options = { limits: { startTimeoutMs: 300 }, env: { FIXTURE_TAG: tag } };
    const error = await failure(connectStdio([`--era=${era}`, "--fault=slow-start:60000"], options));
    expect(error).toMatchObject({ code: "SERVER_START_FAILED", data: { startTimeoutMs: 300 } });
    expect(error.hint).toContain("limits.startTimeoutMs");
    await until(() => pidsWithEnv("FIXTURE_TAG", tag).length === 0);
  });

  it("F5: an exit during a message: the error contains the partial message", async () => {
    const mcp = await connectStdio([`--era=${era}`, "--fault=half-line-exit"]);
    const error = await failure(mcp.callTool("echo", { text: "x" }));
    expect(error.code).toBe("SERVER_CRASHED");
    expect(error.data.partialMessage).toContain("{");
  });

  it.each(["byte-by-byte", "bom", "crlf"])(
    "F6, F9: reads messages from a server with the fault %s",
    async (fault) => {
      const mcp = await connectStdio([`--era=${era}`, `--fault=${fault}`]);
      expect((await mcp.callTool("echo", { text: "Zürich 👩‍👩‍👧 東京" })).text).toBe("Zürich 👩‍👩‍👧 東京");
      expect(mcp.stats().noise).toBe(0);
    },
  );

  it.each(["invalid-json-line", "noise"])(
    "F7, F8: %s on stdout is ignored and counted, and causes one warning",
    async (fault) => {
      const diagnostics: Diagnostic[] = [];
      const mcp = await connectStdio([`--era=${era}`, `--fault=${fault}`], {
        onDiagnostic: (one) => diagnostics.push(one),
      });
      for (const text of ["a", "b", "c"]) expect((await mcp.callTool("echo", { text })).text).toBe(text);
      expect(mcp.stats().noise).toBeGreaterThan(1);
      expect(diagnostics).toHaveLength(1);
      expect(diagnostics[0]).toMatchObject({ severity: "warning", server: "fixture" });
    },
  );

  it("F10: a message above the size limit fails its own call, and memory stays bounded", async () => {
    const mcp = await connectStdio([`--era=${era}`], { limits: { maxMessageBytes: 1_000_000 } });
    expect((await mcp.callTool("big", { bytes: 900_000 })).text).toHaveLength(900_000);
    const before = process.memoryUsage().rss;
    const neighbour = mcp.callTool("slow", { ms: 300 });
    expect(await failure(mcp.callTool("big", { bytes: 50_000_000 }))).toMatchObject({
      code: "MESSAGE_TOO_LARGE",
      tool: "big",
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(60_000_000);
    expect((await neighbour).text).toContain("done");
    expect((await mcp.callTool("echo", { text: "on" })).text).toBe("on");
  });

  it("F11: a server that closes its stdout counts as crashed, and is restarted", async () => {
    const mcp = await connectStdio([`--era=${era}`, "--fault=stdout-closed", firstStartOnly()]);
    expect(await failure(mcp.callTool("echo", { text: "x" }))).toMatchObject({ code: "SERVER_CRASHED" });
    expect((await mcp.callTool("echo", { text: "again" })).text).toBe("again");
  });

  it.each(["duplicate-answer", "unknown-id-answer", "string-id"])(
    "F12: with the fault %s, each call gets its own answer",
    async (fault) => {
      const mcp = await connectStdio([`--era=${era}`, `--fault=${fault}`]);
      const texts = Array.from({ length: 20 }, (_, n) => `call ${n}`);
      const answers = await Promise.all(
        texts.map(async (text) => (await mcp.callTool("echo", { text })).text),
      );
      expect(answers).toEqual(texts);
      await until(() => mcp.stats().lateAnswers + mcp.stats().unknownAnswers >= 20);
    },
  );

  it("F12: an answer whose id is a string does not match a numeric id", async () => {
    const mcp = await connectStdio([`--era=${era}`, "--fault=string-id:only"]);
    expect((await failure(mcp.callTool("echo", { text: "x" }, { timeoutMs: 200 }))).code).toBe("TIMEOUT");
    expect(mcp.stats().unknownAnswers).toBeGreaterThan(0);
  });

  it("F13, F35: a thousand calls that are answered in reverse order get their own answers", async () => {
    const mcp = await connectStdio([`--era=${era}`, "--fault=reverse:1000"]);
    const texts = Array.from({ length: 1_000 }, (_, n) => `call ${n}`);
    const answers = await Promise.all(texts.map(async (text) => (await mcp.callTool("echo", { text })).text));
    expect(answers).toEqual(texts);
  });

  it.each(["page-loop", "page-endless"])("F16: listing tools ends with the fault %s", async (fault) => {
    const mcp = await connectStdio([`--era=${era}`, `--fault=${fault}`], { limits: { maxPages: 20 } });
    expect((await mcp.listTools()).length).toBeGreaterThan(0);
    expect(mcp.diagnostics.map((one) => one.code)).toContain("PROTOCOL_ERROR");
  });

  it("lists the tools of all pages", async () => {
    const mcp = await connectStdio([`--era=${era}`, "--tools=40", "--page-size=7"]);
    const names = (await mcp.listTools()).map((tool) => tool.name);
    expect(names).toContain("extra_40");
    expect(new Set(names).size).toBe(names.length);
  });

  it("F17: calls fail as BUSY if the server does not read its stdin, and memory stays bounded", async () => {
    const mcp = await connectStdio([`--era=${era}`, "--fault=no-read"], {
      era,
      limits: { maxQueuedBytes: 4_000_000, requestTimeoutMs: 2_000 },
    });
    const warnings: Error[] = [];
    process.on("warning", (warning) => warnings.push(warning));
    const text = "x".repeat(1_000_000);
    const calls = Array.from({ length: 20 }, () =>
      failure(mcp.readResource(`test://${text}`, { timeoutMs: 500 })),
    );
    const codes = (await Promise.all(calls)).map((error) => error.code);
    expect(codes.filter((code) => code === "BUSY").length).toBeGreaterThan(10);
    expect(codes.every((code) => code === "BUSY" || code === "TIMEOUT" || code === "SERVER_CRASHED")).toBe(
      true,
    );
    expect(warnings).toEqual([]);
  });

  it("F18: a flood on stderr does not block the server, and its last lines are kept", async () => {
    const mcp = await connectStdio([`--era=${era}`, "--fault=stderr-flood:13000000"]);
    expect((await mcp.callTool("echo", { text: "x" })).text).toBe("x");
    const error = await failure(mcp.callTool("crash"));
    expect(error.stderr?.length).toBeLessThan(5_000);
    expect(error.stderr).toContain("the crash tool was called");
  });

  it("F19: a server that ignores SIGTERM, and its helpers, are gone after close()", async () => {
    const tag = `stubborn-${era}-${Date.now()}`;
    const mcp = await connectStdio([`--era=${era}`, "--fault=stubborn"], { env: { FIXTURE_TAG: tag } });
    await until(() => pidsWithEnv("FIXTURE_TAG", tag).length === 2);
    const started = performance.now();
    await mcp.close();
    expect(performance.now() - started).toBeLessThan(15_000);
    await until(() => pidsWithEnv("FIXTURE_TAG", tag).length === 0);
  });

  it.skipIf(process.platform !== "linux")(
    "F19: helpers in other sessions also end, at the close and at each restart",
    async () => {
      const tag = `detached-${era}-${Date.now()}`;
      const flags = [`--era=${era}`, "--fault=stubborn:detached"];
      const mcp = await connectStdio(flags, { env: { FIXTURE_TAG: tag } });
      for (let restart = 0; restart < 2; restart += 1) {
        await until(() => pidsWithEnv("FIXTURE_TAG", tag).length === 2);
        await failure(mcp.callTool("crash"));
        await mcp.listToolDefinitions();
      }
      await until(() => pidsWithEnv("FIXTURE_TAG", tag).length === 2);
      await mcp.close();
      expect(pidsWithEnv("FIXTURE_TAG", tag)).toEqual([]);
    },
  );

  it("drops invalid tools with a diagnostic each, and keeps the others", async () => {
    const mcp = await connectStdio([`--era=${era}`, "--fault=odd-tools"]);
    const names = (await mcp.listTools()).map((tool) => tool.name);
    expect(names).toEqual(expect.arrayContaining(["echo", "good_between", "untyped_schema", "good_after"]));
    expect(names).not.toContain("no_schema");
    expect(mcp.diagnostics.filter((one) => one.code === "TOOL_DROPPED")).toHaveLength(3);
  });

  it("checks structured output against the outputSchema of the tool", async () => {
    const mcp = await connectStdio([`--era=${era}`, "--fault=bad-output"]);
    const error = await failure(mcp.callTool("add", { a: 1, b: 2 }));
    expect(error).toMatchObject({ code: "OUTPUT_INVALID", tool: "add" });
    expect(error.data.result).toBeDefined();
  });

  it("passes results of extensions unchanged", async () => {
    const mcp = await connectStdio([`--era=${era}`, "--fault=extension-result"]);
    expect(await mcp.callTool("echo", { text: "x" })).toMatchObject({
      resultType: "task",
      status: "working",
    });
  });

  it("continues after extremely deep JSON", async () => {
    const mcp = await connectStdio([`--era=${era}`, "--fault=deep-json"]);
    await mcp.callTool("echo", { text: "x" }).catch(() => {});
    await mcp.ping();
  });

  it("F39: a call settles exactly once if cancellation and answer arrive together", async () => {
    const mcp = await connectStdio([`--era=${era}`]);
    await mcp.listTools();
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, async (_, n) => {
        const controller = new AbortController();
        setTimeout(() => controller.abort(), n % 6);
        return mcp.callTool("slow", { ms: 2, every: 1 }, { signal: controller.signal }).then(
          (result) => result.text,
          (error: { code: string }) => error.code,
        );
      }),
    );
    expect(outcomes.every((outcome) => outcome === "CANCELLED" || outcome === "done after 2 ms")).toBe(true);
    expect(mcp.stats().inFlight).toBeLessThanOrEqual(1);
    expect((await mcp.callTool("echo", { text: "fine" })).text).toBe("fine");
  });
});

it("the error of a program that does not exist names the program", async () => {
  const error = await failure(connectMcp({ transport: "stdio", command: "no-such-program-here" }));
  expect(error).toMatchObject({ code: "SERVER_START_FAILED", data: { reason: "ENOENT" } });
  expect(error.message).toContain("no-such-program-here");
});

it("the error of a server that exits at once has its exit code and stderr", async () => {
  const error = await failure(connectStdio(["--fault=exit-at-start:4"]));
  expect(error).toMatchObject({ code: "SERVER_START_FAILED", data: { exitCode: 4 } });
  expect(error.stderr).toContain("FIXTURE_TOKEN is not set");
});

it("a server gets a minimal environment and the variables of its config", async () => {
  process.env.PORTOLAN_TEST_SECRET = "do not pass";
  const script =
    'process.stdin.on("data",()=>{console.error(Object.keys(process.env).sort().join(","));process.exit(1)})';
  const error = await failure(
    connectMcp({
      transport: "stdio",
      command: process.execPath,
      args: ["-e", script],
      env: { DECLARED: "1" },
    }),
  );
  expect(error.stderr).toContain("DECLARED");
  expect(error.stderr).toContain("PATH");
  expect(error.stderr).not.toContain("PORTOLAN_TEST_SECRET");
});

async function connectAndClose(): Promise<void> {
  const mcp = await connectMcp({
    transport: "stdio",
    ...stdioCommand("--era=legacy"),
    onDiagnostic: () => {},
  });
  await mcp.callTool("echo", { text: "x" });
  await mcp.close();
}

it("F38: connecting and closing ten times leaves no listeners or resources behind", async () => {
  await connectAndClose();
  const before = { exit: process.listenerCount("exit"), resources: process.getActiveResourcesInfo().length };
  for (let i = 0; i < 10; i += 1) await connectAndClose();
  expect(process.listenerCount("exit")).toBe(before.exit);
  await until(() => process.getActiveResourcesInfo().length <= before.resources);
});

it("F44: hostile schemas do not block the list or the calls", async () => {
  const mcp = await connectStdio(["--era=legacy", "--fault=hostile-schema"]);
  const tools = await mcp.listTools();
  let worst = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - last - 5);
    last = now;
  }, 5);
  const bait = { value: `${"a".repeat(40)}!`, list: Array.from({ length: 20_000 }, (_, n) => ({ n })) };
  for (const tool of tools) {
    void tool.schema;
    await mcp.callTool(tool.name, bait, { timeoutMs: 2_000 }).catch(() => {});
    if (tool.name === "hang") break;
  }
  clearInterval(timer);
  // Without limits, a single one of these schemas takes many seconds.
  expect(worst).toBeLessThan(4_000);
  expect((await mcp.callTool("echo", { text: "alive" })).text).toBe("alive");
});

it.each(["auto", "legacy", "modern"] as const)(
  "a program that returns its input is reported as no MCP server (era %s)",
  async (era) => {
    const error = await failure(connectMcp({ transport: "stdio", command: "cat", sandbox: "off", era }));
    expect(error).toMatchObject({
      code: era === "modern" ? "VERSION_UNSUPPORTED" : "PROTOCOL_ERROR",
      server: "cat",
    });
    if (era !== "modern")
      expect(error.message).toBe(
        "cat is not an MCP server: it sent back Portolan's own request (initialize)",
      );
  },
);

it("a start timeout rejects with the stderr so far, before the process has ended", async () => {
  const tag = `late-${Date.now()}`;
  const error = await failure(
    connectMcp({
      command: process.execPath,
      args: ["-e", 'console.error("loading"); console.error("the model"); setInterval(() => {}, 1e3)'],
      env: { FIXTURE_TAG: tag },
      sandbox: "off",
      limits: { startTimeoutMs: 1_000 },
    }),
  );
  expect(error).toMatchObject({ code: "SERVER_START_FAILED", stderr: "loading\nthe model" });
  expect(pidsWithEnv("FIXTURE_TAG", tag)).toHaveLength(1);
  await until(() => pidsWithEnv("FIXTURE_TAG", tag).length === 0);
});

it("a program that prints a URL instead of MCP messages gets a hint about HTTP", async () => {
  const error = await failure(
    connectMcp({
      transport: "stdio",
      command: process.execPath,
      args: [
        "-e",
        'console.log("Starting"); console.log("MCP server listening on http://0.0.0.0:3001/mcp."); setInterval(() => {}, 1e3)',
      ],
      sandbox: "off",
      limits: { startTimeoutMs: 1_000 },
      name: "web",
      onDiagnostic: () => {},
    }),
  );
  expect(error.code).toBe("SERVER_START_FAILED");
  expect(error.hint).toBe(
    "The program seems to offer its MCP server over HTTP (http://localhost:3001/mcp), and not on stdio. Many such programs have an option for stdio, such as --stdio. To use it over HTTP, start the program yourself, and add its URL: portolan add <name> http://localhost:3001/mcp",
  );
});

it.each(["setInterval(() => {}, 1e3)", "process.exit(1)"])(
  "the error of a program that is no MCP server quotes its output: %s",
  async (then) => {
    const error = await failure(
      connectMcp({
        transport: "stdio",
        command: process.execPath,
        args: ["-e", `console.log("<html>hello</html>\\u001b[1m"); ${then}`],
        sandbox: "off",
        limits: { startTimeoutMs: 1_000 },
        name: "page",
        onDiagnostic: () => {},
      }),
    );
    expect(error.code).toBe("SERVER_START_FAILED");
    expect(error.message).toContain(
      'it printed "<html>hello</html>\\u001b[1m" on stdout, which is no MCP message',
    );
    expect(error.data.stdout).toContain("<html>hello</html>");
    expect(error.hint).toContain("Check that the command is an MCP server.");
  },
);
