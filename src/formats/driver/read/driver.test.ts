// Reading a DRIVER.md: the endpoint of its server, its launch settings and sandbox, and its other fields.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Driver } from "../../../model/index.ts";
import { parseDriver } from "../index.ts";

const FOLDER = resolve("drivers");
const FILE = resolve(FOLDER, "DRIVER.md");
const HEAD = "name: Demo\nid: demo-mcp\ndescription: A demo.\nversion: 1.0.0\nkind: mcp";
const ONE = "implements:\n  - { tool: a, version: ^1.0.0, metadata: { mcp: { tool_name: a } } }";
const NPM = "server: { kind: npm, package: demo }\ntransport: stdio";

function read(...parts: string[]): Driver {
  const { driver, diagnostics } = parseDriver(`---\n${[HEAD, ONE, ...parts].join("\n")}\n---\n`, FILE);
  if (driver === undefined) throw new Error(JSON.stringify(diagnostics));
  return driver;
}

test("resolves a relative program in the workspace first, then in the folder of the driver", async () => {
  const workspace = await mkdtemp(join(tmpdir(), "portolan-program-"));
  onTestFinished(() => rm(workspace, { recursive: true }));
  const own = join(workspace, ".drivers", "demo-mcp");
  for (const folder of [workspace, own]) {
    await mkdir(join(folder, "bin"), { recursive: true });
    await writeFile(join(folder, "bin", "both"), "");
  }
  await writeFile(join(own, "bin", "own"), "");
  const commandOf = (path: string): unknown => {
    const text = `---\n${[HEAD, ONE, `server: { kind: binary, path: ${path} }`, "transport: stdio"].join("\n")}\n---\n`;
    return parseDriver(text, join(own, "DRIVER.md")).driver?.endpoint;
  };
  expect(commandOf("./bin/both")).toMatchObject({ command: join(workspace, "bin/both") });
  expect(commandOf("./bin/own")).toMatchObject({ command: join(own, "bin/own") });
  expect(commandOf("../../bin/both")).toMatchObject({ command: join(workspace, "bin/both") });
  // The program does not exist yet, for example before a build: then the path is one of the workspace.
  expect(commandOf("./bin/neither")).toMatchObject({ command: join(workspace, "bin/neither") });
});

