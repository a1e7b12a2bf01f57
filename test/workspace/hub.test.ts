// The hub: names, lifecycles, failures and changes of many servers. Every server is a real process.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type HubEvent, type HubOptions, openHub } from "../../src/hub/index.ts";
import type { ServerConfig } from "../../src/model/index.ts";
import { Connection } from "../../src/client/index.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { failure, until } from "../helpers/connect.ts";

type Extra = Partial<ServerConfig> & { flags?: string[]; command?: string; env?: Record<string, string> };

function declare(
  alias: string,
  { flags = ["--era=modern", "--ttl=60000"], command, env, ...rest }: Extra = {},
): ServerConfig {
  const started = stdioCommand(...flags);
  return {
    alias,
    enabled: true,
    origin: { file: "/somewhere/manifest.yaml", line: 1, column: 1, format: "manifest" },
    endpoint: {
      transport: "stdio",
      command: command ?? started.command,
      args: command === undefined ? started.args : [],
      // The alias in the environment prevents that servers share one process.
      env: env ?? { ALIAS: alias },
    },
    ...rest,
  };
}

const temporary = (): string => mkdtempSync(join(tmpdir(), "portolan-hub-"));

async function setUp(servers: ServerConfig[], options: HubOptions = {}) {
  const opened = await openHub({ snapshots: false, ...options });
  const events: HubEvent[] = [];
  opened.events.on((event) => events.push(event));
  const members = servers.map((server) => opened.member(server));
  for (const member of members) opened.hub.add(member);
  const connection = new Connection(opened.hub, {
    limits: (await import("../../src/model/index.ts")).DEFAULT_LIMITS,
    retryHinted: false,
    diagnostics: [],
    report: () => {},
  });
  onTestFinished(() => opened.hub.close());
  return {
    ...opened,
    members,
    events,
    connection,
    begin: () => Promise.all(members.map((member) => member.begin())),
  };
}

const names = async (connection: Connection): Promise<string[]> =>
  (await connection.listTools()).map((tool) => tool.name);
const once = (): string => `--once=${join(temporary(), "claimed")}`;

describe("names of tools", () => {
  it("consist of alias and tool, are sorted, and lead to the right server", async () => {
    const { connection, begin } = await setUp([declare("two"), declare("one", { flags: ["--era=legacy"] })]);
    await begin();
    const list = await names(connection);
    expect(list).toEqual(list.toSorted());
    expect(list).toContain("mcp_one_echo");
    expect(list).toContain("mcp_two_echo");
    expect((await connection.callTool("mcp_one_echo", { text: "hi" })).text).toBe("hi");
    expect(JSON.parse((await connection.callTool("mcp_two_stats")).text)).toMatchObject({
      calls: { stats: 1 },
    });
  });

  it("follow the naming template, the description prefix and the filters", async () => {
    const servers = [
      declare("one", { allowTools: ["e*", "add"], blockTools: ["end_*"], descriptionPrefix: true }),
    ];
    const { connection, begin } = await setUp(servers, { naming: "{alias}-{tool}" });
    await begin();
    const tools = await connection.listTools();
    expect(tools.map((tool) => tool.name)).toEqual(["one-add", "one-echo"]);
    expect(tools[1]?.description).toBe("[MCP: one] Returns its text");
    expect(tools[1]?.annotations).toMatchObject({ readOnlyHint: true });
  });

  it("that would be equal are both dropped, with a diagnostic", async () => {
    const diagnostics: string[] = [];
    const { connection, begin, hub } = await setUp([declare("a"), declare("a_b")], {
      naming: "mcp_{alias}_{tool}",
      onDiagnostic: ({ code, message }) => diagnostics.push(`${code} ${message}`),
    });
    await begin();
    const [a, ab] = hub.members;
    if (a === undefined || ab === undefined) throw new Error("two members expected");
    const [tool] = ab.inventory.tools;
    const renamed = { ...a.inventory, tools: [{ ...tool, name: `b_${tool?.name}`, inputSchema: {} }] };
    Object.defineProperty(a.inventoryCache, "inventory", { value: renamed });
    hub.changed();
    const list = await names(connection);
    expect(list).not.toContain(`mcp_a_b_${tool?.name}`);
    expect(diagnostics.join("\n")).toContain("NAME_AMBIGUOUS");
  });

  it("and definitions are identical after a crash and in the next run", async () => {
    const folder = temporary();
    const servers = [declare("one"), declare("two", { flags: ["--era=legacy"] })];
    const first = await setUp(servers, { snapshots: folder });
    await first.begin();
    const bytes = JSON.stringify(await first.connection.listToolDefinitions());
    await failure(first.connection.callTool("mcp_one_crash"));
    expect(JSON.stringify(await first.connection.listToolDefinitions({ refresh: true }))).toBe(bytes);
    await first.hub.close();
    const second = await setUp(
      servers.map((server) => ({ ...server, start: "lazy" as const })),
      { snapshots: folder },
    );
    await second.begin();
    expect(second.members.map((member) => member.state)).toEqual(["idle", "idle"]);
    expect(JSON.stringify(await second.connection.listToolDefinitions())).toBe(bytes);
  });
});

