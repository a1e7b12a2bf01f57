// Approval of calls by a person: in the console or terminal, by elicitation in both eras, across restarts, and under attack.

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import {
  type Access,
  type ApprovalDecision,
  type ApprovalRequest,
  type ApproveCall,
  openAccess,
  type OpenedGateway,
  openGateway,
} from "../../src/gateway/index.ts";
import type { HubEvent } from "../../src/hub/index.ts";
import type { ApprovalRule, GatewaySettings } from "../../src/model/index.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { until } from "../helpers/connect.ts";
import { type Answer, type Message, RawLegacy, RawModern, textOf } from "../helpers/raw-clients.ts";
import { type Runs, runsFile } from "../helpers/raw-gateways.ts";

const AGENT = "token-of-the-agent-0123456789";
const OTHER = "token-of-the-other-0123456789";
const YES: Answer = () => ({ action: "accept", content: { allow: true } });
const NO: Answer = () => ({ action: "decline" });
/** The tool has no annotations, so that it counts as destructive. */
const CALL = { name: "mcp_main_give", arguments: { result: { content: [{ type: "text", text: "given" }] } } };
interface Place {
  readonly folder: string;
  readonly access: Access;
  readonly runs: Runs;
}

interface Served {
  readonly gateway: OpenedGateway;
  readonly url: string;
  readonly events: HubEvent[];
}

async function place(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "portolan-approval-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const access = await openAccess(folder, { folder: join(folder, "access") });
  return { folder, access, runs: runsFile() };
}

async function serve(
  { folder, access, runs }: Place,
  approval: readonly ApprovalRule[],
  more: GatewaySettings = {},
  approve?: ApproveCall,
): Promise<Served> {
  const { command, args } = stdioCommand(`--runs=${runs.file}`);
  writeFileSync(
    join(folder, "portolan.yaml"),
    JSON.stringify({ servers: { main: { command, args: [...args] } } }),
  );
  const events: HubEvent[] = [];
  const callers = [
    { name: "agent", token: AGENT },
    { name: "other", token: OTHER },
  ];
  const gateway = await openGateway(folder, {
    ...{ access, settings: { port: 0, callers, approval, ...more }, snapshots: false, approve },
    onEvent: (event) => events.push(event),
    onDiagnostic: () => {},
  });
  onTestFinished(() => gateway.close());
  // A gateway in another program has neither a console nor a terminal.
  if (approve === undefined)
    for (const way of ["console", "terminal"] as const) gateway.approvals.addWay(way);
  const { url } = await gateway.listen();
  return { gateway, url, events };
}

async function firstWaiting({ gateway }: Served) {
  await until(async () => (await gateway.approvals.list()).length > 0);
  const [first] = await gateway.approvals.list();
  if (first === undefined) throw new Error("no call waits");
  return first;
}

const ran = ({ runs }: Place): number => runs.all().filter(({ called }) => called === "give").length;
const isGiven = (message: Message): boolean => textOf(message) === "given" && message.result.isError !== true;
const approvalsOf = (events: readonly HubEvent[]): string[] =>
  events.flatMap(({ type }) => (type.startsWith("gateway.approval_") ? [type.slice(17)] : []));

const DESTRUCTIVE: ApprovalRule = { annotations: ["destructive"] };

