// Options of the library in plain JavaScript: misspelt names and wrong types are errors, with the name that was meant.

import { expect, it, onTestFinished } from "vitest";
import { openAccess, openGateway } from "../../src/gateway.ts";
import { connectMcp, createBridge, openWorkspace } from "../../src/index.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { failure } from "../helpers/connect.ts";

const SERVER = { ...stdioCommand("--era=modern"), sandbox: "off" } as const;
const FIELDS = { servers: { demo: SERVER } };

const open = (options: object) => openWorkspace(FIELDS, options);
const gateway = (options: object) => openGateway(FIELDS, options);
const bridge = async (options: object) => createBridge(FIELDS, options);
const access = (options: object) => openAccess(".", options);
const healthCheck = async (options: object) => {
  const workspace = await openWorkspace({ servers: {} }, { snapshots: false });
  onTestFinished(() => workspace.close());
  return workspace.healthCheck(options);
};
const connect = (config: object) => connectMcp(config as Parameters<typeof connectMcp>[0]);

it("an exception of handlers.roots rejects with a PortolanError", async () => {
  const thrown = new Error("no folder is open");
  const handlers = { roots: () => Promise.reject(thrown) };
  for (const opened of [open({ handlers }), connect({ transport: "stdio", ...SERVER, handlers })]) {
    const error = await failure(opened);
    expect(error).toMatchObject({ code: "CALLBACK_FAILED", cause: thrown });
    expect(error.message).toContain('"handlers.roots" of your program failed: no folder is open');
  }
});

it.each([
  ["openWorkspace", open, { waitMS: 1 }, 'unknown key "waitMS"', 'Did you mean "waitMs"?'],
  [
    "openWorkspace",
    open,
    { waitMs: "30s" },
    'waitMs must be a number of milliseconds, at least 0, not "30s"',
  ],
  ["openWorkspace", open, { only: "demo" }, 'only must be a list of strings, not "demo"'],
  [
    "openWorkspace",
    open,
    { leaveOut: ["demo"] },
    "leaveOut must be a function, not a list",
    "leaveOut: ({ alias }) =>",
  ],
  ["openWorkspace", open, { sandbox: { demo: "of" } }, "sandbox.demo must be one of"],
  [
    "openWorkspace",
    open,
    { handlers: { elicitation: () => {} } },
    'unknown key "elicitation" in handlers',
    'Did you mean "elicit"?',
  ],
  ["createBridge", bridge, { onevents: () => {} }, 'unknown key "onevents"', 'Did you mean "onEvent"?'],
  [
    "openGateway",
    gateway,
    { settings: { auth: "none", allowedHost: ["a"] } },
    'unknown key "allowedHost" in settings',
    'Did you mean "allowedHosts"?',
  ],
  [
    "openGateway",
    gateway,
    { settings: { callers: [{ name: "a", token: "b", alow: { tools: ["x"] } }] } },
    'unknown key "alow" in settings.callers[0]',
    'Did you mean "allow"?',
  ],
  [
    "openGateway",
    gateway,
    { settings: (configured: object) => ({ ...configured, auth: "none", orgins: [] }) },
    'unknown key "orgins"',
  ],
  ["openGateway", gateway, { handlers: {} }, 'unknown key "handlers"'],
  ["openGateway", gateway, { token: "t" }, 'unknown key "token"', 'Did you mean "access"?'],
  ["connectMcp", connect, { cmd: "node" }, 'unknown key "cmd"', 'Did you mean "command"?'],
  ["connectMcp", connect, { ...SERVER, timeout: 5 }, 'unknown key "timeout"', 'Did you mean "limits"?'],
  [
    "connectMcp",
    connect,
    { transport: "stdio", comand: "node" },
    'unknown key "comand"',
    'Did you mean "command"?',
  ],
  ["connectMcp", connect, { transport: "stdio", ...SERVER, watch: "no" }, "watch must be true or false"],
  [
    "connectMcp",
    connect,
    { transport: "http", url: "http://127.0.0.1:1/mcp", auth: { client_id: "a", scopes: "b" } },
    'unknown key "client_id" in auth; auth.scopes must be a list of strings, not "b"',
    'Did you mean "clientId"',
  ],
  ["openAccess", access, { renewed: true }, 'unknown key "renewed"', 'Did you mean "renew"?'],
  ["healthCheck", healthCheck, { server: ["demo"] }, 'unknown key "server"', 'Did you mean "servers"?'],
  ["healthCheck", healthCheck, { servers: "demo" }, 'servers must be a list of strings, not "demo"'],
] as const)("%s refuses wrong options: %#", async (_name, call, options, message, hint?) => {
  const error = await failure(call(options));
  expect(error.code).toBe("CONFIG_INVALID");
  expect(error.message).toContain(message);
  expect(error.hint).toContain(hint ?? "");
});

