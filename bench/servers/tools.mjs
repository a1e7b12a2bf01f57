// A stdio server with 20 tools: `node tools.mjs legacy|modern|dead|hanging [name]`. It answers at once; what it costs is its process.

import { createInterface } from "node:readline";

const [kind = "legacy", name = "tools"] = process.argv.slice(2);
const LEGACY = "2025-11-25";
const MODERN = "2026-07-28";
const TOOLS = Array.from({ length: 20 }, (_, index) => ({
  name: `tool_${index}`,
  description: `Does the ${index}. thing that ${name} can do. `.repeat(4),
  inputSchema: {
    type: "object",
    properties: {
      path: { type: "string", description: "Where" },
      limit: { type: "integer", minimum: 1, maximum: 1000, default: 10 },
      mode: { enum: ["fast", "thorough"] },
      tags: { type: "array", items: { type: "string" } },
    },
    required: ["path"],
  },
  annotations: { readOnlyHint: true },
}));

if (kind === "dead") process.exit(1);
createInterface({ input: process.stdin })
  .on("line", (line) => {
    if (kind === "hanging") return;
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const result = (kind === "modern" ? modernResult : legacyResult)(method, params);
    const body = result ? { result } : { error: { code: -32601, message: `Method not found: ${method}` } };
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...body }) + "\n");
  })
  .on("close", () => process.exit());

function legacyResult(method, params) {
  const serverInfo = { name, version: "1.0.0" };
  const protocolVersion = params?.protocolVersion ?? LEGACY; // agrees to any: some gateways refuse newer ones than they asked for
  if (method === "initialize")
    return { protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo };
  if (method === "tools/list") return { tools: TOOLS };
  if (method === "ping") return {};
}

function modernResult(method) {
  const common = { resultType: "complete", ttlMs: 3_600_000, cacheScope: "public" };
  if (method === "server/discover")
    return { ...common, supportedVersions: [MODERN], capabilities: { tools: {} } };
  if (method === "tools/list") return { ...common, tools: TOOLS };
}