it.each(["legacy", "modern"] as const)(
  "a call of a %s client waits for approval, reports progress, and runs once",
  async (era) => {
    const at = await place();
    const served = await serve(at, [{ ...DESTRUCTIVE, reason: "It changes files" }]);
    const client =
      era === "modern"
        ? new RawModern(served.url, { token: AGENT, capabilities: {} })
        : await RawLegacy.open(served.url, { token: AGENT, capabilities: {} });
    // A tool that is not destructive does not wait.
    expect(textOf(await client.tool("mcp_main_echo", { text: "hi" }))).toBe("hi");
    const exchange = client.post("tools/call", { ...CALL, _meta: { progressToken: "p" } });
    const waiting = await firstWaiting(served);
    expect(waiting).toMatchObject({
      ...{ caller: "agent", server: "main", tool: "give", reason: "It changes files", isConnected: true },
      ...{ rule: "gateway.approval[0]", by: ["console", "terminal"] },
      arguments: JSON.stringify(CALL.arguments),
    });
    await until(() => exchange.notices("notifications/progress").length > 0);
    // Only the owner may know the folder of the workspace.
    const { message } = exchange.notices("notifications/progress")[0] as { message: string };
    expect(message).toContain(`portolan approve ${waiting.id}`);
    expect(message).not.toContain(at.folder);
    expect(ran(at)).toBe(0);
    await served.gateway.approvals.decide({ id: waiting.id, approve: true }, "console");
    expect(isGiven(await exchange.answer())).toBe(true);
    expect(ran(at)).toBe(1);
    // The approval was for one call.
    const again = client.post("tools/call", CALL);
    const second = await firstWaiting(served);
    expect(second.id).not.toBe(waiting.id);
    await served.gateway.approvals.decide(
      { id: second.id, approve: false, reason: "Not on Fridays." },
      "terminal",
    );
    const denied = await again.answer();
    expect(denied.result.isError).toBe(true);
    expect(textOf(denied)).toBe(
      "main.give did not run: a person denied the call in the terminal. The person gave this reason: Not on Fridays.",
    );
    const error = { code: "approval_denied", message: textOf(denied), retryable: false, neverRan: true };
    expect(denied.result._meta["portolan/error"]).toMatchObject({ ...error, errorCode: "FORBIDDEN" });
    expect(ran(at)).toBe(1);
    expect(approvalsOf(served.events)).toEqual(["requested", "granted", "requested", "denied"]);
  },
);

it("a call that nobody approves in time returns a tool error that a model can read", async () => {
  const at = await place();
  const served = await serve(at, [{ ...DESTRUCTIVE, timeoutMs: 300 }]);
  const answer = await new RawModern(served.url, { token: AGENT }).ask("tools/call", CALL);
  expect(answer.result).toMatchObject({ isError: true, resultType: "complete" });
  expect(textOf(answer)).toContain("nobody approved the call within a second");
  expect(answer.result._meta["portolan/error"]).toMatchObject({ code: "approval_expired", retryable: true });
  expect(await served.gateway.approvals.list()).toEqual([]);
  expect(approvalsOf(served.events)).toEqual(["requested", "expired"]);
  expect(ran(at)).toBe(0);
});

it("a grant with a duration covers only the same call of the same caller, up to the rule's limit", async () => {
  const at = await place();
  const served = await serve(at, [{ ...DESTRUCTIVE, forMs: 60_000, timeoutMs: 400 }]);
  const agent = new RawModern(served.url, { token: AGENT });
  const first = agent.post("tools/call", CALL);
  const { id } = await firstWaiting(served);
  const longer = served.gateway.approvals.decide({ id, approve: true, forMs: 60_001 }, "console");
  const hint = expect.stringMatching("--for 60s or less") as string;
  await expect(longer).rejects.toMatchObject({ code: "INPUT_INVALID", hint });
  await served.gateway.approvals.decide({ id, approve: true, forMs: 60_000 }, "console");
  expect(isGiven(await first.answer())).toBe(true);
  expect(isGiven(await agent.ask("tools/call", CALL))).toBe(true);
  // The order of keys does not matter, every value does.
  const other = await new RawModern(served.url, { token: OTHER }).ask("tools/call", CALL);
  expect(textOf(other)).toContain("nobody approved");
  const changed = { name: CALL.name, arguments: { result: { content: [{ type: "text", text: "Given" }] } } };
  expect(textOf(await agent.ask("tools/call", changed))).toContain("nobody approved");
  const swapped = { name: CALL.name, arguments: { result: { content: [{ text: "given", type: "text" }] } } };
  expect(isGiven(await agent.ask("tools/call", swapped))).toBe(true);
  expect(ran(at)).toBe(3);
});

