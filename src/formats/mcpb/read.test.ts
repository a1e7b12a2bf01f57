// Manifests of MCPB bundles: all versions, each rule by a manifest that breaks it, positions, hostile texts.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import { looksLikeMcpbManifest, type McpbResult, parseMcpbManifest } from "./read.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- tests change documents of any shape
type Loose = Record<string, any>;

/** A manifest with every field. */
function manifest(change: (value: Loose) => void = () => {}): Loose {
  const value: Loose = {
    $schema: "https://example.com/manifest.schema.json",
    manifest_version: "0.4",
    name: "notes",
    display_name: "Notes",
    version: "1.2.0",
    description: "Reads and writes notes.",
    long_description: "Reads and writes **notes** in a folder.",
    author: { name: "Alice", email: "alice@example.com", url: "https://alice.example" },
    repository: { type: "git", url: "https://github.com/alice/notes.git" },
    homepage: "https://alice.example/notes",
    documentation: "https://alice.example/notes/docs",
    support: "https://github.com/alice/notes/issues",
    icon: "icon.png",
    icons: [{ src: "icons/16.png", size: "16x16", theme: "dark" }],
    screenshots: ["shots/1.png"],
    localization: { resources: "texts/${locale}.json", default_locale: "en-US" },
    server: {
      type: "node",
      entry_point: "server/index.js",
      mcp_config: {
        command: "node",
        args: ["${__dirname}/server/index.js", "${user_config.folders}"],
        env: { NOTES_TOKEN: "${user_config.token}" },
        platform_overrides: { win32: { args: ["${__dirname}${/}server\\index.js"] } },
      },
    },
    tools: [{ name: "read_note", description: "Reads a note." }],
    tools_generated: true,
    prompts: [{ name: "sum_up", description: "", arguments: ["note"], text: "Sum up ${arguments.note}" }],
    prompts_generated: false,
    keywords: ["notes"],
    license: "MIT",
    privacy_policies: ["https://alice.example/privacy"],
    compatibility: {
      claude_desktop: ">=1.0.0",
      another_client: ">=2",
      platforms: ["darwin", "linux"],
      runtimes: { node: ">=18", python: ">=3.8,<4.0" },
    },
    user_config: {
      folders: {
        ...{ type: "directory", title: "Folders", description: "Where the notes are.", multiple: true },
        ...{ required: true, default: ["${HOME}/notes"] },
      },
      token: { type: "string", title: "Token", description: "An API token.", sensitive: true },
      limit: { type: "number", title: "Limit", description: "", default: 10, min: 1, max: 100 },
    },
    _meta: { "com.example": { any: [1, { thing: true }] } },
  };
  change(value);
  return value;
}

const parse = (value: unknown): McpbResult =>
  parseMcpbManifest(JSON.stringify(value, undefined, 2), "notes.mcpb/manifest.json");

const short = ({ severity, path, message }: Diagnostic): string => `${severity} ${path}: ${message}`;

