// The smallest workspaces with drivers, for tests of the command: one contract, one server program, drivers as they are wanted.

import { join } from "node:path";
import { type Place, place } from "./drivers.ts";

export interface SmallPlace extends Place {
  /** A driver that serves t1; `lines` are further ones of its file, `server` fields of its server. */
  driver(id: string, lines?: string, server?: Readonly<Record<string, unknown>>): void;
  contract(id: string, lines?: string): void;
}

/** Tells its key; with `hang` it never answers. */
const PROGRAM = `
import { createInterface } from "node:readline";
const tool = { name: "whoami", inputSchema: { type: "object", properties: {} } };
const prompt = { name: "sum", arguments: [{ name: "doc", required: true }] };
const text = (said) => ({ type: "text", text: said });
const answers = {
  initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: {}, prompts: {} }, serverInfo: { name: "who", version: "1" } }),
  "tools/list": () => ({ tools: [tool] }),
  "prompts/list": () => ({ prompts: [prompt] }),
  "prompts/get": (params) => ({ messages: [{ role: "user", content: text("sum up " + params.arguments.doc) }] }),
  "tools/call": () => ({ content: [text(JSON.stringify({ key: process.env.API_KEY ?? "" }))] }),
  ping: () => ({}),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || process.argv.includes("hang")) continue;
  const result = answers[method]?.(params);
  const error = { code: -32601, message: "no " + method };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) }));
}
`;

export function smallPlace(files: Record<string, string> = {}, env: Record<string, string> = {}): SmallPlace {
  const here = place({ "server.mjs": PROGRAM, ...files }, env);
  const contract: SmallPlace["contract"] = (id, lines = "idempotent: true") =>
    here.write(
      `tools/${id}/TOOL.md`,
      `---
name: ${id}
id: ${id}
description: Tells who it is.
version: 1.0.0
inputs: { type: object, properties: {} }
outputs: { type: object }
${lines}
---
`,
    );
  const driver: SmallPlace["driver"] = (id, lines = "", server = {}) =>
    here.write(
      `.drivers/${id}/DRIVER.md`,
      `---
name: ${id}
id: ${id}
description: Who.
version: 1.0.0
kind: mcp
server: ${JSON.stringify({ kind: "binary", path: process.execPath, args: [join(here.cwd, "server.mjs")], ...server })}
transport: stdio
implements:
  - tool: ./tools/t1/TOOL.md
    version: "^1.0.0"
    metadata: { mcp: { tool_name: whoami } }
${lines}
---
`,
    );
  contract("t1");
  return { ...here, driver, contract };
}

/** The secret `api-key`, for these contracts. */
export function secretsFile(...contracts: readonly string[]): string {
  const bind = contracts.map((tool) => `{ tool: ${tool} }`).join(", ");
  return `---
secrets:
  - { slug: api-key, name: Key, description: For tests., access: { bind: [${bind}] } }
---
`;
}