it.each(["legacy", "modern"] as const)(
  "a %s client can approve by elicitation if the rule allows it",
  async (era) => {
    const at = await place();
    const served = await serve(at, [{ ...DESTRUCTIVE, by: ["caller"], callers: ["agent"] }]);
    const open = async (answer: Answer, token = AGENT): Promise<RawLegacy | RawModern> =>
      era === "modern"
        ? new RawModern(served.url, { token, answer })
        : RawLegacy.open(served.url, { token, answer });
    const asked: string[] = [];
    const yes = await open((question) => {
      asked.push(question.params.message);
      return YES(question);
    });
    expect(isGiven(await yes.tool(CALL.name, CALL.arguments))).toBe(true);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain('Arguments: {"result":');
    const refused = await (await open(NO)).tool(CALL.name, CALL.arguments);
    expect(textOf(refused)).toContain("a person denied the call in this client");
    // A client without elicitation gets the error at once.
    const mute =
      era === "modern"
        ? new RawModern(served.url, { token: AGENT, capabilities: {} })
        : await RawLegacy.open(served.url, { token: AGENT, capabilities: {} });
    expect(textOf(await mute.tool(CALL.name, CALL.arguments))).toContain("this client cannot ask its user");
    expect(ran(at)).toBe(1);
    // The rule applies to one caller only.
    expect(isGiven(await (await open(NO, OTHER)).tool(CALL.name, CALL.arguments))).toBe(true);
  },
);

it("the console can decide during an elicitation; the next request of the client returns the result", async () => {
  const at = await place();
  const served = await serve(at, [{ ...DESTRUCTIVE, by: ["console", "caller"] }]);
  const agent = new RawModern(served.url, { token: AGENT });
  const asked = await agent.ask("tools/call", CALL);
  expect(asked.result.resultType).toBe("input_required");
  const { id } = await firstWaiting(served);
  await expect(served.gateway.approvals.decide({ id, approve: true }, "terminal")).rejects.toThrow(
    "does not allow approval by terminal",
  );
  await served.gateway.approvals.decide({ id, approve: true }, "console");
  await until(() => ran(at) === 1);
  const { requestState } = asked.result;
  expect(isGiven(await agent.ask("tools/call", { ...CALL, requestState }))).toBe(true);
  expect(ran(at)).toBe(1);
});

it("a modern client without progress gets a requestState after a while, and continues the call with it", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const at = await place();
  const served = await serve(at, [DESTRUCTIVE]);
  const agent = new RawModern(served.url, { token: AGENT, capabilities: {} });
  const first = agent.post("tools/call", CALL);
  const { id } = await firstWaiting(served);
  vi.advanceTimersByTime(40_000);
  const { result } = await first.answer();
  expect(result).toMatchObject({ resultType: "input_required" });
  expect(result.inputRequests).toBeUndefined();
  const second = agent.post("tools/call", { ...CALL, requestState: result.requestState });
  await served.gateway.approvals.decide({ id, approve: true }, "console");
  expect(isGiven(await second.answer())).toBe(true);
  // The state works once.
  const replayed = await agent.ask("tools/call", { ...CALL, requestState: result.requestState });
  expect(replayed.error).toBeDefined();
  expect(ran(at)).toBe(1);
});

it("a call is refused at once if the gateway has none of the ways of approval in the rule", async () => {
  const at = await place();
  const { command, args } = stdioCommand(`--runs=${at.runs.file}`);
  const gateway = await openGateway(
    { servers: { main: { command, args: [...args] } } },
    { access: { token: AGENT }, settings: { port: 0, approval: [DESTRUCTIVE] }, snapshots: false },
  );
  onTestFinished(() => gateway.close());
  const { url } = await gateway.listen();
  const answer = await new RawModern(url, { token: AGENT }).ask("tools/call", CALL);
  expect(textOf(answer)).toContain(
    "by console or terminal, but nobody can approve calls in this way at this gateway now",
  );
  expect(ran(at)).toBe(0);
});

