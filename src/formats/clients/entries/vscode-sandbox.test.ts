// Reading and writing the sandbox settings of VS Code.

import { expect, test } from "vitest";
import type { ServerConfig, SandboxConfig } from "../../../model/index.ts";
import { renderFor, mergeInto, parseClientFile } from "../index.ts";

const FILE = "/repo/.vscode/mcp.json";
const PLACE = { home: "/home/me", cwd: "/repo", platform: "linux" } as const;

function read(entry: object) {
  const found = parseClientFile(
    JSON.stringify({ servers: { a: { type: "stdio", command: "x", ...entry } } }),
    FILE,
    "vscode",
    PLACE,
  );
  return { launch: found?.servers[0]?.launch, messages: found?.diagnostics.map(({ message }) => message) };
}

test("reads the example of the documentation of VS Code", () => {
  expect(
    read({
      sandboxEnabled: true,
      sandbox: {
        filesystem: { allowWrite: ["${workspaceFolder}"], denyRead: ["${userHome}/.ssh"] },
        network: { allowedDomains: ["api.example.com", "*.cdn.example.com"] },
      },
    }),
  ).toEqual({
    launch: {
      sandbox: {
        mode: "enforce",
        network: ["api.example.com", "*.cdn.example.com"],
        fs: { write: ["/repo"], deny: ["/home/me/.ssh"] },
      },
    },
    messages: [],
  });
});

test("reads no sandbox if sandboxEnabled is not true", () => {
  expect(read({ sandbox: { network: { allowedDomains: ["a.com"] } } }).launch).toBeUndefined();
  expect(read({ sandboxEnabled: false }).launch).toBeUndefined();
  expect(read({ sandboxEnabled: true }).launch).toEqual({ sandbox: { mode: "enforce" } });
});

test("removes allowed hosts that deniedDomains may contain, and reports values that are not valid", () => {
  expect(
    read({
      sandboxEnabled: true,
      sandbox: { network: { allowedDomains: ["a.com", "*.a.com", "b.com"], deniedDomains: ["b.com"] } },
    }),
  ).toEqual({
    launch: { sandbox: { mode: "enforce", network: ["a.com"] } },
    messages: ["*.a.com is left out, because deniedDomains may contain a subdomain of it"],
  });
  expect(read({ sandboxEnabled: true, sandbox: { network: { allowedDomains: ["a b"] } } }).messages).toEqual([
    '"a b" is not a host, so Portolan leaves it out',
  ]);
  expect(read({ sandboxEnabled: "yes" }).launch).toBeUndefined();
  expect(read({ sandboxEnabled: true, sandbox: { network: { allowedDomains: "a.com" } } }).messages).toEqual([
    "sandbox.network.allowedDomains is a text",
  ]);
});

test.each([
  [["api.a.com", "b.com"], ["*.a.com"], ["b.com"]],
  [["a.com"], ["*.a.com"], ["a.com"]],
  [["B.com", "c.com"], ["b.com"], ["c.com"]],
  [["b.com", "c.com"], ["B.COM."], ["c.com"]],
  [["b.com:8443", "c.com"], ["b.com"], ["c.com"]],
  [["b.com", "c.com"], ["b.com:443"], ["c.com"]],
  [["[0:0::1]", "c.com"], ["::1"], ["c.com"]],
  [["a.com", "localhost", "127.0.0.1"], ["*"], undefined],
])("removes from the allowed hosts %j the denied hosts %j", (allowedDomains, deniedDomains, network) => {
  const { launch, messages } = read({
    sandboxEnabled: true,
    sandbox: { network: { allowedDomains, deniedDomains } },
  });
  expect(launch?.sandbox?.network).toEqual(network);
  expect(messages).toEqual([]);
});

test("allows no host if a denied value is not a host", () => {
  expect(
    read({
      sandboxEnabled: true,
      sandbox: { network: { allowedDomains: ["a.com"], deniedDomains: ["https://b.com/"] } },
    }),
  ).toEqual({
    launch: { sandbox: { mode: "enforce" } },
    messages: [
      '"https://b.com/" is not a host, so Portolan cannot deny it and leaves out all allowedDomains',
    ],
  });
});

