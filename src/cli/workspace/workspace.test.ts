// Commands on a workspace, with everything outside of them replaced by the test.

import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Catalog } from "../../catalog/index.ts";
import type { RunningGateway } from "../../control/index.ts";
import type { ImportedFile } from "../../formats/clients/index.ts";
import type { ServerHealth, Workspace, WorkspaceConfig, WorkspaceOptions } from "../../hub/index.ts";
import type { ServerConfig, JsonObject } from "../../model/index.ts";
import { openRecords } from "../connect/records.ts";
import type { CliIo } from "../context.ts";
import { run } from "../program.ts";

const cwd = tmpdir();
const signals = Object.assign(new EventEmitter(), { exit: vi.fn() });

function declare(alias: string, more: Partial<ServerConfig> = {}): ServerConfig {
  return {
    alias,
    enabled: true,
    origin: { file: `${cwd}/portolan.yaml`, line: 7, column: 3, format: "workspace" },
    endpoint: { transport: "http", url: "https://x.example/mcp?key=s3cr3t-in-query" },
    ...more,
  };
}

function runningAt(path: string): RunningGateway {
  const known = {
    kind: "http",
    socket: "/s",
    token: "t",
    startedAt: "2026-01-01",
    portolan: "9.9.9",
  } as const;
  return { ...known, path, url: "http://127.0.0.1:7420/mcp", pid: 1, file: "/f", isAlive: async () => true };
}

interface World {
  readonly servers?: readonly ServerConfig[];
  readonly naming?: string;
  readonly imported?: readonly ImportedFile[];
  readonly health?: Record<string, Partial<ServerHealth>>;
  readonly settled?: Promise<void>;
  /** Workspaces with a running gateway. */
  readonly elsewhere?: readonly string[];
  /** A server starts and asks for the passphrase of the vault; the person answers later. */
  readonly asksPassphrase?: boolean;
}

async function portolan(argv: string[], world: World = {}, tty = false) {
  let out = "";
  let err = "";
  const opened: [string | WorkspaceConfig, WorkspaceOptions][] = [];
  const calls: [string, object | undefined][] = [];
  let answer: (text: string) => void = () => {};
  const typed = new Promise<string>((resolve) => (answer = resolve));
  let closed = 0;
  const { servers = [], imported = [] } = world;
  const openWorkspace: CliIo["openWorkspace"] = async (source, options) => {
    opened.push([source, options]);
    if (world.asksPassphrase === true) {
      const typed = options.promptPassphrase?.({ vault: "/v", reason: "open" });
      await Promise.resolve();
      options.onEvent?.({ type: "mcp.server_stopped", server: "a", at: "2026-01-01" } as never);
      err += "[prompt is open]";
      expect(out).toBe("");
      answer("typed");
      await typed;
    }
    if (typeof source === "string") throw new Error("only --follow opens a path");
    const used = source.servers.filter(({ alias }) => options.only?.includes(alias) !== false);
    const fullName = (name: string): string =>
      (source.naming ?? "mcp_{alias}_{tool}")
        .replace("{alias}", name.split(".")[0] ?? "")
        .replace("{tool}", name.split(".").slice(1).join("."));
    const tools = used.map(({ alias }) => fullName(`${alias}.echo`));
    const health = used.map(({ alias, origin, endpoint }): ServerHealth => ({
      alias,
      state: "ready",
      since: new Date().toISOString(),
      origin,
      transport: endpoint.transport,
      era: "modern",
      revision: "2026-07-28",
      tools: 1,
      restarts: 0,
      ...world.health?.[alias],
    }));
    const workspace: Partial<Workspace> = {
      diagnostics: [],
      settled: () => world.settled ?? Promise.resolve(),
      health: () => health,
      healthCheck: async () => health.every(({ state }) => state === "ready"),
      toolNames: () =>
        new Map(tools.map((tool, index) => [tool, { server: used[index]?.alias ?? "", name: "echo" }])),
      promptNames: () => new Map(),
      toolDefinitions: async () => tools.map((name) => ({ name, inputSchema: { type: "object" } })),
      resources: async () => [],
      resourceTemplates: async () => [],
      prompts: async () => [],
      callTool: async (name, input) => {
        calls.push([name, input]);
        return { content: [{ type: "text", text: "ok" }], text: "ok" };
      },
      on: () => () => {},
      close: async () => void (closed += 1),
    };
    return workspace as Workspace;
  };
  const catalog: Catalog = {
    folder: cwd,
    usedPaths: { folder: cwd, isWhole: true, paths: [] },
    servers,
    settings: { defaults: {}, naming: world.naming },
    files:
      servers.length === 0
        ? []
        : [{ file: `${cwd}/portolan.yaml`, format: "workspace", aliases: [], valid: true }],
    diagnostics: [],
  };
  const io: CliIo = {
    stdin: {
      isTTY: tty,
      async *[Symbol.asyncIterator]() {
        yield "";
      },
    },
    stdout: { isTTY: tty, columns: 80, write: (text) => ((out += text), true) },
    stderr: { isTTY: tty, columns: 80, write: (text) => ((err += text), true) },
    env: { NO_COLOR: "1", PATH: process.env["PATH"], HOME: "/home/me" },
    cwd,
    platform: process.platform,
    version: "9.9.9",
    signals,
    connect: async () => {
      throw new Error("nothing is connected to directly");
    },
    openWorkspace,
    findGateways: async () => ({ gateways: [], ended: [], problems: [] }),
    findAllGateways: async () => (world.elsewhere ?? []).map(runningAt),
    openRunning: async () => {
      throw new Error("no gateway runs here");
    },
    loadCatalog: async () => catalog,
    importClients: async () => [...imported],
    beginServing: () => {},
    hasTerminal: () => false,
    createPrompter: async () => {
      if (world.asksPassphrase === true) return { password: () => typed } as never;
      throw new Error("nobody is asked");
    },
    openBrowser: async () => false,
  };
  const code = await run(argv, io);
  expect(signals.eventNames()).toEqual([]);
  expect(closed).toBe(opened.length);
  return { code, out, err, opened, calls };
}

