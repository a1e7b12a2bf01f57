import { describe, expect, test } from "vitest";
import { parseManifest } from "./read.ts";

/** A manifest with these lines as its servers; the first one is in line 3. */
function servers(...lines: string[]): string {
  return ["config:", "  servers:", ...lines.map((line) => `    ${line}`)].join("\n");
}

function problems(text: string): string[] {
  return parseManifest(text, "m.yaml").diagnostics.map(
    ({ severity, line, column, message }) =>
      `${severity === "error" ? "" : `${severity} `}${line}:${column} ${message}`,
  );
}

describe("problems of a manifest", () => {
  test.each<[string, string, string[]]>([
    [
      "no alias",
      servers("- transport: stdio", "  command: x"),
      ["3:7 alias is missing in config.servers[0]"],
    ],
    [
      "an alias twice",
      servers(
        "- alias: a",
        "  transport: stdio",
        "  command: x",
        "- {transport: stdio, command: y, alias: a}",
      ),
      ['6:45 alias "a" is declared here and at line 3, column 14; an alias must be unique'],
    ],
    [
      "an alias with spaces",
      servers("- {alias: my server, transport: stdio, command: y}"),
      ['3:15 alias "my server" contains characters that tool names cannot have'],
    ],
    [
      "an alias like a flag",
      servers("- {alias: -x, transport: stdio, command: y}"),
      ['3:15 alias "-x" starts with "-"'],
    ],
    [
      "a long alias",
      servers(`- {alias: ${"a".repeat(41)}, transport: stdio, command: y}`),
      [`3:15 alias "${"a".repeat(41)}" is longer than 40 characters`],
    ],
    [
      "an unknown transport",
      servers("- alias: a", "  transport: stido", "  command: x"),
      ['4:18 config.servers[0].transport cannot be "stido"'],
    ],
    [
      "no transport",
      servers("- alias: a", "  command: x"),
      ["3:7 transport is missing in config.servers[0]"],
    ],
    [
      "no command",
      servers("- alias: a", "  transport: stdio"),
      ["3:7 command is missing in config.servers[0]: a stdio server is a program to run"],
    ],
    [
      "an empty command",
      servers("- alias: a", "  transport: stdio", "  command:"),
      ["5:7 command is missing in config.servers[0]: a stdio server is a program to run"],
    ],
    [
      "no url",
      servers("- alias: a", "  transport: sse"),
      ["3:7 url is missing in config.servers[0]: a server with transport sse has an address"],
    ],
    [
      "neither alias nor url",
      servers("- transport: http"),
      [
        "3:7 alias is missing in config.servers[0]",
        "3:7 url is missing in config.servers[0]: a server with transport http has an address",
      ],
    ],
    [
      "no url for the other name of streamable-http",
      servers("- alias: a", "  transport: http"),
      ["3:7 url is missing in config.servers[0]: a server with transport http has an address"],
    ],
    [
      "a command for an address",
      servers("- alias: a", "  transport: http", "  command: x", "  url: http://x/"),
      ["5:7 command is not allowed here: transport http needs a url"],
    ],
    [
      "a url for a program",
      servers("- alias: a", "  transport: stdio", "  command: x", "  url: http://x/"),
      ["6:7 url is not allowed here: transport stdio needs a command"],
    ],
    [
      "fields without effect",
      servers("- alias: a", "  transport: http", "  url: http://x/", "  args: [x]", "  env: {A: b}"),
      [
        "warning 6:7 args has no effect with transport http",
        "warning 7:7 env has no effect with transport http",
      ],
    ],
    [
      "a url without scheme",
      servers("- alias: a", "  transport: http", "  url: localhost"),
      ["5:12 url is not a URL"],
    ],
    [
      "a url of another transport",
      servers("- alias: a", "  transport: http", "  url: ws://x/"),
      ["5:12 url must begin with http:// or https:// for transport http"],
    ],
    [
      "an unknown key",
      servers("- alias: a", "  transport: stdio", "  comand: x", "  command: y"),
      ['5:7 unknown key "comand" in config.servers[0]'],
    ],
    [
      "wrong types",
      servers("- alias: a", "  transport: stdio", "  command: [npx]", "  args: -y x", "  env: [A=b]"),
      [
        "5:16 config.servers[0].command must be text, not a list",
        "6:13 config.servers[0].args must be a list, not text",
        "7:12 config.servers[0].env must be an object with keys, not a list",
      ],
    ],
    [
      "a header with a line break",
      servers(
        "- alias: a",
        "  transport: sse",
        "  url: http://x/",
        "  headers:",
        '    A: "b\\nc"',
        "    B C: d",
      ),
      ["7:12 the header A contains a line break", '8:9 "B C" cannot be the name of a header'],
    ],
    [
      "a bad name in env",
      servers("- {alias: a, transport: stdio, command: x, env: {A=B: c}}"),
      ['3:54 "A=B" cannot be the name of an environment variable'],
    ],
    [
      "a whole command line",
      servers("- {alias: a, transport: stdio, command: npx -y server}"),
      ["warning 3:45 command contains a whole command line; no program has that name"],
    ],
    [
      "servers that are no list",
      "config:\n  servers:\n    a: 1",
      ["3:5 config.servers must be a list, not an object"],
    ],
    [
      "a server that is a word",
      servers("- a"),
      ["3:7 config.servers[0] must be an object with keys, not text"],
    ],
    [
      "an unknown enabled server",
      `${servers("- {alias: web, transport: stdio, command: x}")}\n  enabled_servers: [web, wbe]`,
      ['4:26 there is no server "wbe"'],
    ],
    ["no config", "id: mcp", ["1:1 config is missing"]],
    [
      "an unknown key at the top",
      "id: mcp\nconfg:\n  servers: []",
      ['2:1 unknown key "confg"', "1:1 config is missing"].sort(),
    ],
    ["naming without tool", 'config:\n  naming: "mcp_{alias}"', ["2:11 naming must contain {tool}"]],
    [
      "naming with an unknown part",
      'config:\n  naming: "{alis}_{tool}"',
      ['2:11 naming has an unknown placeholder "{alis}"'],
    ],
    [
      "naming with a dot",
      'config:\n  naming: "{alias}.{tool}"',
      ['2:11 naming contains ".", which tool names cannot have'],
    ],
    [
      "a time that is none",
      servers("- {alias: a, transport: stdio, command: x, timeouts: {start: soon}}"),
      [
        '3:66 config.servers[0].timeouts.start must be a length of time such as 30, "500ms" or "2m", not "soon"',
      ],
    ],
    ["a list at the top", "- a", ["1:1 the file must be an object with keys, not a list"]],
    ["an empty file", "", ["1:1 the file must be an object with keys, not nothing"]],
  ])("are reported with positions: %s", (_, text, expected) => {
    expect(problems(text)).toEqual(expected);
  });

  test("have a hint with the correct spelling, and the name of their server", () => {
    const text = servers(
      "- alias: a",
      "  transport: stremable-http",
      "  url: http://x/",
      "- alias: b",
      "  transport: stdio",
      "  command: x",
      "  tool_alowlist: [x]",
    );
    expect(parseManifest(text, "m.yaml").diagnostics).toEqual([
      {
        code: "FILE_INVALID",
        severity: "error",
        message: 'config.servers[0].transport cannot be "stremable-http"',
        file: "m.yaml",
        line: 4,
        column: 18,
        path: "/config/servers/0/transport",
        hint: 'Did you mean "streamable-http"?',
        server: "a",
      },
      {
        code: "FILE_INVALID",
        severity: "error",
        message: 'unknown key "tool_alowlist" in config.servers[1]',
        file: "m.yaml",
        line: 9,
        column: 7,
        path: "/config/servers/1/tool_alowlist",
        hint: 'Did you mean "tool_allowlist" or "tool_blocklist"?',
        server: "b",
      },
    ]);
  });

  test("of one server do not remove the other servers", () => {
    const text = servers(
      "- {alias: bad, transport: stdio}",
      "- {alias: good, transport: stdio, command: x}",
      "- {alias: good, transport: stdio, command: y}",
      "- {alias: twice, transport: stdio, command: x, command: y}",
    );
    const { servers: found } = parseManifest(text, "m.yaml");
    expect(found.map(({ alias, endpoint }) => [alias, endpoint])).toEqual([
      ["good", { transport: "stdio", command: "x" }],
    ]);
  });

  test("do not repeat a value that may be a secret", () => {
    const text = servers(
      "- {alias: a, transport: sse, url: http://x/, headers: Bearer sk-secret}",
      "- sk-secret",
    );
    expect(JSON.stringify(parseManifest(text, "m.yaml").diagnostics)).not.toContain("sk-secret");
  });

  test("for YAML with syntax errors have positions, and no server is read", () => {
    const result = parseManifest("config:\n  servers: [\n", "m.yaml");
    expect(result.servers).toEqual([]);
    expect(result.diagnostics[0]).toMatchObject({ severity: "error", line: 3, column: 1 });
  });
});