it("an auth provider of the program may have additional members", async () => {
  const auth = { headers: async () => ({}), refused: async () => false, anything: 1 };
  const config = { transport: "http", url: "http://127.0.0.1:1/mcp", auth };
  expect((await failure(connect(config))).code).not.toBe("CONFIG_INVALID");
});

it("an unknown alias in `only` is an error that names the known ones", async () => {
  const error = await failure(openWorkspace(FIELDS, { only: ["one"] }));
  expect(error).toMatchObject({ code: "SERVER_UNKNOWN", message: 'There is no server "one".' });
  expect(error.hint).toContain("demo");
});

it("requests check their options; execute() accepts the other fields of frameworks", async () => {
  const workspace = await openWorkspace(FIELDS, { snapshots: false, onDiagnostic: () => {} });
  onTestFinished(() => workspace.close());
  const call = (options: object, name = "demo.echo") => workspace.callTool(name, { text: "x" }, options);
  for (const [options, message] of [
    [{ timeoutms: 5 }, 'unknown key "timeoutms"'],
    [{ timeoutMs: "5s" }, 'timeoutMs must be a number of milliseconds, at least 0, not "5s"'],
    [{ timeoutMs: -1 }, "timeoutMs must be a number of milliseconds, at least 0, not -1"],
    [{ signal: new AbortController() }, "signal must be an AbortSignal, not an object"],
  ] as const)
    for (const name of ["demo.echo", "not_known"]) {
      const error = await failure(call(options, name));
      expect([error.code, error.message]).toEqual(["CONFIG_INVALID", expect.stringContaining(message)]);
    }
  expect((await call({ timeoutMs: 60_000, signal: undefined })).text).toBe("x");
  const wrong: object = { timeoutMs: "5s" };
  expect((await failure(workspace.readResource("demo://x", wrong))).code).toBe("CONFIG_INVALID");

  const tool = (await workspace.tools()).find(({ name }) => name.endsWith("_echo"));
  const ofFramework: object = { toolCallId: "1", messages: [], abortSignal: undefined, signal: null };
  expect(await tool?.execute({ text: "x" }, ofFramework)).toBe("x");
  // The context belongs to the framework, so Portolan does not check it.
  expect(await tool?.execute({ text: "x" }, { timeoutMs: "own", meta: 1 }, { toolCall: {} } as object)).toBe(
    "x",
  );
  await expect(tool?.execute({ text: "x" }, wrong)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  const controller: object = { abortSignal: new AbortController() };
  await expect(tool?.execute({ text: "x" }, controller)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
});

it("an unknown event is an error", async () => {
  const workspace = await openWorkspace(FIELDS, { snapshots: false });
  onTestFinished(() => workspace.close());
  const mcp = await connectMcp(SERVER);
  onTestFinished(() => mcp.close());
  for (const one of [workspace, mcp] as const) {
    const listen = () => one.on("toolChanged" as "toolsChanged", () => {});
    expect(listen).toThrow(
      expect.objectContaining({
        code: "INPUT_INVALID",
        message: 'There is no event "toolChanged".',
        hint: expect.stringContaining('"toolsChanged"') as string,
      }),
    );
  }
});