describe("the endpoint of the server", () => {
  test.each<[string, string, string, unknown]>([
    [
      "a program by name",
      "kind: binary, path: mcp-demo",
      "stdio",
      { transport: "stdio", command: "mcp-demo" },
    ],
    [
      "a program by path",
      "kind: binary, path: /opt/mcp-demo, args: [-v, 1], env: { A: b }",
      "stdio",
      { transport: "stdio", command: "/opt/mcp-demo", args: ["-v", "1"], env: { A: "b" } },
    ],
    [
      "a program beside the file",
      "kind: binary, path: ./bin/demo",
      "stdio",
      { transport: "stdio", command: resolve(FOLDER, "bin/demo") },
    ],
    [
      "a program in a folder beside the file",
      "kind: binary, path: bin/demo",
      "stdio",
      { transport: "stdio", command: resolve(FOLDER, "bin/demo") },
    ],
    [
      "a package",
      "kind: npm, package: '@a/b@1.2.3', args: [/w]",
      "stdio",
      { transport: "stdio", kind: "npm", package: "@a/b@1.2.3", args: ["/w"] },
    ],
    [
      "a container",
      "kind: docker, image: 'a/b:1', args: [c], env: { URL: '${secrets.POSTGRES_URL}', B: 1 }",
      "stdio",
      {
        transport: "stdio",
        kind: "image",
        image: "a/b:1",
        args: ["c"],
        env: { URL: "${secrets.POSTGRES_URL}", B: "1" },
      },
    ],
    [
      "a container that serves HTTP",
      "kind: docker, image: a",
      "http",
      {
        transport: "http",
        url: "http://127.0.0.1:8080/mcp",
        program: { kind: "image", image: "a", port: 8_080 },
      },
    ],
    [
      "a container with a port and a path",
      "kind: docker, image: a, port: 3000, path: /v1/mcp",
      "http",
      {
        transport: "http",
        url: "http://127.0.0.1:3000/v1/mcp",
        program: { kind: "image", image: "a", port: 3_000 },
      },
    ],
    [
      "a remote server",
      "kind: remote, url: 'https://mcp.example.com/v1'",
      "sse",
      { transport: "sse", url: "https://mcp.example.com/v1" },
    ],
    [
      "a local server, without TLS",
      "kind: remote, url: 'http://localhost:8000/mcp'",
      "http",
      { transport: "http", url: "http://localhost:8000/mcp" },
    ],
    [
      "a local server, by address",
      "kind: remote, url: 'http://[::1]:8000/mcp'",
      "http",
      { transport: "http", url: "http://[::1]:8000/mcp" },
    ],
    [
      "a remote server, with headers",
      "kind: remote, url: 'https://a.b', headers: { X-Key: '${secrets.A_KEY}', X-Plain: c }",
      "http",
      { transport: "http", url: "https://a.b", headers: { "X-Key": "${secrets.A_KEY}", "X-Plain": "c" } },
    ],
    [
      "a remote server, with a bearer token",
      "kind: remote, url: 'https://a.b', auth: { token: '${secrets.A_KEY}' }",
      "http",
      { transport: "http", url: "https://a.b", headers: { Authorization: "Bearer ${secrets.A_KEY}" } },
    ],
    [
      "a remote server, with a header of its own",
      "kind: remote, url: 'https://a.b', auth: { header: X-Api-Key, key: '${secrets.A_KEY}' }",
      "http",
      { transport: "http", url: "https://a.b", headers: { "X-Api-Key": "${secrets.A_KEY}" } },
    ],
    [
      "a remote server, with a client of OAuth",
      "kind: remote, url: 'https://a.b', auth: { client_id: c, client_secret: '${secrets.A_KEY}', scopes: [d] }",
      "http",
      {
        ...{ transport: "http", url: "https://a.b" },
        auth: { clientId: "c", clientSecret: "${secrets.A_KEY}", scopes: ["d"] },
      },
    ],
  ])("is read for %s", (_, block, transport, endpoint) => {
    const url = /url: '([^']+)'/.exec(block)?.[1];
    const network = url === undefined ? [] : [`network: { egress: ['${new URL(url).host}'] }`];
    expect(read(`server: { ${block} }`, `transport: ${transport}`, ...network).endpoint).toEqual(endpoint);
  });

  test("uses the driver's only secret as a bearer token, unless the driver sets headers", () => {
    const endpoint = (block: string, env: string): unknown =>
      read(
        `server: { kind: remote, url: 'https://a.b'${block} }`,
        "transport: http",
        `auth: { state: { env: [${env}] } }`,
        "network: { egress: [a.b] }",
      ).endpoint;
    const bearer = { Authorization: "Bearer ${secrets.A}" };
    expect(endpoint("", "A")).toHaveProperty("headers", bearer);
    expect(endpoint("", "A, B")).not.toHaveProperty("headers");
    expect(endpoint(", auth: {}", "A")).not.toHaveProperty("headers");
    expect(endpoint(", headers: { authorization: x }", "A")).toHaveProperty("headers", {
      authorization: "x",
    });
  });
});