it("a client that disconnects withdraws its waiting call", async () => {
  const at = await place();
  const served = await serve(at, [DESTRUCTIVE]);
  const agent = new RawModern(served.url, { token: AGENT });
  const exchange = agent.post("tools/call", CALL);
  const { id } = await firstWaiting(served);
  exchange.destroy();
  await until(async () => (await served.gateway.approvals.list()).length === 0);
  await expect(served.gateway.approvals.decide({ id, approve: true }, "console")).rejects.toThrow(id);
  expect(approvalsOf(served.events)).toEqual(["requested", "withdrawn"]);
  expect(ran(at)).toBe(0);
});

it("a waiting call survives a restart, and its grant is used by the repeated call", async () => {
  const at = await place();
  const before = await serve(at, [DESTRUCTIVE]);
  const agent = new RawModern(before.url, { token: AGENT });
  const exchange = agent.post("tools/call", CALL);
  const { id } = await firstWaiting(before);
  await before.gateway.close();
  expect(textOf(await exchange.answer())).toContain("the gateway stopped while the call waited");
  const after = await serve(at, [DESTRUCTIVE]);
  expect(await firstWaiting(after)).toMatchObject({ id, isConnected: false, caller: "agent", tool: "give" });
  // No client waits, so the grant is for the next call; it also survives a restart.
  await after.gateway.approvals.decide({ id, approve: true }, "terminal");
  await after.gateway.close();
  const last = await serve(at, [{ ...DESTRUCTIVE, timeoutMs: 300 }]);
  const again = new RawModern(last.url, { token: AGENT });
  const stranger = new RawModern(last.url, { token: OTHER });
  expect(textOf(await stranger.ask("tools/call", CALL))).toContain("nobody approved");
  expect(isGiven(await again.ask("tools/call", CALL))).toBe(true);
  expect(textOf(await again.ask("tools/call", CALL))).toContain("nobody approved");
  expect(ran(at)).toBe(1);
});

it("the repeated call of a client continues the call that waited before a restart", async () => {
  const at = await place();
  const before = await serve(at, [DESTRUCTIVE]);
  new RawModern(before.url, { token: AGENT }).post("tools/call", CALL);
  const { id } = await firstWaiting(before);
  await before.gateway.close();
  const after = await serve(at, [DESTRUCTIVE]);
  const exchange = new RawModern(after.url, { token: AGENT }).post("tools/call", CALL);
  await until(async () => (await after.gateway.approvals.list())[0]?.isConnected === true);
  expect((await after.gateway.approvals.list()).map((one) => one.id)).toEqual([id]);
  await after.gateway.approvals.decide({ id, approve: true }, "console");
  expect(isGiven(await exchange.answer())).toBe(true);
});

it("the approvals file is private, and is ignored if another program changed it", async () => {
  const at = await place();
  const before = await serve(at, [DESTRUCTIVE]);
  new RawModern(before.url, { token: AGENT }).post("tools/call", CALL);
  const { id } = await firstWaiting(before);
  await before.gateway.approvals.decide({ id, approve: true }, "console").catch(() => {});
  await until(() => ran(at) === 1);
  new RawModern(before.url, { token: AGENT }).post("tools/call", CALL);
  await firstWaiting(before);
  await before.gateway.close();
  const folder = join(at.folder, "access");
  const [name = ""] = readdirSync(folder).filter((one) => one.endsWith(".approvals.json"));
  const file = join(folder, name);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  writeFileSync(file, readFileSync(file, "utf8").replace("agent", "other"));
  const after = await serve(at, [DESTRUCTIVE]);
  expect(await after.gateway.approvals.list()).toEqual([]);
  expect(after.gateway.diagnostics.map(({ message }) => message).join()).toContain(
    "another program changed the file",
  );
});

