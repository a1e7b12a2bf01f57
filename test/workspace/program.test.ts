// Servers that a program passes itself: fields of portolan.yaml, secrets by a function, warnings, and the steps of a bridge.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createBridge, isPortolanError, openWorkspace } from "../../src/index.ts";
import type { Bridge, Diagnostic, WorkspaceFields, WorkspaceOptions } from "../../src/index.ts";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { pidsWithEnv, stdioCommand } from "../fixtures/processes.mjs";
import { failure, started } from "../helpers/connect.ts";
import { declare, guard, stdio, temporary } from "../helpers/workspace.ts";

const QUIET: WorkspaceOptions = { snapshots: false, onDiagnostic: () => {} };
const SERVER = { ...stdioCommand("--era=modern"), sandbox: "off" } as const;
const problem = (thrown: unknown): string =>
  isPortolanError(thrown) ? `${thrown.code} ${thrown.message}` : "";

async function openFields(fields: WorkspaceFields, options: WorkspaceOptions = QUIET) {
  const workspace = await openWorkspace(fields, options);
  onTestFinished(() => workspace.close());
  return workspace;
}

function warningsOf(options: WorkspaceOptions): WorkspaceOptions & { readonly found: Diagnostic[] } {
  const found: Diagnostic[] = [];
  const onDiagnostic = (one: Diagnostic): void => {
    if (one.severity !== "info") found.push(one);
  };
  return { ...options, snapshots: false, onDiagnostic, found };
}

function bridgeOf(...[source, options = QUIET]: Parameters<typeof createBridge>): Bridge {
  const bridge = createBridge(source, options);
  onTestFinished(() => bridge.stop());
  return bridge;
}

