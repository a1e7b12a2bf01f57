// Errors that a schema alone does not find, and the message of each.

import { describe, expect, test } from "vitest";
import { parseDriver } from "./index.ts";

const HEAD = `name: Demo
id: demo-mcp
description: A demo.
version: 1.0.0
kind: mcp`;
const NPM = "server: { kind: npm, package: demo }\ntransport: stdio";
const ONE = "implements:\n  - { tool: ./a/TOOL.md, version: ^1.0.0, metadata: { mcp: { tool_name: a } } }";

const file = (...parts: string[]): string => `---\n${parts.join("\n")}\n---\n`;
const bindings = (...entries: string[]): string =>
  file(HEAD, NPM, "implements:", ...entries.map((entry) => `  - { version: 1.x, ${entry} }`));
const server = (block: string, transport: string, ...more: string[]): string =>
  file(HEAD, `server: { ${block} }`, `transport: ${transport}`, ONE, ...more);
const with_ = (...more: string[]): string => file(HEAD, NPM, ONE, ...more);

const EGRESS = "network: { egress: [a.b] }";
const MCP = "metadata: { mcp: { tool_name: x } }";

describe("refused drivers", () => {
  test.each<[string, string, string, string?]>([
    ["binary over sse", server("kind: binary, path: a", "sse"), "cannot use the transport sse", "stdio"],
    ["npm over http", server("kind: npm, package: a", "http"), "cannot use the transport http", "stdio"],
    ["npm over sse", server("kind: npm, package: a", "sse"), "cannot use the transport sse", "stdio"],
    [
      "docker over sse",
      server("kind: docker, image: a", "sse"),
      "cannot use the transport sse",
      "stdio or http",
    ],
    [
      "remote over stdio",
      server("kind: remote, url: 'https://a.b'", "stdio", "network: { egress: [a.b] }"),
      "cannot use the transport stdio",
      "sse or http",
    ],
    [
      "a remote without TLS",
      server("kind: remote, url: 'http://a.b/x'", "http"),
      "is not encrypted",
      "https",
    ],
    [
      "an address that looks local",
      server("kind: remote, url: 'http://127.0.0.1.a.b'", "http"),
      "not encrypted",
    ],
    [
      "a remote with a password",
      server("kind: remote, url: 'https://u:p@a.b'", "http"),
      "name or a password",
    ],
    ["a remote that is no URL", server("kind: remote, url: a.b", "http"), "not a URL"],
    [
      "a remote without a list of hosts",
      server("kind: remote, url: 'https://a.b'", "http"),
      'has no network.egress, so it can reach no host, but its server is at "a.b"',
      "Add the line network: { egress: [a.b] }",
    ],
    [
      "a remote on this machine that is not listed",
      server("kind: remote, url: 'http://127.0.0.1:8000/mcp'", "http", "network: { egress: [] }"),
      'network.egress does not contain "127.0.0.1:8000"',
      "Add 127.0.0.1:8000 to network.egress.",
    ],
    [
      "a remote that it may not reach",
      server("kind: remote, url: 'https://a.b'", "http", "network: { egress: [c.d] }"),
      'does not contain "a.b"',
      "Add a.b",
    ],
    ["another kind", server("kind: nmp, package: a", "stdio"), '"nmp" is not a kind of server', '"npm"'],
    ["a server without a kind", server("package: a", "stdio"), "server has no kind"],
    ["an option for a package", server("kind: npm, package: --yes", "stdio"), "begins with -"],
    ["a package and more", server("kind: npm, package: a b", "stdio"), "contains a space"],
    ["no server", file(HEAD, "transport: stdio", ONE), "server is missing"],
    ["no transport", file(HEAD, "server: { kind: npm, package: a }", ONE), "transport is missing"],
    ["an entry without metadata", bindings("tool: a"), "implements[0].metadata.mcp is missing", "tool_name"],
    [
      "an entry with another's",
      bindings("tool: a, metadata: { cli: {} }"),
      "implements[0].metadata.mcp is missing",
    ],
    [
      "an entry without tool_name",
      bindings("tool: a, metadata: { mcp: {} }"),
      "tool_name is missing in implements[0].metadata.mcp",
    ],
    [
      "camelCase",
      bindings("tool: a, metadata: { mcp: { tool_name: x, toolName: y } }"),
      'unknown key "toolName"',
      '"tool_name"',
    ],
    [
      "a streaming binding",
      bindings("tool: a, metadata: { mcp: { tool_name: x, streaming: true } }"),
      'unknown key "streaming" in implements[0].metadata.mcp',
    ],
    [
      "the same contract twice",
      bindings(`tool: ./a/TOOL.md, ${MCP}`, `tool: a/TOOL.md, ${MCP}`),
      "implements[1].tool is the same contract as implements[0].tool",
    ],
    [
      "two inputs as one argument",
      bindings("tool: a, metadata: { mcp: { tool_name: x, argument_mapping: { a: c, b: c } } }"),
      'both become the argument "c"',
    ],
    ["two mapped to one", bindings(`tool: a, mapping: { a: c, b: c }, ${MCP}`), 'both become the input "c"'],
    [
      "an extract that is no path",
      bindings("tool: a, metadata: { mcp: { tool_name: x, result_extract: contents } }"),
      'implements[0].metadata.mcp.result_extract "contents" is not a path',
      "$.contents",
    ],
    [
      "an extract that searches",
      bindings("tool: a, metadata: { mcp: { tool_name: x, result_extract: $..a } }"),
      "all levels",
    ],
    [
      "a range that is none",
      bindings(`tool: b, version: soon, ${MCP}`.replace("version: soon, ", "")).replace(
        "version: 1.x",
        "version: soon",
      ),
      'implements[0].version "soon" is not a range',
    ],
    ["an absolute contract", bindings(`tool: /etc/TOOL.md, ${MCP}`), "absolute path"],
    [
      "an old word in an entry",
      bindings(`tool: a, mcp_tool_name: x, ${MCP}`),
      "the key mcp_tool_name is not allowed in implements[0]",
      "metadata",
    ],
    [
      "an unknown key in an entry",
      bindings(`tool: a, schema_narowing: {}, ${MCP}`),
      'unknown key "schema_narowing" in implements[0]',
      '"schema_narrowing"',
    ],
    ["no entries", file(HEAD, NPM, "implements: []"), "implements is empty"],
    [
      "a skill_block without a skill",
      with_("prompts: [{ name: a, integrate_as: skill_block }]"),
      "skill_ref is missing in prompts[0]",
    ],
    [
      "a ref_kind of every host",
      with_("resources: [{ uri_template: 'a:{b}', integrate_as: ref_kind, ref_kind_id: github }]"),
      "the ref_kind_id github is reserved",
      "mcp_github",
    ],
    [
      "a ref_kind without a name",
      with_("resources: [{ uri_template: 'a:{b}', integrate_as: ref_kind }]"),
      "ref_kind_id is missing in resources[0]",
    ],
    [
      "a ref kind with capitals",
      with_("resources: [{ uri_template: 'a:b', integrate_as: ref_kind, ref_kind_id: A }]"),
      "resources[0].ref_kind_id cannot be",
    ],
    [
      "a prompt twice",
      with_("prompts: [{ name: a, integrate_as: raw }, { name: a, integrate_as: raw }]"),
      'the prompt "a" is declared here and',
    ],
    [
      "a resource twice",
      with_(
        "resources: [{ uri_template: 'a:b', integrate_as: raw }, { uri_template: 'a:b', integrate_as: raw }]",
      ),
      'the resource "a:b"',
    ],
    [
      "a ref kind twice",
      with_(
        "resources: [{ uri_template: 'a:b', integrate_as: ref_kind, ref_kind_id: k }, { uri_template: 'a:c', integrate_as: ref_kind, ref_kind_id: k }]",
      ),
      'the kind of reference "k"',
    ],
    ["braces that do not match", with_("resources: [{ uri_template: 'a:{b', integrate_as: raw }]"), "braces"],
    [
      "an unpublished protocol",
      with_('protocol_version: "2025-04"'),
      '"2025-04" is not a published version',
      "2025-03-26",
    ],
    ["half of several protocols", with_("protocol_version: 2025"), "beginning of several", "2025-11-25"],
    ["a version with zeros", with_().replace("version: 1.0.0", "version: 01.0.0"), "is not a version"],
    ["half a version", with_().replace("version: 1.0.0", "version: 1.0"), 'version cannot be "1.0"', "1.0.0"],
    [
      "a pattern that does not compile",
      with_("version_check: { cmd: a, parse: 'v(', range: '*' }"),
      "version_check.parse is not a regular expression",
    ],
    [
      "a pattern without a group",
      with_("version_check: { cmd: a, parse: 'v.*', range: '*' }"),
      "version_check.parse has no capture group",
    ],
    [
      "a version range that is none",
      with_("version_check: { cmd: a, parse: 'v(.*)', range: new }"),
      "version_check.range",
    ],
    [
      "a login page without TLS",
      with_("auth: { login: { url: 'http://a.b/in', requires_callback_url: true } }"),
      "auth.login.url is not https",
      "https://",
    ],
    ["a time that is none", with_("auth: { refresh: { every: Psoon } }"), "auth.refresh.every", "PT5M"],
    [
      "a month, which has no length",
      with_("health_check: { method: ping, every: P1M }"),
      "health_check.every",
    ],
    [
      "a check without its command",
      with_("health_check: { method: exec }"),
      "cmd is missing in health_check",
    ],
    [
      "a check without its request",
      with_("health_check: { method: http }"),
      "http is missing in health_check",
    ],
    [
      "an incomplete expiry",
      with_("auth: { expiry: { detect: http_status } }"),
      "is not complete",
      "http_status:N",
    ],
    [
      "a host with a scheme",
      with_("network: { egress: ['https://a.b'] }"),
      "is not a host: it is a URL",
      "Write a.b.",
    ],
    ["a range of addresses", with_("network: { egress: [10.0.0.0/8] }"), "range of addresses"],
    [
      "an unknown key in network",
      with_("network: { egres: [] }"),
      'unknown key "egres" in network',
      '"egress"',
    ],
    ["an unknown key in auth", with_("auth: { states: {} }"), 'unknown key "states" in auth', '"state"'],
    [
      "two networks",
      with_("network: { egress: [] }", "sandbox: { network: { egress: [] } }"),
      "at the top level",
    ],
    ["a sandbox with mode: off", with_("sandbox: { mode: off }"), "mode"],
    ["a terminal", with_("sandbox: { tty: { required: true } }"), "no terminal"],
    ["the removed key mcp_tools", with_("mcp_tools: {}"), "mcp_tools is not allowed here", "tool_name"],
    ["the removed key server_ref", with_("server_ref: a"), "server_ref is not allowed here", "server:"],
    ["the removed key prompts_ref", with_("prompts_ref: a"), "prompts_ref is not allowed here", "prompts:"],
    ["the removed mcp_tool_name", with_("mcp_tool_name: a"), "mcp_tool_name is not allowed here", "metadata"],
    [
      "a secret in the host of an address",
      server("kind: remote, url: 'https://${secrets.A}/mcp'", "http"),
      "server.url contains a reference before its path",
    ],
    [
      "a secret in the name of a package",
      server("kind: npm, package: 'a-${secrets.A}'", "stdio"),
      "server.package contains a reference to a secret",
      "server.env",
    ],
    [
      "a secret in a text",
      with_("metadata: { a: { b: '${secrets.A}' } }"),
      "metadata.a.b contains a reference to a secret",
    ],
    [
      "a secret in a command",
      with_("version_check: { cmd: 'a ${secrets.A}', parse: (a), range: '*' }"),
      "version_check.cmd contains a reference",
    ],
    [
      "a variable of this machine",
      server("kind: npm, package: a, env: { B: '${HOME}' }", "stdio"),
      "which is not allowed in a driver",
      "${secrets.HOME}",
    ],
    [
      "a file of this machine",
      server("kind: npm, package: a, env: { B: '${file:/etc/passwd}' }", "stdio"),
      "which is not allowed in a driver",
    ],
    [
      "a file of this machine behind an escape",
      server("kind: npm, package: a, env: { B: '$${${file:/etc/passwd}' }", "stdio"),
      "which is not allowed in a driver",
    ],
    [
      "a reference in args behind an escape",
      server("kind: npm, package: a, args: ['$${${HOME}']", "stdio"),
      "which is not allowed in a driver",
    ],
    [
      "a reference in args",
      server("kind: npm, package: a, args: ['${HOME}']", "stdio"),
      "which is not allowed in a driver",
    ],
    [
      "a variable with a strange name",
      server("kind: npm, package: a, env: { a-b: c }", "stdio"),
      "is not the name of a variable",
    ],
    [
      "a variable of the docker command",
      server("kind: docker, image: a, env: { DOCKER_HOST: b }", "stdio"),
      "DOCKER_HOST would change the docker command itself",
    ],
    [
      "a library for the docker command",
      server("kind: docker, image: a, env: { LD_PRELOAD: ./b.so }", "stdio"),
      "LD_PRELOAD would change",
    ],
    [
      "a header with a line break",
      server('kind: remote, url: "https://a.b", headers: { A: "b\\nc" }', "http"),
      "line break",
    ],
    [
      "an auth of two kinds",
      server("kind: remote, url: 'https://a.b', auth: { token: a, scopes: [b] }", "http", EGRESS),
      "auth has a fixed token or key, and settings of OAuth",
    ],
    [
      "a header without a name",
      server("kind: remote, url: 'https://a.b', auth: { key: '${secrets.A}' }", "http", EGRESS),
      "auth has only key",
    ],
    [
      "a cost below nothing",
      with_("cost_override: { cost_units_per_call: -1 }"),
      "cost_override.cost_units_per_call must be",
    ],
    ["too many attempts", with_("retry_override: { max_attempts: 11 }"), "from 1 to 10"],
    [
      "an install with a stranger's field",
      with_("install: [{ method: npm, package: a, url: b }]"),
      'unknown key "url" in install[0]',
    ],
    [
      "a hash that is none",
      with_("install: [{ method: curl, url: 'https://a.b', verify_sha256: abc }]"),
      "install[0].verify_sha256",
    ],
    ["a tag twice", with_("tags: [a, a]"), "tags[1] repeats tags[0]"],
    ["a long name", with_().replace("name: Demo", `name: ${"x".repeat(81)}`), "name is longer than 80"],
    ["an id with capitals", with_().replace("id: demo-mcp", "id: Demo"), 'id cannot be "Demo"'],
    ["kind unknown", with_().replace("kind: mcp", "kind: mpc"), 'kind cannot be "mpc"', '"mcp"'],
  ])("%s", (_, text, message, hint = "") => {
    const { driver, diagnostics } = parseDriver(text, "DRIVER.md");
    expect(driver).toBeUndefined();
    const errors = diagnostics.filter(({ severity }) => severity === "error");
    const found = errors.find((problem) => problem.message.includes(message));
    expect(found, JSON.stringify(errors, null, 1)).toBeDefined();
    expect(found?.hint ?? "").toContain(hint);
    expect(found?.line).toBeGreaterThan(1);
    expect(errors.length).toBe(1);
  });
});

