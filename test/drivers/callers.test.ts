// Several users of one gateway and a driver with secrets: each has a process with their own secrets.

import { expect, onTestFinished, test, vi } from "vitest";
import { type OpenedGateway, openGateway } from "../../src/gateway/index.ts";
import type { HubEvent } from "../../src/hub/index.ts";
import { driverWorkspace, type DriverParts } from "../helpers/driver-workspaces.ts";
import { type Message, RawLegacy, RawModern, textOf } from "../helpers/raw-clients.ts";
import { TOKEN } from "../helpers/raw-gateways.ts";

const ANN = "token-of-ann-0123456789";
const BOB = "token-of-bob-0123456789";
const EVE = "token-of-eve-0123456789";
const TOOL = "who-am-i";

interface Served {
  readonly gateway: OpenedGateway;
  readonly events: HubEvent[];
  call(token: string, meta?: object): Promise<Message>;
}

async function serve(parts: DriverParts): Promise<Served> {
  const events: HubEvent[] = [];
  const gateway = await openGateway(driverWorkspace(parts).folder, {
    access: { token: TOKEN, key: Buffer.alloc(32, 7) },
    settings: {
      port: 0,
      callers: [
        { name: "ann", token: ANN },
        { name: "bob", token: BOB },
        { name: "eve", token: EVE },
      ],
    },
    snapshots: false,
    onEvent: (event) => events.push(event),
  });
  onTestFinished(() => gateway.close());
  const { url } = await gateway.listen();
  const call = (token: string, meta: object = {}): Promise<Message> =>
    new RawModern(url, { token }).call("tools/call", { name: TOOL, arguments: {}, _meta: meta });
  return { gateway, events, call };
}

const secrets = (bind: string): string =>
  `secrets: [{ slug: api-key, name: Key, description: A key., access: { bind: ${bind} } }]`;
const of = (events: readonly HubEvent[], type: string): HubEvent[] =>
  events.filter((event) => event.type === type);

test("only the callers in the grants of a secret get it, and each has its own process", async () => {
  vi.stubEnv("PORTOLAN_SECRET_API_KEY", "the value of the key");
  onTestFinished(() => void vi.unstubAllEnvs());
  const { call, events } = await serve({
    env: { API_KEY: "${secrets.API_KEY}" },
    secrets: secrets("[{ userId: ann }, { userId: bob }, { userId: local }]"),
  });
  const [ann, again, bob, local] = [await call(ANN), await call(ANN), await call(BOB), await call(TOKEN)].map(
    textOf,
  );
  expect(ann.key).toBe("[redacted]");
  expect(again.pid).toBe(ann.pid);
  expect(new Set([ann.pid, bob.pid, local.pid]).size).toBe(3);

  const refused = await call(EVE);
  expect(refused.result).toMatchObject({ isError: true });
  expect(JSON.stringify(refused)).toContain("is not granted");
  // A caller cannot choose another identity.
  const claims = { "portolan/context": { userId: "ann" }, "portolan/userId": "ann", userId: "ann" };
  expect((await call(EVE, claims)).result).toMatchObject({ isError: true });

  expect(of(events, "secret.reveal")).toEqual(
    ["local", "ann", "bob"].map((user) =>
      expect.objectContaining({
        slug: "api-key",
        operation: "bind",
        driver: "who-mcp",
        user,
        granted_by: `userId:${user}`,
      }),
    ),
  );
  expect(of(events, "secret.reveal.denied")[0]).toMatchObject({
    slug: "api-key",
    driver: "who-mcp",
    user: "eve",
  });
  expect(JSON.stringify(events)).not.toContain("the value of the key");
});

test("a secret granted to a tool is for all its callers, each with its own process", async () => {
  vi.stubEnv("PORTOLAN_SECRET_API_KEY", "another value of the key");
  onTestFinished(() => void vi.unstubAllEnvs());
  const { call, events } = await serve({
    env: { API_KEY: "${secrets.API_KEY}" },
    secrets: secrets("[{ tool: who-am-i }]"),
  });
  const [ann, bob] = await Promise.all([call(ANN), call(BOB)]);
  expect(textOf(ann).pid).not.toBe(textOf(bob).pid);
  const users = of(events, "secret.reveal").map((event) => "user" in event && event.user);
  expect(users).toEqual(expect.arrayContaining(["ann", "bob"]));
});