describe("openWorkspace({ servers })", () => {
  it("accepts the fields of portolan.yaml", async () => {
    const workspace = await openFields({
      naming: "{alias}_{tool}",
      defaults: { idle_stop: "5m" },
      servers: { demo: { ...SERVER, tool_allowlist: ["echo", "env*"], timeouts: { request: "10s" } } },
    });
    const tools = await workspace.tools();
    expect(tools.map(({ name }) => name)).toContain("demo_echo");
    expect(tools.every(({ name }) => /^demo_(?:echo|env)/.test(name))).toBe(true);
    const echo = tools.find(({ name }) => name === "demo_echo");
    const input: unknown = { text: "hello" };
    expect(await echo?.execute(input)).toContain("hello");
    await expect(echo?.execute("hello")).rejects.toMatchObject({ code: "INPUT_INVALID" });
    // The abort signal arrives as the AI SDK, LangChain and OpenAI Agents pass it.
    const signal = AbortSignal.abort();
    const message = "demo: the call of demo_echo was cancelled";
    const data = { neverRan: true };
    const cancelled = { code: "CANCELLED", message, server: "demo", tool: "demo_echo", data };
    await expect(echo?.execute(input, { abortSignal: signal })).rejects.toMatchObject(cancelled);
    await expect(echo?.execute(input, { signal })).rejects.toMatchObject(cancelled);
    await expect(echo?.execute(input, { usage: 1 }, { signal })).rejects.toMatchObject(cancelled);
  });

  it("a JSON text as input is refused, and the error names the function that parses it", async () => {
    const workspace = await openFields({ servers: { demo: SERVER } });
    const echo = (await workspace.tools()).find(({ name }) => name === "mcp_demo_echo");
    await expect(echo?.execute('{"text":"a"}')).rejects.toMatchObject({
      ...{ code: "INPUT_INVALID", server: "demo", tool: "mcp_demo_echo" },
      message: "The arguments of mcp_demo_echo are not valid: they are a JSON text, not an object",
      hint: "Parse the text first: JSON.parse(text).",
    });
    await expect(echo?.execute([1])).rejects.toThrow("they are an array, not an object");
    await expect(echo?.execute("hello")).rejects.toThrow("they are a text, not an object");
    await expect(workspace.callTool(7 as unknown as string)).rejects.toMatchObject({ code: "INPUT_INVALID" });
  });

  it("errors name the server of the tool", async () => {
    const workspace = await openFields({ servers: { one: SERVER, two: SERVER } });
    const tools = await workspace.tools();
    const run = (name: string, input: object) => tools.find((tool) => tool.name === name)?.execute(input);
    await expect(run("mcp_two_echo", {})).rejects.toMatchObject({ code: "INPUT_INVALID", server: "two" });
    await expect(run("mcp_one_fail", {})).rejects.toMatchObject({ code: "TOOL_FAILED", server: "one" });
    await expect(workspace.callTool("two.echo", {})).rejects.toMatchObject({ server: "two" });
    const unknown = { code: "TOOL_NOT_FOUND", server: undefined };
    await expect(workspace.callTool("mcp_two_ecco")).rejects.toMatchObject(unknown);
  });

  it("waits for a server that starts much later than the others", async () => {
    const slow = { ...stdioCommand("--era=modern", "--fault=slow-start:2500"), sandbox: "off" } as const;
    const { found, ...options } = warningsOf({});
    const workspace = await openFields({ servers: { fast: SERVER, slow } }, options);
    expect((await workspace.tools()).map(({ name }) => name)).toContain("mcp_slow_echo");
    expect(found.filter(({ message }) => message.includes("still starting"))).toEqual([]);
  });

  it("lists warn once about servers that are still starting, and name settled()", async () => {
    const slow = { ...stdioCommand("--era=modern", "--fault=slow-start:2500"), sandbox: "off" } as const;
    const { found, ...options } = warningsOf({ waitMs: 0 });
    const workspace = await openFields({ servers: { slow } }, options);
    expect(await workspace.tools()).toEqual([]);
    expect(await workspace.toolDefinitions()).toEqual([]);
    expect(await workspace.prompts()).toEqual([]);
    expect(found).toMatchObject([
      {
        ...{ code: "SERVER_UNAVAILABLE", severity: "warning" },
        message: "slow is still starting. Its tools are missing from the list.",
        hint: expect.stringContaining("await workspace.settled()") as string,
      },
      { message: "slow is still starting. Its prompts are missing from the list." },
    ]);
    await workspace.settled();
    expect((await workspace.tools()).map(({ name }) => name)).toContain("mcp_slow_echo");
    expect(found).toHaveLength(2);
  });

  it("reports all errors at once, in the same words as for config files", async () => {
    const wrong = {
      servers: { "a b": { url: "ftp://x" }, demo: { comand: "node", env: { A: () => 1 } } },
      sources: ["x.yaml"],
    };
    const thrown: unknown = await openWorkspace(wrong as unknown as WorkspaceFields, QUIET).catch(
      (e: unknown) => e,
    );
    expect(problem(thrown)).toMatch(/^CONFIG_INVALID the configuration is not valid: /);
    const { diagnostics } = (thrown as { data: { diagnostics: Diagnostic[] } }).data;
    const messages = diagnostics.map(({ message }) => message).join("\n");
    for (const part of [
      'alias "a b"',
      "url must begin with",
      'unknown key "comand"',
      "a function is not allowed",
      "the source x.yaml does not exist",
    ])
      expect(messages).toContain(part);
    expect(diagnostics.some(({ path }) => path === "/servers/demo/comand")).toBe(true);
    expect(diagnostics.every(({ line, file }) => line === undefined && file === undefined)).toBe(true);
  });

  it("reads the config files in sources, and reports their errors with the file", async () => {
    const folder = temporary();
    const tool = (command: string): string =>
      `kind: MCPToolDefinitions\nschemaVersion: "0.2.0"\nname: mine\nversion: "1.0.0"\ntools:\n  - name: hello\n    description: Says hello.\n    inputSchema: {type: object}\n    invocation: {cli: {${command}}}\n`;
    writeFileSync(join(folder, "own.mcpfile.yaml"), tool("command: echo hello"));
    const config = { folder, sources: "*.mcpfile.yaml", servers: { demo: SERVER } };
    const workspace = await openFields(config);
    const names = (await workspace.tools()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["mcp_demo_echo", "mcp_mine_hello"]));
    writeFileSync(join(folder, "own.mcpfile.yaml"), tool("commandd: echo hello"));
    await expect(openWorkspace(config, QUIET)).rejects.toThrow(/own\.mcpfile\.yaml:\d+: .*commandd/);
    const contracts = { ...config, contracts: {} } as WorkspaceFields;
    await expect(openWorkspace(contracts, QUIET)).rejects.toThrow("contracts works only in a config file");
  });

  it.each([[null], [7], [{ servers: [{}] }], [{ folder: 1 }]])("refuses %j", async (value) => {
    const thrown: unknown = await openWorkspace(value as unknown as WorkspaceFields, QUIET).catch(
      (e: unknown) => e,
    );
    expect(problem(thrown)).toContain("CONFIG_INVALID");
  });

  it("refuses a config that contains itself", async () => {
    const env: Record<string, unknown> = {};
    env["A"] = env;
    const config = { servers: { demo: { ...SERVER, env } } } as unknown as WorkspaceFields;
    await expect(openWorkspace(config, QUIET)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });
});

