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

const asked = (headers: Record<string, string>, method = "POST", url = "/mcp"): IncomingMessage =>
  ({ headers: { host: "localhost:7420", ...headers }, method, url }) as unknown as IncomingMessage;

/** Tokens are decided at once. */
function admit(access: AccessControl, authorization?: string): AuthResult {
  const admission = access.authenticate(asked(authorization === undefined ? {} : { authorization }));
  if (admission instanceof Promise) throw new Error("a token took its time");
  return admission;
}

const who = (admission: AuthResult): string | undefined =>
  "caller" in admission ? admission.caller.name : undefined;

test("the gateway's own token is local, and sees everything", () => {
  const admission = admit(open(), `Bearer ${LOCAL}`);
  expect(admission).toMatchObject({ caller: { name: "local", toolFilter: undefined } });
  expect(who(admit(open(), `bearer  ${LOCAL} `))).toBe("local");
});

test("no token, and a wrong one", () => {
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

test("a caller can have two tokens, and only the sessions of a removed one end", () => {
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
  expect(who(admit(open({ callers: [{ name: "a", token: [old, old] }] }), `Bearer ${old}`))).toBe("a");
  const shared = [
    { name: "a", token: [next, old] },
    { name: "b", token: old },
  ];
  expect(() => open({ callers: shared })).toThrow("the callers a and b have the same token");
});

test("a gateway without a token lets nobody in by an empty one", () => {
  const access = open({}, { token: undefined });
  for (const header of ["Bearer undefined", "Bearer ", undefined])
    expect(admit(access, header)).toMatchObject({ refusal: { status: 401 } });
});

test("a token in the URL is never taken", () => {
  const access = open();
  for (const name of ["access_token", "token", "api_key"])
    expect(access.authenticate(asked({}, "POST", `/mcp?${name}=${LOCAL}`))).toMatchObject({
      refusal: { status: 401 },
    });
});

test("auth none: anyone, with the limits of the gateway", () => {
  const access = open({ auth: "none", limits: { concurrency: 1 } });
  const admission = admit(access);
  expect(who(admission)).toBe("anyone");
  expect(admit(access, "Bearer nonsense")).toBe(admission);
  if (!("caller" in admission)) return;
  expect(admission.caller.limits.startRequests()).toBeUndefined();
  expect(admission.caller.limits.startRequests()).toMatchObject({ status: 429 });
});

test("auth none beyond this computer is reported", () => {
  const found: Diagnostic[] = [];
  const report = (one: Diagnostic): number => found.push(one);
  for (const boundHost of ["127.0.0.1", "::1", "localhost"]) open({ auth: "none" }, { boundHost, report });
  expect(found).toEqual([]);
  open({ auth: "none" }, { boundHost: "0.0.0.0", report });
  expect(found).toMatchObject([{ severity: "warning", code: "CONFIG_INVALID" }]);
});

test("callers: by token or by its hash, each with its view and its limits", () => {
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

test("a token of two callers is an error, and one that is short a warning", () => {
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

test("cors for pages that are allowed, and only for them", () => {
  const access = open({ allowedOrigins: ["https://app.example.com"] });
  expect(access.cors(asked({}))).toBeUndefined();
  expect(access.cors(asked({ origin: "https://evil.example" }))).toBeUndefined();
  expect(access.cors(asked({ origin: "https://app.example.com" }))).toEqual({
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
  expect(access.cors(asked(preflight, "OPTIONS"))).toMatchObject({
    "Access-Control-Allow-Origin": "http://localhost:3000",
    "Access-Control-Allow-Methods": "GET, POST, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": "authorization, mcp-param-city, content-type",
    "Access-Control-Allow-Private-Network": "true",
  });
});

test("without an issuer there is no document about one", () => {
  expect(open().resourceMetadata("/.well-known/oauth-protected-resource")).toBeUndefined();
});

test("behind a real server: name first, then token", async () => {
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

test("a token is known in microseconds", () => {
  const callers = Array.from({ length: 100 }, (_, index) => ({
    name: `c${index}`,
    token: `${AGENT}-${index}`,
  }));
  const access = open({ callers });
  const request = asked({ authorization: `Bearer ${AGENT}-99` });
  const started = performance.now();
  for (let index = 0; index < 10_000; index += 1) void access.authenticate(request);
  // Some 2 µs each; the bound is for a computer that does much else at the same time.
  expect(performance.now() - started).toBeLessThan(15_000);
});
