import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { GatewaySettings } from "../../model/index.ts";
import { parseWorkspace } from "./read.ts";

const FILE = "portolan.yaml";
const HASH = createHash("sha256").update("x").digest("hex");

function problems(text: string): string[] {
  return parseWorkspace(text, FILE).diagnostics.map(
    ({ line, column, message }) => `${line}:${column} ${message}`,
  );
}

function settings(text: string): GatewaySettings | undefined {
  const parsed = parseWorkspace(text, FILE);
  expect(parsed.diagnostics).toEqual([]);
  return parsed.settings.gateway;
}

test("reads every key of a gateway", () => {
  const text = `gateway:
  host: 0.0.0.0
  port: 8080
  allowed_hosts: [Tools.example.com, "*.example.org:8443", "[::1]:1"]
  allowed_origins: [https://App.example.com]
  tls: {cert: cert.pem, key: key.pem}
  auth: token
  oauth:
    issuer: https://login.example.com/realms/a
    audience: tools
    jwks_url: https://login.example.com/keys?v=1
    scopes: [mcp.use]
    resource: https://tools.example.com/mcp
  callers:
    - name: agent@ci
      token: "\${AGENT_TOKEN}"
      allow: {tools: ["files_*", github.get_issue], servers: [files], tags: [safe], annotations: [read-only]}
      deny: {annotations: [not-idempotent]}
      limits: {rate: 600/m, concurrency: 4}
    - name: other
      token_sha256: ${HASH.toUpperCase()}
    - name: people
      oauth: {subject: 17, scope: "a b", claim: {groups: admins}}
    - name: rest
      oauth: {}
  limits:
    rate: {per_second: 2.5}
    concurrency: 32
    body_bytes: 1000
    sessions: 10
    session_idle: 5m
    suspended: 3
    suspended_for: 90
  budgets:
    github: {callers: [agent@ci, local], tools: ["github.*"], calls: 100/h, cost: 0.5 / 30d, units_per_call: 2}
  loops: {identical: 5, within: 1m, except: ["*_status"]}
  transports: {sse: true, websocket: false}
  page_size: 50
  max_result_bytes: 0
servers:
  files: {command: x, max_result_bytes: 5, lanes: 0}
`;
  expect(settings(text)).toEqual({
    host: "0.0.0.0",
    port: 8080,
    allowedHosts: ["tools.example.com", "*.example.org:8443", "[::1]:1"],
    allowedOrigins: ["https://app.example.com"],
    tls: { cert: "cert.pem", key: "key.pem" },
    auth: "token",
    oauth: {
      issuer: "https://login.example.com/realms/a",
      audience: "tools",
      jwksUrl: "https://login.example.com/keys?v=1",
      scopes: ["mcp.use"],
      resource: "https://tools.example.com/mcp",
    },
    callers: [
      {
        name: "agent@ci",
        token: "${AGENT_TOKEN}",
        allow: {
          tools: ["files_*", "github.get_issue"],
          servers: ["files"],
          tags: ["safe"],
          annotations: ["read-only"],
        },
        deny: { annotations: ["not-idempotent"] },
        limits: { rate: { perSecond: 10, burst: 600 }, concurrency: 4 },
      },
      { name: "other", tokenSha256: HASH },
      { name: "people", oauth: { subject: "17", scope: "a b", claim: { groups: "admins" } } },
      { name: "rest", oauth: {} },
    ],
    limits: {
      rate: { perSecond: 2.5, burst: 10 },
      concurrency: 32,
      bodyBytes: 1000,
      sessions: 10,
      sessionIdleMs: 300_000,
      suspended: 3,
      suspendedForMs: 90_000,
    },
    budgets: {
      github: {
        callers: ["agent@ci", "local"],
        tools: ["github.*"],
        calls: { amount: 100, periodMs: 3_600_000 },
        cost: { amount: 0.5, periodMs: 30 * 86_400_000 },
        unitsPerCall: 2,
      },
    },
    loops: { identical: 5, withinMs: 60_000, except: ["*_status"] },
    transports: { sse: true, websocket: false },
    pageSize: 50,
    maxResultBytes: 0,
  });
  const parsed = parseWorkspace(text, FILE);
  expect(parsed.settings.gatewayServers).toMatchObject([{ text: "files", line: 17 }]);
  expect(parsed.servers[0]).toMatchObject({ maxResultBytes: 5, lanes: 0 });
});