const two = { servers: [declare("a"), declare("a_b")] };

describe("commands in a workspace", () => {
  test.each<[string[], string[] | undefined, [string, JsonObject | undefined][]]>([
    [["call", "a.echo"], ["a"], [["mcp_a_echo", {}]]],
    [["call", "a", "echo"], ["a"], [["mcp_a_echo", {}]]],
    // Either server could have the tool, so both are started.
    [["call", "mcp_a_b_echo"], ["a", "a_b"], [["mcp_a_b_echo", {}]]],
    [["call", "mcp_a_echo()"], ["a"], [["mcp_a_echo", {}]]],
    [["list", "a_b"], ["a_b"], []],
    [["list", "a_b.echo"], ["a_b"], []],
    [["list"], undefined, []],
    [["status"], undefined, []],
    [["status", "a", "a"], ["a"], []],
    [["why", "a"], ["a"], []],
  ])("%j starts only the servers that it may need", async (argv, only, calls) => {
    const ran = await portolan(argv, two);
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
    expect(ran.opened.map(([, options]) => options.only)).toEqual([only]);
    expect(ran.calls).toEqual(calls);
  });

  test("list <server>.<tool> shows the tool and an example call with the same name", async () => {
    const { out } = await portolan(["list", "a.echo"], two);
    expect(JSON.parse(out)).toMatchObject({
      server: "a",
      tool: { name: "echo" },
      example: expect.stringMatching(/^portolan call a\.echo/) as string,
    });
  });

  test.each(["fss.read_text_file", "mcp_fss_read_text_file"])(
    "for the unknown tool %s, the hint suggests only a similar server",
    async (typed) => {
      const servers = ["fs", "brave", "github"].map((alias) => declare(alias));
      const { err } = await portolan(["list", typed], { servers });
      expect(JSON.parse(err)).toMatchObject({
        error: { hint: `Did you mean "${typed.replace("fss", "fs")}"?` },
      });
    },
  );

  test("logs of a misspelt server suggests the server", async () => {
    const { err } = await portolan(["logs", "memroy", "--json"], { servers: [declare("memory")] });
    expect(JSON.parse(err)).toMatchObject({
      error: { code: "SERVER_UNKNOWN", hint: 'Did you mean "memory"?' },
    });
  });

  test("tool names follow the naming template of the workspace", async () => {
    const ran = await portolan(["call", "a-echo"], { servers: [declare("a")], naming: "{alias}-{tool}" });
    expect(ran.calls).toEqual([["a-echo", {}]]);
  });

  test("options of the command line override the config", async () => {
    const { opened } = await portolan(["call", "a.echo", "--era", "legacy", "--timeout", "5"], two);
    const [config] = opened[0] ?? [];
    expect((config as WorkspaceConfig).servers[0]).toMatchObject({
      era: "legacy",
      limits: { requestTimeoutMs: 5_000 },
    });
    const refused = await portolan(["list", "a", "--header", "A: b"], two);
    expect(refused.code).toBe(2);
    expect(refused.opened).toEqual([]);
  });

  test("without config files, status uses servers of other clients, those of the project first", async () => {
    const file = (scope: "user" | "project", url: string): ImportedFile => ({
      client: "cursor",
      scope,
      file: `/home/me/${scope}.json`,
      servers: [{ ...declare("a"), endpoint: { transport: "http", url }, name: "a" }],
      diagnostics: [],
    });
    const imported = [file("user", "https://user.example"), file("project", "https://project.example")];
    const { opened, out, code } = await portolan(["status"], { imported });
    expect(code).toBe(0);
    expect(opened[0]?.[1].snapshots).toBe(false);
    expect(opened[0]?.[0]).toMatchObject({ servers: [{ endpoint: { url: "https://project.example" } }] });
    expect(JSON.parse(out)).toMatchObject({
      source: { kind: "clients" },
      diagnostics: [{ code: "NAME_AMBIGUOUS", file: `${cwd}/portolan.yaml` }],
    });
    expect((await portolan(["status"], two)).opened[0]?.[1].snapshots).toBeUndefined();
  });
});