it("the hints about a server of a program name no file and no command", async () => {
  const workspace = await openFields({ servers: { demo: { ...SERVER, enabled: false } } });
  const error = await failure(workspace.callTool("demo.echo", {}));
  expect(error.hint).toBe(
    "Your program disables this server. If the server has enabled: false, remove it. If the configuration has enabled_servers, add demo to this list.",
  );
  const folder = temporary();
  writeFileSync(join(folder, ".env"), "A=1\n");
  const other = await openFields({
    folder,
    servers: { demo: { ...SERVER, env: { A: "${PORTOLAN_NONE}" } } },
  });
  const missing = await failure(other.callTool("demo.echo", {}));
  expect(missing.hint).toContain(`Portolan has not read ${join(folder, ".env")}`);
  expect(missing.hint).toContain("envFile: true");
  expect(missing.hint).not.toContain("--env-file");
});

it("a folder without servers is a warning that names the files that Portolan reads", async () => {
  const { found, ...options } = warningsOf({});
  const folder = temporary();
  const workspace = await openWorkspace(folder, options);
  onTestFinished(() => workspace.close());
  expect(found).toMatchObject([{ severity: "warning", message: `There are no servers in ${folder}.` }]);
  expect(found[0]?.hint).toMatch(/portolan\.yaml.*\.mcp\.json/);
  const error = await failure(openWorkspace(join(folder, "nope"), options));
  expect(error.message).toBe(`${join(folder, "nope")}: there is no such folder or file`);
});

it("the error of a command with arguments in one string explains `args`", async () => {
  const workspace = await openFields({
    servers: { demo: { command: "node server.mjs --x", sandbox: "off" } },
  });
  const error = await failure(workspace.callTool("demo.echo", {}));
  expect(error.hint).toContain(
    'put server.mjs --x into args, as in command: "node", args: ["server.mjs", "--x"]',
  );
});

it("the error of an unknown tool names the server of its prefix", async () => {
  const workspace = await openFields({ servers: { demo: SERVER, other: { ...SERVER, env: { B: "1" } } } });
  const error = await failure(workspace.callTool("demo.ehco", {}));
  expect(error).toMatchObject({ code: "TOOL_NOT_FOUND", server: "demo" });
});

it.each(["legacy", "modern"])("exceptions in functions of the program are diagnostics (%s)", async (era) => {
  const broken = (name: string) => (): never => {
    throw new Error(`no ${name}`);
  };
  const found: Diagnostic[] = [];
  const workspace = await openFields(
    { servers: { demo: { ...stdioCommand(`--era=${era}`), sandbox: "off" } } },
    {
      snapshots: false,
      onDiagnostic: (diagnostic) => void found.push(diagnostic),
      onEvent: broken("onEvent"),
      handlers: { elicit: broken("elicit") },
    },
  );
  workspace.events.on(broken("events.on"));
  await workspace.callTool("demo.ask_form", {});
  const options = { onProgress: broken("onProgress") };
  expect(await workspace.callTool("demo.slow", { ms: 300, every: 5 }, options)).toBeDefined();
  const messages = found.filter(({ code }) => code === "CALLBACK_FAILED").map(({ message }) => message);
  expect(messages.toSorted()).toEqual([
    'The function "events.on" of your program failed: no events.on',
    'The function "handlers.elicit" of your program failed: no elicit',
    'The function "onEvent" of your program failed: no onEvent',
    'The function "onProgress" of your program failed: no onProgress',
  ]);
});