test("a caller has one token or a list of tokens", () => {
  const callers = (caller: string): unknown =>
    settings(`gateway: {callers: [{name: a, ${caller}}]}`)?.callers;
  expect(callers('token: ["${A}", "${B}"]')).toEqual([{ name: "a", token: ["${A}", "${B}"] }]);
  expect(callers(`token_sha256: [${HASH}]`)).toEqual([{ name: "a", tokenSha256: [HASH] }]);
  const problems = (text: string): string =>
    parseWorkspace(`gateway: {callers: [${text}]}`, FILE)
      .diagnostics.map(({ message }) => message)
      .join();
  expect(problems("{name: a, token: []}")).toContain("is empty");
  expect(problems('{name: a, token: ["${A}", plain]}')).toContain("the token is written out");
  expect(problems('{name: a, token: ["${A}", "${A}"]}, {name: b, token: "${B}"}')).toBe("");
  expect(problems(`{name: a, token_sha256: [${HASH}]}, {name: b, token_sha256: ${HASH}}`)).toContain(
    "the same token_sha256 is already at",
  );
});

test("a low rate has a burst that lets a client connect, unless the file sets the burst", () => {
  const burst = (rate: string): unknown =>
    settings(`gateway: {limits: {rate: ${rate}}}`)?.limits?.rate?.burst;
  expect(["2/s", "3/m", "1/h", "{per_second: 2}", "50/s"].map(burst)).toEqual([10, 10, 10, 10, 50]);
  expect(burst("{per_second: 2, burst: 1}")).toBe(1);
});

test("a missing or empty section sets nothing", () => {
  expect(settings("version: 1")).toBeUndefined();
  expect(settings("gateway:")).toBeUndefined();
  expect(settings("gateway: {}")).toEqual({});
});

const CALLER = "{name: a, token: '${A}'}";

test.each([
  ["gateway: []", "1:10 gateway must be an object with keys, not a list"],
  ["gateway: {prot: 1}", '1:11 unknown key "prot" in gateway'],
  ["gateway: {port: 70000}", "1:17 gateway.port must be at most 65535, not 70000"],
  ["gateway: {auth: nobody}", '1:17 gateway.auth cannot be "nobody"'],
  ["gateway: {allowed_hosts: ['https://a']}", '1:27 "https://a" is not the name of a host'],
  ["gateway: {allowed_origins: ['https://a/b']}", '1:29 "https://a/b" is not an origin'],
  ["gateway: {allowed_origins: ['*']}", '1:29 "*" is not an origin'],
  ["gateway: {tls: {cert: a}}", "1:16 key is missing in gateway.tls"],
  ["gateway: {oauth: {scopes: [a]}}", "1:18 issuer is missing in gateway.oauth"],
  ["gateway: {oauth: {issuer: a}}", "1:27 gateway.oauth.issuer is not a URL"],
  ["gateway: {oauth: {issuer: 'http://a'}}", "1:27 gateway.oauth.issuer must begin with https://"],
  ["gateway: {oauth: {issuer: 'https://a?b'}}", "1:27 gateway.oauth.issuer contains a query or a fragment"],
  ["gateway: {oauth: {issuer: 'https://a', scopes: ['a b']}}", '1:49 "a b" is not a scope'],
  [
    "gateway: {host: 0.0.0.0, oauth: {issuer: 'https://a'}}",
    "1:33 gateway.oauth needs resource: a gateway that listens at every address has no URL of its own",
  ],
  [
    "gateway: {limits: {rate: fast}}",
    '1:26 gateway.limits.rate must say how many requests in which time, not "fast"',
  ],
  [
    "gateway: {limits: {rate: 0/s}}",
    '1:26 gateway.limits.rate must say how many requests in which time, not "0/s"',
  ],
  ["gateway: {budgets: {a: {calls: 100}}}", "1:32 gateway.budgets.a.calls must be text, not the number 100"],
  [
    "gateway: {budgets: {a: {calls: 1.5/h}}}",
    '1:32 gateway.budgets.a.calls must say how many calls in which time, not "1.5/h"',
  ],
  [
    "gateway: {budgets: {a: {cost: 5/400d}}}",
    '1:31 gateway.budgets.a.cost must say how much in which time, not "5/400d"',
  ],
  ["gateway: {budgets: {a: {callers: [local]}}}", "1:24 gateway.budgets.a has neither calls nor cost"],
  ["gateway: {budgets: {a: {callers: [nobody], calls: 1/h}}}", '1:35 no caller is named "nobody"'],
  ["gateway: {budgets: {'a b': {calls: 1/h}}}", '1:28 "a b" cannot be the name of a budget'],
  [
    "gateway: {budgets: {a: {calls: 1/h, units_per_call: 3}}}",
    "1:53 units_per_call has no effect without cost",
  ],
  ["gateway: {loops: {identical: 5}}", "1:18 within is missing in gateway.loops"],
  [
    "gateway: {loops: {identical: 0, within: 1m}}",
    '1:30 gateway.loops.identical must be a whole number of at least 1, not "0"',
  ],
  [
    "gateway: {limits: {rate: 5}}",
    "1:26 gateway.limits.rate must be text or an object with keys, not the number 5",
  ],
  ["gateway: {limits: {rate: {per_second: 0}}}", "1:39 gateway.limits.rate.per_second must be more than 0"],
  [
    "gateway: {limits: {session_idle: never}}",
    '1:34 gateway.limits.session_idle must be a length of time such as 30, "500ms" or "2m", not "never"',
  ],
  ["gateway: {callers: [{token: '${A}'}]}", "1:21 name is missing in gateway.callers[0]"],
  ["gateway: {callers: [{name: a}]}", "1:21 gateway.callers[0] has neither token nor token_sha256 nor oauth"],
  ["gateway: {callers: [{name: 'a b', token: '${A}'}]}", '1:28 "a b" cannot be the name of a caller'],
  ["gateway: {callers: [{name: local, token: '${A}'}]}", '1:28 the gateway itself uses the name "local"'],
  [
    `gateway: {callers: [${CALLER}, ${CALLER}]}`,
    '1:54 the caller "a" is declared here and at line 1, column 28',
  ],
  ["gateway: {callers: [{name: a, token_sha256: abc}]}", "1:45 token_sha256 must be 64 hexadecimal digits"],
  [
    `gateway: {callers: [{name: a, token_sha256: ${HASH}}, {name: b, token_sha256: ${HASH}}]}`,
    "1:136 the same token_sha256 is already at line 1, column 45",
  ],
  [
    "gateway: {callers: [{name: a, token: '${A}'}, {name: b, token: ['${B}', '${A}']}]}",
    "1:73 the same token is already at line 1, column 38",
  ],
  [
    `gateway: {callers: [{name: a, token: '\${A}', token_sha256: ${HASH}}]}`,
    "1:60 a caller cannot have both token and token_sha256",
  ],
  [
    "gateway: {callers: [{name: a, oauth: {}}]}",
    "1:38 oauth of a caller has no effect without gateway.oauth",
  ],
  [
    "gateway: {callers: [{name: a, token: '${A}', allow: {annotations: [readonly]}}]}",
    '1:68 gateway.callers[0].allow.annotations[0] cannot be "readonly"',
  ],
  [
    `gateway: {auth: none, callers: [${CALLER}]}`,
    "1:32 gateway.callers cannot be combined with auth: none, which lets everyone in without a token",
  ],
])("reports %j with its position, and does not use the gateway section", (text, expected) => {
  expect(problems(text)).toEqual([expected]);
  expect(parseWorkspace(text, FILE).settings.gateway).toBeUndefined();
});

