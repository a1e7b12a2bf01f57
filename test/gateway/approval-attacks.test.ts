// Attacks on approvals: the gateway accepts none of 500 forged, replayed, swapped and expired approvals.

import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ApprovalStore } from "../../src/gateway/approval/store.ts";
import type { ApprovalSubject, WaitingCall } from "../../src/gateway/approval/types.ts";
import { argumentDigest } from "../../src/telemetry/index.ts";
import { type Loose, type Message, RawModern } from "../helpers/raw-clients.ts";
import { openTestGateway, runsFile, stdioServer } from "../helpers/raw-gateways.ts";

const AGENT = "token-of-the-agent-0123456789";
const OTHER = "token-of-the-other-0123456789";
const YES = { action: "accept", content: { allow: true } };
const NO = { action: "decline" };
const ROUNDS = 36;

const callOf = (text: string, name = "mcp_main_give"): { name: string; arguments: Loose } => ({
  name,
  arguments: { result: { content: [{ type: "text", text }] } },
});
const keysOf = ({ result }: Message): string[] => Object.keys(result?.inputRequests ?? {});
const answersOf = (message: Message, answer: object): object =>
  Object.fromEntries(keysOf(message).map((key) => [key, answer]));

it("252 forged, replayed or swapped approvals over HTTP run no call", { timeout: 120_000 }, async () => {
  const runs = runsFile();
  const server = stdioServer("main", [`--runs=${runs.file}`]);
  const { url, gateway } = await openTestGateway([server], {
    callers: [
      { name: "agent", token: AGENT },
      { name: "other", token: OTHER },
    ],
    approval: [{ tools: ["main.*"], by: ["caller"] }],
  });
  const agent = new RawModern(url, { token: AGENT });
  const other = new RawModern(url, { token: OTHER });
  const ask = (client: RawModern, call: object, more: object = {}): Promise<Message> =>
    client.ask("tools/call", { ...call, ...more });
  /** Ends a call that still waits. */
  const decline = async (client: RawModern, call: object, asked: Message): Promise<void> => {
    const { requestState } = asked.result;
    await ask(client, call, { requestState, inputResponses: answersOf(asked, NO) });
  };
  let approved = 0;
  const attempts: Promise<void>[] = [];
  const attempt = async (message: Promise<Message>, client: RawModern, call: object): Promise<void> => {
    const answer = await message;
    // The call is refused, or needs a new approval.
    expect(answer.error !== undefined || answer.result.resultType === "input_required").toBe(true);
    if (answer.result !== undefined) await decline(client, call, answer);
  };
  const state = (expires: number): string =>
    `portolan1.${randomBytes(16).toString("base64url")}.${expires}.${randomBytes(32).toString("base64url")}`;
  for (let round = 0; round < ROUNDS; round += 1) {
    const call = callOf(`call ${round}`);
    const asked = await ask(agent, call);
    const [key = ""] = keysOf(asked);
    expect(key).toMatch(/^approve-give-/);
    const { requestState } = asked.result;
    const yes = { inputResponses: { [key]: YES } };
    const tampered = `${String(requestState).slice(0, -2)}xx`;
    attempts.push(
      // Forged: answers without the state, with a made-up state, and with a changed one.
      attempt(ask(agent, call, yes), agent, call),
      attempt(ask(agent, call, { ...yes, requestState: state(Date.now() + 60_000) }), agent, call),
      attempt(ask(agent, call, { ...yes, requestState: tampered }), agent, call),
      // Swapped: the approval of this call for other arguments, another tool and another caller.
      attempt(ask(agent, callOf("another call"), { ...yes, requestState }), agent, callOf("another call")),
      attempt(
        ask(agent, callOf(`call ${round}`, "mcp_main_log"), { ...yes, requestState }),
        agent,
        callOf("x"),
      ),
      attempt(ask(other, call, { ...yes, requestState }), other, call),
    );
    await Promise.all(attempts.splice(0));
    // Some calls are approved, so that there is an approval to replay.
    const isApproved = round % 2 === 0;
    const done = await ask(agent, call, {
      requestState,
      inputResponses: { [key]: isApproved ? YES : NO },
    });
    expect(done.result.isError === true).toBe(!isApproved);
    if (isApproved) approved += 1;
    await attempt(ask(agent, call, { ...yes, requestState }), agent, call);
  }
  // Callers cannot reach the methods with which a person decides.
  for (const method of ["approvals", "decide"])
    expect((await agent.ask(method, { id: "x", decision: "approve" })).error).toBeDefined();
  expect(runs.all().filter(({ called }) => called !== undefined)).toHaveLength(approved);
  expect(await gateway.approvals.list()).toEqual([]);
});

