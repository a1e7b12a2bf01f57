// An MCP server behind a real authorization server: oidc-provider on loopback, with registration, device codes, DPoP, pushed requests
// and rotated refresh tokens. A refresh token that is used twice ends its login.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createLocalJWKSet, exportJWK, generateKeyPair, type JWK, jwtVerify } from "jose";
import { Provider } from "oidc-provider";

export interface OidcServer {
  /** The address of the MCP server. */
  readonly url: string;
  readonly issuer: string;
  /** Requests to the authorization server by path, such as `/token`. */
  readonly count: Map<string, number>;
  /** The MCP server accepts no token that was given so far. */
  revokeAccess(): void;
  close(): Promise<void>;
}

export interface OidcOptions {
  /** Tokens are bound to keys. */
  readonly dpop?: boolean;
  /** Logins are only accepted by pushed authorization requests. */
  readonly pushed?: boolean;
  /** Seconds until an access token expires. Default: an hour. */
  readonly expiresIn?: number;
}

const SCOPE = "use";

export async function startOidcServer(options: OidcOptions = {}): Promise<OidcServer> {
  const { dpop = false, pushed = false, expiresIn = 3_600 } = options;
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  const [jwk, publicJwk] = await Promise.all([exportJWK(privateKey), exportJWK(publicKey)]);
  const keys = createLocalJWKSet({ keys: [{ ...publicJwk, kid: "one", alg: "RS256" }] });
  const count = new Map<string, number>();
  const [forIssuer, forServer] = [createServer(), createServer()];
  const [issuer, origin] = await Promise.all([listen(forIssuer), listen(forServer)]);
  const url = `${origin}/mcp`;
  const provider = new Provider(issuer, configuration({ ...jwk, kid: "one", alg: "RS256", use: "sig" }));
  const answer = provider.callback();
  let notBefore = 0;
  forIssuer.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const path = new URL(request.url ?? "/", issuer).pathname;
    count.set(path, (count.get(path) ?? 0) + 1);
    void answer(request, response);
  });
  forServer.on("request", (request, response) => void serveMcp(request, response));
  return {
    ...{ url, issuer, count },
    revokeAccess: () => {
      notBefore += 1;
    },
    close: async () => {
      await Promise.all([forIssuer, forServer].map(close));
    },
  };

  function configuration(key: JWK): Record<string, unknown> {
    return {
      jwks: { keys: [key] },
      cookies: { keys: ["a key of this test"] },
      scopes: ["openid", "offline_access", SCOPE],
      claims: { openid: ["sub", "email"] },
      conformIdTokenClaims: false,
      findAccount: (_context: unknown, id: string) => ({
        accountId: id,
        claims: () => ({ sub: id, email: `${id}@example.com` }),
      }),
      issueRefreshToken: async () => true,
      rotateRefreshToken: true,
      extraTokenClaims: () => ({ generation: notBefore }),
      features: {
        devInteractions: { enabled: true },
        registration: { enabled: true },
        revocation: { enabled: true },
        deviceFlow: { enabled: true },
        dPoP: { enabled: dpop },
        pushedAuthorizationRequests: { enabled: pushed, requirePushedAuthorizationRequests: pushed },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => url,
          useGrantedResource: async () => true,
          getResourceServerInfo: async () => ({
            ...{ scope: SCOPE, audience: url, accessTokenTTL: expiresIn },
            ...{ accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } },
          }),
        },
      },
    };
  }

  async function serveMcp(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const send = (status: number, json: unknown, headers: Record<string, string> = {}): void => {
      response
        .writeHead(status, { "content-type": "application/json", ...headers })
        .end(JSON.stringify(json));
    };
    const metadata = "/.well-known/oauth-protected-resource/mcp";
    if (request.url === metadata)
      return send(200, {
        ...{ resource: url, authorization_servers: [issuer], scopes_supported: ["openid", SCOPE] },
        dpop_bound_access_tokens_required: dpop || undefined,
      });
    const user = await userOf(request).catch(() => undefined);
    if (user === undefined) {
      const challenge = `${dpop ? "DPoP" : "Bearer"} resource_metadata="${origin}${metadata}"`;
      return send(401, {}, { "www-authenticate": challenge });
    }
    if (request.method !== "POST") return send(405, {});
    const { id, method } = JSON.parse(body) as { id?: number; method: string };
    if (id === undefined) return send(202, undefined);
    const results: Record<string, unknown> = {
      initialize: {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "behind-oidc", version: "1" },
      },
      "tools/list": { tools: [{ name: "whoami", inputSchema: { type: "object" } }] },
      "tools/call": { content: [{ type: "text", text: `you are ${user}` }] },
    };
    if (results[method] === undefined)
      return send(200, { jsonrpc: "2.0", id, error: { code: -32601, message: "no" } });
    send(200, { jsonrpc: "2.0", id, result: results[method] });
  }

  /** Throws if the token is not for this server. A bound token is only accepted with a proof. */
  async function userOf({ headers }: IncomingMessage): Promise<string> {
    const [scheme = "", token = ""] = (headers.authorization ?? "").split(" ");
    const { payload } = await jwtVerify(token, keys, { issuer, audience: url });
    const isBound = payload.cnf !== undefined;
    if (isBound !== (scheme === "DPoP") || (isBound && headers.dpop === undefined))
      throw new Error("no proof");
    if (payload.generation !== notBefore) throw new Error("revoked");
    return payload.sub ?? "";
  }
}

async function listen(server: Server): Promise<string> {
  // A connection that the server closes while it is idle is no part of these tests.
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

/**
 * A person without a browser: follows the pages of the authorization server as `name`, and sends each form as it is. Resolves to the
 * first address outside of it, or to the last page.
 */
export async function visitAs(name: string, address: URL, fields: Record<string, string> = {}): Promise<URL> {
  const cookies = new Map<string, string>();
  let [url, form] = [address, undefined as URLSearchParams | undefined];
  for (let step = 0; step < 20; step += 1) {
    const response = await fetch(url, {
      method: form === undefined ? "GET" : "POST",
      body: form,
      headers: { cookie: [...cookies].map(([key, value]) => `${key}=${value}`).join("; ") },
      redirect: "manual",
    });
    for (const line of response.headers.getSetCookie()) {
      const [, key = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(key, value);
    }
    const page = await response.text();
    const location = response.headers.get("location");
    form = undefined;
    if (location !== null) {
      url = new URL(location, url);
      if (url.origin !== address.origin) return url;
      continue;
    }
    const [, action] = /<form[^>]* action="([^"]+)"/.exec(page) ?? [];
    if (action === undefined) return url;
    url = new URL(action.replaceAll("&amp;", "&"), url);
    form = new URLSearchParams({ login: name, password: "any", ...fields });
    for (const [, key = "", value = ""] of page.matchAll(
      /<input type="hidden" name="([^"]+)" value="([^"]*)"/g,
    ))
      form.set(key, value);
  }
  throw new Error(`the pages of ${address.origin} do not end`);
}
