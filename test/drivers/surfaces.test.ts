// Prompts and resources of drivers through a gateway, with real servers of both eras: completion, notifications, and access rules.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openGateway } from "../../src/gateway/index.ts";
import type { GatewayCaller } from "../../src/model/index.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { type Exchange, type Loose, RawLegacy, RawModern } from "../helpers/raw-clients.ts";
import { TOKEN } from "../helpers/raw-gateways.ts";

type Era = "legacy" | "modern";
type Client = RawLegacy | RawModern;

const ANN = "token-of-ann-0123456789";
const UPDATED = "notifications/resources/updated";

interface Place {
  readonly folder: string;
  /** A driver of the fixture server, and the contract `<id>.touch` that only it serves. */
  driver(id: string, lines: string, more?: { era?: Era; version?: string }): void;
  serve(rules?: Pick<GatewayCaller, "allow" | "deny">): Promise<{ url: string; ann: RawModern }>;
}

function place(): Place {
  const folder = mkdtempSync(join(tmpdir(), "portolan-surfaces-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  write("portolan.yaml", "version: 1\n");
  for (const name of ["travel", "trip", "other"])
    write(`skills/${name}/SKILL.md`, `---\nname: ${name}\ndescription: D.\n---\n`);
  return {
    folder,
    driver: (id, lines, { era = "legacy", version = "1.0.0" } = {}) => {
      for (const tool of ["touch_resource", "crash"])
        write(
          `tools/${id}-${tool}/TOOL.md`,
          `---
name: ${tool}
id: ${id}.${tool === "crash" ? "crash" : "touch"}
description: D.
version: 1.0.0
inputs: { type: object, properties: { uri: { type: string } } }
outputs: { type: string }
---
`,
        );
      const { command, args } = stdioCommand(`--era=${era}`, `--version=${version}`);
      write(
        `.drivers/${id}-mcp/DRIVER.md`,
        `---
name: ${id}
id: ${id}-mcp
description: D.
version: ${version}
kind: mcp
server: ${JSON.stringify({ kind: "binary", path: command, args })}
transport: stdio
implements:
  - { tool: ${id}.touch, version: "^1.0.0", metadata: { mcp: { tool_name: touch_resource } } }
  - { tool: ${id}.crash, version: "^1.0.0", schema_narrowing: { drop_inputs: [uri] }, metadata: { mcp: { tool_name: crash } } }
${lines}
---
`,
      );
    },
    serve: async (rules = {}) => {
      const gateway = await openGateway(folder, {
        access: { token: TOKEN, key: Buffer.alloc(32, 7) },
        settings: { port: 0, callers: [{ name: "ann", token: ANN, ...rules }] },
        snapshots: false,
      });
      onTestFinished(() => gateway.close());
      const { url } = await gateway.listen();
      return { url, ann: new RawModern(url, { token: ANN }) };
    },
  };
}

const SURFACES = `prompts:
  - { name: simple, integrate_as: raw }
  - { name: with_args, integrate_as: skill_block, skill_ref: ./skills/travel/SKILL.md }
resources:
  - { uri_template: "test://static-text", integrate_as: raw }
  - { uri_template: "test://static-{what}", integrate_as: ref_kind, ref_kind_id: mcp_fixture }
  - { uri_template: "test://template/{id}/data", integrate_as: ref_kind, ref_kind_id: mcp_numbered }`;

const clientOf = (era: Era, url: string): Promise<Client> =>
  era === "modern"
    ? Promise.resolve(new RawModern(url, { token: TOKEN }))
    : RawLegacy.open(url, { token: TOKEN });

/** The open stream on which a client gets these notifications. */
async function hear(client: Client, uris: readonly string[]): Promise<Exchange> {
  if (client instanceof RawLegacy) {
    for (const uri of uris) expect((await client.call("resources/subscribe", { uri })).result).toEqual({});
    return client.listen();
  }
  const stream = client.post("subscriptions/listen", { notifications: { resourceSubscriptions: uris } });
  const { params } = await stream.find(({ method }) => method?.endsWith("/acknowledged") === true);
  expect(params.notifications.resourceSubscriptions).toEqual(uris);
  return stream;
}

const ERAS: { front: Era; back: Era }[] = [
  { front: "modern", back: "modern" },
  { front: "modern", back: "legacy" },
  { front: "legacy", back: "modern" },
  { front: "legacy", back: "legacy" },
];

describe.each(ERAS)("a $front client and a driver of a $back server", ({ front, back }) => {
  test("complete arguments of prompts and variables of templates", async () => {
    const { driver, serve } = place();
    driver("one", SURFACES, { era: back });
    const client = await clientOf(front, (await serve()).url);
    const complete = async (ref: object, name: string, value: string): Promise<Loose> =>
      client.call("completion/complete", { ref, argument: { name, value } });
    const block = { type: "ref/prompt", name: "travel/with_args" };
    expect((await complete(block, "city", "Pa")).result.completion.values).toEqual(["Paris", "Parma"]);
    const template = { type: "ref/resource", uri: "mcp_numbered:test://template/{id}/data" };
    expect((await complete(template, "id", "1")).result.completion.values).toContain("1");
    // The server refuses values that it does not know.
    expect((await complete({ type: "ref/prompt", name: "simple" }, "x", "")).error.message).toContain(
      "Nothing to complete",
    );
    expect((await complete({ type: "ref/prompt", name: "other" }, "x", "")).error).toBeDefined();
  });

  test("report changed resources, also after a restart of the server", async () => {
    const { driver, serve } = place();
    driver("one", SURFACES, { era: back });
    const { url } = await serve();
    const client = await clientOf(front, url);
    const worker = new RawModern(url, { token: TOKEN });
    const uris = ["test://static-text", "mcp_fixture:test://static-binary"];
    const stream = await hear(client, uris);
    const heard = (): string[] => stream.notices(UPDATED).map(({ uri }) => uri as string);
    const touch = (uri: string): Promise<Loose> => worker.tool("one_touch", { uri });
    await touch("test://static-binary");
    await vi.waitFor(() => expect(heard()).toEqual([uris[1]]));
    await touch("test://static-text");
    await vi.waitFor(() => expect(heard()).toEqual([uris[1], uris[0]]));
    await worker.tool("one_crash");
    await vi.waitFor(
      async () => {
        await touch("test://static-text");
        expect(heard().filter((uri) => uri === uris[0]).length).toBeGreaterThan(1);
      },
      { interval: 300 },
    );
  });
});

test("a subscription continues with the new version of a driver", async () => {
  const { driver, serve } = place();
  driver("one", SURFACES);
  const { url } = await serve();
  const worker = new RawModern(url, { token: TOKEN });
  const uri = "mcp_fixture:test://static-text";
  const stream = await hear(worker, [uri]);
  driver("one", SURFACES.replace("/travel/", "/trip/"), { version: "1.1.0", era: "modern" });
  await vi.waitFor(async () => {
    const { result } = await worker.call("prompts/list");
    expect(JSON.stringify(result.prompts)).toContain("trip/with_args");
  });
  expect(stream.notices(UPDATED)).toEqual([]);
  await vi.waitFor(
    async () => {
      await worker.tool("one_touch", { uri: "test://static-text" });
      expect(stream.notices(UPDATED).length).toBeGreaterThan(0);
    },
    { interval: 200 },
  );
  expect(new Set(stream.notices(UPDATED).map((params) => params.uri as string))).toEqual(new Set([uri]));
});

test("a server without keepalive keeps running while a client is subscribed", async () => {
  const { driver, serve } = place();
  driver("one", `${SURFACES}\nconnection_options: { keepalive: false }`);
  const { url } = await serve();
  const client = await RawLegacy.open(url, { token: TOKEN });
  const stream = await hear(client, ["test://static-text"]);
  for (let touched = 1; touched <= 3; touched += 1) {
    await client.tool("one_touch", { uri: "test://static-text" });
    await vi.waitFor(() => expect(stream.notices(UPDATED)).toHaveLength(touched));
  }
  expect((await client.call("resources/unsubscribe", { uri: "test://static-text" })).result).toEqual({});
  await client.tool("one_touch", { uri: "test://static-text" });
  expect(stream.notices(UPDATED)).toHaveLength(3);
});

describe("access rules", () => {
  const other = SURFACES.replaceAll("mcp_fixture", "mcp_other")
    .replaceAll("mcp_numbered", "mcp_counted")
    .replace("  - { name: simple, integrate_as: raw }\n", "")
    .replace("./skills/travel", "./skills/other")
    .replace("test://static-text", "test://static-binary");
  const names = async (client: RawModern): Promise<unknown> => {
    const [prompts, resources, templates] = await Promise.all([
      client.call("prompts/list"),
      client.call("resources/list"),
      client.call("resources/templates/list"),
    ]);
    return [
      prompts.result.prompts.map(({ name }: Loose) => name as string),
      resources.result.resources.map(({ uri }: Loose) => uri as string),
      templates.result.resourceTemplates.map(({ name }: Loose) => name as string),
    ];
  };

  test.each([
    { deny: { tags: ["outside"] } },
    { allow: { tags: ["inside"] } },
    { deny: { tools: ["two_*"] } },
  ])("%j hide the prompts, resources and templates of the driver", async (rules) => {
    const { driver, serve } = place();
    driver("one", `${SURFACES}\npolicy_tags: [inside]`);
    driver("two", `${other}\npolicy_tags: [outside]`);
    const { url, ann } = await serve(rules);
    const all = new RawModern(url, { token: TOKEN });
    expect(await names(all)).toEqual([
      ["other/with_args", "simple", "travel/with_args"],
      ["test://static-binary", "test://static-text"],
      ["mcp_counted", "mcp_fixture", "mcp_numbered", "mcp_other"],
    ]);
    expect(await names(ann)).toEqual([
      ["simple", "travel/with_args"],
      ["test://static-text"],
      ["mcp_fixture", "mcp_numbered"],
    ]);
    const uri = "mcp_other:test://static-text";
    for (const [method, params] of [
      ["prompts/get", { name: "other/with_args", arguments: { city: "Rome" } }],
      ["resources/read", { uri }],
      ["resources/read", { uri: "mcp_other:test%3A//static-text" }],
      ["resources/read", { uri: "test://static-binary" }],
      ["completion/complete", { ref: { type: "ref/prompt", name: "other/with_args" }, argument: ARGUMENT }],
      [
        "completion/complete",
        {
          ref: { type: "ref/resource", uri: "mcp_counted:test://template/{id}/data" },
          argument: { name: "id", value: "" },
        },
      ],
    ] as const) {
      expect((await all.call(method, params)).error?.message ?? "", method).not.toMatch(
        /has no (?:prompt|resource)|no server (?:has|lists)/i,
      );
      expect((await ann.call(method, params)).error?.message, method).toMatch(
        /has no (?:prompt|resource)|no server (?:has|lists)/i,
      );
    }
    expect((await ann.call("resources/read", { uri: "mcp_fixture:test://static-text" })).error).toBe(
      undefined,
    );
    const stream = ann.post("subscriptions/listen", {
      notifications: { resourceSubscriptions: [uri, "mcp_fixture:test://static-text"] },
    });
    const { params } = await stream.find(({ method }) => method?.endsWith("/acknowledged") === true);
    expect(params.notifications.resourceSubscriptions).toEqual(["mcp_fixture:test://static-text"]);
  });

  test("a name that a hidden driver also offers is not served by the hidden driver", async () => {
    const { driver, serve } = place();
    const twin = `prompts: [{ name: simple, integrate_as: raw }]
resources: [{ uri_template: "test://static-{what}", integrate_as: raw }]`;
    driver("one", `${twin}\nregion: [eu-west-1]`);
    driver("two", `${twin}\nregion: [us-east-1]\npolicy_tags: [outside]`);
    const { url, ann } = await serve({ deny: { tags: ["outside"] } });
    const all = new RawModern(url, { token: TOKEN });
    const _meta = { "portolan/regionConstraint": "us-east-1" };
    for (const [method, params] of [
      ["prompts/get", { name: "simple", _meta }],
      ["resources/read", { uri: "test://static-text", _meta }],
    ] as const) {
      expect((await all.call(method, params)).error).toBe(undefined);
      expect((await ann.call(method, params)).error?.message).toMatch(
        /has no (?:prompt|resource)|no server (?:has|lists)/i,
      );
    }
  });

  test("region and pin of a request apply to prompts, resources and completions too", async () => {
    const { driver, serve } = place();
    driver("one", `${SURFACES}\nregion: [eu-west-1]`);
    const { url } = await serve();
    const client = new RawModern(url, { token: TOKEN });
    const asks = [
      ["prompts/get", { name: "simple" }],
      ["resources/read", { uri: "mcp_fixture:test://static-text" }],
      ["completion/complete", { ref: { type: "ref/prompt", name: "travel/with_args" }, argument: ARGUMENT }],
    ] as const;
    for (const [method, params] of asks) {
      const ask = async (meta: object): Promise<Loose> =>
        (await client.call(method, { ...params, _meta: meta })).error?.message;
      expect(await ask({ "portolan/regionConstraint": "eu-west-1" })).toBe(undefined);
      expect(await ask({ "portolan/pinnedProvider": "one-mcp" })).toBe(undefined);
      expect(await ask({ "portolan/regionConstraint": "us-east-1" })).toContain(
        "the driver is in the region eu-west-1, not in us-east-1",
      );
      expect(await ask({ "portolan/pinnedProvider": "two-mcp" })).toContain("pinned to two-mcp");
    }
  });

  test("deny_tags of the workspace apply to prompts and resources too", async () => {
    const { driver, serve, folder } = place();
    driver("one", `${SURFACES}\npolicy_tags: [beta]`);
    writeFileSync(join(folder, "portolan.yaml"), "version: 1\ncontracts: { deny_tags: [beta] }\n");
    const { url } = await serve();
    const client = new RawModern(url, { token: TOKEN });
    expect(await names(client)).toEqual([[], [], []]);
    expect(
      (await client.call("resources/read", { uri: "mcp_fixture:test://static-text" })).error,
    ).toMatchObject({ message: expect.stringContaining("the policy denies drivers tagged beta") as string });
  });
});

const ARGUMENT = { name: "city", value: "P" };
