// Rules of a gateway for contracts: access by tags, approvals per call, and logins in code.

import { expect, onTestFinished, test } from "vitest";
import { type OpenedGateway, openGateway } from "../../src/gateway/index.ts";
import type { McpHandlers } from "../../src/client/index.ts";
import { openWorkspace, type Workspace } from "../../src/hub/index.ts";
import type { ApprovalRule, GatewayCaller } from "../../src/model/index.ts";
import { until } from "../helpers/connect.ts";
import { driverWorkspace, type DriverParts, type DriverWorkspace } from "../helpers/driver-workspaces.ts";
import { type Message, RawModern, textOf } from "../helpers/raw-clients.ts";
import { TOKEN } from "../helpers/raw-gateways.ts";

const ANN = "token-of-ann-0123456789";
const BOB = "token-of-bob-0123456789";

async function serve(
  workspace: DriverWorkspace,
  rules: Pick<GatewayCaller, "allow" | "deny"> = {},
  more: object = {},
): Promise<{ readonly ann: RawModern; readonly bob: RawModern }> {
  const gateway = await openGateway(workspace.folder, {
    access: { token: TOKEN, key: Buffer.alloc(32, 7) },
    settings: {
      port: 0,
      callers: [
        { name: "ann", token: ANN, ...rules },
        { name: "bob", token: BOB },
      ],
    },
    snapshots: false,
    ...more,
  });
  onTestFinished(() => gateway.close());
  const { url } = await gateway.listen();
  return { ann: new RawModern(url, { token: ANN }), bob: new RawModern(url, { token: BOB }) };
}

const contract = (id: string, more: string): string => `name: ${id}
id: ${id}
description: D.
version: 1.0.0
idempotent: true
inputs: { type: object, properties: { path: { type: string } } }
outputs: { type: object }
${more}`;

/** Two contracts with different tags; the driver of the second has a tag too. */
function tagged(): DriverWorkspace {
  const workspace = driverWorkspace({ contract: contract("who-am-i", "tags: [safe]") });
  workspace.write("tools/wipe/TOOL.md", `---\n${contract("wipe", "tags: [dangerous]")}\n---\n`);
  const other = workspace
    .read(".drivers/who-mcp/DRIVER.md")
    .replaceAll("who-mcp", "wipe-mcp")
    .replace("./tools/who-am-i/TOOL.md", "wipe")
    .replace("kind: mcp\n", "kind: mcp\npolicy_tags: [outside]\n");
  workspace.write(".drivers/wipe-mcp/DRIVER.md", other);
  return workspace;
}

const names = async (client: RawModern): Promise<string[]> =>
  ((await client.call("tools/list")).result.tools as { name: string }[]).map(({ name }) => name);

test.each([
  [{ deny: { tags: ["dangerous"] } }, ["who-am-i"]],
  [{ deny: { tags: ["outside"] } }, ["who-am-i"]],
  [{ allow: { tags: ["safe"] } }, ["who-am-i"]],
  [{ allow: { tags: ["outside"] } }, ["wipe"]],
  [{ allow: { tags: ["safe", "dangerous"] }, deny: { tags: ["safe"] } }, ["wipe"]],
  [{ allow: { tags: ["nothing"] } }, []],
])("the rules %j apply to the tags of each contract", async (rules, seen) => {
  const { ann, bob } = await serve(tagged(), rules);
  expect(await names(bob)).toEqual(["who-am-i", "wipe"]);
  expect(await names(ann)).toEqual(seen);
  for (const name of ["who-am-i", "wipe"]) {
    const { error } = await ann.tool(name);
    expect(error === undefined).toBe(seen.includes(name));
  }
});

test("a call cannot carry its own approval, and the request for approval shows the arguments and effects", async () => {
  const parts: DriverParts = {
    contract: contract("who-am-i", 'approval: always\nmutates: ["workspace:files"]'),
  };
  const { ann } = await serve(driverWorkspace(parts));
  const params = { name: "who-am-i", arguments: { path: "/tmp/that" } };
  const yes = { action: "accept", content: { allow: true } };
  const guesses = ["approve-who-am-i", "approve-who-am-i_3", "approve-", "approve-undefined"];
  const first: Message = await ann.ask("tools/call", {
    ...params,
    inputResponses: Object.fromEntries(guesses.map((key) => [key, yes])),
  });
  expect(first.result).toMatchObject({ resultType: "input_required" });
  const [[key, question] = ["", undefined]] = Object.entries<{ params: { message: string } }>(
    first.result.inputRequests,
  );
  expect(key).toMatch(/^approve-who-am-i-[\da-f-]{36}$/);
  expect(question?.params.message).toContain('{"path":"/tmp/that"}');
  expect(question?.params.message).toContain("workspace:files");
  const { requestState } = first.result;
  // The approval of one call does not count for another.
  const other = await ann.ask("tools/call", { ...params, inputResponses: { [key]: yes } });
  expect(other.result).toMatchObject({ resultType: "input_required" });
  const done = await ann.ask("tools/call", { ...params, inputResponses: { [key]: yes }, requestState });
  expect(textOf(done).pid).toBeGreaterThan(0);
});

const ASKS: DriverParts = {
  contract: contract("who-am-i", 'approval: always\nmutates: ["workspace:files"]'),
};
const CALL = { name: "who-am-i", arguments: { path: "/tmp/that" } };

