// Chains of tokens: an identity provider vouches for its user (ID-JAG), and the authorization server of the MCP server trusts it.

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeProtectedHeader, exportPKCS8, generateKeyPair, jwtVerify, SignJWT } from "jose";
import { expect, onTestFinished, test } from "vitest";
import { connectMcp, type McpOAuth } from "../../src/index.ts";

const ID_JAG = "oauth-id-jag+jwt";

/** One listener plays the identity provider (`/idp`), the authorization server (`/token`) and the MCP server (`/mcp`). */
async function startOrganisation() {
  const idp = await generateKeyPair("ES256");
  const client = await generateKeyPair("ES256", { extractable: true });
  const requests: string[] = [];
  const problems: string[] = [];
  const listener = createServer((request, response) => {
    void answer(request).then(({ status = 200, headers = {}, json }) => {
      response
        .writeHead(status, { "content-type": "application/json", ...headers })
        .end(JSON.stringify(json));
    });
  });
  await new Promise<void>((resolve) => {
    listener.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    listener.closeAllConnections();
    listener.close();
  });
  const origin = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const url = `${origin}/mcp`;
  return { origin, url, requests, problems, clientKey: { pem: await exportPKCS8(client.privateKey) } };

  async function answer(
    request: IncomingMessage,
  ): Promise<{ status?: number; headers?: Record<string, string>; json: unknown }> {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const { pathname } = new URL(request.url ?? "/", origin);
    if (request.method === "POST" && pathname !== "/mcp") requests.push(pathname);
    const asked = new URLSearchParams(body);
    switch (pathname) {
      case "/.well-known/oauth-protected-resource/mcp":
        return { json: { resource: url, authorization_servers: [origin] } };
      case "/.well-known/oauth-authorization-server":
        return { json: { issuer: origin, token_endpoint: `${origin}/token` } };
      case "/idp":
        return { json: await vouch(asked) };
      case "/token":
        return (await isVouched(asked))
          ? { json: { access_token: `for-${await subjectOf(asked)}`, token_type: "Bearer" } }
          : { status: 400, json: { error: "invalid_grant" } };
      case "/mcp":
        return mcp(request.headers.authorization, body);
      default:
        return { status: 404, json: {} };
    }
  }

  async function vouch(asked: URLSearchParams): Promise<unknown> {
    for (const [name, value] of [
      ["requested_token_type", "urn:ietf:params:oauth:token-type:id-jag"],
      ["subject_token_type", "urn:ietf:params:oauth:token-type:id_token"],
      ["audience", origin],
      ["resource", url],
    ])
      if (asked.get(name ?? "") !== value) problems.push(`${name}: ${asked.get(name ?? "")}`);
    const grant = new SignJWT({ client_id: "at-the-server", resource: asked.get("resource") })
      .setProtectedHeader({ alg: "ES256", typ: ID_JAG })
      .setIssuer(`${origin}/idp`)
      .setSubject((asked.get("subject_token") ?? "").replace("id-token-of-", ""))
      .setAudience(asked.get("audience") ?? "")
      .setExpirationTime("1m");
    return {
      access_token: await grant.sign(idp.privateKey),
      token_type: "N_A",
      issued_token_type: "urn:ietf:params:oauth:token-type:id-jag",
    };
  }

  async function isVouched(asked: URLSearchParams): Promise<boolean> {
    const assertion = asked.get("assertion") ?? "";
    const { payload } = await jwtVerify(assertion, idp.publicKey, { audience: origin });
    const proof = await jwtVerify(asked.get("client_assertion") ?? "", client.publicKey, {
      audience: origin,
    });
    return (
      decodeProtectedHeader(assertion).typ === ID_JAG &&
      payload.client_id === proof.payload.sub &&
      payload.resource === url
    );
  }

  async function subjectOf(asked: URLSearchParams): Promise<string> {
    return (await jwtVerify(asked.get("assertion") ?? "", idp.publicKey)).payload.sub ?? "";
  }

  function mcp(authorization: string | undefined, body: string) {
    const [, user] = /^Bearer for-(\w+)$/.exec(authorization ?? "") ?? [];
    const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
    if (user === undefined) return { status: 401, headers: { "www-authenticate": challenge }, json: {} };
    if (body === "") return { status: 405, json: {} };
    const { id, method } = JSON.parse(body) as { id?: number; method: string };
    if (id === undefined) return { status: 202, json: {} };
    const initialized = {
      ...{ protocolVersion: "2025-11-25", capabilities: { tools: {} } },
      serverInfo: { name: "notes", version: "1" },
    };
    const results: Record<string, unknown> = {
      initialize: initialized,
      "tools/list": { tools: [{ name: "whoami", inputSchema: { type: "object" } }] },
      "tools/call": { content: [{ type: "text", text: `you are ${user}` }] },
    };
    return { json: { jsonrpc: "2.0", id, result: results[method] ?? {} } };
  }
}

test("a login uses an ID-JAG of the identity provider, and the client authenticates with its key", async () => {
  const { origin, url, requests, problems, clientKey } = await startOrganisation();
  const auth = (idToken: string): McpOAuth => ({
    ...{ clientId: "at-the-server", clientKey },
    grant: {
      type: "enterprise",
      provider: { tokenEndpoint: `${origin}/idp`, clientId: "at-the-idp", idToken },
    },
  });
  const call = async (idToken: string): Promise<string> => {
    await using mcp = await connectMcp({
      ...{ transport: "http", url, name: "notes", era: "legacy", watch: false, auth: auth(idToken) },
    });
    return (await mcp.callTool("whoami", {})).text;
  };
  expect(await call("id-token-of-ann")).toBe("you are ann");
  expect(requests).toEqual(["/idp", "/token"]);
  expect(await call("id-token-of-bob")).toBe("you are bob");
  expect(problems).toEqual([]);
});

test("a client that the ID-JAG does not name gets no token", async () => {
  const { origin, url, clientKey } = await startOrganisation();
  const provider = { tokenEndpoint: `${origin}/idp`, clientId: "at-the-idp", idToken: "id-token-of-ann" };
  const auth: McpOAuth = { clientId: "another", clientKey, grant: { type: "enterprise", provider } };
  const connected = connectMcp({ transport: "http", url, name: "notes", era: "legacy", auth });
  await expect(connected).rejects.toMatchObject({ code: "AUTH_FAILED" });
});
