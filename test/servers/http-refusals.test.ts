// Errors of a URL that refuses the connection: the message quotes a plain text, and the hint names what the program can change.

import { createServer, type IncomingMessage } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectMcp, type PortolanError } from "../../src/index.ts";
import { failure } from "../helpers/connect.ts";
import { openTestGateway } from "../helpers/raw-gateways.ts";

interface Refusal {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function refusing(refusal: Refusal): Promise<{ url: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    response.writeHead(refusal.status, refusal.headers).end(refusal.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}/mcp`, requests };
}

async function refusedBy(refusal: Refusal): Promise<PortolanError> {
  const { url } = await refusing(refusal);
  return failure(connectMcp({ url, name: "remote" }));
}

describe("a 401", () => {
  it.each([
    ["without WWW-Authenticate", {}],
    ["with WWW-Authenticate", { "WWW-Authenticate": 'Bearer realm="mcp"' }],
  ])("%s has a hint that names the options auth and headers", async (_, headers) => {
    const error = await refusedBy({ status: 401, headers, body: "who are you?" });
    expect(error).toMatchObject({ code: "AUTH_REQUIRED", message: "remote answered HTTP 401: who are you?" });
    expect(error.hint).toMatch(/auth: \{ token \}.* headers /);
  });

  it("of a Portolan gateway keeps the gateway's message and hint", async () => {
    const { url } = await openTestGateway([]);
    const error = await failure(connectMcp({ url: `${url}/mcp`, name: "remote" }));
    expect(error).toMatchObject({
      ...{ code: "AUTH_REQUIRED", server: "remote", data: { status: 401 } },
      message: "remote answered HTTP 401: this request carries no bearer token",
      hint: expect.stringContaining("with the token of the gateway or of a caller") as string,
    });
  });
});

describe("the message of an HTTP error", () => {
  it.each([
    ["one line of plain text", "database is down", "text/plain; charset=utf-8", ": database is down"],
    ["the first line", "\n database is down\nat db.js:1", "text/plain", ": database is down"],
    ["a text without a type", "database is down", undefined, ": database is down"],
    ["no control characters", "a\u001b[2Jb\tc", "text/plain", ": a [2Jb c"],
    ["no HTML", "<h1>Oops</h1>", "text/html", ""],
    ["no HTML without a type", "<h1>Oops</h1>", undefined, ""],
    ["no other JSON", '{"a":1}', "application/json", ""],
    ["nothing of an empty body", "", undefined, ""],
  ])("contains %s", async (_, body, type, shown) => {
    const headers: Refusal["headers"] = type === undefined ? {} : { "Content-Type": type };
    const error = await refusedBy({ status: 500, headers, body });
    expect(error.message).toBe(`remote answered HTTP 500${shown}`);
    expect(error.hint).toMatch(/^The server, or a proxy in front of it, reports a failure of its own/);
  });

  it("is short, whatever the length of the body", async () => {
    const error = await refusedBy({ status: 500, body: "word ".repeat(1_000) });
    expect(error.message.length).toBeLessThan(260);
    expect(error.message).toMatch(/word…$/);
  });

  it("hides credentials that the server repeats", async () => {
    const server = createServer((request, response) => {
      response.writeHead(500).end(`wrong token ${request.headers.authorization ?? ""}`);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const url = `http://127.0.0.1:${port}/mcp`;
    const error = await failure(connectMcp({ url, auth: { token: "canary-1234567" } }));
    expect(error.message).toContain("HTTP 500: wrong token");
    expect(JSON.stringify(error) + error.stack).not.toContain("canary-1234567");
  });
});

it("a 404 keeps the hint about the URL", async () => {
  expect((await refusedBy({ status: 404, body: "no such page" })).hint).toMatch(/^Check the URL/);
});

it("auth.token is sent as a bearer token, beside other headers", async () => {
  const { url, requests } = await refusing({ status: 404 });
  await failure(connectMcp({ url, auth: { token: "t0ken" }, headers: { "X-Team": "a" } }));
  expect(requests[0]?.headers).toMatchObject({ authorization: "Bearer t0ken", "x-team": "a" });
});