describe("launch settings", () => {
  test("deny all network access by default", () => {
    expect(read(NPM).launch).toEqual({ sandbox: { network: [] } });
    // The driver can request the mode; the host decides.
    expect(read(NPM, "sandbox: { mode: warn }").launch).toEqual({
      sandbox: { network: [] },
      askedMode: "warn",
    });
    expect(read(NPM, "sandbox: { mode: enforce }").launch).toEqual({ sandbox: { network: [] } });
  });

  test("contain only the network rule for a remote server", () => {
    const remote = ["server: { kind: remote, url: 'https://a.b' }", "transport: http"];
    expect(read(...remote, "network: { egress: [a.b] }").launch).toEqual({ sandbox: { network: ["a.b"] } });
  });

  test("allow the hosts in network.egress", () => {
    const { launch } = read(NPM, "network: { egress: [api.example.com, '*.example.org', 'db.local:5432'] }");
    expect(launch.sandbox?.network).toEqual(["api.example.com", "*.example.org", "db.local:5432"]);
  });

  test("read the sandbox keys of command-line drivers", () => {
    const { launch } = read(
      NPM,
      "sandbox:",
      "  network: { egress: [a.b] }",
      "  fs: { read: [./data, /srv/**], write: [~/out], deny: [/srv/private] }",
      "  exec: { allow: true, spawn: [git] }",
      "  env: { pass: [LANG], set: { A: b } }",
      "  limits: { memory: 512MB }",
    );
    expect(launch.sandbox).toEqual({
      network: ["a.b"],
      fs: { read: [resolve(FOLDER, "data"), "/srv"], write: ["~/out"], deny: ["/srv/private"] },
      exec: { allow: ["git"] },
      env: { pass: ["LANG"], set: { A: "b" } },
      limits: { memoryBytes: 512_000_000 },
    });
  });

  test.each([
    ["{ allow: false }", { spawn: false }],
    ["{ allow: true }", {}],
    ["{ allow: true, spawn: [] }", { spawn: false }],
    ["{ allow: [git], spawn: true }", { allow: ["git"], spawn: true }],
    ["{ allow: [git] }", { allow: ["git"] }],
    ["{ spawn: false }", { spawn: false }],
  ])("read exec: %s", (exec, expected) => {
    expect(read(NPM, `sandbox: { exec: ${exec} }`).launch.sandbox?.exec).toEqual(expected);
  });

  test("read the methods of install", () => {
    const hash = "a".repeat(64);
    const { launch } = read(
      NPM,
      "install:",
      "  - { method: brew, package: a }",
      "  - { method: pip, package: a, user: true }",
      `  - { method: curl, url: 'https://a.b/c', verify_sha256: ${hash} }`,
      `  - { method: download, url: 'https://a.b/c.tgz', extract_bin: bin/a, verify_sha256: ${hash} }`,
      "  - { method: vendored, path: ./bin/a }",
    );
    expect(launch.install).toEqual([
      { method: "brew", package: "a" },
      { method: "pip", package: "a", user: true },
      { method: "curl", url: "https://a.b/c", sha256: hash },
      { method: "download", url: "https://a.b/c.tgz", extractBin: "bin/a", sha256: hash },
      { method: "vendored", path: resolve(FOLDER, "bin/a") },
    ]);
  });

  test("read os and arch of requires", () => {
    const { launch } = read(NPM, "requires: { os: [windows, linux], arch: [x86, arm64] }");
    expect(launch.requires).toEqual({ os: ["win32", "linux"], arch: ["ia32", "arm64"] });
  });
});

test("reads the other fields of a driver", () => {
  const driver = read(
    NPM,
    "protocol_version: 2025-06-18",
    "prompts: [{ name: p, description: d, integrate_as: skill_block, skill_ref: ./skills/s/SKILL.md }]",
    "connection_options: { timeout_ms: 1000, max_retries: 0, keepalive: true }",
    "auth:",
    "  ref: ./SECRETS.md",
    "  state: { env: [A] }",
    "  login: { url: 'https://a.b/login?id=…', interactive: true, completes_when: { http: { method: GET, url: 'https://a.b', expect_status: 200 } } }",
    "  refresh: { cmd: '', every: PT1H }",
    "  expiry: { detect: 'http_status:401' }",
    "cost_override: { cost_units_per_call: 0.5, currency: USD }",
    "timeout_override_ms: 2000",
    "retry_override: { max_attempts: 3 }",
    "health_check: { method: ping, every: PT30S }",
    "metadata: { own: { a: 1 } }",
  );
  expect(driver).toMatchObject({
    protocolVersion: "2025-06-18",
    prompts: [{ name: "p", description: "d", integrateAs: "skill_block", skillRef: "./skills/s/SKILL.md" }],
    connection: { timeoutMs: 1_000, maxRetries: 0, keepalive: true },
    auth: {
      ref: "./SECRETS.md",
      state: { paths: [], env: ["A"] },
      login: {
        url: "https://a.b/login?id=…",
        interactive: true,
        requiresCallbackUrl: false,
        completesWhen: { http: { method: "GET", url: "https://a.b", expectStatus: 200 } },
      },
      refresh: { everyMs: 3_600_000 },
      expiryDetect: "http_status:401",
    },
    cost: { unitsPerCall: 0.5, currency: "USD" },
    timeoutMs: 2_000,
    retry: { maxAttempts: 3, backoff: "exponential", initialMs: 500 },
    healthCheck: { method: "ping", everyMs: 30_000, timeoutMs: 5_000 },
    region: ["global"],
    metadata: { own: { a: 1 } },
  });
  expect(driver.auth?.refresh).not.toHaveProperty("command");
});

