// `openWorkspace()` on real folders with real servers: the example bridge manifest, its errors and its changes.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Diagnostic } from "../../src/errors/index.ts";
import type { HubEvent } from "../../src/hub/index.ts";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { pidsWithEnv, stdioCommand } from "../fixtures/processes.mjs";
import { startSseServer } from "../fixtures/sse-server.mjs";
import { failure, started, until } from "../helpers/connect.ts";
import { declare, guard, isRunning, open, scripted, stdio, temporary } from "../helpers/workspace.ts";

const FILESYSTEM = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", import.meta.url),
);
const TOKEN = "ghp_the-right-token";

function stubEnv(name: string, value: string | undefined): void {
  vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

/** The example manifest, with servers that exist. */
async function seedWorkspace(config = ""): Promise<{ folder: string; allowed: string }> {
  const http = await started(startHttpServer({ era: "modern", ttl: 60_000 }));
  const sse = await guard(await started(startSseServer()), TOKEN);
  const folder = temporary();
  const allowed = join(folder, "allowed");
  mkdirSync(allowed);
  writeFileSync(join(allowed, "note.txt"), "a note");
  const text = `id: mcp
name: MCP Bridge
version: "1.0.0"
description: >
  Connects to MCP servers and exposes their tools to the agent.
  Supports stdio, SSE, and Streamable HTTP transports.

entrypoint: main:McpBridgeExtension

depends_on: []

config:${config}
  servers:
    - alias: web_search
      transport: streamable-http
      url: ${http.url}

    - alias: filesystem
      transport: stdio
      command: ${process.execPath}
      args: ["${FILESYSTEM}", "${allowed}"]

    - alias: github
      transport: sse
      url: ${sse.url}
      headers:
        Authorization: "Bearer \${GITHUB_TOKEN}"  # resolved from secrets

enabled: true
`;
  writeFileSync(join(folder, "manifest.yaml"), text);
  return { folder, allowed };
}

describe("the example manifest", () => {
  it("works with stdio, Streamable HTTP, and SSE with a secret in a header", async () => {
    stubEnv("GITHUB_TOKEN", TOKEN);
    const { folder, allowed } = await seedWorkspace();
    const { workspace, names, diagnostics } = await open(folder);
    expect(diagnostics.filter(({ code }) => code !== "NAME_AMBIGUOUS")).toEqual([]);
    expect(workspace.health().map(({ alias, state }) => `${alias} ${state}`)).toEqual([
      "filesystem ready",
      "github ready",
      "web_search ready",
    ]);
    const list = await names();
    expect(list).toEqual(
      expect.arrayContaining(["mcp_filesystem_read_text_file", "mcp_github_echo", "mcp_web_search_echo"]),
    );
    expect(list.every((name) => /^mcp_(filesystem|github|web_search)_/.test(name))).toBe(true);
    const path = join(allowed, "note.txt");
    expect((await workspace.callTool("mcp_filesystem_read_text_file", { path })).text).toContain("a note");
    expect((await workspace.callTool("mcp_github_echo", { text: "over sse" })).text).toBe("over sse");
    expect((await workspace.callTool("mcp_web_search_echo", { text: "over http" })).text).toBe("over http");
    const tools = await workspace.tools();
    const echo = tools.find((tool) => tool.name === "mcp_github_echo");
    expect(await echo?.execute({ text: "executed" })).toContain("executed");
    expect(await workspace.healthCheck()).toBe(true);
  });

  it("a wrong secret fails only its server, and the errors do not contain the secret", async () => {
    stubEnv("GITHUB_TOKEN", "ghp_the-wrong-token");
    const { folder } = await seedWorkspace();
    const { workspace, names, state } = await open(folder);
    await workspace.settled();
    expect(state("github")).toBe("failed");
    expect((await failure(workspace.callTool("github.search"))).code).toBe("AUTH_REQUIRED");
    const error = workspace.health().find(({ alias }) => alias === "github")?.error;
    expect(error?.message).toContain("401");
    expect(JSON.stringify(workspace.health())).not.toContain("wrong-token");
    expect((await names()).some((name) => name.startsWith("mcp_github_"))).toBe(false);
    expect((await names()).some((name) => name.startsWith("mcp_web_search_"))).toBe(true);
    expect(await workspace.healthCheck()).toBe(false);
  });

  it("a missing secret blocks its server, and all errors name the secret", async () => {
    stubEnv("GITHUB_TOKEN", undefined);
    const { folder } = await seedWorkspace();
    const { workspace, names, state, diagnostics } = await open(folder);
    await workspace.settled();
    expect(state("github")).toBe("blocked");
    // Its tools were never listed: a call returns the reason, not TOOL_NOT_FOUND.
    for (const name of ["github.search", "mcp_github_search"])
      expect(await failure(workspace.callTool(name))).toMatchObject({
        code: "SECRET_MISSING",
        server: "github",
        tool: "mcp_github_search",
      });
    expect(await failure(workspace.getPrompt("mcp_github_review"))).toMatchObject({ code: "SECRET_MISSING" });
    expect(diagnostics).toContainEqual(
      expect.objectContaining({ code: "SECRET_MISSING", severity: "warning", server: "github" }),
    );
    const error = workspace.health().find(({ alias }) => alias === "github")?.error;
    expect(error).toMatchObject({ code: "SECRET_MISSING" });
    expect(error?.message).toContain("GITHUB_TOKEN");
    expect(error?.message).toContain("headers.Authorization");
    expect((await names()).some((name) => name.startsWith("mcp_filesystem_"))).toBe(true);
    expect(await workspace.healthCheck()).toBe(false);
  });

  it("enabled_servers disables the other servers, and these do not count as down", async () => {
    stubEnv("GITHUB_TOKEN", undefined);
    const { folder } = await seedWorkspace("\n  enabled_servers: [web_search]");
    const { workspace, names, state } = await open(folder);
    expect((await names()).every((name) => name.startsWith("mcp_web_search_"))).toBe(true);
    expect([state("filesystem"), state("github")]).toEqual(["disabled", "disabled"]);
    expect(await failure(workspace.callTool("mcp_github_search"))).toMatchObject({
      code: "SERVER_DISABLED",
      message: "github is disabled",
    });
    expect(await workspace.healthCheck()).toBe(true);
  });
});

describe("failures of servers", () => {
  it("a server that cannot be reached at the start is reported, and the others work", async () => {
    const gone = await startHttpServer();
    await gone.close();
    const folder = declare([
      stdio("good"),
      stdio("dead", ["--fault=exit-at-start"]),
      { alias: "nowhere", transport: "streamable-http", url: gone.url },
      { alias: "absent", transport: "stdio", command: "no-such-program-here" },
    ]);
    const { workspace, names, state } = await open(folder);
    // On a busy machine a server may still be starting when the workspace is open.
    const states = (): unknown[] => ["good", "dead", "nowhere", "absent"].map(state);
    await expect.poll(states).toEqual(["ready", "failed", "failed", "failed"]);
    expect((await names()).every((name) => name.startsWith("mcp_good_"))).toBe(true);
    expect((await workspace.callTool("good.echo", { text: "fine" })).text).toBe("fine");
    const reasons = Object.fromEntries(workspace.health().map(({ alias, error }) => [alias, error?.message]));
    expect(reasons.absent).toContain("no-such-program-here");
    expect(reasons.nowhere).toBeDefined();
    expect(workspace.health().find(({ alias }) => alias === "dead")?.stderr).toContain("FIXTURE_TOKEN");
  });

  it("a call that times out is an error for its caller only", async () => {
    const folder = declare([stdio("slow", undefined, { timeouts: { request: "300ms" } }), stdio("other")]);
    const { workspace, events } = await open(folder);
    const [hung, other] = await Promise.all([
      failure(workspace.callTool("slow.hang")),
      workspace.callTool("other.slow", { ms: 400 }),
    ]);
    expect(hung).toMatchObject({ code: "TIMEOUT", server: "slow", tool: "mcp_slow_hang" });
    expect(other.text).toContain("done");
    expect((await workspace.callTool("slow.echo", { text: "still there" })).text).toBe("still there");
    expect(events.filter(({ type }) => type === "mcp.tool_failed")).toMatchObject([
      { server: "slow", tool: "mcp_slow_hang", code: "TIMEOUT", argumentKeys: [] },
    ]);
  });

  it("the error of a crash names the field of health() with the output", async () => {
    const { workspace } = await open(declare([stdio("process")]));
    expect((await failure(workspace.callTool("process.crash", {}))).code).toBe("SERVER_CRASHED");
    expect(workspace.health()[0]?.error?.hint).toBe(
      "Portolan is starting the server again. See the output of the server: the field stderr in workspace.health()",
    );
    const late = await failure(workspace.callTool("process.echo", { text: "x" }, { timeoutMs: 50 }));
    expect(late).toMatchObject({ code: "TIMEOUT", data: { neverRan: true } });
    expect(late.message).toMatch(
      /^process: the call was not sent: the server crashed \(.+\), and Portolan was/,
    );
  });

  it("a connection that is lost during a call is an error for its caller only, on every transport", async () => {
    const http = await started(startHttpServer({ era: "modern", answer: "sse" }));
    const sse = await started(startSseServer());
    const folder = declare([
      stdio("process"),
      { alias: "http", transport: "streamable-http", url: http.url },
      { alias: "events", transport: "sse", url: sse.url },
      stdio("other", ["--era=legacy"]),
    ]);
    const { workspace } = await open(folder);
    const beside = workspace.callTool("other.slow", { ms: 500 });
    http.setFault({ name: "sse-drop", on: "tools/call", times: 1 });
    sse.setFault("drop-on-call");
    const codes = await Promise.all(
      ["process.crash", "http.echo", "events.echo"].map(async (name) => {
        const input: { text?: string } = name.endsWith("echo") ? { text: "x" } : {};
        return (await failure(workspace.callTool(name, input))).code;
      }),
    );
    expect(codes).toEqual(["SERVER_CRASHED", "CONNECTION_LOST", "CONNECTION_LOST"]);
    sse.clearFaults();
    expect((await beside).text).toContain("done");
    for (const alias of ["process", "http", "events"])
      expect((await workspace.callTool(`${alias}.echo`, { text: "back" })).text).toBe("back");
  });

  it("an invalid manifest is refused with all errors before any process starts", async () => {
    const folder = temporary();
    const tag = join(folder, "tag");
    const { command, args } = stdioCommand("--era=modern");
    const text = `config:
  servers:
    - alias: fine
      transport: stdio
      command: ${command}
      args: ${JSON.stringify(args)}
      env: { TAG: "${tag}" }
    - transport: stdio
      command: node
    - alias: radio
      transport: carrier-pigeon
      command: node
    - alias: nocommand
      transport: stdio
    - alias: nourl
      transport: sse
    - alias: fine
      transport: stdio
      comand: node
      command: node
`;
    writeFileSync(join(folder, "manifest.yaml"), text);
    const error = await failure(open(folder, { watchFiles: true }));
    expect(error.code).toBe("FILE_INVALID");
    const found = error.data.diagnostics as Diagnostic[];
    expect(found.every(({ file, line, column }) => file !== undefined && line !== undefined && column)).toBe(
      true,
    );
    const at = (line: number): string =>
      found
        .filter((one) => one.line === line)
        .map(({ message, hint }) => `${message} ${hint}`)
        .join("\n");
    expect(at(8)).toContain("alias");
    expect(at(11)).toMatch(/carrier-pigeon[^]*stdio/);
    expect(at(13)).toContain("command");
    expect(at(15)).toContain("url");
    expect(at(17)).toContain("line 3");
    expect(at(19)).toMatch(/comand[^]*command/);
    expect(found).toHaveLength(6);
    expect(pidsWithEnv("TAG", tag)).toEqual([]);
  });
});

describe("lifecycle", () => {
  it("cached tools of an earlier run are listed before a slow server is ready", async () => {
    const snapshots = temporary();
    const marker = join(temporary(), "claimed");
    writeFileSync(marker, "");
    const flags = ["--era=modern", "--fault=slow-start:1500", `--once=${marker}`];
    const folder = declare([stdio("one", flags)]);
    const first = await open(folder, { snapshots });
    const before = await first.names();
    expect(before).toContain("mcp_one_echo");
    await first.workspace.close();
    rmSync(marker);
    const second = await open(folder, { snapshots });
    expect(second.state("one")).toBe("starting");
    expect(await second.names()).toEqual(before);
    expect(await second.workspace.healthCheck()).toBe(true);
    expect((await second.workspace.callTool("one.echo", { text: "waited" })).text).toBe("waited");
  });

  it("without a cache, the tools of a slow server are listed after an event", async () => {
    const folder = declare([stdio("one", ["--era=modern", "--fault=slow-start:700"]), stdio("two")]);
    const { names, events, workspace } = await open(folder, { waitMs: 400 });
    expect((await names()).filter((name) => name.startsWith("mcp_one_"))).toEqual([]);
    let changes = 0;
    workspace.on("toolsChanged", () => (changes += 1));
    // A call waits for the start, although the tool is not known.
    expect((await workspace.callTool("one.echo", { text: "waited" })).text).toBe("waited");
    await until(async () => (await names()).includes("mcp_one_echo"));
    expect(changes).toBeGreaterThan(0);
    expect(events).toContainEqual(expect.objectContaining({ type: "mcp.tools_changed", server: "one" }));
  });

  it("tools() returns the same objects until something changes", async () => {
    const { workspace } = await open(declare([stdio("one", ["--era=legacy"])]));
    const [first] = await workspace.tools();
    expect((await workspace.tools())[0]).toBe(first);
  });

  it("closing cancels running calls, ends all processes, and refuses later calls", async () => {
    const folder = declare([stdio("one"), stdio("two", ["--era=legacy"])]);
    const { workspace, pid, events } = await open(folder, { watchFiles: true });
    const pids = [await pid("one"), await pid("two")];
    const flying = [failure(workspace.callTool("one.hang")), failure(workspace.callTool("two.hang"))];
    await new Promise((resolve) => setTimeout(resolve, 50));
    await workspace.close();
    expect((await Promise.all(flying)).map(({ code }) => code)).toEqual([
      "CONNECTION_CLOSED",
      "CONNECTION_CLOSED",
    ]);
    expect(pids.filter(isRunning)).toEqual([]);
    expect((await failure(workspace.callTool("one.echo", { text: "late" }))).code).toBe("CONNECTION_CLOSED");
    for (const list of ["tools", "toolDefinitions", "resources", "resourceTemplates", "prompts"] as const)
      expect((await failure(workspace[list]())).code).toBe("CONNECTION_CLOSED");
    expect(events.filter(({ type }) => type === "mcp.server_stopped")).toHaveLength(2);
    await workspace.close();
  });

  it("closing does not wait for a server that hangs while it lists its tools", async () => {
    const folder = declare([scripted("mute", { "tools/list": null })]);
    const { workspace } = await open(folder, { waitMs: 1_000 });
    const before = performance.now();
    await workspace.close();
    expect(performance.now() - before).toBeLessThan(15_000);
  });

  it("a list that a server declares but does not support is a diagnostic, and the other lists work", async () => {
    const tools = [{ name: "t", inputSchema: { type: "object" } }];
    const folder = declare([scripted("liar", { "tools/list": { tools } })]);
    const { names, diagnostics, state } = await open(folder);
    expect(state("liar")).toBe("ready");
    expect(await names()).toEqual(["mcp_liar_t"]);
    expect(diagnostics.map(({ message }) => message).join("\n")).toMatch(/prompts\/list[^]*resources\/list/);
  });

  it("healthCheck is false while a server is down and true when it is up again", async () => {
    const http = await started(startHttpServer({ era: "modern" }));
    const folder = declare([
      stdio("one"),
      stdio("two"),
      { alias: "web", transport: "streamable-http", url: http.url },
    ]);
    const { workspace, pid, state } = await open(folder);
    expect(await workspace.healthCheck()).toBe(true);
    process.kill(await pid("one"), "SIGKILL");
    await until(() => state("one") === "reconnecting");
    expect(await workspace.healthCheck()).toBe(false);
    await until(() => workspace.healthCheck());
    expect(workspace.health().find(({ alias }) => alias === "one")?.restarts).toBe(1);
    http.setFault("status:503");
    expect(await workspace.healthCheck()).toBe(false);
    http.clearFaults();
    expect(await workspace.healthCheck()).toBe(true);
  });
});

it("the filters, prefixes, context and short names of the manifest take effect", async () => {
  const folder = declare(
    [
      stdio("one", undefined, {
        tool_allowlist: ["echo", "s*"],
        tool_blocklist: ["sl*"],
        context: [{ uri: "test://static-text", max_bytes: 5 }, { uri: "test://static-*" }],
      }),
      stdio("two", ["--era=legacy"], { description_prefix: "From {alias}:", tool_allowlist: ["add"] }),
    ],
    { description_prefix: true },
  );
  const { workspace, names } = await open(folder);
  expect(await names()).toEqual(["mcp_one_echo", "mcp_one_stats", "mcp_two_add"]);
  const [echo, , add] = await workspace.tools();
  expect(echo?.description).toMatch(/^\[MCP: one\] /);
  expect(add?.description).toMatch(/^From two: /);
  expect((await failure(workspace.callTool("one.slow", { ms: 1 }))).code).toBe("TOOL_NOT_FOUND");
  expect((await workspace.callTool("two.add", { a: 2, b: 3 })).structuredContent).toEqual({ sum: 5 });
  const context = await workspace.context();
  expect(context).toHaveLength(2);
  const [short, whole] = context;
  expect(short).toMatchObject({ server: "one", uri: "test://static-text", cut: true });
  expect(short?.text).toBe("Héll");
  expect(whole).toMatchObject({ uri: "test://static-text", cut: false });
  expect(whole?.text.startsWith(short?.text ?? "-")).toBe(true);
});

describe("changes of the config file", () => {
  it("restart only the servers that they affect", async () => {
    const folder = declare([stdio("kept"), stdio("changed"), stdio("removed")]);
    const { pid, names, state, workspace } = await open(folder, { watchFiles: true });
    const before = { kept: await pid("kept"), changed: await pid("changed"), removed: await pid("removed") };
    const flying = workspace.callTool("kept.slow", { ms: 1_500 });
    declare([stdio("kept"), stdio("changed", ["--era=legacy"]), stdio("added")], {}, folder);
    await until(() => state("added") === "ready" && state("changed") === "ready");
    await until(() => state("removed") === undefined);
    expect(await pid("kept")).toBe(before.kept);
    // The old process serves until the new one is ready.
    await until(async () => (await pid("changed")) !== before.changed);
    await until(() => !isRunning(before.removed) && !isRunning(before.changed));
    expect((await names()).filter((name) => name.endsWith("_echo"))).toEqual([
      "mcp_added_echo",
      "mcp_changed_echo",
      "mcp_kept_echo",
    ]);
    expect((await flying).text).toContain("done");
  });

  it("in filters and names do not stop a server or its calls", async () => {
    const folder = declare([stdio("one"), stdio("two")]);
    const { pid, names, workspace, events } = await open(folder, { watchFiles: true });
    const before = await pid("one");
    const flying = workspace.callTool("one.slow", { ms: 1_200 });
    declare([stdio("one", undefined, { tool_blocklist: ["add"] }), stdio("two")], {}, folder);
    await until(async () => !(await names()).includes("mcp_one_add"));
    expect(await names()).toContain("mcp_one_echo");
    expect((await flying).text).toContain("done");
    expect(await pid("one")).toBe(before);
    expect(events.map(({ type }) => type)).not.toContain("mcp.server_stopped");
    declare([stdio("one"), stdio("two")], { naming: "{alias}-{tool}" }, folder);
    await until(async () => (await names()).includes("two-echo"));
    expect(await pid("one")).toBe(before);
  });

  it("F45: with errors are reported, and the old config is used until the file is valid", async () => {
    const folder = declare([stdio("one"), stdio("two")]);
    const { pid, names, diagnostics, state } = await open(folder, { watchFiles: true });
    const before = await pid("one");
    const list = await names();
    writeFileSync(join(folder, "manifest.yaml"), "config:\n  servers:\n    - alias: one\n      transprt: [");
    await until(() => diagnostics.some(({ severity }) => severity === "error"));
    expect(diagnostics.find(({ severity }) => severity === "error")).toMatchObject({
      file: join(folder, "manifest.yaml"),
      line: 4,
    });
    expect(await names()).toEqual(list);
    expect(await pid("one")).toBe(before);
    declare([stdio("one"), stdio("three")], {}, folder);
    await until(() => state("three") === "ready" && state("two") === undefined);
    expect(await pid("one")).toBe(before);
  });
});

it("events end with the workspace, and never contain values of arguments", async () => {
  const { workspace } = await open(declare([stdio("one")]));
  const seen: HubEvent[] = [];
  const reading = (async () => {
    for await (const event of workspace.events) seen.push(event);
  })();
  await workspace.callTool("one.echo", { text: "private words" });
  await workspace.callTool("one.fail", { message: "no" }).catch(() => {});
  await workspace.close();
  await reading;
  expect(seen.map(({ type }) => type)).toEqual(["mcp.tool_called", "mcp.tool_failed", "mcp.server_stopped"]);
  expect(seen[0]).toMatchObject({ server: "one", tool: "mcp_one_echo", argumentKeys: ["text"] });
  expect(seen.map((event) => JSON.stringify(event)).join("\n")).not.toContain("private words");
});

describe.skipIf(process.platform !== "linux")("F20: after kill -9 of the program", () => {
  it("the next start ends the processes that it left behind, and no processes of running programs", async () => {
    const tag = temporary();
    const orphaned = declare([
      stdio("stubborn", ["--era=modern", "--fault=stubborn:detached"], { env: { TAG: tag } }),
    ]);
    const script = `
      import { openWorkspace } from ${JSON.stringify(new URL("../../dist/index.js", import.meta.url).href)};
      await openWorkspace(${JSON.stringify(orphaned)}, { snapshots: false });
      console.log("open");
      setInterval(() => {}, 1000);`;
    const program = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(program.stdout, "data");
    expect(pidsWithEnv("TAG", tag)).toHaveLength(2);
    const alive = await open(declare([stdio("other")]));
    const other = await alive.pid("other");
    expect(pidsWithEnv("TAG", tag).filter(isRunning)).toHaveLength(2);
    program.kill("SIGKILL");
    await once(program, "exit");
    // From now on, any start on this machine ends the processes, also a start of another test.
    await open(declare([stdio("next")]));
    await until(() => pidsWithEnv("TAG", tag).filter(isRunning).length === 0);
    expect(isRunning(other)).toBe(true);
  });
});
