// A workspace with one driver, for tests of logins: its server returns its process, home and key.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

export interface DriverWorkspace {
  readonly folder: string;
  path(name: string): string;
  write(name: string, text: string): string;
  read(name: string): string;
}

export interface DriverParts {
  /** Further lines of the DRIVER.md. */
  readonly driver?: string;
  /** Replaces the program below. */
  readonly server?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly contract?: string;
  readonly secrets?: string;
}

/** Answers `whoami` with its process, its home and its key; fails as the file `fails` beside it says. */
const PROGRAM = `
import { createInterface } from "node:readline";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
const tool = { name: "whoami", inputSchema: { type: "object", properties: {} } };
const answer = (method) => {
  if (method === "initialize")
    return { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "who", version: "1" } };
  if (method === "tools/list") return { tools: [tool] };
  if (method === "ping") return existsSync(new URL("sick", import.meta.url)) ? undefined : {};
  if (method !== "tools/call") return undefined;
  const fails = new URL("fails", import.meta.url);
  if (existsSync(fails)) return { content: [{ type: "text", text: readFileSync(fails, "utf8") }], isError: true };
  const token = process.env.TOKEN_FILE ?? homedir() + "/.whoami/token";
  const who = {
    pid: process.pid,
    home: homedir(),
    key: process.env.API_KEY ?? "",
    keyLength: (process.env.API_KEY ?? "").length,
    token: existsSync(token) ? readFileSync(token, "utf8") : "",
  };
  return { content: [{ type: "text", text: JSON.stringify(who) }] };
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  if (id === undefined) continue;
  const result = answer(method);
  const error = { code: method === "ping" ? -32603 : -32601, message: "no " + method };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) }));
}
`;

const CONTRACT = `name: Who
id: who-am-i
description: Tells who it is.
version: 1.0.0
idempotent: true
inputs: { type: object, properties: {} }
outputs: { type: object }`;

export function driverWorkspace(parts: DriverParts = {}): DriverWorkspace {
  const folder = mkdtempSync(join(tmpdir(), "portolan-driver-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = (name: string): string => join(folder, name);
  const write = (name: string, text: string): string => {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), text);
    return path(name);
  };
  const program = write("server.mjs", PROGRAM);
  const server =
    parts.server ??
    `server: ${JSON.stringify({ kind: "binary", path: process.execPath, args: [program], env: parts.env ?? {} })}
transport: stdio`;
  write("portolan.yaml", "version: 1\n");
  write("tools/who-am-i/TOOL.md", `---\n${parts.contract ?? CONTRACT}\n---\n`);
  write(
    ".drivers/who-mcp/DRIVER.md",
    `---
name: Who MCP
id: who-mcp
description: Who.
version: 1.0.0
kind: mcp
${server}
implements:
  - tool: ./tools/who-am-i/TOOL.md
    version: "^1.0.0"
    metadata: { mcp: { tool_name: whoami } }
${parts.driver ?? ""}
---
`,
  );
  if (parts.secrets !== undefined) write(".secrets/SECRETS.md", `---\n${parts.secrets}\n---\n`);
  return { folder, path, write, read: (name) => readFileSync(path(name), "utf8") };
}
