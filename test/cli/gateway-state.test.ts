// The state file of a gateway: used only if it is valid, reported by status after a crash, and private.

import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { envelope, temporaryFolder } from "../helpers/cli.ts";
import { until } from "../helpers/connect.ts";
import { isRunning } from "../helpers/workspace.ts";
import { entry, SERVER, setUp, type State, type Status, yaml } from "../helpers/running-gateway.ts";

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
    expect((await place.run("stop")).code).toBe(0);
    expect((await place.run("stop", "--help")).out).toMatch(/\b0 +done, also if no gateway runs\n/);
    const alone = await place.run("status", "--text");
    expect(alone).toMatchObject({ code: 0, out: expect.stringContaining("The server is up.") as string });
    expect(alone.err).toMatch(
      /^No gateway runs for this workspace; its servers are started for this check only\./,
    );
    expect(await place.json<Status>("status")).toMatchObject({ healthy: true, gateway: null });
    expect((await place.run("status", "--standalone", "--text")).err).not.toContain("No gateway");
    expect((await place.run("status", "--gateway", "--standalone")).code).toBe(2);
    const { pid } = await place.serve("--no-auth");
    expect(await place.json<Status>("status", "--gateway", "--wait", "30")).toMatchObject({
      healthy: true,
      gateway: { pid },
    });
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