const BINDING: ApprovalSubject = {
  ...{ caller: "agent", server: "main", tool: "give" },
  digest: argumentDigest({ path: "/a", mode: 1 }) ?? "",
};

const waitingCall = (id: string, now: number): WaitingCall => ({
  ...BINDING,
  ...{ id, arguments: "{}", cut: 0, reason: "r", rule: "gateway.approval[0]", by: ["console"] },
  time: new Date(now).toISOString(),
  expires: new Date(now + 1_000).toISOString(),
});

it("248 forged, replayed, swapped or expired grants in the store approve no call", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-approvals-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "approvals.json");
  const key = randomBytes(32);
  let now = Date.now();
  let attempts = 0;
  let accepted = 0;
  const refused: string[] = [];
  const open = (own = key): Promise<ApprovalStore> =>
    ApprovalStore.open({ file, key: own, now: () => now, report: ({ message }) => refused.push(message) });
  const steal = async (store: ApprovalStore, binding: ApprovalSubject): Promise<void> => {
    attempts += 1;
    if ((await store.take(binding)) !== undefined) accepted += 1;
  };
  const grant = async (store: ApprovalStore, id: string, once: boolean): Promise<void> => {
    await store.add(waitingCall(id, now));
    await store.approve(id, () => ({
      ...BINDING,
      ...{ id, by: "console", once, expires: new Date(now + 1_000).toISOString() },
    }));
  };
  for (let round = 0; round < 19; round += 1) {
    const store = await open();
    await grant(store, `id${round}`, round % 2 === 0);
    // Swapped.
    await steal(store, { ...BINDING, caller: "other" });
    await steal(store, { ...BINDING, server: "other" });
    await steal(store, { ...BINDING, tool: "other" });
    for (const args of [
      { path: "/a", mode: 2 },
      { path: "/a" },
      { path: "/a", mode: "1" },
      { path: "/A", mode: 1 },
    ])
      await steal(store, { ...BINDING, digest: argumentDigest(args) ?? "" });
    await store.close();
    const stored = readFileSync(file, "utf8");
    // Forged: one changed byte anywhere, or the key of another gateway.
    const forged = Buffer.from(stored);
    const at = 20 + Math.floor((round / 19) * (forged.length - 40));
    forged[at] = (forged[at] ?? 0) ^ 1;
    writeFileSync(file, forged);
    const changed = await open();
    await steal(changed, BINDING);
    await changed.close();
    writeFileSync(file, stored);
    const foreign = await open(randomBytes(32));
    await steal(foreign, BINDING);
    await foreign.close();
    writeFileSync(file, stored);
    const after = await open();
    if (round % 2 === 0) {
      // Replayed: the grant is for one call, also if the older file comes back while the gateway runs.
      expect(await after.take(BINDING)).toMatchObject({ id: `id${round}` });
      writeFileSync(file, stored);
      await steal(after, BINDING);
    } else expect(await after.take(BINDING)).toBeDefined();
    // Expired.
    now += 1_000;
    await steal(after, BINDING);
    attempts += 1;
    await grant(after, "late", true);
    now += 2_000;
    if (
      await after.approve("late", () => ({ ...BINDING, id: "late", by: "console", once: true, expires: "" }))
    )
      accepted += 1;
    await steal(after, BINDING);
    await after.close();
  }
  // The remaining attempts run at the same time: only one call gets the grant.
  const store = await open();
  await grant(store, "race", true);
  const rest = 248 - attempts;
  const taken = await Promise.all(Array.from({ length: rest + 1 }, () => store.take(BINDING)));
  attempts += rest;
  accepted += taken.filter((one) => one !== undefined).length - 1;
  await store.close();
  expect({ attempts, accepted }).toEqual({ attempts: 248, accepted: 0 });
  expect(refused.length).toBe(38);
});

it("a waiting call leaves the list when it expires", async () => {
  let now = 1_000_000;
  const store = await ApprovalStore.open({
    file: undefined,
    key: randomBytes(32),
    now: () => now,
    report() {},
  });
  await store.add(waitingCall("a", now));
  now += 999;
  expect(store.waiting).toHaveLength(1);
  now += 1;
  expect(store.waiting).toHaveLength(0);
  expect(await store.approve("a", () => expect.unreachable())).toBe(false);
});

it("one caller cannot fill the list of waiting calls", async () => {
  const store = await ApprovalStore.open({ file: undefined, key: randomBytes(32), report() {} });
  for (let count = 0; count < 50; count += 1) await store.add(waitingCall(`a${count}`, Date.now()));
  await expect(store.add(waitingCall("b", Date.now()))).rejects.toThrow("50 of the caller agent");
  await store.add({ ...waitingCall("c", Date.now()), caller: "other" });
});
