import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { Invocation, InvokedServer } from "../../../model/index.ts";
import { parseMcpfile } from "./parse.ts";
import { renderScript, renderTemplate, renderWords } from "../write/render.ts";

const path = (name: string): string =>
  fileURLToPath(new URL(`../../../../test/fixtures/mcpfiles/${name}`, import.meta.url));
const read = (name: string): ReturnType<typeof parseMcpfile> =>
  parseMcpfile(readFileSync(path(name), "utf8"), path(name));

/** One line that describes the invocation of a tool. */
function line(invocation: Invocation): string {
  if (invocation.kind === "http") return `${invocation.method} ${renderTemplate(invocation.url)}`;
  const name = ({ path }: { path: readonly string[] }): string => `=${path.join(".")}`;
  return invocation.shell === undefined
    ? renderWords(invocation.words, name)
    : renderScript(invocation.shell.script, name);
}

const lines = (server: InvokedServer | undefined): Record<string, string> =>
  Object.fromEntries(
    (server?.tools ?? []).map(({ definition, invocation }) => [definition.name, line(invocation)]),
  );

describe("mcpfile version 0.0.1", () => {
  test("reads the complete example of the specification", () => {
    const { servers, diagnostics, version } = read("seed.yaml");
    expect(diagnostics).toEqual([]);
    expect(version).toBe("0.0.1");
    const [git, users] = servers;
    expect(git).toMatchObject({
      info: { name: "git-tools", version: "1.0.0" },
      folder: dirname(path("seed.yaml")),
      prompts: [],
      resources: [],
      resourceTemplates: [],
    });
    expect(git?.tools[0]?.definition).toEqual({
      name: "clone_repo",
      title: "Clone Git Repository",
      description: "Clones a git repository from a URL to the local machine.",
      inputSchema: {
        type: "object",
        properties: {
          repoUrl: { type: "string", description: "The git URL of the repo to clone." },
          depth: { type: "integer", description: "The number of commits to clone." },
          verbose: { type: "boolean", description: "Whether to return verbose logs." },
        },
        required: ["repoUrl"],
      },
    });
    const text = (word: string): unknown => ({ kind: "word", parts: [{ kind: "text", text: word }] });
    const variable = (name: string, format: unknown[], omitIfFalse = false): unknown => ({
      kind: "variable",
      variable: { path: [name], format, omitIfFalse },
    });
    const input = (name: string): unknown => [{ kind: "input", path: [name] }];
    expect(git?.tools[0]?.invocation).toEqual({
      kind: "cli",
      words: [
        text("git"),
        text("clone"),
        variable("repoUrl", [input("repoUrl")]),
        variable("depth", [[{ kind: "text", text: "--depth" }], input("depth")]),
        variable("verbose", [[{ kind: "text", text: "--verbose" }]], true),
      ],
      appendUnused: false,
    });
    expect(users?.info).toEqual({ name: "user-service", version: "2.1.0" });
    expect(users?.tools[0]?.invocation).toEqual({
      kind: "http",
      method: "GET",
      url: [{ kind: "text", text: "http://localhost:8080/users/" }, ...(input("userId") as unknown[])],
      headers: [],
      rest: "query",
      query: [],
      bodyAsArray: false,
    });
  });

  test.each([
    "mcpFileVersion: 0.0.1",
    'mcpFileVersion: "0.0.1"',
    "mcpFileVersion: 0.0.1\nservers: []",
    "mcpFileVersion: '0.0.1'\nservers:",
  ])("accepts a minimal file: %j", (text) => {
    expect(parseMcpfile(text, "f.yaml")).toMatchObject({ servers: [], diagnostics: [] });
  });

  test("reads a server without tools, and a version that YAML reads as a number", () => {
    const { servers, diagnostics } = parseMcpfile(
      "mcpFileVersion: 0.0.1\nservers:\n- name: a\n  version: 1.10",
      "f.yaml",
    );
    expect(servers[0]?.info).toEqual({ name: "a", version: "1.10" });
    expect(diagnostics).toMatchObject([{ severity: "warning", line: 4, column: 12, server: "a" }]);
  });

  test("keeps $ before a placeholder, and treats headers as a normal property", () => {
    const [server] = parseMcpfile(
      `mcpFileVersion: 0.0.1
servers:
- name: a
  version: 1.0.0
  tools:
  - name: t
    description: d
    inputSchema: {type: object, properties: {x: {type: string}, headers: {type: object, properties: {y: {type: "null"}, z: {type: null}}}}}
    invocation: {cli: {command: "echo \${x} {headers.y}", ignoredArguments: [headers.z]}}`,
      "f.yaml",
    ).servers;
    expect(server?.tools[0]?.invocation).toMatchObject({
      words: [
        {},
        { parts: [{ text: "$" }, { kind: "input", path: ["x"] }] },
        { parts: [{ kind: "input", path: ["headers", "y"] }] },
      ],
    });
    expect(server?.tools[0]?.definition.inputSchema).toMatchObject({
      properties: { headers: { properties: { z: { type: "null" } } } },
    });
  });

  test("reads the runtime and the scopes that later versions added", () => {
    const { entries, runtime, diagnostics } = parseMcpfile(
      `mcpFileVersion: 0.0.1
servers:
- name: a
  version: 1.0.0
  runtime:
    transportProtocol: streamablehttp
    streamableHttpConfig: {port: 3000, basePath: /mcp, auth: {authorizationServers: [https://a.example]}, tls: {certFile: c, keyFile: k}}
  tools:
  - name: t
    description: d
    requiredScopes: [read, write]
    inputSchema: {type: object}
    invocation: {cli: {command: date}}`,
      "f.yaml",
    );
    expect(diagnostics).toEqual([]);
    expect(entries[0]?.runtime).toEqual(runtime);
    expect(runtime).toMatchObject({
      transportProtocol: "streamablehttp",
      streamableHttpConfig: { port: 3000 },
    });
    expect(entries[0]?.server.tools[0]?.requiredScopes).toEqual(["read", "write"]);
  });
});

