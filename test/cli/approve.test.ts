// `portolan approve` with a running gateway: the list, decisions, restarts, several gateways, all kinds of clients.

import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { envelope, KEYS, MAIN, portolan, type Ran, temporaryFolder, terminal } from "../helpers/cli.ts";
import { needs } from "../helpers/needs.ts";
import { until } from "../helpers/connect.ts";
import { RawModern, textOf } from "../helpers/raw-clients.ts";
import { stdioCommand } from "../fixtures/processes.mjs";

const AGENT = "token-of-the-agent-0123456789";
const RESULT = { result: { content: [{ type: "text", text: "given" }] } };
const CALL = { name: "mcp_main_give", arguments: RESULT };

interface Listed {
  readonly waiting: readonly {
    readonly id: string;
    readonly caller: string;
    readonly isConnected: boolean;
  }[];
}

function setUp(approval: object[], callers: object[] = [{ name: "agent", token: AGENT }]) {
  const top = temporaryFolder();
  const cwd = join(top, "project");
  mkdirSync(cwd);
  const runs = join(top, "runs");
  const { command, args } = stdioCommand(`--runs=${runs}`);
  const gateway = { port: 0, callers, approval };
  writeFileSync(
    join(cwd, "portolan.yaml"),
    JSON.stringify({ version: 1, servers: { main: { command, args: [...args], sandbox: "off" } }, gateway }),
  );
  const env = {
    HOME: top,
    XDG_CACHE_HOME: join(top, "cache"),
    XDG_CONFIG_HOME: join(top, "config"),
    XDG_DATA_HOME: join(top, "data"),
    XDG_STATE_HOME: join(top, "state"),
    XDG_RUNTIME_DIR: top,
  };
  const run = (...words: string[]): Promise<Ran> => portolan(words, { cwd, env });
  const waiting = async (): Promise<Listed["waiting"]> =>
    (JSON.parse((await run("approve", "--json")).out) as Listed).waiting;
  const ran = (): number => {
    try {
      return readFileSync(runs, "utf8").split('"called":"give"').length - 1;
    } catch {
      return 0;
    }
  };
  const firstWaiting = async (): Promise<Listed["waiting"][number]> => {
    let found: Listed["waiting"] = [];
    await until(async () => (found = await waiting()).length > 0);
    return found[0] as Listed["waiting"][number];
  };
  const serve = async (...words: string[]) => {
    const child = spawn(process.execPath, [MAIN, "serve", ...words], {
      cwd,
      env: { PATH: process.env["PATH"] ?? "", ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    let [err, out] = ["", ""];
    child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    const url = (): string => /http:\/\/127\.0\.0\.1:\d+/.exec(err)?.[0] ?? "";
    const isStdio = words.includes("--stdio");
    if (!isStdio) await until(() => url() !== "" && err.includes("portolan"));
    await until(async () => (await run("approve")).code === 0);
    const ended = new Promise((resolve) => child.once("close", resolve));
    return { child, url: url(), err: () => err, out: () => out, ended };
  };
  return { run, serve, waiting, firstWaiting, ran, cwd, env };
}

const RULE = [{ annotations: ["destructive"], for: "10m" }];

describe("portolan approve", () => {
  it("names the console for a call that only the console may approve", async () => {
    const place = setUp([{ annotations: ["destructive"], by: ["console"] }]);
    const served = await place.serve();
    const agent = new RawModern(served.url, { token: AGENT });
    const call = agent.post("tools/call", CALL);
    const { id } = await place.firstWaiting();
    const next = `To approve: in the console (portolan console). To deny: portolan approve ${id} --deny`;
    expect((await place.run("approve", "--text")).out).toContain(`  ${next}\n`);
    await until(() => served.err().includes(next));
    expect(await place.run("approve", id)).toMatchObject({ code: 5 });
    expect(await place.run("approve", id, "--deny")).toMatchObject({ code: 0 });
    expect(textOf(await call.answer())).toContain("denied");
  });

  it("lists waiting calls, approves and denies them", async () => {
    const place = setUp([{ ...RULE[0], reason: "It changes files." }]);
    expect(await place.run("approve")).toMatchObject({ code: 3 });
    const served = await place.serve();
    expect((await place.run("approve", "--text")).out).toContain("No call is waiting for approval.");
    const agent = new RawModern(served.url, { token: AGENT });
    const first = agent.post("tools/call", CALL);
    const { id } = await place.firstWaiting();
    const listed = await place.run("approve", "--text");
    expect(listed.out).toContain(`${id}  main.give for agent · raw`);
    expect(listed.out).toContain("\n  It changes files (gateway.approval[0]).\n");
    expect(listed.out).toContain(`Arguments: ${JSON.stringify(RESULT)}`);
    expect(listed.out).toContain(`portolan approve ${id} [--for <time>, at most 10 minutes]`);
    const elsewhere = await portolan(["approve", "--text", "-w", place.cwd], {
      cwd: temporaryFolder(),
      env: place.env,
    });
    expect(elsewhere.out).toContain(`portolan approve ${id} -w ~/project [--for`);
    // The gateway's own log says the same.
    expect(served.err()).toContain(`portolan approve ${id}`);
    expect(place.ran()).toBe(0);
    const unknown = await place.run("approve", "nosuchid");
    expect(unknown).toMatchObject({ code: 2 });
    expect(envelope(unknown).hint).toContain("The call was approved or denied already, ");
    expect((await place.run("approve", id, "--for", "11m")).err).toContain("at most 600 seconds");
    expect(await place.run("approve", id, "--text")).toMatchObject({
      code: 0,
      out: "Approved once: main.give for agent · raw.\n",
    });
    expect(textOf(await first.answer())).toBe("given");
    const late = await place.run("approve", id);
    expect(late).toMatchObject({ code: 2 });
    expect(envelope(late).message).toContain("it was approved already");
    const second = agent.post("tools/call", CALL);
    const again = await place.firstWaiting();
    expect(await place.run("approve", again.id, "--deny", "--reason", "not now")).toMatchObject({ code: 0 });
    expect(textOf(await second.answer())).toContain("not now");
    expect((await place.run("approve", again.id)).err).toContain("it was denied already");
    expect(place.ran()).toBe(1);
    const third = agent.post("tools/call", CALL);
    const last = await place.firstWaiting();
    expect((await place.run("completion", "words", "--", "approve", "")).out.trim()).toBe(last.id);
    await place.run("approve", last.id, "--for", "10m");
    expect(textOf(await third.answer())).toBe("given");
    expect(textOf(await agent.ask("tools/call", CALL))).toBe("given");
    // This client sends no name.
    const { headers, body } = agent.request("tools/call", { ...CALL, arguments: { ...RESULT, other: 1 } });
    for (const key of Object.keys(body.params._meta))
      if (key.endsWith("clientInfo")) delete body.params._meta[key];
    const fourth = agent.send("POST", headers, body);
    const unnamed = await place.firstWaiting();
    expect((await place.run("approve", "--text")).out).toContain(`${unnamed.id}  main.give for agent  `);
    await place.run("approve", unnamed.id);
    expect(textOf(await fourth.answer())).toBe("given");
    const wrong = [
      ["--deny"],
      ["a", "b"],
      ["a", "--deny", "--for", "1m"],
      ["a", "--reason", "x"],
      ["a", "--for", "x"],
    ];
    for (const words of wrong) expect((await place.run("approve", ...words)).code, words.join()).toBe(2);
  });

  it(
    "-f shows calls when they begin to wait, asks about each, and ends with Ctrl-C",
    needs("a terminal"),
    async () => {
      const place = setUp(RULE);
      expect(await place.run("approve", "-f")).toMatchObject({ code: 3 });
      const served = await place.serve();
      expect(await place.run("approve", "-f", "someid")).toMatchObject({ code: 2 });
      const agent = new RawModern(served.url, { token: AGENT });
      const early = agent.post("tools/call", CALL);
      const { id } = await place.firstWaiting();
      const shown = terminal(`cd ${place.cwd}; portolan approve -f`, 120, place.env);
      await shown.shows(`${id}: may main.give run?`);
      // The preselected answer is "Decide later".
      await shown.shows("Decide later");
      shown.press(`${KEYS.down}${KEYS.enter}`);
      expect(textOf(await early.answer())).toBe("given");
      const denied = agent.post("tools/call", CALL);
      await shown.shows("main.give for agent · raw");
      await shown.shows("Deny this call");
      shown.press(`${KEYS.down}${KEYS.down}${KEYS.down}${KEYS.enter}`);
      expect(textOf(await denied.answer())).toContain("a person denied the call in the terminal");
      // The end of a call that the user skipped does not affect the question about the next call.
      const [deferred, next] = [agent.post("tools/call", CALL), await place.firstWaiting()];
      await shown.shows(`${next.id}: may main.give run?`);
      await shown.shows("● Decide later");
      shown.press(KEYS.enter);
      const kept = agent.post("tools/call", CALL);
      await until(async () => (await place.waiting()).length === 2);
      const other = (await place.waiting()).find((call) => call.id !== next.id);
      await shown.shows(`${other?.id}: may main.give run?`);
      await place.run("approve", next.id, "--deny");
      expect(textOf(await deferred.answer())).toContain("denied");
      shown.press(`${KEYS.down}${KEYS.enter}`);
      expect(textOf(await kept.answer())).toBe("given");
      // Another process decides about this call.
      const third = agent.post("tools/call", CALL);
      await shown.shows("Deny this call");
      const elsewhere = await place.firstWaiting();
      await place.run("approve", elsewhere.id);
      await shown.shows(`${elsewhere.id} waits no longer: it was approved.`);
      expect(textOf(await third.answer())).toBe("given");
      agent.post("tools/call", CALL);
      await shown.shows("Deny this call");
      shown.press(KEYS.ctrlC);
      expect(await shown.done).toMatchObject({
        code: 130,
        screen: expect.stringContaining("No more calls are shown.") as string,
      });
      const [left] = await place.waiting();
      // Between two calls, Ctrl-C is a signal. Without a terminal, the command only prints.
      const printing = terminal(`cd ${place.cwd}; portolan approve -f --json < /dev/null`, 120, place.env);
      await printing.shows(`"id":"${left?.id}"`);
      printing.press(KEYS.ctrlC);
      expect(await printing.done).toMatchObject({ code: 130 });
      expect(place.ran()).toBe(3);
    },
  );

  it("approves after a restart of the gateway, and the repeated call runs", async () => {
    const place = setUp(RULE);
    const before = await place.serve();
    new RawModern(before.url, { token: AGENT }).post("tools/call", CALL);
    const { id } = await place.firstWaiting();
    // SIGKILL: the gateway cannot store anything at its end.
    before.child.kill("SIGKILL");
    await before.ended;
    const after = await place.serve();
    expect(await place.firstWaiting()).toMatchObject({ id, isConnected: false });
    expect((await place.run("approve", id, "--text")).err).toContain(
      "the next call of the client with the same tool and arguments",
    );
    const agent = new RawModern(after.url, { token: AGENT });
    expect(textOf(await agent.ask("tools/call", CALL))).toBe("given");
    expect(place.ran()).toBe(1);
  });

  it("decides about calls of a gateway on stdio while another gateway runs on HTTP", async () => {
    const place = setUp(RULE);
    const http = await place.serve();
    const stdio = await place.serve("--stdio", "--standalone");
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
      "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
    };
    stdio.child.stdin.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...CALL, _meta: meta } })}\n`,
    );
    new RawModern(http.url, { token: AGENT }).post("tools/call", CALL);
    await until(async () => (await place.waiting()).length === 2);
    const own = (await place.waiting()).find(({ caller }) => caller === "stdio");
    expect(await place.run("approve", own?.id ?? "")).toMatchObject({ code: 0 });
    await until(() => stdio.out().includes('"given"'));
    expect((await place.waiting()).map(({ caller }) => caller)).toEqual(["agent"]);
  });

  it("after a stop of the gateway, waiting calls have not run, and they wait again after the restart", async () => {
    const place = setUp(RULE);
    await place.serve();
    const called = place.run("call", "main.give", "--args", JSON.stringify(RESULT));
    await place.firstWaiting();
    const relayed = await place.serve("--stdio");
    const params = {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "x", version: "1" },
    };
    const say = (message: object): void =>
      void relayed.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    say({ id: 1, method: "initialize", params });
    await until(() => relayed.out().includes('"id":1'));
    say({ method: "notifications/initialized" });
    say({ id: 2, method: "tools/call", params: CALL });
    await until(async () => (await place.waiting()).length === 2);
    expect((await place.run("stop")).code).toBe(0);
    const stopped = "main.give did not run: the gateway stopped while the call waited for approval.";
    await until(() => relayed.out().includes('"id":2'));
    expect(relayed.out()).toContain(stopped);
    expect((await called).out).toContain(stopped);
    relayed.child.kill();
    await place.serve();
    expect((await place.waiting()).map(({ isConnected }) => isConnected)).toEqual([false, false]);
    expect(place.ran()).toBe(0);
  });

  it("portolan call through the gateway waits for approval like other callers", async () => {
    const place = setUp([{ annotations: ["destructive"], callers: ["local"] }]);
    await place.serve();
    const called = place.run("call", "main.give", "--args", JSON.stringify(RESULT));
    const { id, caller } = await place.firstWaiting();
    expect(caller).toBe("local");
    expect(place.ran()).toBe(0);
    await place.run("approve", id, "--deny");
    const denied = await called;
    expect(denied.code).toBe(1);
    expect(`${denied.out}${denied.err}`).toContain(
      "main.give did not run: a person denied the call in the terminal",
    );
  });
});
