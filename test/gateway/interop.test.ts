// Public MCP clients and public servers through the gateway: every client reaches every server, and results arrive unchanged.

import { execFile } from "node:child_process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { FORM_ANSWER, type Front, type Json } from "../fixtures/clients/front.ts";
import { langchain } from "../fixtures/clients/langchain.ts";
import { ownHttp, ownStdio } from "../fixtures/clients/own.ts";
import { newerNode, packageFile } from "../fixtures/clients/packages.ts";
import type { PublicServer } from "../fixtures/clients/public-servers.ts";
import { bare, rawHttp } from "../fixtures/clients/raw.ts";
import { v1Http, v1Sse, v1Stdio, v1WebSocket } from "../fixtures/clients/sdk-v1.ts";
import { v2Http, v2Stdio } from "../fixtures/clients/sdk-v2.ts";
import { headers, offered, sorted, Stage } from "../fixtures/clients/stage.ts";
import { until } from "../helpers/connect.ts";
import { needs, without } from "../helpers/needs.ts";

const stage = new Stage();
const { servers, missing, smallServers } = stage;
const place: Stage["place"] = (path) => stage.place(path);
const directOf: Stage["directOf"] = (server) => stage.directOf(server);
const expectedTools: Stage["expectedTools"] = (list) => stage.expectedTools(list);

beforeAll(() => stage.open(), 90_000);
afterAll(() => stage.close(), 30_000);

describe("public servers through the gateway", () => {
  it("all of them are ready", () => {
    expect(stage.ready().toSorted()).toEqual(servers.map(({ alias }) => alias).toSorted());
  });

  it.each(missing)("%s is installed", without([`${missing.join(", ")} (npm run interop)`]), () => {});

  it.each(["legacy", "modern"] as const)(
    "all tools together are the same as without the gateway, for a %s client",
    async (era) => {
      const raw = await rawHttp(place().url, era, headers);
      expect((await raw.request("tools/list")).tools).toEqual(await expectedTools(servers));
      await raw.close();
    },
  );

  describe.each(servers.map((server) => [server.alias, server] as const))("server %s", (alias, server) => {
    it.each(["legacy", "modern"] as const)(
      "gives a %s client the same tools, results, resources and prompts as without the gateway",
      async (era) => {
        const [raw, direct] = await Promise.all([
          rawHttp(place(`/servers/${alias}/mcp`).url, era, headers),
          directOf(server),
        ]);
        expect((await raw.request("tools/list")).tools).toEqual(direct.tools);
        for (const [at, { tool, args, answer }] of server.calls.entries()) {
          const result = await raw.request("tools/call", { name: tool, arguments: args });
          expect(result).toMatchObject(answer);
          // Tools that exist already are not created again.
          if (tool !== "create_entities") expect(bare(result)).toEqual(bare(direct.answers[at] as Json));
        }
        for (const [method, field, key] of LISTS) {
          const [through, without] = await Promise.all([raw.request(method), direct.raw.request(method)]);
          expect(through[field] ?? [], method).toEqual(sorted(without[field], key));
        }
        const { resources = [] } = await direct.raw.request("resources/list");
        for (const { uri } of (resources as Json[]).slice(0, 2)) {
          const [through, without] = await Promise.all([
            raw.request("resources/read", { uri }),
            direct.raw.request("resources/read", { uri }),
          ]);
          expect(bare(through)).toEqual(bare(without));
        }
        await raw.close();
      },
    );
  });
});

const LISTS = [
  ["resources/list", "resources", "uri"],
  ["resources/templates/list", "resourceTemplates", "uriTemplate"],
  ["prompts/list", "prompts", "name"],
] as const;

const PIN = { pin: "2026-07-28" };

