// Server requests during calls of many clients of both eras: each answer reaches its own call, also when clients or servers end.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startHttpServer } from "../fixtures/http-server.mjs";
import {
  openTestGateway,
  type Person,
  person,
  type Runs,
  runsFile,
  secretsIn,
  startGatewayProcess,
  startHttpProcess,
  stdioServer,
  temporary,
  TOKEN,
} from "../helpers/raw-gateways.ts";
import { started, until } from "../helpers/connect.ts";
import {
  answersTo,
  type Exchange,
  type Loose,
  type Message,
  RawLegacy,
  RawModern,
  textOf,
} from "../helpers/raw-clients.ts";

const TOOL = "mcp_one_ask_own";
const http = (url: string) => ({ alias: "one", endpoint: { transport: "http", url } as const });

/** A call with a server request that waits for the answer of its client. */
interface Waiting<C extends RawModern | RawLegacy = RawModern | RawLegacy> {
  readonly who: Person;
  readonly client: C;
  /** Answers the request, and returns the response of the call. */
  finish(): Promise<Message>;
  /** The result of a modern client; undefined for a legacy one. */
  readonly asked: Loose;
  readonly stream?: Exchange;
}

async function askModern(
  url: string,
  who: Person,
  args: object = {},
  options: object = {},
): Promise<Waiting<RawModern>> {
  const client = new RawModern(url, { token: TOKEN, answer: who.answer, ...options });
  const params = { name: TOOL, arguments: { id: who.id, ...args } };
  const first = await client.ask("tools/call", params);
  expect(first.result, JSON.stringify(first)).toMatchObject({ resultType: "input_required" });
  return {
    who,
    client,
    asked: first.result,
    async finish() {
      let message = first;
      while (message.result?.resultType === "input_required")
        message = await client.ask("tools/call", { ...params, ...answersTo(message.result, who.answer) });
      return message;
    },
  };
}

async function askLegacy(
  url: string,
  who: Person,
  args: Loose = {},
  options: object = {},
): Promise<Waiting<RawLegacy>> {
  let answering = false;
  const client = await RawLegacy.open(url, {
    token: TOKEN,
    answer: (question) => (answering ? who.answer(question) : undefined),
    ...options,
  });
  const stream = client.post("tools/call", { name: TOOL, arguments: { id: who.id, ...args } });
  const wanted: number = args.at_once ?? 1;
  await stream.find(() => client.asked.length >= wanted);
  return {
    who,
    client,
    asked: undefined,
    stream,
    finish() {
      answering = true;
      for (const { id, method = "", params } of client.asked)
        client.respond(id, who.answer({ method, params }) as object);
      return stream.answer();
    },
  };
}

/** Behaviour of clients: mostly one form, sometimes a decline, more rounds, or other server requests. */
const KINDS: readonly { args: object; answers: number; declines?: boolean }[] = [
  { args: {}, answers: 1 },
  { args: {}, answers: 1 },
  { args: {}, answers: 1 },
  { args: {}, answers: 1, declines: true },
  { args: { rounds: 2 }, answers: 2 },
  { args: { at_once: 2 }, answers: 2 },
  { args: { rounds: 2, at_once: 2 }, answers: 4 },
  { args: { kind: "sample" }, answers: 1 },
  { args: { kind: "roots" }, answers: 1 },
  { args: {}, answers: 1 },
];

/** Waits until all clients have a server request; then all answer at the same time. */
async function crowd(url: string, count: number, runs: Runs): Promise<void> {
  const clients = Array.from({ length: count }, (_, n) => {
    const kind = KINDS[Math.floor(n / 2) % KINDS.length] as (typeof KINDS)[number];
    const who = person(`caller-${n}`, kind.declines);
    return { kind, who, ask: n % 2 === 0 ? askModern : askLegacy };
  });
  const waiting = await Promise.all(clients.map(({ who, kind, ask }) => ask(url, who, kind.args)));
  const ends = await Promise.all(waiting.map((one) => one.finish()));
  for (const [n, { who, kind }] of clients.entries()) {
    const result = textOf(ends[n] as Message);
    expect(result, JSON.stringify(ends[n])).toMatchObject({ id: who.id });
    const secret = kind.declines === true ? undefined : who.secret;
    expect(secretsIn(result), who.id).toEqual(Array.from({ length: kind.answers }, () => secret));
    expect(who.strange).toEqual([]);
    expect(runs.called(who.id)).toBe(1);
    expect(runs.cancelled(who.id)).toBe(0);
  }
}

