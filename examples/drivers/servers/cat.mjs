// A small MCP server: one tool that reads a file of the folder it is started with.

import { readFileSync } from "node:fs";
import { resolve, sep } from "node:path";
import { createInterface } from "node:readline";

const folder = resolve(process.argv[2] ?? ".");
const TOOL = {
  name: "cat",
  description: "Reads a file.",
  inputSchema: { type: "object", properties: { file: { type: "string" } }, required: ["file"] },
  outputSchema: {
    type: "object",
    properties: { text: { type: "string" } },
    required: ["text"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
};

function cat(file) {
  const path = resolve(folder, String(file));
  if (!path.startsWith(folder + sep)) throw new Error("outside of the folder");
  return { text: readFileSync(path, "utf8") };
}

function answer({ method, params }) {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "cat", version: "1.0.0" },
      };
    case "tools/list":
      return { tools: [TOOL] };
    case "tools/call":
      try {
        const found = cat(params.arguments.file);
        return { content: [{ type: "text", text: JSON.stringify(found) }], structuredContent: found };
      } catch (error) {
        return { content: [{ type: "text", text: error.message }], isError: true };
      }
    case "ping":
      return {};
    default:
      return undefined;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.id === undefined) continue;
  const result = answer(request);
  const error = { code: -32601, message: `no method ${request.method}` };
  const reply = { jsonrpc: "2.0", id: request.id, ...(result === undefined ? { error } : { result }) };
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
