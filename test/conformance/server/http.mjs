/** Listening on loopback, and what both eras check before they look at a message. */
import { createServer } from "node:http";
import { CODE } from "../../fixtures/lib/rpc.mjs";

const PATH = "/mcp";
const LOCAL = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/** Calls `serve(req, res, body)` for requests that are in order; returns the URL. */
export async function listen(serve, port) {
  const http = createServer((req, res) => {
    void accept(req, res, serve).catch((error) => {
      process.stderr.write(`${error.stack}\n`);
      res.destroy();
    });
  });
  await new Promise((resolve, reject) => {
    http.once("error", reject);
    http.listen(port, "127.0.0.1", resolve);
  });
  return `http://127.0.0.1:${http.address().port}${PATH}`;
}

async function accept(req, res, serve) {
  const { host = "", origin } = req.headers;
  // A page of another site that had its name point to this machine sends that name.
  if (!LOCAL.test(host) || (origin !== undefined && !LOCAL.test(origin.replace(/^https?:\/\//, "")))) {
    return sendJson(res, 403, failure(-32000, "Forbidden host or origin"));
  }
  if (req.url.split("?")[0] !== PATH) return res.writeHead(404).end();
  if (req.method !== "POST") return serve(req, res);

  const accepts = req.headers.accept ?? "";
  if (!accepts.includes("application/json") || !accepts.includes("text/event-stream")) {
    return sendJson(res, 406, failure(-32000, "Accept must name both content types"));
  }
  if (!req.headers["content-type"]?.startsWith("application/json")) {
    return sendJson(res, 415, failure(-32000, "Content-Type must be application/json"));
  }
  const body = await readJson(req);
  if (body === undefined) return sendJson(res, 400, failure(CODE.parse, "Parse error"));
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return sendJson(res, 400, failure(CODE.invalidRequest, "Not a single JSON-RPC message"));
  }
  return serve(req, res, body);
}

async function readJson(req) {
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    return undefined;
  }
}

export function sendJson(res, status, body, headers = {}) {
  res.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

export const failure = (code, message) => ({ jsonrpc: "2.0", id: null, error: { code, message } });