describe("each client's answer reaches its own call", () => {
  it("with 200 clients that wait at the same time, on one legacy HTTP server", async () => {
    const runs = runsFile();
    const server = await startHttpProcess("--era=legacy", `--runs=${runs.file}`);
    const { url } = await openTestGateway([http(server.url)]);
    await crowd(url, 200, runs);
  });

  it("with 250 clients that answer three server requests each at the same time", async () => {
    const runs = runsFile();
    const server = await startHttpProcess("--era=legacy", `--runs=${runs.file}`);
    const { url } = await openTestGateway([http(server.url)]);
    const people = Array.from({ length: 250 }, (_, n) => person(`caller-${n}`));
    const waiting = await Promise.all(people.map((who) => askModern(url, who, { at_once: 3 })));
    const ends = await Promise.all(waiting.map((one) => one.finish()));
    for (const [n, who] of people.entries())
      expect(secretsIn(textOf(ends[n] as Message))).toEqual([who.secret, who.secret, who.secret]);
  });

  it("with 16 clients that wait at the same time, on one legacy stdio server", async () => {
    const runs = runsFile();
    const { url } = await openTestGateway([stdioServer("one", ["--era=legacy", `--runs=${runs.file}`])]);
    await crowd(url, 16, runs);
  });
});

describe("a client with a pending server request", () => {
  it("that never answers affects only its own call: the call is cancelled and its state expires", async () => {
    const runs = runsFile();
    const server = await started(startHttpServer({ era: "legacy", runs: runs.file }));
    const { url } = await openTestGateway([http(server.url)], { limits: { suspendedForMs: 400 } });
    const silent = await askModern(url, person("silent"));
    const prompt = await askModern(url, person("prompt"));
    expect(secretsIn(textOf(await prompt.finish()))).toEqual([prompt.who.secret]);
    await until(() => runs.cancelled("silent") === 1);
    expect((await silent.finish()).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining("expired"),
    });
    expect(runs.called("silent")).toBe(1);
    expect(runs.cancelled("prompt")).toBe(0);
    expect(server.stats.notifications["notifications/cancelled"]).toBe(1);
  });

  it("may answer some requests and gets the others again; unknown answers are ignored", async () => {
    const runs = runsFile();
    const server = await started(startHttpServer({ era: "legacy", runs: runs.file }));
    const { url } = await openTestGateway([http(server.url)]);
    const who = person("partly");
    const { asked, client } = await askModern(url, who, { at_once: 3 });
    const keys = Object.keys(asked.inputRequests);
    expect(keys).toHaveLength(3);
    const [first = "", ...others] = keys;
    const params = { name: TOOL, arguments: { id: who.id, at_once: 3 } };
    const again = await client.ask("tools/call", {
      ...params,
      inputResponses: { [first]: who.answer(asked.inputRequests[first]), nobody: { action: "accept" } },
      requestState: asked.requestState,
    });
    expect(Object.keys(again.result.inputRequests).toSorted()).toEqual(others.toSorted());
    expect(again.result.requestState).not.toBe(asked.requestState);
    const end = await client.ask("tools/call", { ...params, ...answersTo(again.result, who.answer) });
    expect(secretsIn(textOf(end))).toEqual([who.secret, who.secret, who.secret]);
    expect(runs.called(who.id)).toBe(1);
  });

  it.each(["http", "stdio"] as const)(
    "that is killed cancels its own calls and no others (%s)",
    async (transport) => {
      const runs = runsFile();
      const flags = ["--era=legacy", `--runs=${runs.file}`];
      const server =
        transport === "http" ? http((await startHttpProcess(...flags)).url) : stdioServer("one", flags);
      const { url } = await openTestGateway([server]);
      const others = [
        await askModern(url, person("other-modern"), { rounds: 2 }),
        await askLegacy(url, person("other-legacy"), { rounds: 2 }),
      ];
      // This call runs at the server, without a server request.
      const held = new RawModern(url, { token: TOKEN });
      held.post("tools/call", { name: "mcp_one_hang", arguments: { id: "held" } });
      const legacy = await askLegacy(url, person("left-legacy"));
      await until(() => runs.called("held") === 1);
      held.kill();
      legacy.client.kill();
      await until(() => runs.cancelled("held") === 1);
      // In the legacy era, the end of the session cancels the call, not a broken connection.
      expect(runs.cancelled("left-legacy")).toBe(0);
      await legacy.client.end().over;
      await until(() => runs.cancelled("left-legacy") === 1);
      for (const other of others) {
        const end = textOf(await other.finish());
        expect(secretsIn(end)).toEqual([other.who.secret, other.who.secret]);
        expect(other.who.strange).toEqual([]);
        expect(runs.called(other.who.id)).toBe(1);
        expect(runs.cancelled(other.who.id)).toBe(0);
      }
    },
  );

  it("that cancels the call: the request is cancelled at the client, and the call at the server", async () => {
    const runs = runsFile();
    const server = await started(startHttpServer({ era: "legacy", runs: runs.file }));
    const { url } = await openTestGateway([http(server.url)]);
    const { client, stream } = await askLegacy(url, person("changed-mind"));
    client.notify("notifications/cancelled", { requestId: 1 });
    await until(() => runs.cancelled("changed-mind") === 1);
    const over = await stream?.find(({ method }) => method === "notifications/cancelled");
    expect(over?.params.requestId).toBe(client.asked[0]?.id);
  });

  it("that is killed during the retry cancels the call at the server", async () => {
    const runs = runsFile();
    const server = await started(startHttpServer({ era: "legacy", runs: runs.file }));
    const { url } = await openTestGateway([http(server.url)]);
    const who = person("leaving");
    const { asked, client } = await askModern(url, who, { hangs: true });
    const retry = client.post("tools/call", {
      name: TOOL,
      arguments: { id: who.id, hangs: true },
      ...answersTo(asked, who.answer),
    });
    await until(() => runs.all().some(({ answered }) => answered === who.id));
    client.kill();
    await retry.over;
    await until(() => runs.cancelled(who.id) === 1);
    expect(runs.called(who.id)).toBe(1);
  });
});