describe("in a folder without a config file", () => {
  const reach = "A gateway runs for another workspace. To use it, add -w ~/notes.";
  const elsewhere = ["/home/me/notes"];

  test.each([
    [["call", "files.read", "path=x"]],
    [["list", "files"]],
    [["status", "files"]],
    [["why", "files"]],
    [["grant", "files", "--net", "example.com"]],
    [["revoke", "files", "--net", "example.com"]],
    [["logs", "files"]],
    [["restart", "files"]],
    [["reload"]],
  ])("%j names the gateway of another workspace", async (words) => {
    const { err, code } = await portolan(words, { elsewhere });
    expect(code).not.toBe(0);
    expect(err).toContain(reach);
    expect((await portolan(words)).err).not.toContain("another workspace.");
  });

  test.each([["status"], ["list"]])(
    "%s without a server names the gateway of another workspace, too",
    async (command) => {
      const note = "There are no servers here.";
      const { out, err } = await portolan([command, "--text"], { elsewhere });
      expect(out).toContain(`${note} ${reach} Add one: portolan add`);
      // No server is started for the check.
      expect(err).toBe("");
      expect((await portolan([command, "--text"])).out).toContain(`${note} Add one: portolan add`);
    },
  );

  test("the hint names the workspace of connected clients if no gateway runs", async () => {
    const data = mkdtempSync(join(tmpdir(), "portolan-data-"));
    onTestFinished(() => {
      vi.unstubAllEnvs();
      rmSync(data, { recursive: true });
    });
    vi.stubEnv("XDG_DATA_HOME", data);
    const records = await openRecords(join(data, "portolan", "connections"));
    const file = join(data, "mcp.json");
    const entry = { name: "portolan", container: ["mcpServers"] };
    await records.save(
      {
        record: {
          ...{
            client: "cursor",
            file,
            workspace: "/home/me/gw2",
            connectedAt: "2026-01-01",
            before: undefined,
          },
          ...{ after: "x", entry, value: {}, removed: [], inputs: [] },
        },
        before: undefined,
        previous: undefined,
      },
      async () => writeFileSync(file, "{}"),
    );
    const hint = "Your clients use the workspace ~/gw2. To see its servers: portolan status -w ~/gw2.";
    for (const words of [
      ["status", "--text"],
      ["list", "--text"],
      ["call", "notes.x"],
    ]) {
      const { out, err } = await portolan(words);
      expect(`${out}${err}`).toContain(hint);
    }
    expect((await portolan(["status", "--text"], two)).out).not.toContain("Your clients");
    const { err } = await portolan(["call", "notes.x"], two);
    expect(err).toContain(`${hint} Servers here: a, a_b.`);
    expect((await portolan(["status", "--text"], { elsewhere })).out).not.toContain("Your clients");
  });

  test("the hint names several gateways, with paths quoted for the shell", async () => {
    const { err } = await portolan(["grant", "x", "--net", "a.example"], {
      elsewhere: ["/home/me/a", "/home/me/a", "/home/me/my notes", "/c", "/d"],
    });
    expect(err).toContain(
      "Gateways run for other workspaces. To use one of them, add -w ~/a or -w '/home/me/my notes' or -w /c (and 1 more).",
    );
  });

  test("in a workspace with servers, the hint names no other workspace", async () => {
    const { err } = await portolan(["grant", "x", "--net", "a.example"], { ...two, elsewhere });
    expect(err).toContain("There is no server");
    expect(err).not.toContain("another workspace");
  });
});

