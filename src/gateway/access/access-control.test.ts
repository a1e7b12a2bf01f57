import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import type { GatewaySettings } from "../../model/index.ts";
import { type AccessControlOptions, createAccessControl } from "./access-control.ts";
import type { AccessControl, AuthResult } from "./types.ts";

const LOCAL = "ptl_local-token-of-this-gateway";
const AGENT = "agent-token-0123456789";

function open(settings: GatewaySettings = {}, more: Partial<AccessControlOptions> = {}): AccessControl {
  return createAccessControl({
    settings,
    token: LOCAL,
    boundHost: "127.0.0.1",
    url: () => "http://127.0.0.1:7420/mcp",
    report: () => {},
    ...more,
  });
}

const requestWith = (headers: Record<string, string>, method = "POST", url = "/mcp"): IncomingMessage =>
  ({ headers: { host: "localhost:7420", ...headers }, method, url }) as unknown as IncomingMessage;

/** The gateway checks its own tokens synchronously. */
function admit(access: AccessControl, authorization?: string): AuthResult {
  const admission = access.authenticate(requestWith(authorization === undefined ? {} : { authorization }));
  if (admission instanceof Promise) throw new Error("the token was not checked synchronously");
  return admission;
}

const callerName = (admission: AuthResult): string | undefined =>
  "caller" in admission ? admission.caller.name : undefined;

test("the gateway's own token authenticates the caller local, without a tool filter", () => {
  const admission = admit(open(), `Bearer ${LOCAL}`);
  expect(admission).toMatchObject({ caller: { name: "local", toolFilter: undefined } });
  expect(callerName(admit(open(), `bearer  ${LOCAL} `))).toBe("local");
});

test("a request with no token or a wrong token gets status 401", () => {
  for (const header of [undefined, "", "Bearer", "Bearer ", `Basic ${LOCAL}`, LOCAL])
    expect(admit(open(), header)).toMatchObject({
      refusal: { status: 401, headers: { "WWW-Authenticate": "Bearer" }, error: { code: "AUTH_REQUIRED" } },
    });
  for (const token of [`${LOCAL}x`, LOCAL.slice(0, -1), "a.b.c", "undefined"]) {
    const admission = admit(open(), `Bearer ${token}`);
    expect(admission).toMatchObject({
      refusal: { status: 401, headers: { "WWW-Authenticate": 'Bearer error="invalid_token"' } },
    });
    expect(JSON.stringify(admission)).not.toContain(token);
  }
});

test("a caller can have two tokens, and only the sessions of a removed token end", () => {
  const [old, next] = ["old-token-of-the-agent", "next-token-of-the-agent"];
  const sha256 = (token: string): string => createHash("sha256").update(token).digest("hex");
  const admitted = (access: AccessControl, token: string) => {
    const admission = admit(access, `Bearer ${token}`);
    if ("refusal" in admission) throw new Error("refused");
    return admission.caller;
  };
  for (const key of ["token", "tokenSha256"] as const) {
    const at = (...tokens: string[]): AccessControl => {
      const written = key === "token" ? tokens : tokens.map(sha256);
      return open({ callers: [{ name: "agent", [key]: written.length === 1 ? written[0] : written }] });
    };
    const [before, both, after] = [at(old), at(old, next), at(next)];
    const [first, second] = [admitted(both, old), admitted(both, next)];
    expect([first.name, second.name]).toEqual(["agent", "agent"]);
    expect(first.limits).toBe(second.limits);
    expect(both.isCurrent(admitted(before, old))).toBe(true);
    expect([first, second].map(after.isCurrent)).toEqual([false, true]);
    expect(admit(after, `Bearer ${old}`)).toMatchObject({ refusal: { status: 401 } });
  }
  // Both references may have the same value for a while; another caller must not.
  expect(callerName(admit(open({ callers: [{ name: "a", token: [old, old] }] }), `Bearer ${old}`))).toBe("a");
  const shared = [
    { name: "a", token: [next, old] },
    { name: "b", token: old },
  ];
  expect(() => open({ callers: shared })).toThrow("the callers a and b have the same token");
});

