// Commands while a gateway runs: one copy of each server, and a state file that the commands verify.

import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { envelope, portolan, type Ran, start, temporaryFolder, terminal } from "../helpers/cli.ts";
import { until } from "../helpers/connect.ts";
import { needs } from "../helpers/needs.ts";
import { isRunning } from "../helpers/workspace.ts";
import {
  copies,
  entry,
  hasBegun,
  type Place,
  serve,
  SERVER,
  type Settings,
  setUp,
  type Status,
  yaml,
} from "../helpers/running-gateway.ts";

describe("commands while a gateway runs", () => {
  it("use the servers of the gateway and say so; --standalone starts other processes", async () => {
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
    expect(await place.json("why", "good.echo")).toMatchObject({
      gateway: { pid: gateway.pid },
      offered: true,
    });
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

  it("status and why do not wait for a server that is starting, and do not count it as up", async () => {
    const slow = entry("--fault=slow-start:300000");
    const place = setUp(yaml({ good: entry("--era=modern"), slow: { ...slow, timeouts: { start: "5m" } } }));
    await place.serve("--no-auth", "--wait", "0");
    const began = performance.now();
    const status = await place.json<Status>("status", "--wait", "0");
    expect(status.servers.find(({ alias }) => alias === "slow")).toMatchObject({ state: "starting" });
    expect(await place.run("status", "--gateway")).toMatchObject({ code: 3 });
    const why = await place.json<{ health: object; advice: string[] }>("why", "slow");
    expect(why.health).toMatchObject({ state: "starting" });
    expect(why.advice[0]).toContain("portolan why slow --wait 5m");
    expect(performance.now() - began).toBeLessThan(30_000);
    expect((await place.run("status", "good", "--wait", "30")).code).toBe(0);
    const ready = await fetch(new URL("/readyz", status.gateway?.url));
    expect(await ready.json()).toMatchObject({ ready: true, servers: { up: 1, starting: 1, down: 0 } });
  });

  it("status --gateway names the servers that the gateway does not serve, and starts none", async () => {
    const place = setUp(yaml({ good: entry("--era=modern"), other: entry("--era=modern") }));
    await place.serve("--no-auth", "--only", "good");
    const words = ["status", "--gateway", "good", "other", "-w", place.cwd];
    const ran = await portolan(words, { cwd: temporaryFolder(), env: place.env });
    expect(envelope(ran)).toMatchObject({
      code: "SERVER_UNKNOWN",
      message: expect.stringMatching(/^The gateway .* does not serve other\.$/) as string,
      hint: "To see the servers that the gateway serves: portolan status --gateway -w ~/project",
    });
  });

  it("only commands that start servers report this at a terminal", needs("a terminal"), async () => {
    const place = setUp(yaml({ good: entry("--era=modern"), other: entry("--era=modern") }));
    await place.serve("--no-auth", "--only", "good");
    const status = async (option: string): Promise<string> => {
      const line = `cd ${place.cwd}; portolan status ${option} good other`;
      return (await terminal(line, 200, place.env).done).screen;
    };
    expect(await status("")).toContain(
      "The gateway does not serve other, so this command starts good, other itself.",
    );
    expect(await status("--gateway")).not.toContain("this command starts");
  });

  it("add prints the state of the added server, and fails if it cannot start", async () => {
    const place = setUp();
    await place.serve("--no-auth");
    const good = await place.run("add", "more", "--text", "--", process.execPath, SERVER, "--era=modern");
    expect(good).toMatchObject({ code: 0, out: expect.stringMatching(/^more ready: \d+ tools$/m) as string });
    const bad = await place.run("add", "bad", "--text", "--", process.execPath, "-e", "process.exit(1)");
    expect(bad).toMatchObject({ code: 3, out: expect.stringContaining("has applied the change") as string });
    expect(bad.out).toMatch(
      /^bad failed(?:, trying again)?: .*\[SERVER_START_FAILED\]\n {2}hint .*\nMore about this error: portolan why bad$/m,
    );
  });

  it("the log of a server says by which signal its process ended", async () => {
    const place = setUp();
    const gateway = await place.serve("--no-auth");
    for (const pid of gateway.servers()) process.kill(pid, "SIGKILL");
    await until(async () => (await place.run("logs", "good")).out.includes("ended by SIGKILL —"));
  });

  it("add and call in another folder name the workspace of the gateway", async () => {
    const place = setUp();
    await place.serve("--no-auth");
    const cwd = temporaryFolder();
    const here = (...words: string[]): Promise<Ran> => portolan(words, { cwd, env: place.env });
    const program = ["--", process.execPath, SERVER, "--era=modern"];
    const note =
      "A gateway runs for the workspace ~/project, which does not have the new server. To add the server there too, run the same command with this option: portolan add -w ~/project more …\n";
    expect((await here("add", "more", "--dry-run", ...program)).err).not.toContain("A gateway runs");
    const added = await here("add", "more", "--text", ...program);
    expect(added).toMatchObject({ code: 0, err: expect.stringContaining(note) as string });
    // There is no note if the file exists already, or if -w names the folder.
    expect((await here("add", "second", ...program)).err).not.toContain("A gateway runs");
    const chosen = temporaryFolder();
    expect((await here("add", "more", "-w", chosen, ...program)).err).not.toContain("A gateway runs");
    const unknown = envelope(await here("call", "good.echo", "text=x"));
    expect(unknown).toMatchObject({
      code: "TARGET_INVALID",
      hint: expect.stringContaining(
        "A gateway runs for another workspace. To use it, add -w ~/project. Servers here: more, second.",
      ) as string,
    });
    expect((await here("call", "good.echo", "text=x", "-w", place.cwd)).code).toBe(0);
  });

  it("serve --daemon names the console, whose link says how long it works", async () => {
    const place = setUp(yaml({ good: entry("--era=modern"), "much-longer": entry("--era=legacy") }));
    onTestFinished(async () => void (await place.run("stop", "--all")));
    const served = await place.run("serve", "--daemon", "--port", "0", "--text");
    expect(served.out).toMatch(/^ {2}good {9}ready {2}\d+ tools\n {2}much-longer {2}ready {2}\d+ tools$/m);
    expect(served.out).toContain(
      "\nTo print the token: portolan token\nTo open the console: portolan console\n",
    );
    const link = await place.run("console", "--text");
    expect(link).toMatchObject({ code: 0, err: "The link works once, within five minutes.\n" });
    expect(link.out).toMatch(/^http:\S+\n$/);
    expect((await place.run("stop")).code).toBe(0);
    const none = await place.run("stop", "--all", "--text");
    expect(none.out).toContain(
      "No gateway runs for this workspace. --all stops only the gateways of this workspace.",
    );
  });

  it("errors, progress and cancellation pass through the gateway", async () => {
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

  it("two workspaces have two gateways; if one workspace has several, an error names them", async () => {
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

  it("the error of a port that a gateway uses names its workspace and process, and how to stop it", async () => {
    const place = setUp();
    const { pid } = await place.serve("--no-auth");
    const { port } = new URL((await place.json<Status>("status")).gateway?.url ?? "");
    const own = envelope(await place.run("serve", "--port", port, "--json"));
    expect(own.message).toContain(`the gateway of this workspace (process ${pid}) uses the port.`);
    expect(own.hint).toContain("portolan status. To stop it: portolan stop.");
    const cwd = join(place.top, "other");
    mkdirSync(cwd);
    writeFileSync(join(cwd, "portolan.yaml"), yaml({ good: entry() }));
    for (const words of [["serve"], ["serve", "--daemon"]]) {
      const ran = await portolan([...words, "--port", port, "--json"], { cwd, env: place.env });
      expect(ran.code).toBe(2);
      const other = envelope(ran);
      expect(other.message).toContain(`the gateway of ~/project (process ${pid}) uses the port.`);
      expect(other.hint).toContain("--port 0");
      expect(other.hint).toContain("portolan stop -w ~/project");
      expect(other.data).toMatchObject({ pid, path: place.cwd });
    }
  });

  it("restart replaces the process; a running call finishes on the old one", async () => {
    const place = setUp();
    const gateway = await place.serve("--no-auth");
    const [old = 0] = gateway.servers();
    const slow = start(["call", "good.slow", "ms=8000"], { cwd: place.cwd, env: place.env });
    await until(() => hasBegun(place));
    const { health } = await place.json<{ health: { state: string } }>("restart", "good");
    expect(health.state).toBe("ready");
    expect((await slow.done).code).toBe(0);
    await until(() => !isRunning(old));
    // The call may have had a dedicated process, which ends a moment after the call.
    await until(() => gateway.servers().length === 1);
    await gateway.shows("good restarted as requested");
    expect(envelope(await place.run("restart", "godo")).hint).toContain('"good"');
    gateway.child.kill("SIGTERM");
    await gateway.done;
    expect(envelope(await place.run("restart", "good"))).toMatchObject({ code: "SERVER_UNAVAILABLE" });
  });

  it("logs shows the stderr of a server without secrets, also after the gateway has ended", async () => {
    const secret = "sekret-value-12345";
    const noisy = { command: "node", args: ["noisy.mjs"], env: { TOKEN: "${TOKEN}" } };
    const place = setUp(yaml({ good: noisy }));
    writeFileSync(join(place.cwd, "noisy.mjs"), NOISY);
    const env = { ...place.env, TOKEN: secret };
    const gateway = await serve(["--no-auth"], place.cwd, env, place.stateFiles);
    await until(async () => (await place.run("logs", "good")).out.includes("the token is"));
    const { out } = await place.run("logs", "good");
    expect(out).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d the token is \[redacted\]$/m);
    const follow = start(["logs", "good", "-f", "--lines", "0"], { cwd: place.cwd, env: place.env });
    let followed = "";
    follow.child.stdout?.on("data", (chunk: Buffer) => (followed += chunk.toString()));
    await until(async () => {
      await place.run("restart", "good");
      return followed.includes("the token is");
    });
    gateway.child.kill("SIGTERM");
    expect(await gateway.done).toBe(0);
    await follow.done;
    const after = await place.run("logs", "good");
    expect(after.out).toContain("the token is [redacted]");
    for (const file of readdirSync(place.top, { recursive: true, encoding: "utf8" }))
      if (file.endsWith(".log")) {
        expect(readFileSync(join(place.top, file), "utf8")).not.toContain(secret);
        expect(statSync(join(place.top, file)).mode & 0o077).toBe(0);
      }
    const json = await place.run("logs", "good", "--json", "--lines", "1");
    expect(JSON.parse(json.out)).toMatchObject({ server: "good", text: expect.any(String) as string });
    expect((await place.run("logs", "other")).err).toMatch(/^error .*no log of other/);
    expect(envelope(await place.run("logs", "other", "--json")).code).toBe("SERVER_UNAVAILABLE");
  });
});

/** A server that writes a secret to stderr, in two pieces. */
const NOISY = `
process.stderr.write("the token is " + process.env.TOKEN.slice(0, 5));
process.stderr.write(process.env.TOKEN.slice(5) + "\\n");
await import(${JSON.stringify(SERVER)});
`;

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

  it("shows warnings about rules until the rules are corrected", async () => {
    const place = setUp(yaml({ good: entry("--era=modern") }));
    await place.serve();
    const reload = async (...tools: string[]): Promise<string> => {
      place.save(yaml({ good: entry("--era=modern") }, { approval: [{ tools }] }));
      const { code, out } = await place.run("reload", "--text");
      expect(code).toBe(0);
      return out;
    };
    const wrong = await reload("god.ec*", "good.ech");
    expect(wrong).toMatch(
      /^warning .*portolan\.yaml:1: the pattern "god\.ec\*" matches no tool.*Did you mean "good"\?$/m,
    );
    expect(wrong).toMatch(/^warning .* names the tool "good\.ech".*Did you mean "good\.echo"\?$/m);
    expect(await reload("god.ec*", "good.ech")).toContain("the pattern");
    expect(await reload("good.ec*", "good.echo")).not.toContain("warning");
    expect(await place.json("reload")).toMatchObject({ warnings: [] });
  });

  it("reports only the problems of the current files and secrets, not earlier ones", async () => {
    const caller = (file: string, more: Settings = {}): Settings => ({
      callers: [{ name: "ann", token: `\${file:${file}}`, ...more }],
    });
    const place = setUp(yaml({ good: entry("--era=modern") }, caller("token")));
    const setToken = (token: string): void => writeFileSync(join(place.cwd, "token"), token, { mode: 0o600 });
    const reload = async (settings: Settings): Promise<string> => {
      place.save(yaml({ good: entry("--era=modern") }, settings));
      return (await place.run("reload", "--text")).out;
    };
    setToken("short");
    await place.serve();
    expect((await place.run("status", "--text")).out).toContain("can be guessed");
    setToken("token-of-ann-0123456789");
    expect(await reload(caller("token"))).toContain("Settings applied: callers");
    expect((await place.run("status", "--text")).out).not.toContain("can be guessed");

    const invalid = { ...caller("token"), bogus: 1 };
    expect(await reload(caller("token", { deny: { servers: ["nix"] } }))).toContain('no server "nix"');
    const other = await reload(invalid);
    expect(other).toContain('unknown key "bogus"');
    expect(other).not.toContain("nix");
    expect(await reload(caller("nowhere"))).toContain("nowhere cannot be used");
    expect(await reload(invalid)).not.toContain("nowhere");
    expect(await reload({ ...caller("token"), port: 1 })).toContain(
      "need a restart of the gateway: gateway.port",
    );
    const back = await reload(caller("nowhere"));
    expect(back).toContain("nowhere cannot be used");
    expect(back).not.toContain("need a restart");
  });

  it("names the changed servers and their tools; a file with an error is not applied", async () => {
    const place = setUp(yaml({ good: entry("--era=modern") }));
    await place.serve();
    expect((await place.run("reload", "--text")).out).toContain(
      "No server and no setting changed since the last reload.",
    );
    const reloaded = async (servers: Record<string, object>): Promise<string> => {
      place.save(yaml(servers));
      return (await place.run("reload", "--text")).out;
    };
    const added = await reloaded({ good: entry("--era=modern"), more: entry("--era=modern") });
    expect(added).toMatch(/^more ready: \d+ tools$/m);
    const failed = await reloaded({ good: entry("--era=modern"), more: { command: "no-such-program" } });
    expect(failed).toMatch(
      /^more failed(?:, trying again)?: .*no-such-program.*\n {2}More about this error: portolan why more$/m,
    );
    expect(await reloaded({ good: entry("--era=modern") })).toContain("Servers removed: more");
    const broken = await reloaded({ good: { comand: "node" } });
    expect(broken).toMatch(
      /has not applied all changes:\n- .*\n.*A gateway applies a file completely or not at all/,
    );
    expect(broken).toMatch(/comand.*Did you mean/);
  });

  it("why says that a new config which could not start is not in use", async () => {
    const place = setUp();
    await place.serve();
    expect(await place.json("why", "good")).toMatchObject({ runs: { inUse: true } });
    place.save(yaml({ good: { ...entry("--era=modern"), args: ["no-such-script.mjs"] } }));
    expect((await place.run("reload")).code).toBe(3);
    expect((await place.run("why", "good", "--text")).out.replaceAll(/\s+/g, " ")).toMatch(
      /runs its earlier configuration; the new one, which is not in use, is: \S+ no-such-script\.mjs/,
    );
    expect(await place.json("why", "good")).toMatchObject({ runs: { inUse: false } });
  });

  it("names the settings that were applied before a failed reload, and how to set a missing secret", async () => {
    const servers = { good: entry("--era=modern") };
    const place = setUp(yaml(servers));
    const gateway = await place.serve();
    place.save(yaml(servers, { page_size: 7 }));
    await gateway.shows("gateway settings reloaded page_size");
    const frank = { name: "frank", token: "${FRANK_TOKEN}" };
    place.save(yaml(servers, { page_size: 7, callers: [frank] }));
    const reload = await place.run("reload", "--text");
    expect(reload.code).toBe(2);
    expect(reload.out).toMatch(/FRANK_TOKEN \(for .*frank\)\. .*portolan secrets set FRANK_TOKEN,/);
    expect(reload.out).toContain("\nSettings applied earlier, since the last reload: page_size\n");
  });

  it("updates the line numbers in status if only lines moved, and restarts nothing", async () => {
    const text = yaml({ good: entry("--era=modern") });
    const place = setUp(text);
    const gateway = await place.serve();
    const [server] = gateway.servers();
    const lineOf = async (): Promise<number | undefined> =>
      (await place.json<Status>("status")).servers[0]?.origin.line;
    expect(await lineOf()).toBe(1);
    place.save(`# one\n# two\n${text}`);
    expect((await place.run("reload")).code).toBe(0);
    expect(await lineOf()).toBe(3);
    expect(gateway.servers()).toEqual([server]);
  });

  it("changes callers without a restart; SIGHUP with a broken file keeps the old callers", async () => {
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

    // Two callers with one token, written in two ways, are a valid file, but no valid settings.
    const tokenOf = (name: string): string => `\${NO_${name}:-the-same-token-0123456789}`;
    const same = { callers: ["x", "y"].map((name) => ({ name, token: tokenOf(name) })) };
    place.save(yaml({ good: entry("--era=modern") }, same));
    await gateway.shows("x and y have the same token");
    expect(await get(url, "bob")).not.toBe(401);
    await until(async () => (await place.json<Status>("status")).gateway?.problems !== undefined);
    const reload = await place.run("reload");
    expect(reload.code).toBe(2);
    expect(reload.out).toContain("x and y have the same token");
    // One save with a setting that applies at once, and one that needs a restart.
    place.save(yaml({ good: entry("--era=modern") }, { ...callers("bob"), port: 1, page_size: 7 }));
    const partly = await place.run("reload", "--text");
    expect(partly.out).toMatch(
      / again\.\nSettings applied: .*\bpage_size\nChanged settings that need a restart of the gateway: gateway\.port$/m,
    );
    expect(partly.code).toBe(0);
    expect((await place.json<Status>("status")).gateway?.problems).toEqual([
      "Changes of gateway.port take effect after a restart of the gateway.",
    ]);
    place.save(yaml({ good: entry("--era=modern") }, callers("bob")));
    await until(async () => (await place.run("reload")).code === 0);
    expect((await place.json<Status>("status")).gateway?.problems).toBeUndefined();
    expect(gateway.servers()).toEqual([server]);
    expect(gateway.err()).not.toMatch(/token-of-|the-same-token/);
  });
});

it("without a terminal, the log has one line with a date for each event, or JSON, and no token", async () => {
  const place = setUp();
  const text = await place.serve();
  await text.shows("token prints it");
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
  expect(entries().find(({ type }) => type === "gateway.refused")).toMatchObject({
    level: "warning",
    message: expect.stringMatching(/^gateway refused \/mcp from /) as string,
  });
  json.child.kill("SIGINT");
  await json.shows("Stopping.");
  expect(entries().find(({ type }) => type === "gateway.note")).toMatchObject({ level: "info" });
  for (const { err } of [text, json]) expect(err()).not.toContain("ptl_");
});

it("the JSON log has the severity of a diagnostic as its level, not in the message", async () => {
  const callers = [{ name: "ci", token: "token-of-ci-0123456789" }];
  const place = setUp(yaml({ good: entry("--era=modern") }, { callers }));
  const gateway = await place.serve("--log-format", "json");
  await gateway.shows('"gateway.listening"');
  const [first = ""] = gateway.err().split("\n");
  expect(JSON.parse(first)).toMatchObject({
    level: "warning",
    type: "gateway.diagnostic",
    message: expect.stringMatching(
      /portolan\.yaml:1: the token is written out, .* Write \$\{NAME\}/,
    ) as string,
    diagnostic: { code: "FILE_INVALID", severity: "warning" },
  });
});