describe("lifecycle", () => {
  it("a failing server is reported and retried, and the others work", async () => {
    const { connection, begin, members, events } = await setUp([
      declare("good"),
      declare("late", { flags: ["--era=modern", "--fault=exit-at-start", once()] }),
      declare("gone", { command: "no-such-program-here" }),
    ]);
    await begin();
    // On a busy machine, the next attempt may have begun: then the state is starting again.
    const [good, late, gone] = members.map((member) => member.state);
    expect(good).toBe("ready");
    expect(["failed", "starting"]).toContain(late);
    expect(["failed", "starting"]).toContain(gone);
    expect(await names(connection)).not.toContain("mcp_late_echo");
    expect((await connection.callTool("mcp_good_echo", { text: "on" })).text).toBe("on");
    expect(events.filter((event) => event.type === "mcp.server_failed").map((event) => event.server)).toEqual(
      expect.arrayContaining(["late", "gone"]),
    );
    await until(async () => (await names(connection)).includes("mcp_late_echo"));
    expect(
      events.some(
        (event) =>
          event.type === "mcp.tools_changed" && event.server === "late" && event.added.includes("echo"),
      ),
    ).toBe(true);
  });

  it("F2: a call to a server that cannot start fails at once, with the reason", async () => {
    const folder = temporary();
    const healthy = await setUp([declare("loop")], { snapshots: folder });
    await healthy.begin();
    await healthy.hub.close();
    const { begin, connection } = await setUp([{ ...declare("loop"), env: undefined } as ServerConfig], {
      snapshots: folder,
    });
    await begin();
    expect((await connection.callTool("mcp_loop_echo", { text: "x" })).text).toBe("x");

    const broken = await setUp([declare("broken", { flags: ["--fault=exit-at-start:9"] })]);
    await broken.begin();
    const [member] = broken.members;
    const started = performance.now();
    const error = await failure(
      member?.request({ method: "tools/call", params: { name: "echo" } }) as Promise<unknown>,
    );
    expect(performance.now() - started).toBeLessThan(15_000);
    expect(error).toMatchObject({ code: "SERVER_UNAVAILABLE", server: "broken" });
    expect(error.stderr).toContain("FIXTURE_TOKEN is not set");
  });

  it("a lazy server starts with its first call and stops when idle", async () => {
    const folder = temporary();
    const seen = await setUp([declare("lazy")], { snapshots: folder });
    await seen.begin();
    await seen.hub.close();
    const { begin, connection, members, events } = await setUp(
      [declare("lazy", { start: "lazy", idleStopMs: 100 })],
      { snapshots: folder },
    );
    await begin();
    expect(members[0]?.state).toBe("idle");
    expect((await connection.callTool("mcp_lazy_echo", { text: "up" })).text).toBe("up");
    // The call may be answered before the lists arrive, which make the server ready.
    await until(() => members[0]?.state === "idle");
    expect(events.map(({ type }) => type)).toContain("mcp.server_ready");
    await until(() => events.some((event) => event.type === "mcp.server_stopped"));
    expect((await connection.callTool("mcp_lazy_echo", { text: "again" })).text).toBe("again");
  });

  it("a call that arrives while an idle server stops gets a new process", async () => {
    const { begin, connection, members, events } = await setUp([
      declare("slow", { flags: ["--era=modern", "--fault=stubborn"], idleStopMs: 100 }),
    ]);
    await begin();
    await until(() => members[0]?.state === "idle");
    const isStopped = (): boolean => events.some(({ type }) => type === "mcp.server_stopped");
    const done = new AbortController();
    const flying = connection.callTool("mcp_slow_slow", { ms: 60_000 }, { signal: done.signal });
    const ended = failure(flying);
    expect(isStopped()).toBe(false);
    await until(isStopped);
    expect(members[0]?.state).toBe("ready");
    expect((await connection.callTool("mcp_slow_echo", { text: "still here" })).text).toBe("still here");
    done.abort();
    expect((await ended).code).toBe("CANCELLED");
  });

  it("a crash fails its call and restarts the server, and other servers are not affected", async () => {
    const { begin, connection, events } = await setUp([declare("one"), declare("two")]);
    await begin();
    const other = connection.callTool("mcp_two_slow", { ms: 300 });
    expect((await failure(connection.callTool("mcp_one_crash"))).code).toBe("SERVER_CRASHED");
    expect((await other).text).toContain("done");
    expect((await connection.callTool("mcp_one_echo", { text: "back" })).text).toBe("back");
    expect(events.map((event) => event.type)).toEqual(
      expect.arrayContaining(["mcp.server_restarted", "mcp.tool_failed", "mcp.tool_called"]),
    );
  });

  it("a slow and a dead server do not delay the tools of the others", async () => {
    const { begin, connection, members } = await setUp([
      declare("fast"),
      declare("slow", { flags: ["--fault=slow-start:60000"] }),
      declare("dead", { command: "no-such-program-here" }),
    ]);
    void begin();
    await until(() => members[0]?.state === "ready");
    expect(await names(connection)).toContain("mcp_fast_echo");
    expect(members[1]?.state).toBe("starting");
  });

  it("a call of a tool or prompt that is not known yet waits for its server to start", async () => {
    const { begin, hub, members } = await setUp([
      declare("slow", { flags: ["--fault=slow-start:1000"] }),
      declare("dead", { command: "no-such-program-here" }),
    ]);
    const only = (alias: string) =>
      hub.view({ name: alias, alone: alias, includes: (member) => member.alias === alias });
    const [slow, dead] = [only("slow"), only("dead")];
    void begin();
    expect(members[0]?.inventory.tools).toEqual([]);
    const call = (name: string) => ({ method: "tools/call", params: { name, arguments: { text: "x" } } });
    const late = failure(hub.request({ ...call("mcp_slow_echo"), timeoutMs: 10 }));
    const echoed = { content: [{ type: "text", text: "x" }] };
    expect(
      await Promise.all([
        hub.request(call("mcp_slow_echo")),
        slow.request(call("echo")),
        hub.request({ method: "prompts/get", params: { name: "mcp_slow_simple" } }),
      ]),
    ).toMatchObject([echoed, echoed, { messages: [{ role: "user" }] }]);
    expect(await late).toMatchObject({ code: "TIMEOUT", server: "slow" });
    expect(await failure(slow.request(call("other")))).toMatchObject({ code: "TOOL_NOT_FOUND" });
    // The reason is more helpful than an unknown name.
    for (const [view, name] of [[hub, "mcp_dead_echo"] as const, [dead, "echo"] as const])
      expect(await failure(view.request(call(name)))).toMatchObject({
        code: expect.stringMatching(/^SERVER_(UNAVAILABLE|START_FAILED)$/) as string,
        server: "dead",
      });
  });

  it("servers with the same definition share one process", async () => {
    const same = { flags: ["--era=modern"], env: { SAME: "1" } };
    const { begin, connection } = await setUp([
      declare("one", same),
      declare("two", same),
      declare("three", { ...same, env: { SAME: "2" } }),
    ]);
    await begin();
    const pid = async (alias: string): Promise<number> =>
      (JSON.parse((await connection.callTool(`mcp_${alias}_stats`)).text) as { pid: number }).pid;
    expect(await pid("one")).toBe(await pid("two"));
    expect(await pid("one")).not.toBe(await pid("three"));
    const error = await failure(connection.callTool("mcp_two_crash"));
    expect(error).toMatchObject({ code: "SERVER_CRASHED", server: "two" });
    expect(error.message).toContain("two exited");
  });
});