describe("secrets", () => {
  it("come only from the secrets function of the program", async () => {
    vi.stubEnv("PORTOLAN_TEST_OTHER", "of the environment");
    onTestFinished(() => void vi.unstubAllEnvs());
    const asked: string[] = [];
    const workspace = await openFields(
      {
        servers: {
          good: { ...SERVER, env: { GIVEN: "${A_SECRET}", HOME_OF: "${HOME}" } },
          bad: { ...SERVER, env: { GIVEN: "${PORTOLAN_TEST_OTHER}" } },
          worse: { ...SERVER, env: { GIVEN: "${A_SECRET}", OTHER: "${BROKEN}" } },
        },
      },
      {
        ...QUIET,
        secrets: async (name) => {
          asked.push(name);
          if (name === "BROKEN") throw new Error("the vault is sealed with s3cret-value");
          return name === "A_SECRET" ? "s3cret-value" : undefined;
        },
      },
    );
    await workspace.settled();
    expect(asked).toEqual(expect.arrayContaining(["A_SECRET", "PORTOLAN_TEST_OTHER", "BROKEN"]));
    const states = Object.fromEntries(workspace.health().map(({ alias, state }) => [alias, state]));
    expect(states).toMatchObject({ good: "ready" });
    const failures = workspace.diagnostics.filter(({ server }) => server === "bad" || server === "worse");
    expect(failures.map(({ message }) => message).join("\n")).toMatch(/PORTOLAN_TEST_OTHER/);
    expect(JSON.stringify(failures)).toContain(
      "return a value for PORTOLAN_TEST_OTHER from the secrets function",
    );
    expect(JSON.stringify(failures)).toContain("that your program passed to Portolan failed for BROKEN");
    expect(JSON.stringify(failures)).not.toContain("sealed");
    const thrown = await failure(workspace.callTool("worse.echo", { text: "x" }));
    expect(thrown.cause).toMatchObject({ message: expect.stringContaining("the vault is sealed with") });
    expect(String(thrown.cause)).not.toContain("s3cret-value");
  });

  it("are named in the error of a call while the function does not return, and close() does not wait", async () => {
    const never = new Promise<undefined>(() => {});
    const workspace = await openFields(
      { servers: { demo: { ...SERVER, env: { GIVEN: "${NEVER_GIVEN}", HOME_OF: "${HOME}" } } } },
      { ...QUIET, waitMs: 1, secrets: (name) => (name === "NEVER_GIVEN" ? never : undefined) },
    );
    const thrown = await failure(workspace.callTool("demo.echo", { text: "x" }, { timeoutMs: 10 }));
    expect(thrown).toMatchObject({ code: "TIMEOUT", data: { neverRan: true } });
    expect(thrown.message).toContain("has not answered yet for NEVER_GIVEN");
    await workspace.close();
  });
});

it("a server that cannot be used is a warning of Node, unless the program receives diagnostics", async () => {
  const warnings: Error[] = [];
  const listen = (warning: Error): void => void warnings.push(warning);
  process.on("warning", listen);
  onTestFinished(() => void process.off("warning", listen));
  const servers = { gone: { command: "portolan-no-such-program", sandbox: "off" } } as const;
  const loud = await openFields({ servers }, { snapshots: false });
  await loud.settled();
  await expect.poll(() => warnings.map(({ message }) => message).join()).toMatch(/gone cannot be used now/);
  const before = warnings.length;
  const quiet = await openFields({ servers });
  await quiet.settled();
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toHaveLength(before);
});