test("a gateway without a token refuses empty tokens", () => {
  const access = open({}, { token: undefined });
  for (const header of ["Bearer undefined", "Bearer ", undefined])
    expect(admit(access, header)).toMatchObject({ refusal: { status: 401 } });
});

test("a token in the URL is never accepted", () => {
  const access = open();
  for (const name of ["access_token", "token", "api_key"])
    expect(access.authenticate(requestWith({}, "POST", `/mcp?${name}=${LOCAL}`))).toMatchObject({
      refusal: { status: 401 },
    });
});

test('with auth "none", every request is the caller "anyone" with the limits of the gateway', () => {
  const access = open({ auth: "none", limits: { concurrency: 1 } });
  const admission = admit(access);
  expect(callerName(admission)).toBe("anyone");
  expect(admit(access, "Bearer nonsense")).toBe(admission);
  if (!("caller" in admission)) return;
  expect(admission.caller.limits.startRequests()).toBeUndefined();
  expect(admission.caller.limits.startRequests()).toMatchObject({ status: 429 });
});

test('auth "none" on an address that is not loopback is reported as a warning', () => {
  const found: Diagnostic[] = [];
  const report = (one: Diagnostic): number => found.push(one);
  for (const boundHost of ["127.0.0.1", "::1", "localhost"]) open({ auth: "none" }, { boundHost, report });
  expect(found).toEqual([]);
  open({ auth: "none" }, { boundHost: "0.0.0.0", report });
  expect(found).toMatchObject([{ severity: "warning", code: "CONFIG_INVALID" }]);
});

test("callers authenticate by token or token hash, each with its own tool filter and limits", () => {
  const access = open({
    limits: { concurrency: 5, rate: { perSecond: 1, burst: 1_000 } },
    callers: [
      { name: "agent", token: AGENT, allow: { servers: ["files"] }, limits: { concurrency: 1 } },
      { name: "hashed", tokenSha256: createHash("sha256").update("other-token-0123456789").digest("hex") },
    ],
  });
  const agent = admit(access, `Bearer ${AGENT}`);
  const hashed = admit(access, "Bearer other-token-0123456789");
  if (!("caller" in agent) || !("caller" in hashed)) throw new Error("both are callers");
  expect([agent.caller.name, hashed.caller.name]).toEqual(["agent", "hashed"]);
  expect(agent.caller.toolFilter?.admitsServer({ alias: "git", tags: [] })).toBe(false);
  expect(hashed.caller.toolFilter).toBeUndefined();
  expect(admit(access, `Bearer ${AGENT}`)).toMatchObject({ caller: agent.caller });
  const entered = (limits: { startRequests(): unknown }): number =>
    Array.from({ length: 10 }, () => limits.startRequests()).filter((refusal) => refusal === undefined)
      .length;
  expect(entered(agent.caller.limits)).toBe(1);
  expect(entered(hashed.caller.limits)).toBe(5);
});

test("the hint of an exceeded limit names the setting that sets it", () => {
  const rate = { perSecond: 1, burst: 1 };
  const access = open({
    limits: { concurrency: 1, rate },
    callers: [
      { name: "agent", token: AGENT, limits: { rate } },
      { name: "other", token: "other-token-0123456789", limits: { concurrency: 1 } },
    ],
  });
  const hints = (token: string): unknown[] => {
    const admitted = admit(access, `Bearer ${token}`);
    if (!("caller" in admitted)) throw new Error("it is a caller");
    const { limits } = admitted.caller;
    return [
      limits.countMessages() ?? limits.countMessages()?.error.hint,
      limits.startRequests() ?? limits.startRequests()?.error.hint,
    ];
  };
  expect(hints(AGENT)).toEqual([
    expect.stringContaining(" sets the limit with gateway.callers[agent].limits.rate."),
    expect.stringContaining(" sets the limit with gateway.limits.concurrency."),
  ]);
  expect(hints("other-token-0123456789")).toEqual([
    expect.stringContaining(" sets the limit with gateway.limits.rate."),
    expect.stringContaining(" sets the limit with gateway.callers[other].limits.concurrency."),
  ]);
});