it("calls without server requests run while every process waits for an answer of a user", async () => {
  const runs = runsFile();
  const { url } = await openTestGateway([
    stdioServer("one", ["--era=legacy", `--runs=${runs.file}`], { lanes: 2 }),
  ]);
  const waiting = await Promise.all(["a", "b", "c"].map((id) => askModern(url, person(id), { rounds: 2 })));
  const client = new RawModern(url, { token: TOKEN });
  const echo = { name: "mcp_one_echo", arguments: { text: "well" } };
  for (let n = 0; n < 3; n += 1) expect(textOf(await client.ask("tools/call", echo))).toBe("well");
  for (const one of waiting) {
    expect(secretsIn(textOf(await one.finish()))).toEqual([one.who.secret, one.who.secret]);
    expect(one.who.strange).toEqual([]);
  }
});

it("a late server request of an abandoned call does not reach another client with the same token", async () => {
  const runs = runsFile();
  const { url } = await openTestGateway([stdioServer("one", ["--era=legacy", `--runs=${runs.file}`])]);
  const [alice, bob] = [new RawModern(url, { token: TOKEN }), new RawModern(url, { token: TOKEN })];
  alice.post("tools/call", { name: "mcp_one_ask_late", arguments: { id: "of-alice" } });
  await until(() => runs.called("of-alice") === 1);
  alice.kill();
  await until(() => runs.cancelled("of-alice") === 1);
  const { result } = await bob.ask("tools/call", { name: "mcp_one_slow", arguments: { ms: 300 } });
  expect(result.content).toEqual([{ type: "text", text: "done after 300 ms" }]);
});