it("the decision is in the audit log before the call runs", async () => {
  const at = await place();
  const served = await serve(at, [DESTRUCTIVE], { audit: { folder: join(at.folder, "audit") } });
  const agent = new RawModern(served.url, { token: AGENT });
  const exchange = agent.post("tools/call", CALL);
  const { id } = await firstWaiting(served);
  const lines = (): string[] =>
    readFileSync(join(at.folder, "audit", "calls.jsonl"), "utf8")
      .trim()
      .split("\n");
  const log = (): { type: string; decision?: object; digest?: string }[] =>
    lines().map((line) => JSON.parse(line) as { type: string });
  await served.gateway.approvals.decide({ id, approve: true }, "console");
  await until(() => ran(at) === 1);
  const decision = { kind: "approved", by: "console", rule: "gateway.approval[0]", grant: id };
  expect(log().find(({ type }) => type === "decision")).toMatchObject({ decision, caller: "agent" });
  await exchange.answer();
  await until(() => log().some(({ type }) => type === "call"));
  expect(log().find(({ type }) => type === "call")).toMatchObject({ decision, outcome: "ok" });
});

it("an approved call does not run if the decision cannot be written to the audit log", async () => {
  const at = await place();
  const served = await serve(at, [DESTRUCTIVE]);
  const off = served.gateway.calls.add({});
  onTestFinished(off);
  served.gateway.calls.onApproved(async () => {
    throw new Error("the disk is full");
  });
  const exchange = new RawModern(served.url, { token: AGENT }).post("tools/call", CALL);
  const { id } = await firstWaiting(served);
  await served.gateway.approvals.decide({ id, approve: true }, "console");
  expect((await exchange.answer()).error).toBeDefined();
  expect(ran(at)).toBe(0);
});

it("a reload applies changed approval rules without a restart", async () => {
  const at = await place();
  const { command, args } = stdioCommand(`--runs=${at.runs.file}`);
  const servers = { main: { command, args: [...args] } };
  const save = (approval: object[]): void =>
    writeFileSync(
      join(at.folder, "portolan.yaml"),
      JSON.stringify({ servers, gateway: { port: 0, approval } }),
    );
  save([]);
  const gateway = await openGateway(at.folder, { access: at.access, snapshots: false });
  onTestFinished(() => gateway.close());
  const { url } = await gateway.listen();
  gateway.approvals.addWay("console");
  const agent = new RawModern(url, { token: at.access.token });
  expect(isGiven(await agent.ask("tools/call", CALL))).toBe(true);
  save([{ tools: ["main.giv*"], timeout: "300ms" }]);
  await gateway.reload();
  expect(textOf(await agent.ask("tools/call", CALL))).toContain("nobody approved");
  save([]);
  await gateway.reload();
  expect(isGiven(await agent.ask("tools/call", CALL))).toBe(true);
  expect(ran(at)).toBe(2);
});

it("an approval rule with an unknown tool is a warning once the tools are known, until it is corrected", async () => {
  const at = await place();
  const { command, args } = stdioCommand(`--runs=${at.runs.file}`);
  const save = (tool: string): void =>
    writeFileSync(
      join(at.folder, "portolan.yaml"),
      JSON.stringify({
        servers: { main: { command, args: [...args] } },
        gateway: { port: 0, approval: [{ tools: [tool] }] },
      }),
    );
  save("main.giev");
  const reported: string[] = [];
  const gateway = await openGateway(at.folder, {
    ...{ access: { ...at.access, token: AGENT }, snapshots: false },
    onDiagnostic: ({ severity, message, hint }) => reported.push(`${severity}: ${message}. ${hint}`),
  });
  onTestFinished(() => gateway.close());
  const warning = 'gateway.approval[0] names the tool "main.giev", but the server main has no such tool';
  await until(() => gateway.diagnostics.some(({ message }) => message === warning));
  expect(reported).toEqual([`warning: ${warning}. Did you mean "main.give"?`]);
  save("main.give");
  await gateway.reload();
  expect(gateway.diagnostics).toEqual([]);
  expect(reported).toHaveLength(1);
});

