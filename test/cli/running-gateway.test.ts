// A running gateway and the commands beside it: one copy of each server, found by a state file that is never believed blindly.

import { spawn } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { envelope, MAIN, portolan, type Ran, start, temporaryFolder } from "../helpers/cli.ts";
import { until } from "../helpers/connect.ts";
import { isRunning } from "../helpers/workspace.ts";
import { stdioCommand } from "../fixtures/processes.mjs";

const SERVER = fileURLToPath(new URL("../fixtures/stdio-server.mjs", import.meta.url));
const entry = (...flags: string[]): { command: string; args: string[]; env: Record<string, string> } => {
  const { command, args } = stdioCommand(...flags);
  return { command, args: [...args], env: {} };
};
type Settings = Record<string, unknown>;
const yaml = (servers: Settings, gateway: Settings = {}): string =>
  JSON.stringify({ version: 1, servers, gateway: { port: 0, ...gateway } });

interface Status {
  healthy: boolean;
  gateway: null | { pid: number; url?: string; problems?: string[] };
  servers: { alias: string; state: string; restarts: number }[];
  diagnostics: { severity: string; message: string }[];
}
interface State {
  socket: string;
  token: string;
  process: { pid: number; started: string };
}

/** A workspace with folders of its own for data, state and sockets. */
function setUp(text: string = yaml({ good: entry("--era=modern") })) {
  const top = temporaryFolder();
  const cwd = join(top, "project");
  mkdirSync(cwd);
  writeFileSync(join(cwd, "portolan.yaml"), text);
  const env = {
    HOME: top,
    XDG_CACHE_HOME: join(top, "cache"),
    XDG_CONFIG_HOME: join(top, "config"),
    XDG_DATA_HOME: join(top, "data"),
    XDG_STATE_HOME: join(top, "state"),
    // The path of a socket is short.
    XDG_RUNTIME_DIR: top,
  };
  const run = (...words: string[]): Promise<Ran> => portolan(words, { cwd, env });
  const json = async <T>(...words: string[]): Promise<T> => {
    const { out, err } = await run(...words);
    expect(out, err).not.toBe("");
    return JSON.parse(out) as T;
  };
  const running = join(top, "data", "portolan", "running");
  const stateFiles = (): string[] =>
    existsSync(running)
      ? readdirSync(running, { recursive: true, encoding: "utf8" })
          .filter((name) => name.endsWith(".json"))
          .map((name) => join(running, name))
      : [];
  return {
    ...{ top, cwd, env, run, json, stateFiles },
    save: (content: string) => writeFileSync(join(cwd, "portolan.yaml"), content),
    state: () => JSON.parse(readFileSync(stateFiles()[0] ?? "", "utf8")) as State,
    serve: (...words: string[]) => serve(words, cwd, env, stateFiles),
  };
}

type Place = ReturnType<typeof setUp>;

