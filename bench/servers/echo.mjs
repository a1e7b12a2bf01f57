// The MCP side of both echo servers: one request line in, one answer line out.
//
// Lines are latin1 strings, one character per byte, so that UTF-8 passes through unharmed and unparsed. A tool call is
// answered without parsing: the JSON text of its argument is copied into the result. What is left to measure is the client.

export const LEGACY = "2025-11-25";
export const MODERN = "2026-07-28";

const SERVER_INFO = { name: "bench-echo", version: "1.0.0" };
const TOOLS = [
  {
    name: "echo",
    description: "Returns its text.",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  },
];

/** Returns `answer(line)`: the response to a request, or undefined for a notification. */
export function createEcho(era) {
  const tail = era === "modern" ? '}],"resultType":"complete"}}' : "}]}}";
  return (line) => {
    if (!line.includes('"method":"tools/call"')) return answerSlowly(era, line);
    return (
      '{"jsonrpc":"2.0","id":' +
      idOf(line) +
      ',"result":{"content":[{"type":"text","text":' +
      stringAfter(line, '"text":') +
      tail
    );
  };
}

// A key searched for this way cannot be matched inside a string value: its quotes would be escaped there.
function idOf(line) {
  const from = line.indexOf('"id":') + 5;
  let to = from;
  while (line[to] !== "," && line[to] !== "}") to++;
  return line.slice(from, to);
}

function stringAfter(line, key) {
  const from = line.indexOf(key) + key.length;
  let to = line.indexOf('"', from + 1);
  while (isEscaped(line, to)) to = line.indexOf('"', to + 1);
  return line.slice(from, to + 1);
}

function isEscaped(line, at) {
  let backslashes = 0;
  while (line[at - 1 - backslashes] === "\\") backslashes++;
  return backslashes % 2 === 1;
}

function answerSlowly(era, line) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return undefined;
  const result = (era === "modern" ? modernResult : legacyResult)(method, params);
  const body = result ? { result } : { error: { code: -32601, message: `Method not found: ${method}` } };
  return JSON.stringify({ jsonrpc: "2.0", id, ...body });
}

function legacyResult(method, params) {
  switch (method) {
    case "initialize":
      // Agrees to any version: some clients that are measured refuse a newer one than they asked for.
      return {
        protocolVersion: params?.protocolVersion ?? LEGACY,
        capabilities: { tools: {} },
        serverInfo: SERVER_INFO,
      };
    case "ping":
      return {};
    case "tools/list":
      return { tools: TOOLS };
  }
}

function modernResult(method) {
  const common = {
    resultType: "complete",
    ttlMs: 3_600_000,
    cacheScope: "public",
    _meta: { "io.modelcontextprotocol/serverInfo": SERVER_INFO },
  };
  switch (method) {
    case "server/discover":
      return { ...common, supportedVersions: [MODERN], capabilities: { tools: {} } };
    case "tools/list":
      return { ...common, tools: TOOLS };
  }
}