const fronts: [string, "http" | "stdio", Front["era"], (path?: string) => Promise<Front>][] = [
  ["SDK v1 over Streamable HTTP", "http", "legacy", (path) => v1Http(place(path))],
  ["SDK v1 over HTTP+SSE", "http", "legacy", (path) => v1Sse(place(path))],
  ["SDK v1 over WebSocket", "http", "legacy", (path) => v1WebSocket(place(path))],
  ["SDK v1 over stdio", "stdio", "legacy", () => v1Stdio(stage.serveCommand())],
  ["SDK v2, legacy, over HTTP", "http", "legacy", (path) => v2Http(place(path), "legacy")],
  ["SDK v2, pinned, over HTTP", "http", "modern", (path) => v2Http(place(path), PIN)],
  ["SDK v2, auto, over HTTP", "http", "modern", (path) => v2Http(place(path), "auto")],
  ["SDK v2, legacy, over stdio", "stdio", "legacy", () => v2Stdio(stage.serveCommand(), "legacy")],
  ["SDK v2, pinned, over stdio", "stdio", "modern", () => v2Stdio(stage.serveCommand(), PIN)],
  ["SDK v2, auto, over stdio", "stdio", "modern", () => v2Stdio(stage.serveCommand(), "auto")],
  ["connectMcp over HTTP", "http", "modern", (path) => ownHttp(place(path), "http")],
  ["connectMcp over HTTP+SSE", "http", "legacy", (path) => ownHttp(place(path), "sse")],
  ["connectMcp over WebSocket", "http", "modern", (path) => ownHttp(place(path), "websocket")],
  ["connectMcp over stdio", "stdio", "modern", () => ownStdio(stage.serveCommand())],
];