test("reports a field in the wrong place", () => {
  expect(read({ sandboxEnabled: true, sandbox: { denyRead: ["/a"], network: {} } })).toEqual({
    launch: { sandbox: { mode: "enforce" } },
    messages: ["sandbox.denyRead is not used"],
  });
  const sandbox = { filesystem: { allowRead: ["/a"], allowWrite: [] }, network: { allowDomains: ["a.com"] } };
  expect(read({ sandboxEnabled: true, sandbox })).toEqual({
    launch: { sandbox: { mode: "enforce" } },
    messages: ["sandbox.filesystem.allowRead is not used", "sandbox.network.allowDomains is not used"],
  });
});

function server(sandbox: SandboxConfig): ServerConfig {
  return {
    alias: "a",
    origin: { file: "/repo/portolan.yaml", line: 1, column: 1, format: "workspace" },
    endpoint: { transport: "stdio", command: "x" },
    enabled: true,
    launch: { sandbox },
  };
}

test("reads back the sandbox that it wrote", () => {
  const sandbox: SandboxConfig = {
    mode: "enforce",
    network: ["a.com"],
    fs: { write: ["/repo/data"], deny: ["/repo/data/x"] },
  };
  const { text, notes } = renderFor("vscode", [server(sandbox)]);
  expect(notes).toEqual([]);
  expect(parseClientFile(text, FILE, "vscode", PLACE)?.servers[0]?.launch).toEqual({ sandbox });
});

test("a note names the rules that VS Code does not support; other clients do not support any rule", () => {
  const all = server({ network: ["a.com", "b.com:22", "*"], fs: { read: ["/d"] }, home: "kept" });
  expect(renderFor("vscode", [all]).notes.map(({ message }) => message)).toEqual([
    "VS Code does not support b.com:22, *, fs.read, home in its sandbox: these rules are left out",
  ]);
  expect(renderFor("claude-code", [all]).notes.map(({ message }) => message)).toEqual([
    "Claude Code does not have the setting sandbox of Portolan: this setting is left out",
  ]);
});

const UNCONFINED =
  "VS Code runs this server without a sandbox, because Portolan's default sandbox cannot be exported: set sandbox in the config of the server, or connect VS Code to the gateway: portolan connect vscode";

test("a server with the default sandbox gets a note, because VS Code runs it without a sandbox", () => {
  const { launch: _, ...plain } = server({});
  const written = renderFor("vscode", [plain]);
  expect(JSON.parse(written.text)).toEqual({ servers: { a: { type: "stdio", command: "x" } } });
  expect(written.notes).toEqual([{ server: "a", message: UNCONFINED }]);
  const other: ServerConfig = { ...plain, launch: { install: [] } };
  expect(renderFor("vscode", [other]).notes.map(({ message }) => message)).toContain(UNCONFINED);
  const old = '{ "servers": { "a": { "type": "stdio", "command": "y" } } }';
  expect(mergeInto("vscode", old, [plain], { ...PLACE, file: FILE }).notes).toEqual(written.notes);
  // Portolan also runs these servers without a sandbox, or without a process.
  expect(renderFor("vscode", [server({ mode: "off" })]).notes).toEqual([]);
  const remote = { ...plain, endpoint: { transport: "http", url: "https://a.com/mcp" } } as const;
  expect(renderFor("vscode", [remote]).notes).toEqual([]);
  expect(renderFor("claude-code", [plain]).notes).toEqual([]);
});

test("keeps the sandbox in the file if the server does not set one", () => {
  const before = '{ "servers": { "a": { "type": "stdio", "command": "y", "sandboxEnabled": true } } }';
  const { launch: _, ...plain } = server({});
  const { text, notes } = mergeInto("vscode", before, [plain], { ...PLACE, file: FILE });
  expect(notes).toEqual([]);
  expect(JSON.parse(text)).toEqual({
    servers: { a: { type: "stdio", command: "x", sandboxEnabled: true } },
  });
});

test("does not export a container that Portolan reaches by HTTP", () => {
  const http: ServerConfig = {
    ...server({}),
    endpoint: {
      transport: "http",
      url: "http://127.0.0.1:0/mcp",
      program: { command: "docker", args: ["run", "--rm", "i"], port: 80 },
    },
  };
  const { text, notes } = renderFor("claude-code", [http]);
  expect(text).not.toContain("127.0.0.1");
  expect(notes[0]?.message).toContain("left out");
});