describe("createBridge", () => {
  it("supports initialize, start, getTools, healthCheck and stop of an extension", async () => {
    const servers = [
      { alias: "demo", transport: "stdio", ...SERVER, env: { ALIAS: "bridge-steps" } },
      { alias: "gone", transport: "stdio", command: "portolan-no-such-program", sandbox: "off" },
      { alias: "secret", transport: "stdio", ...SERVER, env: { T: "${PORTOLAN_TEST_MISSING}" } },
    ] as const;
    const diagnostics: Diagnostic[] = [];
    const bridge = bridgeOf(
      {
        config: { servers, tool_allowlist: ["echo"] },
        depends_on: ["memory"],
        entrypoint: "main:Other",
        setup_instructions: "Get a token\nat example.com.",
      },
      { snapshots: false, onDiagnostic: (diagnostic) => diagnostics.push(diagnostic) },
    );
    await bridge.initialize();
    expect(bridge.getTools()).toEqual([]);
    expect(await bridge.healthCheck()).toBe(false);
    expect(pidsWithEnv("ALIAS", "bridge-steps")).toEqual([]);
    await Promise.all([bridge.start(), bridge.start()]);
    expect(bridge.getTools().map(({ name }) => name)).toEqual(["mcp_demo_echo"]);
    // Servers that never started do not make the bridge unhealthy; a connected server that fails does.
    expect(await bridge.healthCheck()).toBe(true);
    const text = JSON.stringify(diagnostics);
    expect(text).toContain("Portolan ignores depends_on");
    expect(text).toContain("does not load the entrypoint");
    expect(diagnostics.find(({ code }) => code === "SECRET_MISSING")?.hint).toContain(
      "Get a token at example.com.",
    );
    expect(await bridge.getTools()[0]?.execute({ text: "over the bridge" })).toContain("over the bridge");
    await bridge.stop();
    expect(bridge.getTools()).toEqual([]);
    await expect.poll(() => pidsWithEnv("ALIAS", "bridge-steps")).toEqual([]);
    await bridge.start();
    expect(bridge.getTools()).toHaveLength(1);
  });

  it("rejects an invalid manifest in initialize()", async () => {
    const wrong = { config: { servers: [{ transport: "pigeon" }], tool_allowlist: { other: ["x"] } } };
    const bridge = bridgeOf(wrong as unknown as Parameters<typeof createBridge>[0]);
    const thrown: unknown = await bridge.initialize().catch((error: unknown) => error);
    expect(problem(thrown)).toMatch(/CONFIG_INVALID .*alias is missing.*there is no server "other"/s);
    await expect(bridge.start()).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    await bridge.stop();
  });

  it("can be stopped while it starts", async () => {
    const config = { servers: [stdio("late", ["--era=modern"], { env: { ALIAS: "bridge-late" } })] };
    const bridge = bridgeOf({ config } as unknown as Parameters<typeof createBridge>[0]);
    const starting = bridge.start().catch(() => {});
    await bridge.stop();
    await starting;
    expect(bridge.workspace).toBeUndefined();
    await expect.poll(() => pidsWithEnv("ALIAS", "bridge-late")).toEqual([]);
  });

  it("reads the .env file beside the manifest only after consent", async () => {
    const folder = declare([
      stdio("demo", ["--era=modern"], { sandbox: "off", env: { T: "${PORTOLAN_TEST_DOTENV}" } }),
    ]);
    writeFileSync(join(folder, ".env"), "PORTOLAN_TEST_DOTENV=of-the-file\n", { mode: 0o600 });
    const manifest = join(folder, "manifest.yaml");
    const diagnostics: Diagnostic[] = [];
    const onDiagnostic = (diagnostic: Diagnostic): void => void diagnostics.push(diagnostic);
    const without = bridgeOf(manifest, { snapshots: false, onDiagnostic });
    await without.start();
    expect(without.getTools()).toEqual([]);
    expect(diagnostics.map(({ hint }) => hint).join()).toContain(`--env-file ${join(folder, ".env")}`);
    await without.stop();
    const allowed = bridgeOf(manifest, { ...QUIET, envFile: true });
    await allowed.start();
    expect(allowed.getTools().length).toBeGreaterThan(0);
    const none = bridgeOf(declare([stdio("demo")], {}, temporary()), { ...QUIET, envFile: true });
    await none.start();
    expect(none.getTools().length).toBeGreaterThan(0);
  });
});

describe("two servers with one command", () => {
  it("share a process, unless one has shared: false", async () => {
    const workspace = await openFields({
      servers: { one: SERVER, two: SERVER, apart: { ...SERVER, shared: false } },
    });
    const pidOf = async (alias: string): Promise<number> =>
      (JSON.parse((await workspace.callTool(`${alias}.stats`)).text) as { pid: number }).pid;
    const [one, two, apart] = await Promise.all(["one", "two", "apart"].map(pidOf));
    expect(two).toBe(one);
    expect(apart).not.toBe(one);
  });
});

describe("two servers with one resource", () => {
  it("can be read from each of them, and the error says how", async () => {
    const workspace = await openFields({ servers: { one: SERVER, two: SERVER } });
    const uri = "test://static-text";
    const error = await failure(workspace.readResource(uri));
    expect(error).toMatchObject({ code: "NAME_AMBIGUOUS", data: { uri, servers: ["one", "two"] } });
    expect(error.message).toContain("one and two");
    expect(error.hint).toContain('readResource(uri, { server: "one" })');
    const { contents } = await workspace.readResource(uri, { server: "two", timeoutMs: 60_000 });
    expect(contents).toMatchObject([{ uri, text: expect.any(String) as string }]);
    await expect(workspace.readResource(uri, { server: "tow" })).rejects.toMatchObject({
      ...{ code: "SERVER_UNKNOWN", hint: 'Did you mean "two"?' },
    });
    const misspelt: object = { sever: "two" };
    await expect(workspace.readResource(uri, misspelt)).rejects.toMatchObject({
      ...{ code: "CONFIG_INVALID", hint: 'Did you mean "server"?' },
    });
  });
});

