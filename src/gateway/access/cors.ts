// What a browser must be told before it lets a page of an allowed Origin speak to the gateway.

import type { IncomingMessage } from "node:http";

const EXPOSED = "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After";
/** Parameters of tools travel in headers of any name below `Mcp-Param-`, so the names are not a fixed list. */
const HEADER =
  /^(authorization|content-type|accept|last-event-id|traceparent|tracestate|baggage|mcp-[\w-]{1,100})$/i;
const MAX_HEADERS = 100;

export function corsHeaders(request: IncomingMessage, origin: string): Record<string, string> {
  const answer: Record<string, string> = {
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Expose-Headers": EXPOSED,
    Vary: "Origin",
  };
  const { headers } = request;
  if (request.method !== "OPTIONS" || headers["access-control-request-method"] === undefined) return answer;
  const wanted = (headers["access-control-request-headers"] ?? "").split(",", MAX_HEADERS);
  const allowed = wanted.map((name) => name.trim()).filter((name) => HEADER.test(name));
  answer["Access-Control-Allow-Methods"] = "GET, POST, DELETE, OPTIONS";
  if (allowed.length > 0) answer["Access-Control-Allow-Headers"] = allowed.join(", ");
  answer["Access-Control-Max-Age"] = "600";
  if (headers["access-control-request-private-network"] === "true")
    answer["Access-Control-Allow-Private-Network"] = "true";
  return answer;
}