describe("accepted manifests", () => {
  test("a manifest with every field of the newest version", () => {
    const { manifest: read, diagnostics } = parse(manifest());
    expect(diagnostics).toEqual([]);
    expect(read?.server.mcpConfig?.platformOverrides?.["win32"]?.args).toEqual([
      "${__dirname}${/}server\\index.js",
    ]);
    expect(read?.userConfig?.["folders"]?.default).toEqual(["${HOME}/notes"]);
  });

  test.each([
    ["manifest_version", "0.1"],
    ["manifest_version", "0.2"],
    ["manifest_version", "0.3"],
    ["dxt_version", "0.1"],
  ])("a minimal manifest with %s %s", (key, version) => {
    const { manifest: read, diagnostics } = parse({
      ...{ [key]: version, name: "n", version: "1.0.0", description: "d", author: { name: "A" } },
      server: { type: "python", entry_point: "main.py", mcp_config: { command: "python" } },
    });
    expect(diagnostics).toEqual([]);
    expect(read?.name).toBe("n");
  });

  test("a uv bundle without mcp_config", () => {
    const { manifest: read } = parse(
      manifest((value) => (value["server"] = { type: "uv", entry_point: "src/server.py" })),
    );
    expect(read?.server.type).toBe("uv");
  });

  test.each<[string, (value: Loose) => void, RegExp]>([
    [
      "a newer field",
      (value) => (value["manifest_version"] = "0.2"),
      /icons belongs to manifest_version 0.3/,
    ],
    ["a version that is none", (value) => (value["version"] = "one"), /"one" is not a version/],
    ["an unknown placeholder", (value) => (value["server"].mcp_config.args = ["${workspace}"]), /unknown/],
    [
      "a setting that does not exist",
      (value) => (value["server"].mcp_config.env = { A: "${user_config.nope}" }),
      /"nope", which user_config does not have/,
    ],
    [
      "a default that does not fit",
      (value) => (value["user_config"].limit.default = 1000),
      /the largest value is 100, and is ignored/,
    ],
    ["a range that is none", (value) => (value["compatibility"].runtimes.node = "new"), /not a range/],
    ["an unknown key", (value) => (value["scripts"] = {}), /"scripts" is not a key of this format/],
    ["a misspelt key", (value) => (value["server"].entrypoint = "x"), /"entrypoint" is not a key/],
    [
      "a program of the machine",
      (value) => (value["server"].mcp_config.command = "/bin/sh"),
      /of the machine/,
    ],
  ])("with a warning: %s", (_, change, expected) => {
    const { manifest: read, diagnostics } = parse(manifest(change));
    expect(read).toBeDefined();
    expect(diagnostics.map(short).join("\n")).toMatch(expected);
    expect(diagnostics.every(({ severity }) => severity === "warning")).toBe(true);
  });
});