describe("a server that is killed during calls", () => {
  it.each(["http", "stdio"] as const)("fails every call with a clear error (%s)", async (transport) => {
    const runs = runsFile();
    const flags = ["--era=legacy", `--runs=${runs.file}`];
    const remote = transport === "http" ? await startHttpProcess(...flags) : undefined;
    const local = stdioServer("one", flags);
    const { url } = await openTestGateway([remote === undefined ? local : http(remote.url)]);
    const people = Array.from({ length: 8 }, (_, n) => person(`caller-${n}`));
    const waiting = await Promise.all(
      people.map((who, n) => (n % 2 === 0 ? askModern : askLegacy)(url, who, { rounds: 2 })),
    );
    const client = new RawModern(url, { token: TOKEN });
    const hanging = client.post("tools/call", { name: "mcp_one_hang", arguments: { id: "hanging" } });
    await until(() => runs.called("hanging") === 1);
    if (remote === undefined) for (const pid of local.pids()) process.kill(pid, "SIGKILL");
    else await remote.kill();
    const ends = [
      (await hanging.answer()).error,
      ...(await Promise.all(
        waiting.map(
          async ({ stream, finish }) => (await (stream === undefined ? finish() : stream.answer())).error,
        ),
      )),
    ];
    for (const error of ends)
      expect(error).toMatchObject({
        code: -32603,
        data: { code: expect.stringMatching(/^(CONNECTION_LOST|SERVER_CRASHED)$/), server: "one" },
      });
    expect(
      (await new RawModern(url).send("GET", {}, undefined, "/healthz").find(() => true)) as object,
    ).toEqual({
      status: "ok",
    });
    if (remote !== undefined) await startHttpProcess(...flags, `--port=${remote.port}`);
    const fresh = person("fresh");
    const again = new RawModern(url, { token: TOKEN, answer: fresh.answer });
    let end: Message = {};
    await until(async () => {
      end = await again.tool(TOOL, { id: fresh.id });
      return end.error === undefined;
    });
    expect(secretsIn(textOf(end))).toEqual([fresh.secret]);
    for (const who of people) {
      expect(runs.called(who.id)).toBe(1);
      expect(who.strange).toEqual([]);
    }
    expect(runs.called("hanging")).toBe(1);
  });
});

describe("a gateway that is killed during calls", () => {
  it("reports after its restart that the waiting calls have ended, and runs no call twice", async () => {
    const runs = runsFile();
    const server = await startHttpProcess("--era=legacy", `--runs=${runs.file}`);
    const folder = temporary();
    const data = temporary();
    writeFileSync(join(folder, "portolan.yaml"), `servers:\n  one: {url: "${server.url}"}\n`);
    const before = await startGatewayProcess(folder, data);
    const people = Array.from({ length: 6 }, (_, n) => person(`caller-${n}`));
    const waiting = await Promise.all(
      people.map((who, n) =>
        (n % 2 === 0 ? askModern : askLegacy)(before.url, who, {}, { token: before.token }),
      ),
    );
    await before.kill();
    for (const { stream } of waiting) {
      if (stream === undefined) continue;
      await stream.over;
      expect(stream.broken).toBe(true);
    }
    const after = await startGatewayProcess(folder, data);
    expect(after.token).toBe(before.token);
    for (const { asked, client, who } of waiting) {
      const { session } = client as RawLegacy;
      const { token } = after;
      if (asked === undefined) {
        const returned = new RawLegacy(after.url, { token });
        returned.session = session;
        const refused = returned.post("tools/list");
        await refused.over;
        expect(refused.status).toBe(404);
        const answer = returned.respond("portolan-1", { action: "accept" });
        await answer.over;
        expect(answer.status).toBe(404);
        continue;
      }
      const retry = await new RawModern(after.url, { token }).ask("tools/call", {
        name: TOOL,
        arguments: { id: who.id },
        ...answersTo(asked, who.answer),
      });
      expect(retry.error).toMatchObject({
        code: -32602,
        message: expect.stringMatching(/has ended|expired/),
      });
      expect(retry.error?.message).not.toMatch(/changed|does not belong to/);
    }
    for (const who of people) expect(runs.called(who.id)).toBe(1);
    const fresh = person("fresh");
    const client = new RawModern(after.url, { token: after.token, answer: fresh.answer });
    expect(secretsIn(textOf(await client.tool(TOOL, { id: fresh.id })))).toEqual([fresh.secret]);
  });
});