describe("accepted drivers with a diagnostic", () => {
  test.each<[string, string, string, string]>([
    ["a misspelled key", with_("protocol_versoin: 2025-03-26"), "warning", '"protocol_versoin" is not known'],
    [
      "a misspelled key in the server",
      server("kind: npm, package: a, arg: [b]", "stdio"),
      "warning",
      '"arg" in server is not known',
    ],
    ["a discouraged word", with_("driver: a"), "warning", "driver is not allowed here"],
    [
      "an unknown way to install",
      with_("install: [{ method: nix, package: a }]"),
      "warning",
      'does not know the method "nix"',
    ],
    [
      "an experimental one",
      with_("install: [{ method: npm, package: a, experimental: true }]"),
      "warning",
      "experimental",
    ],
    [
      "a download without a hash",
      with_("install: [{ method: curl, url: 'https://a.b' }]"),
      "warning",
      "verify_sha256 is missing",
    ],
    [
      "a skill for a raw prompt",
      with_("prompts: [{ name: a, integrate_as: raw, skill_ref: b }]"),
      "warning",
      "has no effect",
    ],
    ["a runner", with_("runner: ./RUNNER.md"), "info", "Portolan ignores runner"],
  ])("%s", (_, text, severity, message) => {
    const { driver, diagnostics } = parseDriver(text, "DRIVER.md");
    expect(driver).toBeDefined();
    expect(diagnostics).toEqual([
      expect.objectContaining({ severity, message: expect.stringContaining(message) }),
    ]);
  });

  test.each([["spec: agentdriver/v1"], ["title: A driver"], ["x-own: 1"], ["homepage: https://a.b"]])(
    "no diagnostic for %s",
    (key) => {
      expect(parseDriver(with_(key), "DRIVER.md").diagnostics).toEqual([]);
    },
  );

  test("warns if the name of the folder differs from the id", () => {
    const { diagnostics } = parseDriver(with_(), "/w/.drivers/other/DRIVER.md");
    expect(diagnostics).toMatchObject([{ severity: "warning", line: 3, column: 5 }]);
    expect(parseDriver(with_(), "/w/.drivers/demo-mcp/DRIVER.md").diagnostics).toEqual([]);
  });
});