test("reports all problems at once, with hints", () => {
  const { diagnostics } = parseWorkspace(
    "gateway:\n  prot: 1\n  limits: {rat: 5/s}\n  callers:\n    - {name: a b, token: '${A}'}\n",
    FILE,
  );
  expect(diagnostics.map(({ line, hint }) => [line, hint])).toEqual([
    [2, 'Did you mean "port"?'],
    [3, 'Did you mean "rate"?'],
    [5, 'Use up to 64 letters, digits, "_", "-", "." and "@". Begin with a letter, a digit or "_".'],
  ]);
});

test("accepts a token in plain text, with a warning that does not repeat the token", () => {
  const { diagnostics, settings } = parseWorkspace("gateway: {callers: [{name: a, token: hush}]}", FILE);
  expect(settings.gateway?.callers).toEqual([{ name: "a", token: "hush" }]);
  expect(diagnostics).toMatchObject([{ severity: "warning", line: 1, column: 38 }]);
  expect(JSON.stringify(diagnostics)).not.toContain("hush");
});

test("an issuer on localhost does not need TLS", () => {
  for (const issuer of ["http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"])
    expect(settings(`gateway: {oauth: {issuer: "${issuer}"}}`)?.oauth?.issuer).toBe(issuer);
});

test("the examples in docs/reference/access-control.md are valid", () => {
  const page = readFileSync(new URL("../../../docs/reference/access-control.md", import.meta.url), "utf8");
  const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
  expect(examples.length).toBeGreaterThan(3);
  for (const text of examples) expect(settings(text), text).toBeDefined();
});

test("the parser never throws on any gateway section", () => {
  const key = fc.constantFrom("host", "port", "tls", "oauth", "callers", "limits", "allowed_hosts", "auth");
  const section = fc.dictionary(key, fc.oneof(fc.jsonValue({ maxDepth: 4 }), fc.array(fc.object({ key }))));
  fc.assert(
    fc.property(section, (gateway) => {
      parseWorkspace(JSON.stringify({ gateway }), FILE);
    }),
    { numRuns: 100 },
  );
});

test("the hint about a budget without a period shows valid periods", () => {
  const { diagnostics } = parseWorkspace("gateway: {budgets: {a: {calls: 30}}}", "portolan.yaml");
  expect(diagnostics.map(({ hint }) => hint)).toEqual([
    "Write for example 20/m, 100/h, 500/d or 1000/30d; a period is at most 366 days.",
  ]);
});
