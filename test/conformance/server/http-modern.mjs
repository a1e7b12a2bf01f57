/** The modern era over HTTP: a POST for every request, no sessions, headers that repeat the body. */
import { CODE, isAnswer, isRequest, META, NoAnswer, RpcError } from "../../fixtures/lib/rpc.mjs";
import { formatEvent, openSse } from "../../fixtures/lib/sse-stream.mjs";
import { failure, sendJson } from "./http.mjs";
import { answerModern, checkEnvelope, checkVersion } from "./modern.mjs";
import { toRpcError } from "./surface.mjs";

export function modernHttp(surface) {
  return async function serve(req, res, message) {
    if (req.method !== "POST") return res.writeHead(405, { allow: "POST" }).end();
    if (isAnswer(message)) {
      return sendJson(res, 400, failure(CODE.invalidRequest, "There is nothing to answer"));
    }
    if (!isRequest(message)) return res.writeHead(202).end();

    // To close the response is to cancel the request.
    const gone = new AbortController();
    res.on("close", () => gone.abort());
    const notify = (note) => {
      if (!res.headersSent) openSse(res);
      if (!res.writableEnded) res.write(formatEvent(note));
    };
    const { id } = message;
    try {
      checkRequest(req.headers, message, surface);
      const result = await answerModern({ surface, message, notify, signal: gone.signal });
      finish(res, { jsonrpc: "2.0", id, result });
    } catch (error) {
      if (error instanceof NoAnswer) return res.end();
      const known = toRpcError(error);
      finish(res, { jsonrpc: "2.0", id, error: known.toJSON() }, known.status);
    }
  };
}

/** Plain JSON, unless news came first and made it a stream. */
function finish(res, answer, status = 200) {
  if (res.headersSent) res.end(formatEvent(answer));
  else sendJson(res, status, answer);
}

const NAMED = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** The order counts: what is missing in the body, then what the headers say otherwise, then what is not supported. */
function checkRequest(headers, { method, params = {} }, surface) {
  checkEnvelope(params);
  expectHeader(headers, "MCP-Protocol-Version", params._meta[META.version]);
  checkVersion(params);
  expectHeader(headers, "Mcp-Method", method);
  if (NAMED[method]) expectHeader(headers, "Mcp-Name", params[NAMED[method]], decode);
  if (method !== "tools/call") return;
  const tool = surface.tools().find(({ name }) => name === params.name);
  for (const [key, property] of Object.entries(tool?.inputSchema.properties ?? {})) {
    const header = property["x-mcp-header"];
    const value = params.arguments?.[key] ?? undefined;
    if (header === undefined || value === undefined) continue;
    expectHeader(headers, `Mcp-Param-${header}`, String(value), decode);
  }
}

function expectHeader(headers, name, expected, read = (value) => value) {
  const found = headers[name.toLowerCase()]?.trim();
  if (found !== undefined && read(found) === expected) return;
  const what = found === undefined ? "is missing" : `does not match the body: ${found}`;
  throw new RpcError(CODE.headerMismatch, `The header ${name} ${what}`, { status: 400 });
}

const STRICT_BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The value in its wrapper, or undefined if the wrapper contains no proper Base64, which Buffer would not notice. */
function decode(value) {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (encoded === undefined) return value;
  return STRICT_BASE64.test(encoded) ? Buffer.from(encoded, "base64").toString() : undefined;
}