test("ignores a driver of another kind, with an info and no error", () => {
  const { driver, diagnostics } = parseDriver(with_().replace("kind: mcp", "kind: cli"), "DRIVER.md");
  expect(driver).toBeUndefined();
  expect(diagnostics).toMatchObject([
    { severity: "info", message: "Portolan ignores this driver, because its kind is cli", line: 6 },
  ]);
});

test("reports the problems of the schema and of the later checks together, in the order of the file", () => {
  const { diagnostics } = parseDriver(
    `---
name: Demo
id: X
description: d
version: 1
kind: mcp
server:
  kind: remote
  url: http://a.b
transport: stdio
implements:
  - tool: a
    version: 1.x
    metadata: { mcp: { tool_nam: b } }
tags: [A]
---
`,
    "DRIVER.md",
  );
  expect(diagnostics.map(({ line, column, path }) => `${line}:${column} ${path}`)).toEqual([
    "3:5 /id",
    "5:10 /version",
    "9:8 /server/url",
    "14:22 /implements/0/metadata/mcp",
    "14:24 /implements/0/metadata/mcp/tool_nam",
    "15:8 /tags/0",
  ]);
});

describe("login of a driver", () => {
  const told = (login: string, more = ""): string[] =>
    parseDriver(with_(`auth: { login: { ${login} } ${more} }`), "DRIVER.md").diagnostics.map(
      ({ severity, path, message }) => `${severity} ${String(path)} ${message}`,
    );

  test.each([
    "url: 'https://a.b/in', requires_callback_url: true",
    "url: 'http://localhost:8080/in', requires_callback_url: true",
    "url: 'http://127.0.0.1/in', completes_when: { cmd: whoami }",
    "url: 'https://a.b/in', completes_when: { http: { method: GET, url: 'https://a.b/me' } }",
    "cmd: a login",
  ])("accepts %s", (login) => expect(told(login)).toEqual([]));

  test("warns about a login URL if Portolan cannot detect the end of the login", () => {
    expect(told("url: 'https://a.b/in'")).toEqual([
      expect.stringContaining("warning /auth/login/url Portolan cannot detect the end of the login"),
    ]);
  });

  test("warns about completes_when without cmd and http, unless the driver lists state files", () => {
    expect(told("cmd: a, completes_when: { exit_code: 0 }")).toEqual([
      expect.stringContaining("warning /auth/login/completes_when completes_when has neither cmd nor http"),
    ]);
    expect(told("cmd: a, completes_when: { exit_code: 0 }", ", state: { paths: [~/.a/] }")).toEqual([]);
  });
});