/** A gateway in the foreground, which other commands can find. */
async function serve(words: string[], cwd: string, env: Record<string, string>, files: () => string[]) {
  const before = files().length;
  const child = spawn(process.execPath, [MAIN, "serve", ...words], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", PORTOLAN_SANDBOX: "off", ...env },
    stdio: [words.includes("--stdio") ? "pipe" : "ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let err = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (err += text));
  const done = new Promise<number | null>((resolve) => child.once("close", resolve));
  await until(() => {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${err}`);
    return files().length > before;
  });
  return {
    child,
    done,
    err: () => err,
    shows: (text: string) => until(() => err.includes(text)),
    pid: child.pid ?? 0,
    /** The processes of its servers. */
    servers: () => childrenOf(child.pid ?? 0),
  };
}

function childrenOf(pid: number): number[] {
  const own = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
  return own.map(Number).flatMap((child) => [child, ...childrenOf(child)]);
}

/** All processes of the fixture server that have this text in their environment. */
function copies(mark: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return (
          readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(SERVER) &&
          readFileSync(`/proc/${pid}/environ`, "utf8").includes(mark)
        );
      } catch {
        return false;
      }
    });
}

/** True when the server has received the call of its tool `slow`. */
async function hasBegun(place: Place): Promise<boolean> {
  const { content } = await place.json<{ content: { text: string }[] }>("call", "good.stats");
  return (JSON.parse(content[0]?.text ?? "") as { calls: Record<string, number> }).calls["slow"] === 1;
}

describe("commands beside a gateway", () => {
  it("use its servers and say so, and start no second copy; --standalone does", async () => {
    const mark = `MARK=${Math.random()}`;
    const [name = "", value = ""] = mark.split("=");
    const place = setUp(yaml({ good: { ...entry("--era=modern"), env: { [name]: value } } }));
    const gateway = await place.serve("--no-auth");
    expect(copies(mark)).toHaveLength(1);
    const seen: number[] = [];
    const watch = setInterval(() => seen.push(copies(mark).length), 20);
    onTestFinished(() => clearInterval(watch));
    const status = await place.json<Status>("status");
    expect(status).toMatchObject({ healthy: true, gateway: { pid: gateway.pid } });
    expect(status.servers).toMatchObject([{ alias: "good", state: "ready" }]);
    const called = await place.json<{ content: { text: string }[]; _meta: object }>(
      ...["call", "good.echo", "text=hello"],
    );
    expect(called.content[0]?.text).toBe("hello");
    expect(called._meta).toMatchObject({ "portolan/gateway": { pid: gateway.pid } });
    const list = await place.json<{ gateway: object; tools: { name: string }[] }>("list");
    expect(list.gateway).toMatchObject({ pid: gateway.pid });
    expect(list.tools.map((tool) => tool.name)).toContain("mcp_good_echo");
    expect(await place.json("list", "good")).toMatchObject({ gateway: { pid: gateway.pid } });
    expect(await place.json("why", "good")).toMatchObject({ gateway: { pid: gateway.pid }, server: "good" });
    expect(await place.json("why", "good.echo")).toMatchObject({ offered: true });
    expect((await place.run("read", "good", "test://static-text")).code).toBe(0);
    expect((await place.run("events")).code).toBe(0);
    clearInterval(watch);
    expect(Math.max(...seen)).toBe(1);
    const alone = await place.json<Status>("status", "--standalone");
    expect(alone).toMatchObject({ healthy: true });
    expect(alone.gateway).toBeNull();
    gateway.child.kill("SIGTERM");
    expect(await gateway.done).toBe(0);
    expect(place.stateFiles()).toEqual([]);
    expect((await place.json<Status>("status")).gateway).toBeNull();
  });

  it("errors, progress and cancelled calls pass through", async () => {
    const place = setUp();
    await place.serve("--no-auth");
    const unknown = envelope(await place.run("call", "good.ecoh"));
    expect(unknown).toMatchObject({ code: "TOOL_NOT_FOUND" });
    expect((await place.run("call", "good.fail")).code).toBe(1);
    const slow = start(["call", "good.slow", "ms=600000"], { cwd: place.cwd, env: place.env });
    await until(() => hasBegun(place));
    slow.child.kill("SIGINT");
    expect((await slow.done).code).toBe(130);
    expect((await place.json<Status>("status")).healthy).toBe(true);
  });

  it("two workspaces have two gateways, and several of one workspace are named", async () => {
    const [a, b] = [setUp(), setUp(yaml({ other: entry("--era=modern") }))];
    const [first, second] = await Promise.all([a.serve("--no-auth"), b.serve("--no-auth")]);
    expect((await a.json<Status>("status")).gateway?.pid).toBe(first.pid);
    expect((await b.json<Status>("status")).servers).toMatchObject([{ alias: "other" }]);
    const third = await a.serve("--stdio", "--standalone");
    expect((await a.json<Status>("status")).gateway?.pid).toBe(first.pid);
    const refused = envelope(await a.run("restart", "good"));
    expect(refused).toMatchObject({ code: "NAME_AMBIGUOUS" });
    for (const pid of [first.pid, third.pid]) expect(refused.message).toContain(`process ${pid}`);
    expect((await a.run("restart", "good", "--pid", String(third.pid))).code).toBe(0);
    expect((await a.run("stop", "--all")).code).toBe(0);
    expect(await first.done).toBe(0);
    expect(await third.done).toBe(0);
    expect(isRunning(second.pid)).toBe(true);
    expect((await b.run("stop")).code).toBe(0);
    expect((await b.run("stop")).out).toContain('"stopped": []');
  });

  it("restart replaces the process; a call that runs meanwhile finishes on the old one", async () => {
    const place = setUp();
    const gateway = await place.serve("--no-auth");
    const [old = 0] = gateway.servers();
    const slow = start(["call", "good.slow", "ms=8000"], { cwd: place.cwd, env: place.env });
    await until(() => hasBegun(place));
    const { health } = await place.json<{ health: { state: string } }>("restart", "good");
    expect(health.state).toBe("ready");
    expect((await slow.done).code).toBe(0);
    await until(() => !isRunning(old));
    expect(gateway.servers()).toHaveLength(1);
    await gateway.shows("good restarted as requested");
    expect(envelope(await place.run("restart", "godo")).hint).toContain('"good"');
    gateway.child.kill("SIGTERM");
    await gateway.done;
    expect(envelope(await place.run("restart", "good"))).toMatchObject({ code: "SERVER_UNAVAILABLE" });
  });

  it("logs shows the stderr of a server without secrets, also after the end of the gateway", async () => {
    const secret = "sekret-value-12345";
    const noisy = { command: "node", args: ["noisy.mjs"], env: { TOKEN: "${TOKEN}" } };
    const place = setUp(yaml({ good: noisy }));
    writeFileSync(join(place.cwd, "noisy.mjs"), NOISY);
    const env = { ...place.env, TOKEN: secret };
    const gateway = await serve(["--no-auth"], place.cwd, env, place.stateFiles);
    await until(async () => (await place.run("logs", "good", "--text")).out.includes("the token is"));
    const { out } = await place.run("logs", "good", "--text");
    expect(out).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d the token is \[redacted\]$/m);
    const follow = start(["logs", "good", "-f", "--lines", "0", "--text"], {
      cwd: place.cwd,
      env: place.env,
    });
    let followed = "";
    follow.child.stdout?.on("data", (chunk: Buffer) => (followed += chunk.toString()));
    await until(async () => {
      await place.run("restart", "good");
      return followed.includes("the token is");
    });
    gateway.child.kill("SIGTERM");
    expect(await gateway.done).toBe(0);
    await follow.done;
    const after = await place.run("logs", "good", "--text");
    expect(after.out).toContain("the token is [redacted]");
    for (const file of readdirSync(place.top, { recursive: true, encoding: "utf8" }))
      if (file.endsWith(".log")) {
        expect(readFileSync(join(place.top, file), "utf8")).not.toContain(secret);
        expect(statSync(join(place.top, file)).mode & 0o077).toBe(0);
      }
    expect(envelope(await place.run("logs", "other"))).toMatchObject({ code: "SERVER_UNAVAILABLE" });
  });
});

/** A server that writes a secret to stderr, in two pieces. */
const NOISY = `
process.stderr.write("the token is " + process.env.TOKEN.slice(0, 5));
process.stderr.write(process.env.TOKEN.slice(5) + "\\n");
await import(${JSON.stringify(SERVER)});
`;

describe("status without a gateway", () => {
  it("says that it starts the servers for the check; with --gateway it fails and starts nothing", async () => {
    const top = temporaryFolder();
    const started = join(top, "started");
    const start = `echo x >> "${started}"; exec "${process.execPath}" "${SERVER}" --era=modern`;
    const place = setUp(yaml({ good: { command: "sh", args: ["-c", start], env: {} } }));
    const needed = await place.run("status", "--gateway");
    expect([needed.code, needed.out]).toEqual([3, ""]);
    expect(envelope(needed)).toMatchObject({ code: "SERVER_UNAVAILABLE" });
    expect(envelope(needed).message).toContain("No gateway runs for ");
    expect(envelope(needed).hint).toContain("portolan serve --daemon");
    expect(existsSync(started)).toBe(false);
    const alone = await place.run("status", "--text");
    expect(alone).toMatchObject({ code: 0, out: expect.stringContaining("The server is up.") as string });
    expect(alone.err).toMatch(
      /^No gateway runs for this workspace; its servers are started for this check only\./,
    );
    expect(await place.json<Status>("status")).toMatchObject({ healthy: true, gateway: null });
    expect((await place.run("status", "--standalone", "--text")).err).not.toContain("No gateway");
    expect((await place.run("status", "--gateway", "--standalone")).code).toBe(2);
    const { pid } = await place.serve("--no-auth");
    expect(await place.json<Status>("status", "--gateway")).toMatchObject({
      healthy: true,
      gateway: { pid },
    });
  });
});

describe("a state file", () => {
  it("of a gateway that was killed makes status fail until the next gateway starts or stop forgets it", async () => {
    const place = setUp();
    const kill = async (): Promise<number> => {
      const { pid } = await place.json<{ pid: number }>("serve", "--daemon", "--json");
      process.kill(pid, "SIGKILL");
      await until(() => !isRunning(pid));
      return pid;
    };
    const first = await kill();
    const { socket } = place.state();
    expect(existsSync(socket)).toBe(true);
    // Also for the second command, and after others that look for a gateway.
    expect((await place.run("list")).code).toBe(0);
    for (const words of [["status"], ["status", "good"], ["status", "--gateway"]]) {
      const ran = await place.run(...words);
      expect([ran.code, ran.out]).toEqual([3, ""]);
      expect(envelope(ran).message).toContain(`(process ${first}) does not run any more`);
      expect(envelope(ran).hint).toContain("portolan serve --daemon");
    }
    expect(existsSync(dirname(socket))).toBe(false);
    expect(await place.run("status", "--standalone")).toMatchObject({ code: 0 });
    const second = await kill();
    expect(place.stateFiles()).toHaveLength(1);
    expect(envelope(await place.run("status")).message).toContain(`(process ${second})`);
    expect((await place.run("stop", "--text")).out).toContain(
      `(process ${second}) had crashed or was killed.`,
    );
    expect(place.stateFiles()).toEqual([]);
    expect(await place.run("status")).toMatchObject({ code: 0 });
  });

  it("of a gateway on stdio that was killed is removed", async () => {
    const place = setUp();
    const gateway = await place.serve("--stdio");
    gateway.child.kill("SIGKILL");
    await gateway.done;
    expect((await place.json<Status>("status")).gateway).toBeNull();
    expect(place.stateFiles()).toEqual([]);
  });

  it("with a reused process id, damaged, or readable by others is not believed", async () => {
    const place = setUp();
    const gateway = await place.serve("--no-auth");
    const [file = ""] = place.stateFiles();
    const text = readFileSync(file, "utf8");
    chmodSync(file, 0o644);
    const wide = await place.run("status");
    expect(JSON.parse(wide.out)).toMatchObject({ gateway: null });
    expect(wide.err).toContain("other users can access it");
    chmodSync(file, 0o600);
    const state = JSON.parse(text) as State;
    // This test's own process runs, but it did not start at that time.
    writeFileSync(file, JSON.stringify({ ...state, process: { ...state.process, pid: process.pid } }));
    expect((await place.json<Status>("status", "--standalone")).gateway).toBeNull();
    writeFileSync(file, text.slice(0, -20), { mode: 0o600 });
    expect(JSON.parse((await place.run("status")).out)).toMatchObject({ gateway: null });
    writeFileSync(file, text, { mode: 0o600 });
    expect((await place.json<Status>("status")).gateway?.pid).toBe(gateway.pid);
    writeFileSync(file, JSON.stringify({ ...state, process: { ...state.process, pid: process.pid } }));
    expect((await place.run("status")).code).toBe(3);
  });

  it("the socket is private; a folder that others can enter, a link, or a wrong token is refused", async () => {
    const place = setUp();
    await place.serve("--no-auth");
    const { socket, token } = place.state();
    const folder = dirname(socket);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    expect(statSync(place.stateFiles()[0] ?? "").mode & 0o777).toBe(0o600);
    const asked = await ask(socket, [
      { id: 1, method: "snapshot" },
      { id: 2, method: "hello", params: { token: `${token.slice(1)}x` } },
      { id: 3, method: "stop" },
    ]);
    expect(asked.map(({ error }) => error?.data.code)).toEqual(Array(3).fill("AUTH_REQUIRED"));
    chmodSync(folder, 0o755);
    const open = await place.run("status");
    expect(JSON.parse(open.out)).toMatchObject({ gateway: null });
    expect(open.err).toContain("is not trusted: other users can access it");
    chmodSync(folder, 0o700);
    // Only root can give a folder to another user.
    if (process.getuid?.() === 0) {
      chownSync(folder, 12_345, 12_345);
      expect((await place.run("status")).err).toContain("it belongs to another user");
      chownSync(folder, 0, 0);
    }
    const link = join(place.top, "portolan-link01");
    symlinkSync(folder, link);
    const [file = ""] = place.stateFiles();
    const state = JSON.parse(readFileSync(file, "utf8")) as State;
    writeFileSync(file, JSON.stringify({ ...state, socket: join(link, "s") }));
    expect((await place.run("status")).err).toContain("it is a symbolic link");
  });
});

interface Answer {
  id: number;
  error?: { data: { code: string } };
}

/** Sends requests by hand, and returns the answers. */
function ask(socket: string, messages: object[]): Promise<Answer[]> {
  return new Promise((resolve, reject) => {
    const connection = connect(socket);
    let text = "";
    connection.on("error", reject);
    for (const message of messages) connection.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    connection.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const lines = text.trim().split("\n");
      if (lines.length < messages.length) return;
      connection.destroy();
      resolve(lines.map((line) => JSON.parse(line) as Answer).toSorted((a, b) => a.id - b.id));
    });
  });
}

describe("reload", () => {
  const callers = (...names: string[]): Settings => ({
    callers: names.map((name) => ({ name, token: `token-of-${name}-0123456789` })),
  });
  const get = async (url: string, name: string): Promise<number> => {
    const headers = { authorization: `Bearer token-of-${name}-0123456789`, accept: "text/event-stream" };
    return (await fetch(url, { headers })).status;
  };
  const urlOf = async (place: Place): Promise<string> =>
    (await place.json<Status>("status")).gateway?.url ?? "";

  it("callers change without a restart; SIGHUP with a broken file keeps the old state, and says so", async () => {
    const place = setUp(yaml({ good: entry("--era=modern") }, callers("ann")));
    const gateway = await place.serve();
    const [server] = gateway.servers();
    const url = await urlOf(place);
    expect(await get(url, "ann")).not.toBe(401);
    expect(await get(url, "bob")).toBe(401);
    await gateway.shows("gateway refused /mcp from 127.0.0.1: the bearer token is not valid");
    place.save(yaml({ good: entry("--era=modern") }, callers("bob")));
    await gateway.shows("gateway settings reloaded callers");
    expect(await get(url, "ann")).toBe(401);
    expect(await get(url, "bob")).not.toBe(401);

    place.save("servers: [");
    gateway.child.kill("SIGHUP");
    await gateway.shows("settings not reloaded: the earlier settings stay in use");
    expect(await get(url, "bob")).not.toBe(401);
    const status = await place.run("status");
    expect(status.code).toBe(2);
    const shown = JSON.parse(status.out) as Status;
    expect(shown.servers).toMatchObject([{ alias: "good", state: "ready" }]);
    expect(shown.diagnostics.some(({ severity }) => severity === "error")).toBe(true);
    expect((await place.run("events", "--text")).out).toContain("settings not reloaded");

    // Two callers with one token are valid YAML, but no valid settings.
    const same = { callers: ["x", "y"].map((name) => ({ name, token: "the-same-token-0123456789" })) };
    place.save(yaml({ good: entry("--era=modern") }, same));
    await gateway.shows("x and y have the same token");
    expect(await get(url, "bob")).not.toBe(401);
    await until(async () => (await place.json<Status>("status")).gateway?.problems !== undefined);
    const reload = await place.run("reload");
    expect(reload.code).toBe(2);
    expect(reload.out).toContain("x and y have the same token");
    place.save(yaml({ good: entry("--era=modern") }, { ...callers("bob"), port: 1 }));
    await until(async () =>
      (await place.run("reload")).out.includes("gateway.port apply after the next start"),
    );
    place.save(yaml({ good: entry("--era=modern") }, callers("bob")));
    await until(async () => (await place.run("reload")).code === 0);
    expect((await place.json<Status>("status")).gateway?.problems).toBeUndefined();
    expect(gateway.servers()).toEqual([server]);
    expect(gateway.err()).not.toMatch(/token-of-|the-same-token/);
  });
});

it("outside of a terminal, the log has one dated line for each event, or JSON, and never the token", async () => {
  const place = setUp();
  const text = await place.serve();
  expect(text.err()).toContain("token prints it");
  for (const line of text.err().trim().split("\n"))
    expect(line).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S/);
  const json = await place.serve("--log-format", "json");
  const entries = (): { type: string; level: string; url?: string }[] =>
    json
      .err()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as never);
  const listening = entries().find(({ type }) => type === "gateway.listening");
  expect(listening).toMatchObject({ level: "info", auth: "token", tokenFile: expect.any(String) });
  expect(listening).not.toHaveProperty("token");
  await fetch(listening?.url ?? "", { headers: { authorization: "Bearer wrong" } });
  await json.shows('"gateway.refused"');
  expect(entries().find(({ type }) => type === "gateway.refused")).toMatchObject({ level: "warning" });
  for (const { err } of [text, json]) expect(err()).not.toContain("ptl_");
});

describe("--daemon", () => {
  it("returns when the gateway is ready, with a dated log; stop ends it", async () => {
    const place = setUp(yaml({ good: entry("--era=modern"), dead: entry("--fault=exit-at-start") }));
    const { pid, log, servers } = await place.json<{
      pid: number;
      log: string;
      servers: { state: string }[];
    }>(...["serve", "--daemon", "--json"]);
    onTestFinished(() => void (isRunning(pid) && process.kill(pid, "SIGKILL")));
    expect(servers.map(({ state }) => state)).toEqual([expect.stringMatching(/failed|starting/), "ready"]);
    expect((await place.json<Status>("status")).gateway?.pid).toBe(pid);
    const again = await place.run("serve", "--daemon");
    expect(again).toMatchObject({ code: 0 });
    expect(again.err).toContain("runs already");
    const text = readFileSync(log, "utf8");
    for (const line of text.trim().split("\n")) expect(line).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d /);
    expect(text).toMatch(/ Serving (?:1 of )?2 servers/);
    expect(text).not.toContain("ptl_");
    expect((await place.run("stop")).code).toBe(0);
    expect(isRunning(pid)).toBe(false);
    expect(place.stateFiles()).toEqual([]);
  });

  it("makes its folder private, and fails if others may have written to it; logs begin with the start", async () => {
    const start = `echo early line >&2; exec "${process.execPath}" "${SERVER}" --era=modern`;
    const place = setUp(yaml({ good: { command: "sh", args: ["-c", start], env: {} } }));
    const first = await place.json<{ pid: number }>("serve", "--daemon", "--json");
    onTestFinished(() => void (isRunning(first.pid) && process.kill(first.pid, "SIGKILL")));
    const [folder = ""] = place.stateFiles().map((file) => dirname(file));
    const logs = join(place.top, "state", "portolan");
    const [file = ""] = readdirSync(logs, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith("good.log"),
    );
    await until(() => readFileSync(join(logs, file), "utf8").includes("early line"));
    await place.run("stop");
    chmodSync(folder, 0o755);
    const second = await place.json<{ pid: number }>("serve", "--daemon", "--json");
    onTestFinished(() => void (isRunning(second.pid) && process.kill(second.pid, "SIGKILL")));
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    await place.run("stop");
    chmodSync(folder, 0o777);
    const third = await place.run("serve", "--daemon");
    expect(third.code).not.toBe(0);
    expect(third.err).toContain("other users can access it");
  });

  it("warns at the terminal that others can reach the gateway", async () => {
    const place = setUp(yaml({ good: entry("--era=modern") }, { port: 0, host: "0.0.0.0" }));
    const { code, out, err } = await place.run("serve", "--daemon", "--json");
    const { pid } = JSON.parse(out) as { pid: number };
    onTestFinished(() => void (isRunning(pid) && process.kill(pid, "SIGKILL")));
    expect(code).toBe(0);
    expect(err).toContain("It listens at all addresses of this computer, where others may reach it.");
    expect(err).toContain("Without TLS, tokens can be read on the way");
    expect((await place.run("stop")).code).toBe(0);
  });

  it("prints why the gateway did not start, and where the log is", async () => {
    const place = setUp(
      yaml({ good: entry("--era=modern") }, { port: 0, callers: [{ name: "a", token: "${NONE}" }] }),
    );
    const { code, err } = await place.run("serve", "--daemon", "--log-format", "json");
    expect(code).toBe(2);
    expect(err).toContain("NONE");
    expect(err).toContain("gateway.log");
    // The output has only what this start wrote, and all of the log is JSON.
    const [file = ""] = readdirSync(place.top, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith("gateway.log"),
    );
    const log = join(place.top, file);
    appendFileSync(log, '"a line of an earlier run"\n');
    const again = await place.run("serve", "--daemon", "--log-format", "json");
    expect(again.err).toContain("NONE");
    expect(again.err).not.toContain("earlier run");
    const lines = readFileSync(log, "utf8").trimEnd().split("\n");
    const last = lines.map((line) => JSON.parse(line) as unknown).at(-1);
    expect(last).toMatchObject({
      level: "error",
      type: "gateway.failed",
      error: { hint: expect.any(String) },
    });
    expect(place.stateFiles()).toEqual([]);
    const target = await place.run("serve", "--daemon", "--", "node", "x.js");
    expect(target.code).toBe(2);
    expect(target.err).toContain("portolan add");
  });
});