test("events says that it starts the servers, and prints nothing into an open prompt", async () => {
  const { err, out } = await portolan(["events", "--text"], { ...two, asksPassphrase: true }, true);
  expect(err.replaceAll(/\s+/g, " ")).toMatch(
    /^No gateway runs for this workspace; this command starts the servers of .*\[prompt is open\]/,
  );
  expect(out).toMatch(/\ba\b.*stopped/);
});

describe("output of workspace commands", () => {
  test("why shows the paths of the program, and the grants of the sandbox", async () => {
    const endpoint = { transport: "stdio", command: "x" } as const;
    const sandbox = { fs: { read: ["/home/me/a"], write: ["/data/b"] }, network: ["api.test"] };
    const health = { a: { sandbox: { mode: "enforce", backend: "bubblewrap", missing: [] } as never } };
    const granted = await portolan(["why", "a", "--text"], {
      ...{ servers: [declare("a", { endpoint, launch: { sandbox } })], health },
    });
    expect(granted.out.replaceAll(/\s+/g, " ")).toContain(
      "may read its own program, ~/a; may write /data/b; network: api.test",
    );
    const nothing = await portolan(["why", "a", "--text"], { servers: [declare("a", { endpoint })], health });
    expect(nothing.out.replaceAll(/\s+/g, " ")).toContain(
      "may read its own program; may write nothing; network: none",
    );
    const own = { ownPaths: ["/home/me/w"], hiddenFiles: ["/home/me/w/.env"] };
    const shown = await portolan(["why", "a", "--text"], {
      servers: [declare("a", { endpoint })],
      health: { a: { sandbox: { mode: "enforce", backend: "bubblewrap", ...own } as never } },
    });
    expect(shown.out.replaceAll(/\s+/g, " ")).toContain(
      "may read its own program (~/w, except ~/w/.env); may write nothing; network: none",
    );
  });

  test("control characters from servers do not reach the terminal", async () => {
    const error = {
      code: "SERVER_CRASHED",
      message: "bad\u001b[2J\u001b]0;x\u0007",
      hint: "h\u202e",
    } as const;
    const health = { a: { state: "failed", error, stderr: "last\u001b]52;c;eA==\u0007 words" } } as const;
    for (const argv of [["status"], ["why", "a"], ["list"]]) {
      const { out } = await portolan(argv, { ...two, health }, true);
      expect(out).toContain("bad");
      expect(out).not.toMatch(/[\u001b\u0007\u202e]/);
    }
  });

  test("a URL is shown without its query", async () => {
    const text = await portolan(["why", "a"], two, true);
    expect(text.out).toContain("https://x.example/mcp?…");
    expect(text.out + (await portolan(["why", "a"], two)).out).not.toContain("s3cr3t");
  });

  test("list shows for a starting server the command that waits longer", async () => {
    const health = { a: { state: "starting", tools: 0 } } as const;
    const { out } = await portolan(["list", "--text"], { servers: [declare("a")], health });
    expect(out).toContain("still starting. To wait longer: portolan list --wait 5m");
    expect((await portolan(["list", "--text"], two)).out).not.toContain("--wait");
  });

  test("the exit code is 3 if a server is down, and a call has the exit code of its error", async () => {
    const error = { code: "SECRET_MISSING", message: "A secret is missing: X.", hint: "Set it." } as const;
    const health = { a: { state: "blocked", error } } as const;
    expect((await portolan(["status"], { ...two, health })).code).toBe(3);
    expect((await portolan(["why", "a"], { ...two, health })).code).toBe(3);
    const call = await portolan(["call", "a.echo"], { ...two, health });
    expect(call.code).toBe(2);
    expect(JSON.parse(call.err)).toMatchObject({ error: { code: "SECRET_MISSING", hint: "Set it." } });
  });

  test("--wait ends after its time with exit code 3", async () => {
    const health = { a: { state: "starting" } } as const;
    const settled = new Promise<void>(() => {});
    expect((await portolan(["status", "--wait", "10ms"], { ...two, health, settled })).code).toBe(3);
    expect((await portolan(["status", "--wait", "soon"], two)).code).toBe(2);
  });

  test("help has examples and exit codes", async () => {
    for (const command of ["status", "why", "events", "add", "remove", "validate"])
      expect((await portolan([command, "--help"])).out).toMatch(/Examples:[^]*Exit codes:/);
  });

  test("a signal ends the wait and closes the workspace", async () => {
    const settled = new Promise<void>(() => {});
    const ran = portolan(["status"], { ...two, settled });
    await vi.waitFor(() => expect(signals.listenerCount("SIGINT")).toBe(1));
    await new Promise((resolve) => setTimeout(resolve, 50));
    signals.emit("SIGINT");
    expect((await ran).code).toBe(130);
  });
});