describe("a member that replaces another one for the same server", () => {
  it("continues the count of restarts without counting one twice", async () => {
    const { begin, connection, members, member, hub } = await setUp([declare("one")]);
    await begin();
    const [old] = members;
    await failure(connection.callTool("mcp_one_crash"));
    await until(() => old?.state === "ready");
    expect(old?.processes.restarts).toBe(1);
    const next = member(declare("one"));
    hub.add(next);
    await next.begin();
    await next.takeOver(old as typeof next);
    expect(next.processes.restarts).toBe(1);
    await failure(connection.callTool("mcp_one_crash"));
    await until(() => next.state === "ready" && next.processes.restarts === 2);
  });

  it("sets the log level in every process that it starts", async () => {
    const flags = ["--era=legacy"];
    const { begin, connection, members, member, hub } = await setUp([declare("one", { flags })]);
    await begin();
    const [old] = members;
    await hub.setLogLevel("error");
    const next = member(declare("one", { flags }));
    await next.takeOver(old as typeof next);
    hub.add(next);
    await next.begin();
    expect((await connection.callTool("mcp_one_log", { level: "info" })).text).toBe("suppressed");
  });

  it("removes the instructions of a server that is disabled now", async () => {
    const flags = ["--era=modern", "--instructions=Ask me first."];
    const { begin, members, member, hub } = await setUp([declare("one", { flags }), declare("two")]);
    await begin();
    expect(hub.describe().instructions).toContain("Ask me first.");
    const next = member(declare("one", { flags, enabled: false }));
    await next.takeOver(members[0] as typeof next);
    hub.add(next);
    expect(hub.describe().instructions ?? "").not.toContain("Ask me first.");
  });
});

