// An MCP server with one tool behind OAuth, and its authorization server, in this process. Refresh tokens are valid once, and using one
// twice ends the login, as strict authorization servers do.

import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface OAuthServer {
  readonly url: string;
  /** Requests by path, such as `/token`. */
  readonly count: Map<string, number>;
  /** Seconds until a token expires. */
  expiresIn: number;
  /** Answers every token request with this status and body. */
  tokenAnswer: { readonly status: number; readonly body: string } | undefined;
  /** Clients that it knows, with their redirect addresses. */
  readonly clients: Map<string, string[]>;
  /** The client secrets of token requests, in their order. */
  readonly clientSecrets: string[];
  /** The protocol era of the MCP server. */
  era: "legacy" | "modern";
  /** The MCP server lists its tools without a token. */
  listsFreely: boolean;
  /** Uses of a session with the token of another user. */
  mixed: number;
  /** The users that are logged in at the moment, by token. */
  readonly users: Map<string, string>;
  /** Token exchanges that it made. */
  readonly exchanges: {
    readonly subject: string;
    readonly resource: string | null;
    readonly client: string;
  }[];
  /** Every token that was presented to the MCP server. */
  readonly presented: Set<string>;
  /** Changes the answer of the login page. */
  redirect: (answer: URL) => void;
  /** Changes metadata before it is sent. */
  metadata: (json: Record<string, unknown>) => void;
  /** Device codes: the answers to the next token requests, before it gives tokens. Undefined: it offers none. */
  deviceErrors: string[] | undefined;
  /** Seconds until a device code expires. */
  deviceExpiresIn: number;
  /** The server accepts no token at all. */
  refusesTokens: boolean;
  /** The server accepts no token that it gave so far. */
  revokeAccess(): void;
  /** The authorization server does not accept the refresh tokens that it gave so far. */
  revokeRefresh(): void;
  /** The authorization server refuses the clients that it registered so far when they request tokens. */
  forgetClients(): void;
  /** Every token, code and secret that it gave. */
  readonly secrets: Set<string>;
  close(): Promise<void>;
}