describe.each(fronts)("%s", (_name, way, era, open) => {
  const behind = way === "http" ? servers : smallServers;
  let front: Front;

  beforeAll(async () => {
    front = await open();
  });
  afterAll(() => {
    // A gateway on stdio waits for the end of its servers; the next client need not wait for this.
    stage.closing.push(front?.close());
  });

  it("lists the tools of all servers", async () => {
    expect(front.era).toBe(era);
    const expected = await expectedTools(behind);
    // A gateway that has just started may still receive tool lists.
    await until(async () => (await front.tools()).length >= expected.length);
    const tools = await front.tools();
    expect(tools.map(({ name }) => name)).toEqual(expected.map(({ name }) => name));
    expect(tools.map(({ inputSchema }) => inputSchema)).toEqual(
      expected.map(({ inputSchema }) => inputSchema),
    );
    const app = tools.find(({ name }) => name === "mcp_budget_get-budget-data");
    expect(app?._meta).toMatchObject({ ui: { resourceUri: expect.stringMatching(/^ui:/) as string } });
  });

  it("calls a tool of each server", async () => {
    await Promise.all(
      behind.map(async (server) => {
        const { answers } = await directOf(server);
        for (const [at, { tool, args, answer, unfit }] of server.calls.entries()) {
          const calling = front.call(offered(server.alias, tool), args);
          if ("error" in answer || (unfit && front.checksArguments)) {
            await expect(calling, tool).rejects.toThrow();
            continue;
          }
          const result = await calling;
          expect(result, tool).toMatchObject(answer);
          if (tool !== "create_entities") expect(bare(result)).toEqual(bare(answers[at] as Json));
        }
      }),
    );
  });

  it("reads resources, gets a prompt, completes arguments", async () => {
    // Several servers have this resource.
    await expect(front.read("demo://resource/dynamic/text/7")).rejects.toThrow(/more than one server/);
    const page = (await front.read("ui://budget-allocator/mcp-app.html")) as { contents: Json[] };
    expect(page.contents[0]).toMatchObject({ mimeType: "text/html;profile=mcp-app" });
    const prompt = await front.prompt("mcp_every_args-prompt", { city: "Lisbon", state: "Lisboa" });
    expect(prompt.messages).toEqual([
      { role: "user", content: { type: "text", text: "What's weather in Lisbon, Lisboa?" } },
    ]);
    const ref = { prompt: "mcp_every_completable-prompt" };
    expect(await front.complete(ref, { name: "department", value: "S" })).toEqual(["Sales", "Support"]);
    expect(await front.complete(ref, { name: "name", value: "" }, { department: "Sales" })).toEqual([
      "David",
      "Eve",
      "Frank",
    ]);
  });

  // Over stdio there is one address only.
  it.each(way === "http" ? ["/servers/every/mcp"] : [])(
    "reads a resource that several servers have at %s",
    async (address) => {
      const alone = await open(address);
      onTestFinished(() => alone.close());
      const { contents } = (await alone.read("demo://resource/dynamic/text/7")) as { contents: Json[] };
      expect(contents).toEqual([
        expect.objectContaining({ text: expect.stringContaining("Resource 7:") as string }),
      ]);
      const template = { resource: "demo://resource/dynamic/text/{resourceId}" };
      expect(await alone.complete(template, { name: "resourceId", value: "12" })).toEqual(["12"]);
      const uri = `demo://resource/dynamic/text/${1 + Math.floor(Math.random() * 1_000_000)}`;
      const unsubscribe = await alone.subscribe(uri);
      await startToggled(alone, "toggle-subscriber-updates");
      await until(() => alone.heard.updated.includes(uri));
      await alone.call("toggle-subscriber-updates");
      await unsubscribe();
    },
  );

  it.each(way === "http" ? ["every", "every_http", "every_sse"] : ["every", "every_http"])(
    "answers the server requests of %s",
    async (alias) => {
      const { asked } = front.heard;
      asked.length = 0;
      const form = await front.call(offered(alias, "trigger-elicitation-request"));
      expect(asked).toEqual([
        expect.objectContaining({
          method: "elicitation/create",
          message: "Please provide inputs for the following fields:",
        }),
      ]);
      expect(JSON.stringify(form.content)).toContain("- Name: Ada");
      const sampled = await front.call(offered(alias, "trigger-sampling-request"), { prompt: "a word?" });
      expect(asked[1]).toMatchObject({
        method: "sampling/createMessage",
        systemPrompt: "You are a helpful test server.",
        messages: [{ content: { text: "Resource trigger-sampling-request context: a word?" } }],
      });
      expect(JSON.stringify(sampled.content)).toContain("sampled words");
    },
  );

  it("gets log messages from the requested level on", async () => {
    await front.logFrom("debug");
    front.heard.logs.length = 0;
    await startToggled(front, "mcp_every_toggle-simulated-logging");
    await until(() => front.heard.logs.some(({ data }) => /level.message/.test(String(data))));
    await front.call("mcp_every_toggle-simulated-logging");
  });

  it("is notified when the workspace gets a tool and when it loses one", async () => {
    const isThere = async (): Promise<boolean> =>
      (await front.tools()).some(({ name }) => name === "mcp_extra_echo");
    expect(await isThere()).toBe(false);
    const change = async (extra: boolean): Promise<void> => {
      const before = front.heard.toolsChanged;
      stage.declare(way, { extra });
      await until(() => front.heard.toolsChanged > before);
      await until(async () => (await isThere()) === extra);
    };
    await change(true);
    expect(await front.call("mcp_extra_echo", { message: "new" })).toMatchObject({
      content: [{ text: "Echo: new" }],
    });
    await change(false);
  });

  // The SDK drops progress that it reads together with the response, which happens on a busy computer.
  it("gets progress notifications, and cancels calls", { retry: 2 }, async () => {
    const slow = way === "http" ? ["slow", "every_http", "every_sse"] : ["every", "every_http"];
    await Promise.all(slow.map((alias) => hearsProgressOf(alias)));
  });

  async function hearsProgressOf(alias: string): Promise<void> {
    const name = offered(alias, "trigger-long-running-operation");
    const heard: Json[] = [];
    const onProgress = (progress: Json): void => void heard.push(progress);
    const result = await front.call(name, { duration: 0.2, steps: 4 }, { onProgress });
    expect(JSON.stringify(result.content)).toContain("completed");
    // The SDK drops progress that arrives together with the response, also without a gateway.
    expect(
      heard.map(({ progress, total }) => [progress, total]),
      alias,
    ).toEqual([1, 2, 3, 4].slice(0, Math.max(3, heard.length)).map((step) => [step, 4]));

    const controller = new AbortController();
    const cancelled = front.call(
      name,
      { duration: 4, steps: 40 },
      { signal: controller.signal, onProgress: () => controller.abort() },
    );
    await expect(cancelled, alias).rejects.toThrow();
    expect(await front.call(offered(alias, "echo"), { message: "still here" })).toMatchObject({
      content: [{ text: "Echo: still here" }],
    });
  }
});

