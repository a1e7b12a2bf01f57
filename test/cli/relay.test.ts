// Clients of `portolan serve --stdio` share the servers of a gateway and survive its restart; commands find it.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectMcp, type McpConnection } from "../../src/index.ts";
import { MAIN, portolan, type Ran, start, temporaryFolder } from "../helpers/cli.ts";
import { until } from "../helpers/connect.ts";
import { stdioCommand } from "../fixtures/processes.mjs";

function setUp() {
  const top = temporaryFolder();
  const cwd = join(top, "project");
  mkdirSync(cwd);
  const { command, args } = stdioCommand("--era=legacy");
  const servers = { good: { command, args: [...args], env: {}, sandbox: "off" } };
  writeFileSync(
    join(cwd, "portolan.yaml"),
    JSON.stringify({ version: 1, servers, gateway: { port: 0, max_result_bytes: 8_000_000 } }),
  );
  const env = {
    PATH: process.env["PATH"] ?? "",
    PORTOLAN_SANDBOX: "off",
    HOME: top,
    XDG_CACHE_HOME: join(top, "cache"),
    XDG_CONFIG_HOME: join(top, "config"),
    XDG_DATA_HOME: join(top, "data"),
    XDG_STATE_HOME: join(top, "state"),
    XDG_RUNTIME_DIR: top,
  };
  const serve = async (...words: string[]): Promise<ChildProcess> => {
    const child = spawn(process.execPath, [MAIN, "serve", ...words], {
      ...{ cwd, env, stdio: ["ignore", "pipe", "pipe"] },
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    let err = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (err += text));
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${err}`);
      const { out } = await portolan(["service", "status", "--json"], { cwd, env });
      return (JSON.parse(out) as { gateway?: { pid: number } }).gateway?.pid === child.pid;
    });
    return child;
  };
  const connect = async (
    era: "legacy" | "modern",
    more: Partial<Parameters<typeof connectMcp>[0]> = {},
    words: readonly string[] = [],
  ): Promise<McpConnection> => {
    const mcp = await connectMcp({
      ...{ transport: "stdio", command: process.execPath, args: [MAIN, "serve", "--stdio", ...words] },
      ...{ cwd, env, era, sandbox: "off", ...more },
    } as Parameters<typeof connectMcp>[0]);
    onTestFinished(() => mcp.close());
    return mcp;
  };
  return { cwd, env, serve, connect };
}

const textOf = (result: { content?: unknown }): string =>
  (result.content as { text?: string }[] | undefined)?.[0]?.text ?? "";
const callsOf = async (mcp: McpConnection, tool: string): Promise<number> => {
  const stats = JSON.parse(textOf(await mcp.callTool("mcp_good_stats", {}))) as {
    calls: Record<string, number>;
  };
  return stats.calls[tool] ?? 0;
};

it("serve --stdio says whether it uses a gateway or starts servers; some options start servers", async () => {
  const { cwd, env, serve } = setUp();
  const line = async (...words: string[]): Promise<string> => {
    const { done } = start(["serve", "--stdio", ...words], { cwd, env });
    const { code, out, err } = await done;
    expect([code, out]).toEqual([0, ""]);
    return err.trim();
  };
  expect(await line()).toMatch(
    /^This process starts servers of its own: no gateway runs for this workspace \(portolan serve --daemon .*\)\.$/,
  );
  const gateway = await serve();
  expect(await line()).toMatch(/^Relaying to the gateway at http:.* \(process \d+\), whose servers all/);
  expect(await line("--standalone")).toBe(
    "This process starts servers of its own: the option --standalone requires it.",
  );
  expect(await line("--only", "good")).toBe(
    "This process starts servers of its own: the option --only requires it.",
  );
  gateway.kill("SIGTERM");
  await new Promise((resolve) => gateway.once("close", resolve));
  await serve("--only", "good");
  expect(await line()).toMatch(/serves only some servers of the workspace\.$/);
});

describe.each(["legacy", "modern"] as const)("a %s client of serve --stdio beside a gateway", (era) => {
  it("shares the servers; progress, cancellation, server requests and large results pass through", async () => {
    const { serve, connect } = setUp();
    await serve();
    const asked: string[] = [];
    const mcp = await connect(era, {
      handlers: {
        elicit: () => {
          asked.push("elicit");
          return { action: "accept" as const, content: { name: "Ann" } };
        },
        sample: () => {
          asked.push("sample");
          return { role: "assistant", content: { type: "text", text: "hello" }, model: "m" };
        },
        roots: () => {
          asked.push("roots");
          return [{ uri: "file:///tmp" }];
        },
      },
    });
    const other = await connect(era === "legacy" ? "modern" : "legacy");
    await mcp.callTool("mcp_good_echo", { text: "a" });
    // Both clients use one process.
    expect(await callsOf(other, "echo")).toBe(1);

    const progress: number[] = [];
    await mcp.callTool(
      "mcp_good_slow",
      { ms: 200, every: 20 },
      { onProgress: (one) => progress.push(one.progress) },
    );
    expect(progress.length).toBeGreaterThan(0);

    for (const [tool, text] of [
      ["ask_form", "Ann"],
      ["ask_sample", "hello"],
      ["ask_roots", "file:///tmp"],
    ] as const)
      expect(textOf(await mcp.callTool(`mcp_good_${tool}`, {}))).toContain(text);
    expect([...new Set(asked)].toSorted()).toEqual(["elicit", "roots", "sample"]);

    const left = new AbortController();
    const call = mcp.callTool("mcp_good_slow", { ms: 60_000 }, { signal: left.signal });
    await until(async () => (await callsOf(other, "slow")) >= 2);
    left.abort();
    await expect(call).rejects.toMatchObject({ code: "CANCELLED" });

    let changes = 0;
    mcp.on("toolsChanged", () => void (changes += 1));
    await mcp.listTools();
    await other.callTool("mcp_good_change_tools", { action: "add" });
    await until(() => changes > 0);

    const large = await mcp.callTool("mcp_good_big", { bytes: 3_000_000 });
    expect(textOf(large)).toHaveLength(3_000_000);
  });

  it("survives a gateway restart: a running call fails clearly, later ones reach the new gateway", async () => {
    const { serve, connect } = setUp();
    const gateway = await serve();
    const mcp = await connect(era);
    const other = await connect("legacy");
    let changes = 0;
    mcp.on("toolsChanged", () => void (changes += 1));
    await mcp.listTools();
    const call = mcp.callTool("mcp_good_hang", {});
    const failed = expect(call).rejects.toMatchObject({
      code: "CONNECTION_LOST",
      message: expect.stringContaining(
        "the gateway stopped before it returned a response to this request",
      ) as string,
    });
    await until(async () => (await callsOf(other, "hang")) === 1);
    // SIGKILL gives the gateway no time to send a response.
    gateway.kill("SIGKILL");
    await failed;
    const waiting = mcp.callTool("mcp_good_echo", { text: "later" });
    await serve();
    expect(textOf(await waiting)).toBe("later");
    await until(() => changes > 0);
    // The call was not repeated, and both clients use the new process.
    expect(await callsOf(other, "hang")).toBe(0);
    expect(await callsOf(other, "echo")).toBe(1);
  });
});

const run = ({ cwd, env }: Pick<ReturnType<typeof setUp>, "cwd" | "env">, ...words: string[]): Promise<Ran> =>
  portolan(words, { cwd, env });

describe("commands while a gateway runs", () => {
  it("use the gateway while the config files have errors, and say so in one line", async () => {
    const place = setUp();
    await place.serve();
    writeFileSync(join(place.cwd, "portolan.yaml"), "version: 1\nservers: [");
    const line =
      "The config files have errors. The running gateway continues to use the earlier version of each file with an error. To see the errors: portolan validate";
    for (const words of [
      ["call", "good.echo", "text=hi"],
      ["call", "echo", "text=hi"],
      ["list", "good"],
      ["why", "good"],
    ]) {
      const { code, out, err } = await run(place, ...words);
      expect([code, err], words.join(" ")).toEqual([0, `${line}\n`]);
      expect(out).toContain(words[0] === "call" ? "hi" : "good");
    }
    expect((await run(place, "call", "goood.echo", "text=hi")).err).toContain("good.echo");
    expect((await run(place, "call", "good.echo", "text=hi", "--standalone")).code).toBe(2);
  });

  it("find the gateway by a file that it serves; grants for one call start a separate process", async () => {
    const place = setUp();
    const tool = { name: "pid", description: "x", inputSchema: { type: "object" } };
    writeFileSync(
      join(place.cwd, "mcpfile.yaml"),
      JSON.stringify({
        ...{ kind: "MCPToolDefinitions", schemaVersion: "0.2.0", name: "own", version: "1.0.0" },
        tools: [{ ...tool, invocation: { cli: { command: "node -p process.ppid" } } }],
      }),
    );
    const gateway = await place.serve();
    const { out, err } = await run(place, "call", "mcpfile.yaml", "pid");
    expect((JSON.parse(out) as { content: { text: string }[] }).content[0]?.text.trim(), err).toBe(
      String(gateway.pid),
    );
    const once = await run(place, "call", "good.echo", "text=hi", "--once", "--read", ".");
    expect([once.code, JSON.parse(once.out)]).toMatchObject([0, { content: [{ text: "hi" }] }]);
    expect(once.out).not.toContain("portolan/gateway");
    expect(once.err).toMatch(
      /^The grants of this command apply to this run only, so this command starts a second copy of the server; the gateway/,
    );
  });
});