describe.each(["everything-0.1.yaml", "everything-0.2.yaml"])("the complete example %s", (name) => {
  const isSecond = name.includes("0.2");
  test("is read with every field", () => {
    const { servers, diagnostics } = read(name);
    expect(diagnostics).toEqual([]);
    const [server] = servers;
    expect(servers).toHaveLength(1);
    expect(lines(server)).toEqual({
      get_user: "GET https://api.example.com/v1/users/{id}?active={filter.active}",
      add_tags: "POST https://api.example.com/v1/users/{id}/tags",
      add_one: "POST https://api.example.com/v1/users",
      sign_in: "POST https://api.example.com/login",
      log: "git -C ${REPOSITORY} log {=count} {=oneline} --author={author} '--format=%h {{%s}}'",
      count_lines: 'word="{word}"\ngrep -c "$word" {file} || true',
    });
    expect(server?.instructions).toBe("Ask for one thing at a time.");
    const [get, tags, one, form, log, count] = server?.tools ?? [];
    expect(get?.invocation).toMatchObject({
      headers: [
        { name: "Authorization", value: [{ text: "Bearer " }, { kind: "env", name: "API_TOKEN" }] },
        { name: "X-Trace", value: [{ kind: "header", name: "X-Trace-Id" }] },
        { name: "Accept", value: [{ text: "application/json" }] },
      ],
      timeoutMs: 20_000,
      rest: "query",
    });
    expect(get).toMatchObject({
      requiredScopes: ["users.read"],
      definition: {
        annotations: { readOnlyHint: true, openWorldHint: true },
        outputSchema: { type: "object" },
      },
    });
    expect(tags?.invocation).toMatchObject({
      ...(isSecond ? { bodyRoot: ["tags"] } : {}),
      query: ["dryRun"],
      rest: "json",
      maxResponseBytes: 65_536,
    });
    expect(one?.invocation).toMatchObject({ bodyAsArray: isSecond });
    expect(form?.invocation).toMatchObject({ rest: "form" });
    expect(log?.invocation).toMatchObject({
      env: [{ name: "GIT_PAGER" }, { name: "LANG", value: [{ kind: "env", name: "LANG" }] }],
    });
    expect(count?.invocation).toMatchObject({
      words: [],
      shell: { program: "bash" },
      cwd: [{ text: "work" }],
      timeoutMs: 500,
      maxOutputBytes: 1000,
      appendUnused: true,
    });
    expect(server?.prompts).toMatchObject([
      {
        definition: { name: "review", title: "Review", arguments: [{ name: "topic", required: true }] },
        inputSchema: {},
      },
    ]);
    expect(server?.resources).toMatchObject([
      { definition: { name: "motd", uri: "motd://today", mimeType: "text/plain", size: 100 } },
    ]);
    expect(server?.resourceTemplates).toMatchObject([
      { definition: { name: "page", uriTemplate: "manual://{section}/{page}", mimeType: "text/html" } },
    ]);
  });
});

