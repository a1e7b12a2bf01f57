// Servers from packages instead of commands, and the methods that install a program.

import { expect, test } from "vitest";
import { parseWorkspace } from "../workspace/index.ts";

const HASH = "a".repeat(64);
const DIGEST = `ghcr.io/acme/mcp:1.2@sha256:${HASH}`;

function read(yaml: string) {
  const { servers, diagnostics } = parseWorkspace(`servers:\n  a: ${yaml}\n`, "/project/portolan.yaml");
  return { server: servers[0], problems: diagnostics.map(({ message }) => message), diagnostics };
}

test.each<[string, unknown]>([
  ['{ npm: "@scope/server@^1.2" }', { transport: "stdio", kind: "npm", package: "@scope/server@^1.2" }],
  [
    "{ npm: server, args: [--port, 1], env: { A: b }, cwd: sub }",
    {
      transport: "stdio",
      kind: "npm",
      package: "server",
      args: ["--port", "1"],
      env: { A: "b" },
      cwd: "sub",
    },
  ],
  [
    '{ npm: "server@>=1 <2", bin: serve, args: [x] }',
    { transport: "stdio", kind: "npm", package: "server@>=1 <2", bin: "serve", args: ["x"] },
  ],
  [
    `{ docker: "${DIGEST}", args: [serve], env: { TOKEN: "\${TOKEN}", B: c } }`,
    {
      transport: "stdio",
      kind: "image",
      image: DIGEST,
      args: ["serve"],
      env: { TOKEN: "${TOKEN}", B: "c" },
    },
  ],
  [
    "{ docker: acme/mcp, transport: http, port: 8080, headers: { A: b }, env: { T: u } }",
    {
      transport: "http",
      url: "http://127.0.0.1:0/mcp",
      headers: { A: "b" },
      program: {
        kind: "image",
        image: "acme/mcp",
        env: { T: "u" },
        port: 8080,
      },
    },
  ],
  [
    "{ docker: acme/mcp, port: 80, path: /v1/mcp }",
    {
      transport: "http",
      url: "http://127.0.0.1:0/v1/mcp",
      program: { kind: "image", image: "acme/mcp", port: 80 },
    },
  ],
  [
    "{ docker: acme/mcp, transport: sse, port: 80 }",
    {
      transport: "sse",
      url: "http://127.0.0.1:0/sse",
      program: { kind: "image", image: "acme/mcp", port: 80 },
    },
  ],
])("reads the endpoint of %s", (yaml, endpoint) => {
  const { server, problems } = read(yaml);
  expect(problems).toEqual([]);
  expect(server?.endpoint).toEqual(endpoint);
});