describe("refused manifests", () => {
  test.each<[string, (value: Loose) => void, string, RegExp]>([
    [
      "no version of the format",
      (value) => delete value["manifest_version"],
      "",
      /manifest_version is missing/,
    ],
    ["null as version", (value) => (value["manifest_version"] = null), "", /manifest_version is missing/],
    ["an unknown version", (value) => (value["manifest_version"] = "9.9"), "/manifest_version", /9\.9/],
    [
      "a number as version",
      (value) => (value["manifest_version"] = 0.3),
      "/manifest_version",
      /quotes|number/,
    ],
    ["two versions", (value) => (value["dxt_version"] = "0.1"), "/dxt_version", /but manifest_version is/],
    ["no name", (value) => delete value["name"], "", /name is missing/],
    ["an empty name", (value) => (value["name"] = ""), "/name", /empty/],
    ["no version", (value) => delete value["version"], "", /version is missing/],
    ["no description", (value) => delete value["description"], "", /description is missing/],
    ["no author", (value) => delete value["author"], "", /author is missing/],
    ["a text as author", (value) => (value["author"] = "Alice"), "/author", /must be an object/],
    ["no author's name", (value) => delete value["author"].name, "/author", /name is missing/],
    ["an e-mail that is none", (value) => (value["author"].email = "x"), "/author/email", /cannot be/],
    ["no server", (value) => delete value["server"], "", /server is missing/],
    ["an unknown kind", (value) => (value["server"].type = "ruby"), "/server/type", /ruby/],
    ["no entry point", (value) => delete value["server"].entry_point, "/server", /entry_point is missing/],
    ["no mcp_config", (value) => delete value["server"].mcp_config, "/server", /has no mcp_config/],
    ["no command", (value) => delete value["server"].mcp_config.command, "/server/mcp_config", /command is/],
    ["a way out", (value) => (value["server"].entry_point = "../x.js"), "/server/entry_point", /inside/],
    [
      "an absolute path",
      (value) => (value["server"].entry_point = "/etc/x"),
      "/server/entry_point",
      /inside/,
    ],
    ["a drive", (value) => (value["server"].entry_point = "C:\\x.js"), "/server/entry_point", /inside/],
    [
      "a command out of the bundle",
      (value) => (value["server"].mcp_config.command = "${__dirname}/../../bin/sh"),
      "/server/mcp_config/command",
      /is outside of the bundle/,
    ],
    [
      "a command of one platform out of the bundle",
      (value) => (value["server"].mcp_config.platform_overrides.win32.command = "x\\..\\..\\y.exe"),
      "/server/mcp_config/platform_overrides/win32/command",
      /is outside of the bundle/,
    ],
    ["a NUL", (value) => (value["server"].mcp_config.command = "a\0b"), "/server/mcp_config/command", /NUL/],
    ["a URL that is none", (value) => (value["homepage"] = "home"), "/homepage", /not a URL/],
    ["a size that is none", (value) => (value["icons"][0].size = "big"), "/icons/0/size", /cannot be/],
    [
      "an unknown system",
      (value) => (value["compatibility"].platforms = ["beos"]),
      "/compatibility/platforms/0",
      /beos/,
    ],
    [
      "an unknown kind of setting",
      (value) => (value["user_config"].token.type = "password"),
      "/user_config/token/type",
      /password/,
    ],
    [
      "a setting's strange name",
      (value) => (value["user_config"]["a b"] = { type: "string" }),
      "/user_config/a b",
      /cannot be the name/,
    ],
    [
      "limits the wrong way round",
      (value) => (value["user_config"].limit.min = 200),
      "/user_config/limit/min",
      /but max is/,
    ],
    [
      "an object as default",
      (value) => (value["user_config"].token.default = {}),
      "/user_config/token/default",
      /must be/,
    ],
  ])("%s", (_, change, path, message) => {
    const { manifest: read, diagnostics } = parse(manifest(change));
    expect(read).toBeUndefined();
    const errors = diagnostics.filter(({ severity }) => severity === "error");
    expect(errors.map(({ path: at }) => at)).toContain(path);
    expect(errors.map(short).join("\n")).toMatch(message);
  });

  test("all problems are reported at once with their positions", () => {
    const text = `{
  "manifest_version": "0.3",
  "name": "",
  "version": "1.0.0",
  "description": 5,
  "author": { "nam": "A" },
  "server": { "type": "node", "entry_point": "../x", "mcp_config": { "command": "node" } }
}`;
    const { diagnostics } = parseMcpbManifest(text, "manifest.json");
    expect(diagnostics.map(({ line, column, path }) => `${line}:${column} ${path}`)).toEqual([
      "3:11 /name",
      "5:18 /description",
      "6:13 /author",
      "7:46 /server/entry_point",
    ]);
  });

  test.each([
    "",
    "{",
    "[]",
    "null",
    '"x"',
    "5",
    '{"server":'.repeat(500),
    `{"name":"${"x".repeat(2_000_000)}"}`,
  ])("%#: a text that is not a manifest", (text) => {
    const { manifest: read, diagnostics } = parseMcpbManifest(text, "manifest.json");
    expect(read).toBeUndefined();
    expect(diagnostics.some(({ severity }) => severity === "error")).toBe(true);
  });

  test("too many settings, and keys that would change a prototype", () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`s${n}`, { type: "string" }]));
    expect(parse(manifest((value) => (value["user_config"] = many))).manifest).toBeUndefined();
    const text = JSON.stringify(manifest()).replace('"token":{', '"__proto__":{');
    expect(parseMcpbManifest(text, "manifest.json").manifest).toBeUndefined();
  });
});

test("the reader never throws", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      parseMcpbManifest(text, "manifest.json");
    }),
  );
  const paths = ["name", "server", "user_config", "compatibility", "tools", "icons", "_meta", "author"];
  fc.assert(
    fc.property(fc.constantFrom(...paths), fc.jsonValue(), (path, value) => {
      const { manifest: read, diagnostics } = parse(manifest((whole) => (whole[path] = value)));
      expect(read === undefined).toBe(diagnostics.some(({ severity }) => severity === "error"));
    }),
  );
});

test("looksLikeMcpbManifest recognizes manifests", () => {
  expect(looksLikeMcpbManifest(manifest())).toBe(true);
  expect(looksLikeMcpbManifest({ dxt_version: "0.1", server: {} })).toBe(true);
  expect(looksLikeMcpbManifest({ name: "x", server: {} })).toBe(false);
  expect(looksLikeMcpbManifest(null)).toBe(false);
});