test("resolves the certificate authorities of a runtime to absolute paths", () => {
  const [server] = read("everything-0.1.yaml").servers;
  const ca = path("ca.pem");
  expect(server?.clientTls).toEqual({ caCertFiles: [ca], insecureSkipVerify: false });
  expect(read("everything-0.2.yaml").servers[0]?.clientTls).toBeUndefined();
});

test("reads the runtime of a file with kind: MCPServerConfig", () => {
  const { servers, config, runtime, diagnostics } = read("mcpserver.yaml");
  expect({ servers, diagnostics }).toEqual({ servers: [], diagnostics: [] });
  expect(config?.runtime).toEqual(runtime);
  expect(runtime).toEqual({
    transportProtocol: "streamablehttp",
    streamableHttpConfig: {
      port: 8443,
      basePath: "/mcp",
      stateless: true,
      auth: {
        authorizationServers: ["https://issuer.example.com"],
        jwksUri: "https://issuer.example.com/jwks",
      },
      tls: { certFile: "cert.pem", keyFile: "key.pem" },
      health: { enabled: true, livenessPath: "/healthz", readinessPath: "/readyz" },
    },
    loggingConfig: {
      level: "info",
      encoding: "json",
      outputPaths: ["stdout"],
      errorOutputPaths: ["stderr"],
      initialFields: { service: "users", shard: 3 },
      enableMcpLogs: false,
    },
    clientTlsConfig: { caCertFiles: ["ca.pem"], caCertDir: "/etc/authorities", insecureSkipVerify: false },
  });
});

test("reads the arguments of a prompt from a list or from a schema", () => {
  const { servers, diagnostics } = parseMcpfile(
    `kind: MCPToolDefinitions
schemaVersion: 0.2.0
name: a
version: 1.0.0
prompts:
- {name: list, description: d, arguments: [{name: x, description: X, required: true}], invocation: {cli: {command: "echo {x}"}}}
- {name: schema, description: d, inputSchema: {type: object, properties: {y: {type: string, description: Y}}}, invocation: {cli: {command: "echo {y}"}}}`,
    "f.yaml",
  );
  expect(diagnostics).toEqual([]);
  expect(servers[0]?.prompts).toMatchObject([
    {
      inputSchema: {
        type: "object",
        properties: { x: { type: "string", description: "X" } },
        required: ["x"],
      },
    },
    { definition: { arguments: [{ name: "y", description: "Y", required: false }] } },
  ]);
});

test("an invalid tool does not remove the other tools", () => {
  const { servers, diagnostics } = parseMcpfile(
    `mcpFileVersion: 0.1.0
name: a
version: 1.0.0
tools:
- {name: bad, description: d, invocation: {cli: {command: "echo {x}"}}}
- {name: good, description: d, invocation: {cli: {command: echo}}}`,
    "f.yaml",
  );
  expect(lines(servers[0])).toEqual({ good: "echo" });
  expect(diagnostics).toMatchObject([{ server: "a", tool: "bad", line: 5 }]);
});