describe("the requestState of a modern client", () => {
  const callers = ["alice", "bob"].map((name) => ({ name, token: `the-token-of-${name}` }));
  const params = (id: string): Loose => ({ name: TOOL, arguments: { id } });

  it("is refused if any part of it, the caller, the tool or the arguments differ", async () => {
    const runs = runsFile();
    const server = await started(startHttpServer({ era: "legacy", runs: runs.file }));
    const { url } = await openTestGateway([http(server.url)], { callers });
    const as = (who: Person, name: string) => ({ token: `the-token-of-${name}`, answer: who.answer });
    const alice = person("alice-call");
    const bob = person("bob-call");
    const ofAlice = await askModern(url, alice, {}, as(alice, "alice"));
    const ofBob = await askModern(url, bob, {}, as(bob, "bob"));
    const state: string = ofAlice.asked.requestState;
    const [prefix = "", id = "", expiry = "", mac = ""] = state.split(".");
    const answers = answersTo(ofAlice.asked, () => ({ action: "accept", content: { r1q1: "stolen" } }));
    const forged = (requestState: unknown, more: object = {}): Loose => ({
      ...params(alice.id),
      ...answers,
      ...more,
      requestState,
    });
    const flipped = `${mac.startsWith("A") ? "B" : "A"}${mac.slice(1)}`;
    const client = new RawModern(url, as(alice, "alice"));
    const attacks: [string, RawModern, string, Loose][] = [
      ["a changed signature", client, "tools/call", forged([prefix, id, expiry, flipped].join("."))],
      ["a short signature", client, "tools/call", forged([prefix, id, expiry, mac.slice(0, -1)].join("."))],
      ["no signature", client, "tools/call", forged([prefix, id, expiry].join("."))],
      [
        "a signature of wide characters",
        client,
        "tools/call",
        forged([prefix, id, expiry, "é".repeat(mac.length)].join(".")),
      ],
      ["a later expiry", client, "tools/call", forged([prefix, id, Number(expiry) + 1, mac].join("."))],
      [
        "another id",
        client,
        "tools/call",
        forged([prefix, ofBob.asked.requestState.split(".")[1], expiry, mac].join(".")),
      ],
      ["the prefix alone", client, "tools/call", forged(`${prefix}.`)],
      ["another prefix", client, "tools/call", forged(`x${state}`)],
      ["a number", client, "tools/call", forged(5)],
      ["another caller", new RawModern(url, as(bob, "bob")), "tools/call", forged(state)],
      ["the owner of the gateway", new RawModern(url, { token: TOKEN }), "tools/call", forged(state)],
      [
        "the state of another caller",
        client,
        "tools/call",
        { ...params(bob.id), ...answers, requestState: ofBob.asked.requestState },
      ],
      ["other arguments", client, "tools/call", forged(state, { arguments: { id: "elsewhere" } })],
      ["another tool", client, "tools/call", forged(state, { name: "mcp_one_echo" })],
      ["another method", client, "prompts/get", forged(state)],
      [
        "a resource",
        client,
        "resources/read",
        { uri: "test://static-text", ...answers, requestState: state },
      ],
      [
        "another address",
        new RawModern(url, { ...as(alice, "alice"), path: "/servers/one/mcp" }),
        "tools/call",
        forged(state),
      ],
      [
        "another address by its names",
        new RawModern(url, { ...as(alice, "alice"), path: "/servers/one/mcp" }),
        "tools/call",
        forged(state, { name: "ask_own" }),
      ],
    ];
    for (const [what, attacker, method, forgery] of attacks) {
      const { error } = await attacker.ask(method, forgery);
      expect(error, what).toMatchObject({ code: -32602 });
    }
    // No tool ran without a call, and every suspended call still waits for its own client.
    expect(runs.all().map(({ id: ran }) => ran)).toEqual([alice.id, bob.id]);
    expect(secretsIn(textOf(await ofAlice.finish()))).toEqual([alice.secret]);
    expect(secretsIn(textOf(await ofBob.finish()))).toEqual([bob.secret]);
    const replay = await client.ask("tools/call", forged(state));
    expect(replay.error).toMatchObject({ code: -32602, message: expect.stringContaining("used before") });
    expect(runs.called(alice.id)).toBe(1);
  });

  it("expires when the caller has too many: the oldest call of this caller is cancelled", async () => {
    const runs = runsFile();
    const server = await started(startHttpServer({ era: "legacy", runs: runs.file }));
    const { url } = await openTestGateway([http(server.url)], { callers, limits: { suspended: 2 } });
    const as = (name: string) => ({ token: `the-token-of-${name}` });
    const other = await askModern(url, person("of-bob"), {}, as("bob"));
    const waiting = [];
    for (const name of ["first", "second", "third"])
      waiting.push(await askModern(url, person(name), {}, as("alice")));
    await until(() => runs.cancelled("first") === 1);
    const [first, ...others] = waiting;
    expect((await first?.finish())?.error).toMatchObject({ code: -32602 });
    for (const one of [...others, other])
      expect(secretsIn(textOf(await one.finish()))).toEqual([one.who.secret]);
  });
});