describe("two servers with one URL", () => {
  it("share a session, and errors name the server that was called, with its command", async () => {
    const behind = await started(startHttpServer({ era: "modern" }));
    const { url } = await guard(behind, "the-token");
    const { found, ...options } = warningsOf({});
    const workspace = await openFields({ servers: { one: { url }, two: { url } } }, options);
    for (const alias of ["one", "two"]) {
      const error = await failure(workspace.callTool(`${alias}.echo`, { text: "x" }));
      const hint = expect.stringMatching(/^Set auth or headers of the server in your program; .*\.md\.$/);
      expect(error).toMatchObject({ code: "AUTH_REQUIRED", message: `${alias} requires a login`, hint });
      expect(error).toMatchObject({ server: alias, data: { login: { server: alias } } });
      const health = workspace.health().find((one) => one.alias === alias);
      expect(health?.error).toMatchObject({
        ...{ code: "AUTH_REQUIRED", message: `${alias} requires a login`, hint },
      });
    }
    const reasons = found.map(({ server, message }) => `${server}: ${message}`);
    expect(reasons).toEqual(
      expect.arrayContaining([expect.stringMatching(/^two: two .*two requires a login/)]),
    );
    expect(reasons.filter((text) => text.startsWith("two:") && text.includes("one"))).toEqual([]);
  });

  it("name the server that was called when the open session fails", async () => {
    const { url, close } = await startHttpServer({ era: "modern" });
    const workspace = await openFields({ servers: { one: { url }, two: { url } } });
    expect((await workspace.callTool("two.echo", { text: "x" })).text).toBe("x");
    await close();
    for (const alias of ["one", "two"]) {
      const error = await failure(workspace.callTool(`${alias}.echo`, { text: "x" }));
      expect([error.server, error.message]).toEqual([alias, expect.stringContaining(alias)]);
      expect(error.message).not.toContain(alias === "one" ? "two" : "one");
    }
  });
});

it("a tool of a closed workspace, and of a stopped bridge, names its server", async () => {
  const workspace = await openFields({ servers: { demo: SERVER } });
  const tool = (await workspace.tools()).find(({ name }) => name.endsWith("_echo"));
  await workspace.close();
  const bridge = bridgeOf({ servers: { demo: SERVER } });
  await bridge.start();
  const other = bridge.getTools().find(({ name }) => name.endsWith("_echo"));
  await bridge.stop();
  for (const one of [tool, other])
    expect(await failure(Promise.resolve(one?.execute({ text: "x" })))).toMatchObject({
      ...{ code: "CONNECTION_CLOSED", server: "demo", tool: one?.name, data: { neverRan: true } },
      message: `${one?.name} of demo was not called: this workspace was closed`,
      hint: expect.stringContaining("stopped the bridge") as string,
    });
  // The input is not valid, so the list is read again.
  expect(await failure(Promise.resolve(tool?.execute({})))).toMatchObject({
    ...{ code: "CONNECTION_CLOSED", server: "demo", tool: tool?.name },
  });
  expect(await failure(workspace.readResource("test:one"))).toMatchObject({
    message: "resources/read was not called: this workspace was closed",
    server: undefined,
  });
});

it("a missing secret of an mcpfile names its place in the file", async () => {
  const folder = temporary();
  const http = { method: "GET", url: "https://a.example/${PATH_PART}", headers: { "X-Key": "${KEY}" } };
  const cli = { command: "echo ${WORD} ${KEY}", env: { A: "${VALUE}" } };
  const tool = (name: string, invocation: object): object => ({
    ...{ name, description: "D.", inputSchema: { type: "object", properties: {} }, invocation },
  });
  const tools = [tool("get", { http }), tool("run", { cli })];
  const file = { kind: "MCPToolDefinitions", schemaVersion: "0.2.0", name: "mine", version: "1.0.0", tools };
  writeFileSync(join(folder, "mcpfile.yaml"), JSON.stringify(file));
  await using workspace = await openWorkspace(folder, {
    ...{ secrets: () => undefined, snapshots: false, watchFiles: false, onDiagnostic: () => {} },
  });
  expect(workspace.health()[0]?.error).toMatchObject({
    code: "SECRET_MISSING",
    message:
      "Secrets are missing: PATH_PART (for url of tool get); KEY (for headers.X-Key of tool get (and 1 more place)); WORD (for command of tool run); VALUE (for env.A of tool run).",
  });
});