describe("a state file", () => {
  it("of a gateway that was killed makes status fail until the next start or stop removes it", async () => {
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
    // Each of these commands reports it, also after other commands.
    expect((await place.run("list")).code).toBe(0);
    for (const words of [["status"], ["status", "good"], ["status", "--gateway"]]) {
      const ran = await place.run(...words);
      expect([ran.code, ran.out]).toEqual([3, ""]);
      expect(envelope(ran).message).toContain(`(process ${first}) no longer runs`);
      expect(envelope(ran).hint).toContain("portolan serve --daemon");
    }
    expect(existsSync(dirname(socket))).toBe(false);
    expect(await place.run("status", "--standalone")).toMatchObject({ code: 0 });
    const second = await kill();
    expect(place.stateFiles()).toHaveLength(1);
    expect(envelope(await place.run("status")).message).toContain(`(process ${second})`);
    expect((await place.run("stop", "--text")).out).toContain(
      `(process ${second}) had already crashed, or was killed.`,
    );
    expect(place.stateFiles()).toEqual([]);
    expect(await place.run("status")).toMatchObject({ code: 0 });
  });

  it("of a gateway that is suspended (SIGSTOP): stop names kill -9, after which its servers end too", async () => {
    const place = setUp();
    const gateway = await place.serve("--no-auth");
    const servers = gateway.servers();
    process.kill(gateway.pid, "SIGSTOP");
    const { code, err } = await place.run("stop", "--text");
    expect(code).toBe(3);
    expect(err).toContain(`kill -9 ${gateway.pid}`);
    process.kill(gateway.pid, "SIGKILL");
    await until(() => servers.every((pid) => !isRunning(pid)));
  });

  it("of a gateway on stdio that was killed is removed", async () => {
    const place = setUp();
    const gateway = await place.serve("--stdio");
    gateway.child.kill("SIGKILL");
    await gateway.done;
    expect((await place.json<Status>("status")).gateway).toBeNull();
    expect(place.stateFiles()).toEqual([]);
  });

  it("is ignored if its process id is reused, if it is damaged, or if others can read it", async () => {
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

  it("has the version of the gateway, and status shows a different version", async () => {
    const place = setUp();
    await place.serve("--no-auth");
    const [file = ""] = place.stateFiles();
    const version = (await place.run("--version")).out.trim();
    expect((await place.json<Status>("status")).gateway).toMatchObject({ version });
    expect((await place.run("status", "--text")).out).not.toContain("runs version");
    const state = JSON.parse(readFileSync(file, "utf8")) as State;
    writeFileSync(file, JSON.stringify({ ...state, portolan: "0.0.1" }));
    expect((await place.run("status", "--text")).out).toContain(
      `The gateway runs version 0.0.1 of Portolan, and this command is version ${version}.`,
    );
  });

  it("names a private socket; a folder that others can enter, a link, or a wrong token is refused", async () => {
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
    expect(open.err).toContain("the folder of its control socket cannot be used: other users can access it");
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

describe("--daemon", () => {
  it("returns when the gateway is ready, and writes a log with dates; stop ends the gateway", async () => {
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
    expect(again.err).toContain("No gateway was started: a gateway of this workspace already runs");
    const text = readFileSync(log, "utf8");
    for (const line of text.trim().split("\n")) expect(line).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d /);
    expect(text).toMatch(/ Serving (?:1 of )?2 servers/);
    expect(text).not.toContain("ptl_");
    expect((await place.run("stop")).code).toBe(0);
    expect(isRunning(pid)).toBe(false);
    expect(readFileSync(log, "utf8").trimEnd()).toMatch(/ The gateway has stopped\.$/);
    expect(place.stateFiles()).toEqual([]);
  });

  it("makes its folder private, fails if others may have written to it, and prints the log since the start", async () => {
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
    expect(err).toContain(
      "The gateway listens at all addresses of this computer, where other computers may reach it.",
    );
    expect(err).toContain("Without TLS, others on the network can read the tokens");
    expect((await place.run("stop")).code).toBe(0);
  });

  it("fails before a server starts if the token of a caller is missing", async () => {
    const started = join(temporaryFolder(), "started");
    const script = `echo x >> "${started}"; exec "${process.execPath}" "${SERVER}" --era=modern`;
    const settings = { port: 0, callers: [{ name: "a", token: "${NONE}" }] };
    const place = setUp(yaml({ good: { command: "sh", args: ["-c", script], sandbox: "off" } }, settings));
    expect(envelope(await place.run("serve", "--json"))).toMatchObject({ code: "SECRET_MISSING" });
    expect(existsSync(started)).toBe(false);
  });

  it("writes the error of a failed start with a date, in the format of the log", async () => {
    const settings = { port: 0, callers: [{ name: "a", token: "${NONE}" }] };
    const place = setUp(yaml({ good: entry("--era=modern") }, settings));
    const dated = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d error .*NONE.* hint .*\n$/;
    const asJson = setUp(yaml({ good: entry("--era=modern") }, { ...settings, log_format: "json" }));
    expect(JSON.parse((await asJson.run("serve")).err)).toMatchObject({ type: "gateway.failed" });
    const plain = await place.run("serve");
    expect(plain).toMatchObject({ code: 2, out: "", err: expect.stringMatching(dated) });
    // A person at a terminal, and a program that reads the result, get the error as from any command.
    expect((await place.run("serve", "--log-format", "pretty")).err).toMatch(/^error .*\n hint .*\n$/);
    expect(envelope(await place.run("serve", "--json"))).toMatchObject({ code: "SECRET_MISSING" });
  });

  it("prints why the gateway did not start, and where the log is", async () => {
    const place = setUp(
      yaml({ good: entry("--era=modern") }, { port: 0, callers: [{ name: "a", token: "${NONE}" }] }),
    );
    const { code, err } = await place.run("serve", "--daemon", "--log-format", "json");
    expect(code).toBe(2);
    expect(err).toContain("NONE");
    expect(err).toContain("gateway.log");
    expect(err).toMatch(/^ {3}│ \S.*NONE.* \[SECRET_MISSING\] hint \S/m);
    expect(err).not.toContain('"gateway.failed"');
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

it("an audit log that cannot be written is in status, metrics and log until it can be written again", async () => {
  const more = { audit: true, telemetry: { prometheus: { auth: "none" } } };
  const place = setUp(
    JSON.stringify({ ...(JSON.parse(yaml({ good: entry("--era=modern") })) as object), ...more }),
  );
  const gateway = await place.serve("--no-auth");
  const { url = "" } = (await place.json<Status>("status")).gateway ?? {};
  const { folder } = await place.json<{ folder: string }>("audit", "calls");
  renameSync(folder, `${folder}-away`);
  writeFileSync(folder, "");
  await place.run("call", "good.echo", "text=x");
  const metric = async (): Promise<boolean> =>
    (await (await fetch(new URL("/metrics", url))).text()).includes('portolan_errors{code="AUDIT_FAILED"} 1');
  await until(metric);
  const failing = await place.run("status", "--text");
  expect(failing).toMatchObject({
    code: 3,
    out: expect.stringMatching(/audit log \S+ cannot be written/) as string,
  });
  unlinkSync(folder);
  renameSync(`${folder}-away`, folder);
  await gateway.shows("can be written again; ");
  expect((await place.run("audit", "calls", "--text")).out).toContain("echo");
  expect(await metric()).toBe(false);
  const good = await place.run("status", "--text");
  expect(good).toMatchObject({ code: 0, out: expect.not.stringContaining("audit log") as string });
});