test.each<[string, string]>([
  ["{ npm: a, command: b }", "command cannot be combined with npm: a server has exactly one of"],
  ["{ docker: a, url: https://b.com }", "url cannot be combined with docker"],
  ["{ npm: a, docker: b }", "docker cannot be combined with npm"],
  ["{ npm: --help }", '"--help" is not an npm package'],
  ["{ npm: ./local }", '"./local" is not an npm package'],
  ['{ npm: "a@file:../b" }', '"a@file:../b" is not an npm package'],
  ['{ npm: "a@${V}" }', "is not an npm package"],
  ["{ npm: a, bin: ../x }", '"../x" is not the name of a program'],
  ["{ npm: a, transport: http }", "this transport cannot be used with npm"],
  ["{ docker: --privileged }", '"--privileged" is not a container image'],
  ['{ docker: "a@sha256:12" }', "is not a container image"],
  ['{ docker: "a b" }', "is not a container image"],
  ["{ docker: a, transport: http }", "port is missing: with transport streamable-http"],
  ["{ docker: a, transport: websocket, port: 1 }", "this transport cannot be used with docker"],
  ["{ docker: a, port: 70000 }", "must be a whole number from 1 to 65535"],
  ["{ docker: a, port: 1, path: mcp }", '"mcp" is not a path'],
  ["{ docker: a, env: { 'A=B': c } }", "cannot be the name of an environment variable"],
  ["{ command: a, install: [ { method: snap, package: x } ] }", 'cannot be "snap"'],
  ["{ command: a, install: [ { method: npm } ] }", "package is missing in servers.a.install[0]"],
  ["{ command: a, install: [ { method: npm, package: -g } ] }", '"-g" is not a package'],
  ["{ command: a, install: [ { method: apt, package: x, url: y } ] }", "url is not a key of the method apt"],
  [
    "{ command: a, install: [ { method: download, url: https://b.com, verify_sha256: ab, extract_bin: x } ] }",
    "verify_sha256 is not a SHA-256 hash",
  ],
  [`{ command: a, install: [ { method: curl, url: b.com, sha256: ${HASH} } ] }`, "url is not a URL"],
  ["{ command: a, install: [ { method: vendored, path: ~x/y } ] }", "another user"],
  ["{ command: a, version_check: { cmd: x } }", "parse is missing"],
  ["{ command: a, version_check: { cmd: x, parse: '(', range: '1' } }", "is not a regular expression"],
  ["{ command: a, version_check: { cmd: x, parse: 'v', range: '1' } }", "has no capture group"],
  ["{ command: a, version_check: { cmd: x, parse: '\\', range: '1' } }", "is not a regular expression"],
  ["{ command: a, version_check: { cmd: x, parse: '(v)', range: banana } }", "is not a range of versions"],
  [
    "{ command: a, version_check: { cmd: 'x | y', parse: '(v)', range: '1' } }",
    '"|" has a meaning only in a shell',
  ],
  ["{ command: a, install: [ { method: curl, url: https://b.com } ] }", "a download needs the SHA-256 hash"],
  ["{ command: a, requires: { os: [beos] } }", 'cannot be "beos"'],
])("refuses %s", (yaml, message) => {
  const { server, problems } = read(yaml);
  expect(problems.join("\n")).toContain(message);
  expect(server).toBeUndefined();
});

test("reads the install methods, the version check and the requirements", () => {
  const { server, problems } = read(`
    command: a
    install:
      - { method: npm, package: a@1, global: true }
      - { method: pip, package: a, user: true }
      - { method: apt, package: a }
      - { method: download, url: https://b.com/a.tgz, extract_bin: bin/a, verify_sha256: ${HASH.toUpperCase()} }
      - { method: curl, url: https://b.com/a, sha256: ${HASH} }
      - { method: vendored, path: tools/a }
    version_check: { cmd: a --version, parse: 'v(\\d+\\.\\d+\\.\\d+)', range: ^1.2, timeout: 2s }
    requires: { os: [linux, macos], arch: [amd64, arm64] }`);
  expect(problems).toEqual([]);
  expect(server?.launch).toEqual({
    install: [
      { method: "npm", package: "a@1", global: true },
      { method: "pip", package: "a", user: true },
      { method: "apt", package: "a" },
      { method: "download", url: "https://b.com/a.tgz", extractBin: "bin/a", sha256: HASH },
      { method: "curl", url: "https://b.com/a", sha256: HASH },
      { method: "vendored", path: "/project/tools/a" },
    ],
    versionCheck: {
      command: "a --version",
      parse: "v(\\d+\\.\\d+\\.\\d+)",
      range: "^1.2",
      timeoutMs: 2_000,
    },
    requires: { os: ["linux", "darwin"], arch: ["x64", "arm64"] },
  });
});

test("warns about fields that have no effect", () => {
  const { server, diagnostics } = read("{ npm: a, port: 1, headers: { A: b } }");
  expect(server).toBeDefined();
  expect(diagnostics.map(({ severity, message }) => `${severity} ${message}`).sort()).toEqual([
    "warning headers has no effect with npm",
    "warning port has no effect with npm",
  ]);
});