describe("changes of tools", () => {
  it("cause one event with the difference", async () => {
    const { begin, connection, events } = await setUp([declare("one")]);
    await begin();
    await new Promise((resolve) => setImmediate(resolve));
    let announced = 0;
    connection.on("toolsChanged", () => {
      announced += 1;
    });
    const before = events.length;
    await connection.callTool("mcp_one_change_tools", { action: "add" });
    await until(() => events.slice(before).some((event) => event.type === "mcp.tools_changed"));
    const change = events.slice(before).find((event) => event.type === "mcp.tools_changed");
    expect(change).toMatchObject({ server: "one", changed: [], removed: [] });
    await until(() => announced === 1);
    await connection.callTool("mcp_one_change_tools", { action: "remove" });
    await until(() =>
      events.some((event) => event.type === "mcp.tools_changed" && event.removed.length === 1),
    );
  });

  it("F15: ten thousand notifications cause few requests for the list", async () => {
    const { begin, connection, hub } = await setUp([
      declare("one", { flags: ["--era=legacy", "--fault=list-storm:10000"] }),
    ]);
    await begin();
    await connection.callTool("mcp_one_echo", { text: "storm" });
    await until(async () => (await connection.callTool("mcp_one_add", { a: 1, b: 2 })).text.includes("3"));
    const stats = JSON.parse((await connection.callTool("mcp_one_stats")).text) as {
      requests: Record<string, number>;
    };
    expect(stats.requests["tools/list"]).toBeLessThan(15);
    expect(hub.members[0]?.state).toBe("ready");
  });
});

describe("resources and prompts", () => {
  it("are offered, and also as tools if the config enables it", async () => {
    const { begin, connection } = await setUp([declare("one", { resourceTools: true, promptTools: true })]);
    await begin();
    expect((await connection.listResources()).map((resource) => resource.uri)).toContain(
      "test://static-text",
    );
    expect((await connection.readResource("test://template/7/data")).contents).toHaveLength(1);
    expect((await connection.listPrompts()).map((prompt) => prompt.name)).toContain("mcp_one_with_args");
    expect(JSON.stringify(await connection.getPrompt("mcp_one_with_args", { city: "Porto" }))).toContain(
      "Porto",
    );
    expect(
      (await connection.complete({ prompt: "mcp_one_with_args" }, { name: "city", value: "P" })).values
        .length,
    ).toBeGreaterThan(0);
    expect(
      (await connection.callTool("mcp_one_read_resource", { uri: "test://static-text" })).text.length,
    ).toBeGreaterThan(0);
    expect((await connection.callTool("mcp_one_list_resources")).text).toContain("test://static-text");
    expect((await connection.callTool("mcp_one_get_prompt_with_args", { city: "Rome" })).text).toContain(
      "Rome",
    );
    expect((await failure(connection.callTool("mcp_one_get_prompt_with_args", {}))).code).toBe(
      "INPUT_INVALID",
    );
  });
});

it("a missing secret blocks only the server that needs it, and the error names the secret", async () => {
  const { begin, connection, members } = await setUp([
    declare("plain"),
    declare("secret", { env: { TOKEN: "${PORTOLAN_TEST_NOT_SET}" } }),
  ]);
  await begin();
  expect(members.map((member) => member.state)).toEqual(["ready", "blocked"]);
  expect(members[1]?.lastError.error).toMatchObject({ code: "SECRET_MISSING" });
  expect(members[1]?.lastError.error?.message).toContain("PORTOLAN_TEST_NOT_SET");
  expect(await names(connection)).toContain("mcp_plain_echo");
});

it("a lazy server with cached tools is blocked too if its secret is missing", async () => {
  const folder = temporary();
  process.env.PORTOLAN_TEST_LAZY = "set";
  const server = declare("lazy", { start: "lazy", env: { TOKEN: "${PORTOLAN_TEST_LAZY}" } });
  const first = await setUp([server], { snapshots: folder });
  await first.begin();
  expect(first.members[0]?.state).toBe("ready");
  await first.hub.close();
  delete process.env.PORTOLAN_TEST_LAZY;
  const { begin, members, connection } = await setUp([server], { snapshots: folder });
  await begin();
  expect(members[0]?.state).toBe("blocked");
  expect((await failure(connection.callTool("mcp_lazy_echo", { text: "x" }))).code).toBe("SECRET_MISSING");
});