it("the program that embeds the gateway can allow calls one by one, and gets a copy of the arguments", async () => {
  const at = await place();
  const requests: ApprovalRequest[] = [];
  const served = await serve(at, [{ ...DESTRUCTIVE, reason: "It changes files" }], {}, (request) => {
    requests.push(structuredClone(request));
    (request.input as Message).result.content[0].text = "changed";
    return "allow";
  });
  const client = new RawModern(served.url, { token: AGENT });
  for (const calls of [1, 2]) {
    expect(isGiven(await client.ask("tools/call", CALL))).toBe(true);
    expect([ran(at), requests.length]).toEqual([calls, calls]);
  }
  const shownInput = JSON.stringify(CALL.arguments);
  expect(requests[0]).toMatchObject({
    ...{ caller: "agent", server: "main", tool: "give", input: CALL.arguments, shownInput },
    ...{ reason: "It changes files", rule: "gateway.approval[0]", expires: expect.any(String) as string },
  });
  expect(served.events.find(({ type }) => type === "gateway.approval_granted")).toMatchObject({
    by: "program",
  });
  expect(await served.gateway.approvals.list()).toEqual([]);
});

it.each<[string, () => ApprovalDecision, string]>([
  ["denies", () => "deny", "the program that runs this gateway denied the call. Do not repeat the call"],
  [
    "denies with a reason",
    () => ({ decision: "deny", reason: "Not on Fridays." }),
    "denied the call. The program gave this reason: Not on Fridays.",
  ],
  [
    "throws",
    () => {
      throw new Error("the database is down");
    },
    "failed to decide about the call",
  ],
  ["returns something else", () => true as never, "failed to decide about the call"],
  ["does not decide, and nobody else can", () => undefined, "did not decide, and nobody else can approve"],
])("a call does not run if the approve() function of a program %s", async (_what, decide, text) => {
  const at = await place();
  const served = await serve(at, [DESTRUCTIVE], {}, async () => decide());
  const answer = await new RawModern(served.url, { token: AGENT }).ask("tools/call", CALL);
  expect([answer.result.isError, textOf(answer)]).toEqual([true, expect.stringContaining(text)]);
  expect([ran(at), await served.gateway.approvals.list()]).toEqual([0, []]);
});

it("approve() of a program is called only if the rule allows it, and its failure is reported", async () => {
  const at = await place();
  let asked = 0;
  const served = await serve(at, [{ ...DESTRUCTIVE, by: ["console"] }], {}, () => {
    asked += 1;
    throw new Error("the database is down");
  });
  const client = new RawModern(served.url, { token: AGENT });
  expect(textOf(await client.ask("tools/call", CALL))).toContain("needs approval by console, but");
  expect([asked, ran(at)]).toEqual([0, 0]);
  const other = await serve(await place(), [{ ...DESTRUCTIVE, by: ["program"] }], {}, () => {
    throw new Error("the database is down");
  });
  await new RawModern(other.url, { token: AGENT }).ask("tools/call", CALL);
  const failed =
    "the approve() function of the program failed, so the call was refused: the database is down";
  expect(other.gateway.diagnostics.map(({ message }) => message)).toContain(failed);
});

it("if approve() does not decide, a person does, and this decision aborts the signal of approve()", async () => {
  const at = await place();
  const signals: AbortSignal[] = [];
  const served = await serve(at, [DESTRUCTIVE], {}, (_request, { signal }) =>
    signals.push(signal) === 1 ? undefined : new Promise<undefined>(() => {}),
  );
  served.gateway.approvals.addWay("console");
  const client = new RawModern(served.url, { token: AGENT });
  for (const count of [1, 2]) {
    const exchange = client.post("tools/call", CALL);
    const { id } = await firstWaiting(served);
    await served.gateway.approvals.decide({ id, approve: true }, "console");
    expect(isGiven(await exchange.answer())).toBe(true);
    expect(signals).toHaveLength(count);
    expect(signals.at(-1)?.aborted).toBe(true);
  }
});