test("the same token for two callers is an error, and a short token is a warning", () => {
  const callers = [
    { name: "a", token: AGENT },
    { name: "b", token: AGENT },
  ];
  expect(() => open({ callers })).toThrow("a and b have the same token");
  expect(() => open({ callers: [{ name: "a", token: LOCAL }] })).toThrow("local and a have the same token");
  expect(() => open({ callers: [{ name: "a", token: "" }] })).toThrow("is not a legal bearer token");
  const found: Diagnostic[] = [];
  open({ callers: [{ name: "a", token: "hush" }] }, { report: (one) => found.push(one) });
  expect(found).toMatchObject([{ severity: "warning", code: "CONFIG_INVALID" }]);
  expect(JSON.stringify(found)).not.toContain("hush");
});

test("only allowed origins get CORS headers", () => {
  const access = open({ allowedOrigins: ["https://app.example.com"] });
  expect(access.cors(requestWith({}))).toBeUndefined();
  expect(access.cors(requestWith({ origin: "https://evil.example" }))).toBeUndefined();
  expect(access.cors(requestWith({ origin: "https://app.example.com" }))).toEqual({
    "Access-Control-Allow-Origin": "https://app.example.com",
    "Access-Control-Expose-Headers": "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After",
    Vary: "Origin",
  });
  const preflight = {
    origin: "http://localhost:3000",
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization, mcp-param-city,x-forwarded-for, content-type",
    "access-control-request-private-network": "true",
  };
  expect(access.cors(requestWith(preflight, "OPTIONS"))).toMatchObject({
    "Access-Control-Allow-Origin": "http://localhost:3000",
    "Access-Control-Allow-Methods": "GET, POST, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": "authorization, mcp-param-city, content-type",
    "Access-Control-Allow-Private-Network": "true",
  });
});

test("without an OAuth issuer, there is no protected resource metadata", () => {
  expect(open().resourceMetadata("/.well-known/oauth-protected-resource")).toBeUndefined();
});

test("behind a real server, the gateway checks Host and Origin before the token", async () => {
  const access = open();
  const server = createServer((request, response) => {
    void (async () => {
      const refusal = access.checkHost(request);
      const admission = refusal === undefined ? await access.authenticate(request) : { refusal };
      response.writeHead("refusal" in admission ? admission.refusal.status : 200).end();
    })();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const status = async (headers: Record<string, string>): Promise<number | undefined> => {
    const sent = httpRequest({ port, host: "127.0.0.1", headers, agent: false }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };
  const authorization = `Bearer ${LOCAL}`;
  expect(await status({ authorization })).toBe(200);
  expect(await status({})).toBe(401);
  expect(await status({ authorization, host: "evil.example" })).toBe(403);
  expect(await status({ authorization, origin: "http://evil.example" })).toBe(403);
  expect(await status({ authorization, origin: "http://localhost:1234" })).toBe(200);
  await new Promise((done) => server.close(done));
});

test("a token is checked in microseconds", () => {
  const callers = Array.from({ length: 100 }, (_, index) => ({
    name: `c${index}`,
    token: `${AGENT}-${index}`,
  }));
  const access = open({ callers });
  const request = requestWith({ authorization: `Bearer ${AGENT}-99` });
  const started = performance.now();
  for (let index = 0; index < 10_000; index += 1) void access.authenticate(request);
  // One check takes about 2 µs; the limit is large, because the computer may be busy.
  expect(performance.now() - started).toBeLessThan(15_000);
});