describe("a server.json in the driver's folder", () => {
  const parse = (head: string, text: string): ReturnType<typeof parseDriver> =>
    parseDriver(`---\n${HEAD}\n${ONE}\n${head}\n---\n`, FILE, { serverJson: { text, file: "server.json" } });

  test.each(['{"kind": "npm", "package": "a"}', '{"server": {"kind": "npm", "package": "a"}}'])(
    "provides the server: %s",
    (text) => {
      const { driver, diagnostics } = parse("transport: stdio", text);
      expect(diagnostics).toEqual([]);
      expect(driver?.endpoint).toEqual({ transport: "stdio", kind: "npm", package: "a" });
    },
  );

  test("is not read if the frontmatter has a server", () => {
    const { driver, diagnostics } = parse(NPM, "{ broken");
    expect(driver?.server).toMatchObject({ package: "demo" });
    expect(diagnostics).toMatchObject([
      { severity: "warning", message: expect.stringContaining("uses only the one here") },
    ]);
  });

  test.each([
    ["{", "not valid JSON"],
    ["[]", "does not name the MCP server"],
    ['{"name": "io.example/a", "packages": []}', "does not name the MCP server"],
    ['{"kind": "npm"}', "package is missing"],
    ['{"kind": "npm", "package": "a", "args": ["${HOME}"]}', "reference"],
  ])("is refused: %s", (text, message) => {
    const { driver, diagnostics } = parse("transport: stdio", text);
    expect(driver).toBeUndefined();
    expect(diagnostics).toMatchObject([{ file: "server.json", message: expect.stringContaining(message) }]);
  });
});

test("a secret in the arguments or in the path or query of a URL is used, with a note", () => {
  const read = (server: string, transport: string) =>
    parseDriver(
      `---\n${[HEAD, ONE, `server: { ${server} }`, `transport: ${transport}`, "network: { egress: [a.b] }"].join("\n")}\n---\n`,
      FILE,
    );
  const program = read("kind: binary, path: x, args: [--token, '${secrets.A_TOKEN}']", "stdio");
  expect(program.driver?.endpoint).toMatchObject({ args: ["--token", "${secrets.A_TOKEN}"] });
  expect(program.diagnostics).toMatchObject([
    { severity: "info", path: "/server/args/1", message: expect.stringContaining("other users") as string },
  ]);
  const remote = read("kind: remote, url: 'https://a.b/mcp?key=${secrets.A_KEY}'", "http");
  expect(remote.driver?.endpoint).toMatchObject({ url: "https://a.b/mcp?key=${secrets.A_KEY}" });
  expect(remote.diagnostics).toEqual([]);
  const path = read("kind: remote, url: 'https://a.b/s/${secrets.A_KEY}/mcp'", "http");
  expect(path.driver?.endpoint).toMatchObject({ url: "https://a.b/s/${secrets.A_KEY}/mcp" });
  expect(path.diagnostics).toEqual([]);
});

test.each([
  "https://${secrets.A}/mcp",
  "https://a.b${secrets.A}/mcp",
  "https:/${secrets.A}/mcp",
  "https:\\\\${secrets.A}/mcp",
  "https://a.b#${secrets.A}",
  "${secrets.A}",
])("refuses a secret in or before the host of a URL: %s", (url) => {
  const server = `server: { kind: remote, url: "${url}" }`;
  const lines = [HEAD, ONE, server, "transport: http", "network: { egress: [a.b] }"];
  const { driver, diagnostics } = parseDriver(`---\n${lines.join("\n")}\n---\n`, FILE);
  expect(driver).toBeUndefined();
  expect(diagnostics[0]?.message).toBe("server.url contains a reference before its path");
});
