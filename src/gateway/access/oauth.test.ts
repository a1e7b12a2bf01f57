// Tokens of a real issuer: an HTTP server whose metadata and keys the tests can change or break.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JWK,
  SignJWT,
  UnsecuredJWT,
} from "jose";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import type { GatewayOAuth, GatewaySettings } from "../../model/index.ts";
import { createAccessControl } from "./access-control.ts";
import type { AccessControl, AuthResult } from "./types.ts";

const AUDIENCE = "http://127.0.0.1:7420/mcp";

interface Signer {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly jwk: JWK;
}

let server: Server;
let issuer: string;
let keys: JWK[];
let first: Signer;
/** Responses that replace the responses of the issuer, by path. */
let broken: Map<string, { status: number; body: string }>;
let visits: string[];
let reports: Diagnostic[];
let clock: number;

async function createSigner(kid: string, alg = "ES256"): Promise<Signer> {
  const { publicKey, privateKey } = await generateKeyPair(alg);
  return { kid, alg, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

beforeEach(async () => {
  first = await createSigner("first");
  keys = [first.jwk];
  broken = new Map();
  visits = [];
  reports = [];
  clock = 0;
  server = createServer((request, response) => {
    const path = request.url ?? "";
    visits.push(path);
    const { status, body } = broken.get(path) ?? answer(path);
    response.writeHead(status, { "Content-Type": "application/json" }).end(body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  vi.useRealTimers();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

function answer(path: string): { status: number; body: string } {
  if (path === "/keys") return { status: 200, body: JSON.stringify({ keys }) };
  if (path === "/.well-known/oauth-authorization-server")
    return { status: 200, body: JSON.stringify({ issuer, jwks_uri: `${issuer}/keys` }) };
  return { status: 404, body: "{}" };
}

function open(oauth: Partial<GatewayOAuth> = {}, settings: GatewaySettings = {}): AccessControl {
  return createAccessControl({
    settings: { ...settings, oauth: { issuer, ...oauth } },
    token: "ptl_own-token-of-the-gateway",
    boundHost: "127.0.0.1",
    url: () => "http://127.0.0.1:7420/mcp",
    now: () => clock,
    report: (one) => reports.push(one),
  });
}

/** A claim that is undefined removes the default, so that claims can be left out. */
async function sign(claims: Record<string, unknown> = {}, signer: Signer = first): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  const all = { iss: issuer, aud: AUDIENCE, sub: "ada", iat: now, exp: now + 600, ...claims };
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  const header = { alg: signer.alg, ...(signer.kid === "" ? {} : { kid: signer.kid }) };
  return new SignJWT(given).setProtectedHeader(header).sign(signer.privateKey);
}

const requestWith = (token: string): IncomingMessage =>
  ({ headers: { host: "localhost", authorization: `Bearer ${token}` } }) as unknown as IncomingMessage;

async function admit(access: AccessControl, token: string): Promise<AuthResult> {
  return access.authenticate(requestWith(token));
}

async function outcome(access: AccessControl, token: string): Promise<string> {
  const admission = await admit(access, token);
  if ("caller" in admission) return admission.caller.name;
  expect(JSON.stringify(admission)).not.toContain(token);
  return `${admission.refusal.status} ${admission.refusal.error.message}`;
}

const INVALID = "401 the bearer token is not valid:";

test("a valid token authenticates its subject with the keys from the issuer's metadata", async () => {
  const access = open();
  expect(await outcome(access, await sign())).toBe(`oauth:${issuer}|ada`);
  expect(visits).toEqual(["/.well-known/oauth-authorization-server", "/keys"]);
});

test.each(["RS256", "PS384", "ES384", "EdDSA"])("the signature algorithm %s is accepted", async (alg) => {
  const signer = await createSigner("other", alg);
  keys = [signer.jwk];
  expect(await outcome(open(), await sign({}, signer))).toBe(`oauth:${issuer}|ada`);
});

test("the gateway's own token also works, and unknown tokens are refused", async () => {
  const access = open();
  expect(await outcome(access, "ptl_own-token-of-the-gateway")).toBe("local");
  expect(await outcome(access, "ptl_another")).toBe(`${INVALID} no caller of this gateway has this token`);
  expect(visits).toEqual([]);
});

test.each<[string, Record<string, unknown>, string]>([
  ["expired", { exp: Math.floor(Date.now() / 1_000) - 61 }, "it has expired"],
  ["for another audience", { aud: "https://other.example/mcp" }, "its audience is not this gateway"],
  ["without an audience", { aud: undefined }, "its audience is not this gateway"],
  ["of another issuer", { iss: "https://evil.example" }, "it is from another issuer"],
  ["not valid yet", { nbf: Math.floor(Date.now() / 1_000) + 300 }, "it is not valid yet"],
  ["without an expiry time", { exp: undefined }, "it has no expiry time"],
  ["without a subject", { sub: undefined }, "it has no subject"],
  ["with an empty subject", { sub: "" }, "it has no subject"],
  ["with a subject that is not a string", { sub: 7 }, "it has no subject"],
])("a token is refused if it is %s", async (_, claims, reason) => {
  expect(await outcome(open(), await sign(claims))).toBe(`${INVALID} ${reason}`);
});

test("up to one minute of clock difference is accepted", async () => {
  const now = Math.floor(Date.now() / 1_000);
  const access = open();
  expect(await outcome(access, await sign({ exp: now - 30 }))).toContain("|ada");
  expect(await outcome(access, await sign({ nbf: now + 30 }))).toContain("|ada");
});

test("a token without a signature is refused", async () => {
  const token = new UnsecuredJWT({ sub: "ada" })
    .setIssuer(issuer)
    .setAudience(AUDIENCE)
    .setExpirationTime("10m")
    .encode();
  expect(await outcome(open(), token)).toBe(`${INVALID} its signature algorithm is not accepted`);
});

test("a token signed with HS256 and the issuer's public key is refused", async () => {
  const rsa = await createSigner("rsa", "RS256");
  keys = [rsa.jwk];
  const secret = new TextEncoder().encode(await exportSPKI(rsa.publicKey));
  const token = await new SignJWT({ iss: issuer, aud: AUDIENCE, sub: "ada" })
    .setProtectedHeader({ alg: "HS256", kid: "rsa" })
    .setExpirationTime("10m")
    .sign(secret);
  expect(await outcome(open(), token)).toBe(`${INVALID} its signature algorithm is not accepted`);
});

test("a key in the token itself is not trusted", async () => {
  const evil = await createSigner("first");
  const header = { alg: "ES256", kid: "first", jwk: evil.jwk, jku: `${issuer}/evil` };
  const token = await new SignJWT({ iss: issuer, aud: AUDIENCE, sub: "ada" })
    .setProtectedHeader(header)
    .setExpirationTime("10m")
    .sign(evil.privateKey);
  expect(await outcome(open(), token)).toBe(`${INVALID} its signature does not match the key of the issuer`);
  expect(visits).not.toContain("/evil");
});

test("malformed tokens with two dots are refused", async () => {
  const access = open();
  const good = await sign();
  const [head, body, signature] = good.split(".");
  for (const token of ["a.b.c", "..", `${head}.${body}.`, `${head}..${signature}`, `${good}x`])
    expect(await outcome(access, token)).toMatch(/^401 /);
});

test('all required scopes must be in the claim "scope" or "scp"', async () => {
  const access = open({ scopes: ["mcp.use", "mcp.tools"] });
  expect(await outcome(access, await sign({ scope: "mcp.tools other mcp.use" }))).toContain("|ada");
  expect(await outcome(access, await sign({ scp: ["mcp.use", "mcp.tools"] }))).toContain("|ada");
  expect(await admit(access, await sign({ scope: "mcp.use mcp.toolsx" }))).toEqual({
    refusal: {
      status: 403,
      headers: {
        "WWW-Authenticate":
          'Bearer error="insufficient_scope", scope="mcp.use mcp.tools", resource_metadata="http://127.0.0.1:7420/.well-known/oauth-protected-resource/mcp"',
      },
      error: {
        code: "FORBIDDEN",
        message: 'the bearer token lacks the scope "mcp.tools"',
        hint: "Request a token with the scopes that the WWW-Authenticate header of this response names.",
      },
    },
  });
});

test("WWW-Authenticate names the resource metadata, and the metadata names the issuer", async () => {
  const access = open({ scopes: ["a"], resource: "https://tools.example.com/team/mcp" });
  const metadata = "https://tools.example.com/.well-known/oauth-protected-resource/team/mcp";
  const none = access.authenticate({ headers: {} });
  expect(none).toMatchObject({
    refusal: {
      status: 401,
      headers: { "WWW-Authenticate": `Bearer scope="a", resource_metadata="${metadata}"` },
    },
  });
  expect(await admit(access, "a.b.c")).toMatchObject({
    refusal: {
      status: 401,
      headers: {
        "WWW-Authenticate": `Bearer error="invalid_token", scope="a", resource_metadata="${metadata}"`,
      },
    },
  });
  for (const path of ["", "/mcp", "/team/mcp"])
    expect(access.resourceMetadata(`/.well-known/oauth-protected-resource${path}`)).toEqual({
      resource: "https://tools.example.com/team/mcp",
      authorization_servers: [issuer],
      scopes_supported: ["a"],
      bearer_methods_supported: ["header"],
    });
  expect(access.resourceMetadata("/.well-known/oauth-protected-resource/other")).toBeUndefined();
  // The audience of tokens is that URL, unless the settings name an audience.
  expect(
    await outcome(access, await sign({ scope: "a", aud: "https://tools.example.com/team/mcp" })),
  ).toContain("ada");
  expect(await outcome(open({ audience: "tools" }), await sign({ aud: ["x", "tools"] }))).toContain("ada");
});

test("a gateway on all addresses needs its URL in the settings", () => {
  const options = { token: undefined, boundHost: "0.0.0.0", url: () => undefined, report: () => {} };
  expect(() => createAccessControl({ ...options, settings: { oauth: { issuer } } })).toThrow(
    "resource is missing",
  );
});

test("a gateway inside another HTTP server reports once that it needs its URL", () => {
  const reported: Diagnostic[] = [];
  const access = createAccessControl({
    ...{ token: undefined, boundHost: "127.0.0.1", url: () => undefined },
    settings: { oauth: { issuer } },
    report: (diagnostic) => void reported.push(diagnostic),
  });
  for (const path of ["", "/mcp"])
    expect(() => access.resourceMetadata(`/.well-known/oauth-protected-resource${path}`)).toThrow(
      "resource is missing",
    );
  expect(reported).toMatchObject([
    {
      severity: "error",
      hint: expect.stringContaining("settings.oauth.resource of openGateway()") as string,
    },
  ]);
});

test("a new key of the issuer is fetched, and a removed key is no longer trusted", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const access = open();
  const old = await sign();
  expect(await outcome(access, old)).toContain("ada");
  const second = await createSigner("second");
  keys = [second.jwk];
  // Shortly after a fetch, an unknown key does not cause another fetch.
  expect(await outcome(access, await sign({}, second))).toBe(
    `${INVALID} the issuer does not publish the key that signed it`,
  );
  vi.setSystemTime(Date.now() + 31_000);
  expect(await outcome(access, await sign({}, second))).toContain("ada");
  expect(visits.filter((path) => path === "/keys")).toHaveLength(2);
  clock += 60_001;
  expect(await outcome(access, old)).toBe(`${INVALID} the issuer does not publish the key that signed it`);
});

test("a token without a key id is checked with all matching keys", async () => {
  const second = await createSigner("second");
  keys = [first.jwk, second.jwk];
  const access = open();
  expect(await outcome(access, await sign({}, { ...second, kid: "" }))).toContain("ada");
  const stranger = { ...(await createSigner("")), kid: "" };
  expect(await outcome(access, await sign({}, stranger))).toBe(
    `${INVALID} its signature does not match the key of the issuer`,
  );
});

test("concurrent checks of a token are one check, and a known token is accepted synchronously", async () => {
  const access = open();
  const token = await sign();
  const many = await Promise.all(Array.from({ length: 20 }, () => admit(access, token)));
  expect(new Set(many.map((admission) => "caller" in admission && admission.caller)).size).toBe(1);
  expect(access.authenticate(requestWith(token))).not.toBeInstanceOf(Promise);
  clock += 60_001;
  expect(access.authenticate(requestWith(token))).toBeInstanceOf(Promise);
});

test("a token is not cached after its expiry time", async () => {
  const access = open();
  const token = await sign({ exp: Math.floor(Date.now() / 1_000) + 5 });
  await admit(access, token);
  clock += 5_001;
  expect(access.authenticate(requestWith(token))).toBeInstanceOf(Promise);
});

test("tokens of one subject share their limits", async () => {
  const access = open({}, { limits: { concurrency: 1 } });
  const [a, b, c] = await Promise.all([
    admit(access, await sign({ jti: "1" })),
    admit(access, await sign({ jti: "2" })),
    admit(access, await sign({ sub: "bob" })),
  ]);
  if (!("caller" in a) || !("caller" in b) || !("caller" in c)) throw new Error("all are good");
  expect(a.caller.limits.startRequests()).toBeUndefined();
  expect(b.caller.limits.startRequests()?.status).toBe(429);
  expect(c.caller.limits.startRequests()).toBeUndefined();
});

test("a token becomes the first caller whose OAuth rule matches, with its tool filter", async () => {
  const access = open(
    {},
    {
      callers: [
        { name: "ci", token: "ci-token-0123456789", oauth: { subject: "ci" }, allow: { servers: ["git"] } },
        { name: "admins", oauth: { claim: { groups: "admins", level: "3" } } },
        { name: "writers", oauth: { scope: "read write" }, deny: { tags: ["secret"] } },
      ],
    },
  );
  const own = (sub: string): string => `oauth:${issuer}|${sub}`;
  expect(await outcome(access, await sign({ sub: "ci" }))).toBe("ci");
  const [byClaim, byToken] = [
    await admit(access, await sign({ sub: "ci" })),
    await admit(access, "ci-token-0123456789"),
  ];
  if (!("caller" in byClaim && "caller" in byToken)) throw new Error("refused");
  // Each credential has separate sessions, which end with the credential.
  const { fingerprint, ...same } = byToken.caller;
  expect(byClaim).toMatchObject({ caller: same });
  expect(byClaim.caller.fingerprint).not.toBe(fingerprint);
  expect(await outcome(access, await sign({ groups: ["users", "admins"], level: 3 }))).toBe(
    `admins|${own("ada")}`,
  );
  expect(await outcome(access, await sign({ scope: "write x read" }))).toBe(`writers|${own("ada")}`);
  expect(await outcome(access, await sign({ sub: "bob", scope: "write read" }))).toBe(
    `writers|${own("bob")}`,
  );
  expect(await admit(access, await sign({ groups: ["admins"], scope: "read" }))).toMatchObject({
    refusal: { status: 403, error: { code: "FORBIDDEN" } },
  });
  const writer = await admit(access, await sign({ scope: "read write" }));
  expect("caller" in writer && writer.caller.toolFilter?.admitsServer({ alias: "a", tags: ["secret"] })).toBe(
    false,
  );
});

test("without the issuer's keys, tokens get status 503, one report, and later another fetch", async () => {
  broken.set("/keys", { status: 500, body: "" });
  const access = open();
  expect(await admit(access, await sign())).toMatchObject({
    refusal: { status: 503, headers: { "Retry-After": "5" }, error: { code: "AUTH_UNAVAILABLE" } },
  });
  clock += 1_000;
  const asked = visits.length;
  expect(await admit(access, await sign())).toMatchObject({
    refusal: { status: 503, headers: { "Retry-After": "4" } },
  });
  expect(visits).toHaveLength(asked);
  clock += 4_000;
  expect(await outcome(access, await sign())).toMatch(/^503/);
  expect(visits.length).toBeGreaterThan(asked);
  expect(reports).toEqual([
    {
      code: "HTTP_ERROR",
      severity: "error",
      message: `the gateway cannot check tokens of ${issuer}: ${issuer}/keys returned status 500`,
      hint: "The gateway refuses these tokens until it can fetch the keys of the issuer, and tries again by itself. If the problem persists, check gateway.oauth.issuer, or set gateway.oauth.jwks_url.",
    },
  ]);
  clock += 5_000;
  broken.clear();
  expect(await outcome(access, await sign())).toContain("ada");
});

test.each(["nonsense", "{}", "[]", '{"keys": [1]}'])(
  "a key document with the content %s is unusable, so tokens get status 503",
  async (body) => {
    broken.set("/keys", { status: 200, body });
    expect(await outcome(open(), await sign())).toMatch(/^503/);
    expect(reports).toMatchObject([{ code: "HTTP_ERROR" }]);
  },
);

test("with an unreachable issuer, tokens get status 503", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  await new Promise((done) => other.close(done));
  const access = open({ jwksUrl: `http://127.0.0.1:${port}/keys` });
  expect(await outcome(access, await sign())).toMatch(/^503/);
  expect(reports[0]?.message).toContain("ECONNREFUSED");
});

test("known keys stay valid while the issuer is down", async () => {
  const access = open();
  await admit(access, await sign());
  broken.set("/keys", { status: 500, body: "" });
  expect(await outcome(access, await sign({ sub: "bob" }))).toContain("bob");
});

test("finds OpenID Connect metadata below the issuer's path", async () => {
  issuer = `${issuer}/realms/a`;
  const place = "/realms/a/.well-known/openid-configuration";
  broken.set(place, {
    status: 200,
    body: JSON.stringify({ issuer, jwks_uri: new URL("/keys", issuer).href }),
  });
  expect(await outcome(open(), await sign())).toContain("ada");
  expect(visits).toEqual([
    "/.well-known/oauth-authorization-server/realms/a",
    "/.well-known/openid-configuration/realms/a",
    place,
    "/keys",
  ]);
});

test.each([
  { issuer: "https://evil.example", jwks_uri: "https://evil.example/keys" },
  { jwks_uri: "x" },
  { jwks_uri: "http://evil.example/keys" },
])("untrusted metadata provides no keys: %j", async (metadata) => {
  const body = JSON.stringify({ issuer, ...metadata });
  broken.set("/.well-known/oauth-authorization-server", { status: 200, body });
  expect(await outcome(open(), await sign())).toMatch(/^503/);
  expect(reports[0]?.message).toContain("has no usable OAuth metadata");
});