export async function startOAuthServer(): Promise<OAuthServer> {
  const codes = new Map<string, { challenge: string; redirectUri: string; client: string; user: string }>();
  const clients = new Map<string, string[]>();
  const forgotten = new Set<string>();
  const access = new Map<string, string>();
  const sessions = new Map<string, string>();
  const refresh = new Map<string, { family: string; used: boolean; user: string }>();
  const listener = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => {
    listener.listen(0, "127.0.0.1", resolve);
  });
  const origin = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const server: OAuthServer = {
    url: `${origin}/mcp`,
    count: new Map(),
    expiresIn: 3_600,
    tokenAnswer: undefined,
    clients,
    clientSecrets: [],
    era: "legacy",
    listsFreely: false,
    mixed: 0,
    users: access,
    exchanges: [],
    presented: new Set(),
    redirect: () => {},
    metadata: () => {},
    deviceErrors: undefined,
    deviceExpiresIn: 60,
    refusesTokens: false,
    revokeAccess: () => access.clear(),
    revokeRefresh: () => refresh.clear(),
    forgetClients: () => {
      for (const client of clients.keys()) forgotten.add(client);
    },
    secrets: new Set(),
    close: async () => {
      listener.closeAllConnections();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
  return server;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", origin);
    server.count.set(url.pathname, (server.count.get(url.pathname) ?? 0) + 1);
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const send = (status: number, json: unknown, headers: Record<string, string> = {}): void => {
      response
        .writeHead(status, { "content-type": "application/json", ...headers })
        .end(JSON.stringify(json));
    };
    switch (url.pathname) {
      case "/.well-known/oauth-protected-resource/mcp":
        return sendMetadata({
          resource: server.url,
          authorization_servers: [origin],
          scopes_supported: ["use"],
        });
      case "/.well-known/oauth-authorization-server":
        return sendMetadata({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          revocation_endpoint: `${origin}/revoke`,
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none"],
          authorization_response_iss_parameter_supported: true,
          device_authorization_endpoint: server.deviceErrors && `${origin}/device`,
        });
      case "/register": {
        const client = randomUUID();
        const { redirect_uris: uris } = JSON.parse(body) as { redirect_uris: string[] };
        clients.set(client, uris);
        return send(201, { client_id: client, redirect_uris: uris });
      }
      case "/authorize":
        return authorize(url, request, response, send);
      case "/token":
        if (server.tokenAnswer !== undefined) {
          const { status, body: text } = server.tokenAnswer;
          const type = text.startsWith("{") ? "application/json" : "text/html";
          return void response.writeHead(status, { "content-type": type }).end(text);
        }
        return token(new URLSearchParams(body), request, send);
      case "/device":
        return send(200, {
          ...{ device_code: secret(), user_code: "WDJB-MJHT", interval: 0.05 },
          ...{ verification_uri: `${origin}/activate`, expires_in: server.deviceExpiresIn },
        });
      case "/revoke":
        return send(200, {});
      case "/mcp":
        return mcp(request, body, send);
      default:
        return send(404, {});
    }

    function sendMetadata(json: Record<string, unknown>): void {
      server.metadata(json);
      send(200, json);
    }
  }

  type Send = (status: number, json: unknown, headers?: Record<string, string>) => void;

  /** The cookie of the browser says who logs in. */
  function authorize(
    { searchParams: asked }: URL,
    request: IncomingMessage,
    response: ServerResponse,
    send: Send,
  ): void {
    const user = /(?:^|; )as=(\w+)/.exec(request.headers.cookie ?? "")?.[1] ?? "you";
    const [client, redirectUri] = [asked.get("client_id") ?? "", asked.get("redirect_uri") ?? ""];
    if (clients.get(client)?.includes(redirectUri) !== true) return send(400, { error: "invalid_request" });
    const code = secret();
    codes.set(code, { challenge: asked.get("code_challenge") ?? "", redirectUri, client, user });
    const answer = new URL(redirectUri);
    for (const [name, value] of Object.entries({ code, state: asked.get("state") ?? "", iss: origin }))
      answer.searchParams.set(name, value);
    server.redirect(answer);
    response.writeHead(302, { location: answer.href }).end();
  }

  function token(asked: URLSearchParams, request: IncomingMessage, send: Send): void {
    const basic = Buffer.from((request.headers.authorization ?? "").slice(6), "base64").toString();
    server.clientSecrets.push(basic.split(":")[1] ?? "");
    if (asked.get("grant_type") === "urn:ietf:params:oauth:grant-type:token-exchange")
      return exchange(asked, request, send);
    if (forgotten.has(asked.get("client_id") ?? "")) return send(401, { error: "invalid_client" });
    if (asked.get("resource") !== server.url) return send(400, { error: "invalid_target" });
    if (asked.get("grant_type") === "refresh_token") {
      const given = refresh.get(asked.get("refresh_token") ?? "");
      if (given === undefined) return send(400, { error: "invalid_grant" });
      if (given.used) {
        for (const [name, { family }] of refresh) if (family === given.family) refresh.delete(name);
        return send(400, { error: "invalid_grant", error_description: "the token was used twice" });
      }
      given.used = true;
      return send(200, tokens(given.family, given.user));
    }
    if (asked.get("grant_type")?.endsWith(":device_code") === true) {
      const error = server.deviceErrors?.shift();
      return error === undefined ? send(200, tokens(randomUUID(), "you")) : send(400, { error });
    }
    const code = codes.get(asked.get("code") ?? "");
    codes.delete(asked.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(asked.get("code_verifier") ?? "")
      .digest("base64url");
    const isRight = code?.challenge === challenge && code.redirectUri === asked.get("redirect_uri");
    const client = asked.get("client_id") ?? basic.split(":")[0];
    if (!isRight || code.client !== client) return send(400, { error: "invalid_grant" });
    server.secrets.add(asked.get("code_verifier") ?? "");
    send(200, tokens(randomUUID(), code.user));
  }

  /** Exchanges a JWT for a token of its subject. */
  function exchange(asked: URLSearchParams, request: IncomingMessage, send: Send): void {
    const subject = asked.get("subject_token") ?? "";
    const claims = subject.split(".")[1] ?? "";
    const basic = Buffer.from((request.headers.authorization ?? "").slice(6), "base64").toString();
    server.exchanges.push({ subject, resource: asked.get("resource"), client: basic.split(":")[0] ?? "" });
    const { sub, exp } = JSON.parse(Buffer.from(claims, "base64url").toString() || "{}") as {
      sub?: string;
      exp?: number;
    };
    if (sub === undefined || (exp ?? 0) * 1_000 < Date.now()) return send(400, { error: "invalid_grant" });
    const { refresh_token: _none, ...given } = tokens(randomUUID(), sub);
    send(200, { ...given, issued_token_type: "urn:ietf:params:oauth:token-type:access_token" });
  }

  function tokens(family: string, user: string): Record<string, unknown> {
    const [accessToken, refreshToken] = [secret(), secret()];
    access.set(accessToken, user);
    refresh.set(refreshToken, { family, used: false, user });
    // Some authorization servers write null for what they leave out.
    return {
      ...{ access_token: accessToken, token_type: "Bearer", refresh_token: refreshToken, scope: null },
      expires_in: server.expiresIn,
    };
  }

  function mcp(request: IncomingMessage, body: string, send: Send): void {
    const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    if (given !== undefined) server.presented.add(given);
    const user =
      (server.refusesTokens ? undefined : access.get(given ?? "")) ??
      (server.listsFreely && !body.includes('"tools/call"') ? "" : undefined);
    if (user === undefined) {
      const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
      return send(401, {}, { "www-authenticate": challenge });
    }
    if (request.method !== "POST") return send(405, {});
    const { id, method } = JSON.parse(body) as { id?: number; method: string };
    const session = String(request.headers["mcp-session-id"] ?? "");
    if (sessions.has(session) && sessions.get(session) !== user) server.mixed += 1;
    if (id === undefined) return send(202, undefined);
    const isModern = server.era === "modern";
    if (isModern ? method === "initialize" : method === "server/discover")
      return send(isModern ? 400 : 200, { jsonrpc: "2.0", id, error: { code: -32601, message: "no" } });
    const opened = randomUUID();
    if (method === "initialize") sessions.set(opened, user);
    const own =
      user === "you" || user === "" ? [] : [{ name: `notes_of_${user}`, inputSchema: { type: "object" } }];
    const cached = isModern ? { resultType: "complete", ttlMs: 60_000, cacheScope: "public" } : {};
    const results: Record<string, unknown> = {
      "server/discover": { ...cached, supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
      initialize: {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "behind-oauth", version: "1" },
      },
      "tools/list": { ...cached, tools: [{ name: "whoami", inputSchema: { type: "object" } }, ...own] },
      "tools/call": {
        ...(isModern ? { resultType: "complete" } : {}),
        content: [{ type: "text", text: `it is ${user}` }],
      },
    };
    if (results[method] === undefined)
      return send(200, { jsonrpc: "2.0", id, error: { code: -32601, message: "no" } });
    const named: Record<string, string> = method === "initialize" ? { "mcp-session-id": opened } : {};
    send(200, { jsonrpc: "2.0", id, result: results[method] }, named);
  }

  function secret(): string {
    const value = `canary-${randomUUID()}`;
    server.secrets.add(value);
    return value;
  }
}

/** A person whose browser follows the login page at once. */
export async function visit(address: URL): Promise<URL> {
  const response = await fetch(address, { redirect: "manual" });
  await response.body?.cancel();
  return new URL(response.headers.get("location") ?? "about:blank");
}