test("a reload restarts the servers of a driver only if its secret changed", async () => {
  vi.stubEnv("PORTOLAN_SECRET_API_KEY", "12345678");
  onTestFinished(() => void vi.unstubAllEnvs());
  const { call, gateway } = await serve({
    env: { API_KEY: "${secrets.API_KEY}" },
    secrets: secrets("[{ tool: who-am-i }]"),
  });
  const before = textOf(await call(ANN));
  expect(before.keyLength).toBe(8);
  expect(await gateway.reload()).toMatchObject({ restarted: [], problems: [] });
  expect(textOf(await call(ANN))).toEqual(before);

  vi.stubEnv("PORTOLAN_SECRET_API_KEY", "123456789012");
  expect(await gateway.reload()).toMatchObject({ restarted: ["contracts"], problems: [] });
  for (const token of [ANN, BOB]) expect(textOf(await call(token)).keyLength).toBe(12);

  // A driver keeps its secret in use if the secret has no value any more.
  vi.stubEnv("PORTOLAN_SECRET_API_KEY", undefined);
  const { restarted, problems, serverProblems } = await gateway.reload();
  expect(restarted).toEqual([]);
  expect(problems).toEqual([]);
  expect(serverProblems).toEqual([expect.stringContaining("contracts keeps its earlier secrets")]);
  expect(textOf(await call(ANN)).keyLength).toBe(12);
});

test("without secrets or a login, all callers share one process", async () => {
  const { call } = await serve({});
  const [ann, local] = [textOf(await call(ANN)), textOf(await call(TOKEN))];
  expect(ann.pid).toBe(local.pid);
});

test("each caller of a driver with a login has its own login state", async () => {
  const { call, gateway } = await serve({
    driver: `auth:
  state: { paths: ["~/.whoami/"] }
  login: { cmd: whoami-login, interactive: true }`,
  });
  const refused = await call(ANN);
  expect(refused.result).toMatchObject({ isError: true });
  expect(JSON.stringify(refused)).toContain("portolan login who-mcp --user ann");
  const contracts = (await gateway.workspace.hub.contracts()) as never as {
    status(context: object): readonly { auth: string }[];
  };
  expect(contracts.status({ userId: "ann" })[0]?.auth).toBe("unauthed");
  expect(contracts.status({ userId: "bob" })[0]?.auth).toBe("unknown");
});

test("the context of a contract comes from _meta, and is refused if it does not match contextSchema", async () => {
  const { call } = await serve({
    contract: `name: Who
id: who-am-i
description: Tells who it is.
version: 1.0.0
inputs: { type: object, properties: {} }
outputs: { type: object }
metadata: { contextSchema: { type: object, required: [tenant], properties: { tenant: { type: string } }, additionalProperties: false } }`,
  });
  expect((await call(ANN, { "portolan/context": { tenant: "t1" } })).result.isError).not.toBe(true);
  for (const meta of [{}, { "portolan/context": "t1" }, { "portolan/context": { tenant: 1 } }])
    expect(JSON.stringify(await call(ANN, meta))).toContain("context");
});

test("a legacy client without a grant for the secret is refused too", async () => {
  const events: HubEvent[] = [];
  const gateway = await openGateway(
    driverWorkspace({ env: { API_KEY: "${secrets.API_KEY}" }, secrets: secrets("[{ userId: ann }]") }).folder,
    {
      access: { token: TOKEN, key: Buffer.alloc(32, 7) },
      settings: { port: 0, callers: [{ name: "bob", token: BOB }] },
      snapshots: false,
      onEvent: (event) => events.push(event),
    },
  );
  onTestFinished(() => gateway.close());
  const { url } = await gateway.listen();
  const bob = await RawLegacy.open(url, { token: BOB });
  expect((await bob.tool(TOOL)).result).toMatchObject({ isError: true });
  expect(of(events, "secret.reveal.denied").at(-1)).toMatchObject({ user: "bob" });
});