/** Opens a gateway with a console, and returns it with a client that cannot be asked. */
async function serveWithConsole(
  parts: DriverParts,
  approval: readonly ApprovalRule[] = [],
  more: string = "",
): Promise<{ readonly gateway: OpenedGateway; readonly ann: RawModern }> {
  const workspace = driverWorkspace(parts);
  if (more !== "") workspace.write("portolan.yaml", more);
  const gateway = await openGateway(workspace.folder, {
    access: { token: TOKEN, key: Buffer.alloc(32, 7) },
    settings: { port: 0, callers: [{ name: "ann", token: ANN }], approval },
    snapshots: false,
  });
  onTestFinished(() => gateway.close());
  gateway.approvals.addWay("console");
  const { url } = await gateway.listen();
  return { gateway, ann: new RawModern(url, { token: ANN, capabilities: {} }) };
}

async function firstWaiting({ approvals }: OpenedGateway) {
  await until(async () => (await approvals.list()).length > 0);
  const [first] = await approvals.list();
  if (first === undefined) throw new Error("no call waits");
  return first;
}

test("a contract that requires approval waits in the console of the gateway", async () => {
  const { gateway, ann } = await serveWithConsole(ASKS);
  const first = ann.post("tools/call", CALL);
  const waiting = await firstWaiting(gateway);
  expect(waiting).toMatchObject({
    ...{ caller: "ann", server: "who-mcp", tool: "who-am-i", rule: "contract who-am-i" },
    ...{ reason: "who-am-i requires approval of every call", by: ["console", "terminal", "caller"] },
  });
  await gateway.approvals.decide({ id: waiting.id, approve: true }, "console");
  expect(textOf(await first.answer()).pid).toBeGreaterThan(0);
  const second = ann.post("tools/call", CALL);
  await gateway.approvals.decide({ id: (await firstWaiting(gateway)).id, approve: false }, "console");
  const { result } = await second.answer();
  expect(result.isError).toBe(true);
  expect(JSON.stringify(result)).toContain("a person denied the call in the console");
});

test("an approval rule decides who approves calls of contracts; a call waits once if both require approval", async () => {
  const own = await serveWithConsole(ASKS, [{ contract: true, by: ["terminal"], timeoutMs: 300 }]);
  // This gateway has no terminal.
  expect(JSON.stringify(await own.ann.ask("tools/call", CALL))).toContain("nobody here can approve it");
  const { gateway, ann } = await serveWithConsole(ASKS, [{ tools: ["*.who-am-i"] }]);
  const exchange = ann.post("tools/call", CALL);
  const waiting = await firstWaiting(gateway);
  expect(waiting).toMatchObject({ rule: "gateway.approval[0]", tool: "who-am-i" });
  await gateway.approvals.decide({ id: waiting.id, approve: true }, "console");
  expect(textOf(await exchange.answer()).pid).toBeGreaterThan(0);
});

test("`unattended: allow` runs a call without approval if its client cannot be asked", async () => {
  const { ann } = await serveWithConsole(ASKS, [], "version: 1\ncontracts: { unattended: allow }\n");
  expect(textOf(await ann.ask("tools/call", CALL)).pid).toBeGreaterThan(0);
});

test("with a login in driver code, each caller has its own process and home folder", async () => {
  const workspace = driverWorkspace();
  workspace.write(
    ".drivers/who-mcp/driver.mjs",
    `const refresh = async () => ({ ok: true });
export default { kind: "driver", driver: {}, hooks: { refresh }, given: [] };`,
  );
  const { ann, bob } = await serve(workspace, {}, { driverCode: true });
  const call = async (client: RawModern): Promise<Message> => client.tool("who-am-i");
  const answers = [await call(ann), await call(ann), await call(bob)];
  const [first, again, other] = answers.map(textOf);
  expect(first.pid, JSON.stringify(answers[0])).toBeGreaterThan(0);
  expect(again.pid).toBe(first.pid);
  expect(other.pid).not.toBe(first.pid);
  expect(other.home).not.toBe(first.home);
});

test("without an elicit handler, the error names the handler that approves calls of a contract", async () => {
  const { folder } = driverWorkspace(ASKS);
  const open = (handlers?: McpHandlers): Promise<Workspace> =>
    openWorkspace(folder, { handlers, snapshots: false, watchFiles: false });
  await using without = await open();
  const refused = await without.callTool("who-am-i", CALL.arguments);
  expect(refused.isError).toBe(true);
  expect(refused.text).toContain("Pass handlers.elicit to openWorkspace()");
  const tool = (await without.tools()).find(({ name }) => name === "who-am-i");
  await expect(tool?.execute(CALL.arguments)).rejects.toMatchObject({
    ...{ code: "FORBIDDEN", message: expect.stringContaining("Pass handlers.elicit") as string },
    ...{ server: "contracts", tool: "who-am-i", data: { neverRan: true } },
    hint: "The call was not made; the message gives the reason.",
  });
  const askedBy: (string | undefined)[] = [];
  await using approving = await open({
    elicit: (_request, { server }) => {
      askedBy.push(server);
      return { action: "accept", content: { allow: true } };
    },
  });
  expect((await approving.callTool("who-am-i", CALL.arguments)).isError).not.toBe(true);
  // Only a server's own request names a server.
  expect(askedBy).toEqual([undefined]);
  await using declining = await open({ elicit: () => ({ action: "decline" }) });
  expect((await declining.callTool("who-am-i", CALL.arguments)).text).toContain("was not approved");
});