/** Calls a tool that toggles a state until the state is on. */
async function startToggled(front: Front, tool: string): Promise<void> {
  const { content } = await front.call(tool);
  if (!JSON.stringify(content).includes("Started")) await front.call(tool);
}

describe("addresses of the gateway", () => {
  it.each([
    ["SDK v1", () => v1Http(place("/servers/files/mcp"))],
    ["SDK v1 over HTTP+SSE", () => v1Sse(place("/servers/files/mcp"))],
    ["SDK v1 over WebSocket", () => v1WebSocket(place("/servers/files/mcp"))],
    ["SDK v2", () => v2Http(place("/servers/files/mcp"), PIN)],
    ["connectMcp", () => ownHttp(place("/servers/files/mcp"), "http")],
  ] as const)("/servers/<alias>/mcp gives one server with its own names to %s", async (_client, open) => {
    const front = await open();
    onTestFinished(() => front.close());
    const server = servers.find(({ alias }) => alias === "files") as PublicServer;
    const { tools } = await directOf(server);
    expect((await front.tools()).map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
    const { tool, args, answer } = server.calls[0] as PublicServer["calls"][number];
    expect(await front.call(tool, args)).toMatchObject(answer);
    await expect(front.call("echo", { message: "not here" })).rejects.toThrow();
  });

  it.each([
    ["SDK v1", () => v1Http(place("/tags/local/mcp"))],
    ["SDK v1 over HTTP+SSE", () => v1Sse(place("/tags/local/mcp"))],
    ["SDK v1 over WebSocket", () => v1WebSocket(place("/tags/local/mcp"))],
    ["SDK v2", () => v2Http(place("/tags/local/mcp"), PIN)],
    ["connectMcp", () => ownHttp(place("/tags/local/mcp"), "http")],
  ] as const)("/tags/<tag>/mcp gives the servers with the tag to %s", async (_client, open) => {
    const front = await open();
    onTestFinished(() => front.close());
    const group = servers.filter(({ tags }) => tags.includes("local"));
    expect(group.map(({ alias }) => alias)).toEqual(["files", "memory"]);
    const expected = await expectedTools(group);
    expect((await front.tools()).map(({ name }) => name)).toEqual(expected.map(({ name }) => name));
    expect(await front.call("mcp_memory_search_nodes", { query: "nobody" })).toMatchObject({
      structuredContent: { entities: [] },
    });
    await expect(front.call("mcp_every_echo", { message: "not here" })).rejects.toThrow();
  });

  it.each([
    ["SDK v1", () => v1Http({ ...place(), headers: {} })],
    ["SDK v1 over HTTP+SSE", () => v1Sse({ ...place(), headers: {} })],
    ["SDK v1 over WebSocket", () => v1WebSocket({ ...place(), headers: {} })],
    ["SDK v2", () => v2Http({ ...place(), headers: {} }, PIN)],
    ["connectMcp", () => ownHttp({ ...place(), headers: {} }, "http")],
  ] as const)("no address accepts %s without the token", async (_client, open) => {
    await expect(open()).rejects.toThrow(/401|token|Unauthorized/i);
  });
});

describe.each(["http", "sse"] as const)(
  "LangChain's adapters over %s",
  needs("@langchain/mcp-adapters"),
  (transport) => {
    it("lists and calls tools, reads resources, gets prompts and notifications", async () => {
      const { client, heard } = await langchain(place(), transport);
      onTestFinished(() => client.close());
      const tools = await client.getTools();
      const expected = await expectedTools(servers);
      expect(tools.map(({ name }) => name)).toEqual(expected.map(({ name }) => name));
      const invoke = (name: string, args: Json, options?: { signal: AbortSignal }): Promise<unknown> => {
        const tool = tools.find((one) => one.name === name);
        return tool === undefined ? Promise.reject(new Error(`no ${name}`)) : tool.invoke(args, options);
      };
      for (const server of servers) {
        const { tool, args, unfit } = server.calls[0] as PublicServer["calls"][number];
        const calling = invoke(offered(server.alias, tool), args);
        if (unfit) await expect(calling).rejects.toThrow();
        else expect(JSON.stringify(await calling)).not.toBe("");
      }
      expect(JSON.stringify(await invoke("mcp_every_echo", { message: "ahoy" }))).toContain("Echo: ahoy");

      const slow = "mcp_slow_trigger-long-running-operation";
      await invoke(slow, { duration: 0.2, steps: 4 });
      // The SDK drops some progress that arrives together with the response, also without a gateway.
      const steps = [1, 2, 3, 4].slice(0, Math.max(1, heard.progress.length));
      expect(heard.progress).toMatchObject(steps.map((progress) => ({ progress, total: 4 })));
      const signal = AbortSignal.timeout(100);
      await expect(invoke(slow, { duration: 4, steps: 40 }, { signal })).rejects.toThrow();

      const { gateway: resources } = await client.listResources("gateway");
      expect(resources?.map(({ uri }) => uri)).toContain("ui://budget-allocator/mcp-app.html");
      expect(await client.readResource("gateway", "ui://budget-allocator/mcp-app.html")).toHaveLength(1);
      const inner = await client.getClient("gateway");
      expect(
        await inner?.getPrompt({ name: "mcp_every_args-prompt", arguments: { city: "Lisbon" } }),
      ).toMatchObject({ messages: [{ content: { text: "What's weather in Lisbon?" } }] });
      const ref = { type: "ref/prompt", name: "mcp_every_completable-prompt" };
      expect(await inner?.complete({ ref, argument: { name: "department", value: "E" } })).toMatchObject({
        completion: { values: ["Engineering"] },
      });

      // The server logs each subscription.
      const alone = await langchain(place("/servers/every/mcp"), transport);
      onTestFinished(() => alone.client.close());
      await alone.client.setLoggingLevel("gateway", "info");
      const other = await alone.client.getClient("gateway");
      await other?.subscribeResource({ uri: `demo://resource/dynamic/text/9${transport.length}` });
      await until(() => alone.heard.logs.some(({ data }) => String(data).startsWith("Received Subscribe")));
      const before = heard.toolsChanged;
      stage.declare("http", { extra: true });
      await until(() => heard.toolsChanged > before);
      stage.declare("http", {});
      await until(() => heard.toolsChanged > before + 1);
    });
  },
);

const node24 = newerNode();

/** Runs a program under the newer Node, and returns the JSON that it prints. */
function run(args: readonly string[]): Promise<Json> {
  return new Promise((resolve, reject) => {
    const env = { PATH: process.env.PATH, HOME: stage.home };
    execFile(node24 as string, args, { env, maxBuffer: 50_000_000 }, (error, out, err) => {
      if (error !== null) reject(new Error(`${error.message}\n${err}`));
      else resolve(JSON.parse(out) as Json);
    });
  });
}

describe.each([
  ["Streamable HTTP", { type: "http", discovery: true }, "2026-07-28"],
  ["Streamable HTTP without discovery", { type: "http", discovery: false }, "2025-11-25"],
  ["HTTP+SSE", { type: "sse", discovery: false }, "2025-11-25"],
] as const)(
  "the AI SDK over %s",
  needs("@ai-sdk/mcp", "Node.js 24"),
  (_way, { type, discovery }, revision) => {
    it("lists, calls, answers a server request, reads, completes, cancels", async () => {
      const program = fileURLToPath(new URL("../fixtures/clients/ai-sdk.mjs", import.meta.url));
      const plan = {
        url: place(type === "http" ? "/mcp" : "/sse").url,
        type,
        discovery,
        headers,
        call: {
          name: "mcp_every_echo",
          args: { message: "ahoy" },
          asking: "mcp_every_trigger-elicitation-request",
        },
        form: FORM_ANSWER,
        resource: "ui://budget-allocator/mcp-app.html",
        prompt: { name: "mcp_every_args-prompt", arguments: { city: "Lisbon" } },
        completion: {
          ref: { type: "ref/prompt", name: "mcp_every_completable-prompt" },
          argument: { name: "department", value: "M" },
        },
        slow: "mcp_slow_trigger-long-running-operation",
      };
      const file = pathToFileURL(packageFile("@ai-sdk/mcp", "import")).href;
      const report = await run([program, file, JSON.stringify(plan)]);
      const expected = await expectedTools(servers);
      expect(report.tools).toEqual(expected.map(({ name }) => name));
      const app = (report.definitions as Json[]).find(({ name }) => name === "mcp_budget_get-budget-data");
      expect(app?._meta).toMatchObject({ ui: { resourceUri: plan.resource } });
      expect(report).toMatchObject({
        revision,
        called: { content: [{ type: "text", text: "Echo: ahoy" }] },
        asked: [{ message: "Please provide inputs for the following fields:" }],
        resource: { contents: [{ uri: plan.resource, mimeType: "text/html;profile=mcp-app" }] },
        prompt: { messages: [{ content: { text: "What's weather in Lisbon?" } }] },
        completion: { completion: { values: ["Marketing"] } },
      });
      expect(JSON.stringify(report.asking)).toContain("- Name: Ada");
      expect(report.cancelled).toMatch(/abort/i);
    });
  },
);

describe.each([
  ["legacy", "/mcp"],
  ["modern", "/mcp"],
  ["legacy", "/sse"],
] as const)(
  "the Inspector, %s, at %s",
  needs("@modelcontextprotocol/inspector", "Node.js 24"),
  (era, path) => {
    const inspect = (...args: string[]): Promise<Json> =>
      run([
        packageFile("@modelcontextprotocol/inspector", "bin"),
        "--cli",
        place(path).url,
        "--header",
        `Authorization: ${headers.authorization}`,
        "--protocol-era",
        era,
        "--method",
        ...args,
      ]);

    it("lists, calls, reads, gets a prompt", async () => {
      const [listed, called, read, prompt] = await Promise.all([
        inspect("tools/list"),
        inspect("tools/call", "--tool-name", "mcp_every_echo", "--tool-arg", "message=ahoy"),
        inspect("resources/read", "--uri", "ui://budget-allocator/mcp-app.html"),
        inspect("prompts/get", "--prompt-name", "mcp_every_args-prompt", "--prompt-args", "city=Lisbon"),
      ]);
      const expected = await expectedTools(servers);
      expect((listed.tools as Json[]).map(({ name }) => name)).toEqual(expected.map(({ name }) => name));
      expect(called).toMatchObject({ content: [{ type: "text", text: "Echo: ahoy" }] });
      expect(read).toMatchObject({ contents: [{ mimeType: "text/html;profile=mcp-app" }] });
      expect(prompt).toMatchObject({ messages: [{ content: { text: "What's weather in Lisbon?" } }] });
    });
  },
);
