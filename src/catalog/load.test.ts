import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Diagnostic } from "../errors/index.ts";
import { loadCatalog } from "./load.ts";
import type { Catalog } from "./types.ts";

const json = JSON.stringify;

function workspace(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-catalog-"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

function manifest(...aliases: string[]): string {
  const servers = aliases.map(
    (alias) => `    - {alias: ${alias}, transport: stdio, command: from-manifest}\n`,
  );
  return `config:\n  servers:\n${servers.join("")}`;
}

const client = (alias: string, command = "from-client"): string =>
  json({ mcpServers: { [alias]: { command } } });

/** `alias command` of each server. */
function commands({ servers }: Catalog): string[] {
  return servers.map(
    ({ alias, endpoint }) =>
      `${alias} ${"command" in endpoint ? endpoint.command : "url" in endpoint ? endpoint.url : endpoint.transport}`,
  );
}

function told({ folder, diagnostics }: Catalog): string[] {
  return diagnostics.map(
    ({ severity, file, line, column, message }: Diagnostic) =>
      `${severity} ${file?.slice(folder.length + 1)}:${line}:${column} ${message.replaceAll(`${folder}/`, "")}`,
  );
}

describe("config files with their usual names", () => {
  test("a folder without config files gives an empty catalog", async () => {
    const folder = workspace({ "readme.md": "x" });
    expect(await loadCatalog(folder)).toEqual({
      folder,
      usedPaths: {
        folder,
        isWhole: true,
        paths: expect.arrayContaining([join(folder, "portolan.yaml")]) as unknown,
        secrets: [],
      },
      servers: [],
      settings: { defaults: {} },
      files: [],
      diagnostics: [],
      leftOut: [],
      ofDrivers: [],
    });
  });

  test("are all read, and their servers are sorted by alias", async () => {
    const folder = workspace({
      "manifest.yaml": manifest("zeta", "beta"),
      ".mcp.json": client("claude"),
      "mcp.json": client("plain"),
      ".cursor/mcp.json": client("cursor"),
      ".vscode/mcp.json":
        '{\n  // editors allow comments\n  "servers": {"code": {"command": "from-client"}},\n}',
      "portolan.yaml": "servers: {own: {command: from-own}}",
    });
    const catalog = await loadCatalog(folder);
    expect(commands(catalog)).toEqual([
      "beta from-manifest",
      "claude from-client",
      "code from-client",
      "cursor from-client",
      "own from-own",
      "plain from-client",
      "zeta from-manifest",
    ]);
    expect(
      catalog.files.map(({ file, format, aliases, valid }) => [
        file.slice(folder.length + 1),
        format,
        aliases,
        valid,
      ]),
    ).toEqual([
      ["portolan.yaml", "workspace", ["own"], true],
      ["manifest.yaml", "manifest", ["zeta", "beta"], true],
      [".mcp.json", "claude-code", ["claude"], true],
      ["mcp.json", "claude-code", ["plain"], true],
      [".cursor/mcp.json", "cursor", ["cursor"], true],
      [".vscode/mcp.json", "vscode", ["code"], true],
    ]);
    expect(catalog.diagnostics.filter(({ severity }) => severity !== "info")).toEqual([]);
  });

  test("a manifest.yaml of another tool is ignored; a broken bridge manifest is an error", async () => {
    const other = workspace({ "manifest.yaml": "apiVersion: v1\nkind: Pod\n" });
    expect(told(await loadCatalog(other))).toEqual([]);
    const template = workspace({ "manifest.yaml": "{{ .Values.x }}\n  a: b: c\n" });
    expect(told(await loadCatalog(template))).toEqual([]);
    const broken = workspace({ "manifest.yml": "config:\n  servers: [\n" });
    expect(told(await loadCatalog(broken))[0]).toContain("error manifest.yml:3:1 not valid YAML");
  });

  test("a broken or unknown mcp.json is an error", async () => {
    const broken = await loadCatalog(workspace({ "mcp.json": "{", ".cursor/mcp.json": "{" }));
    expect(broken.files.length + broken.diagnostics.length).toBeGreaterThan(2);
    expect(told(broken).filter((line) => line.startsWith("error mcp.json:"))).not.toEqual([]);
    expect(told(broken).filter((line) => line.startsWith("error .cursor/mcp.json:"))).not.toEqual([]);
    expect(told(await loadCatalog(workspace({ "mcp.json": '{"x": 1}' })))).toEqual([
      "error mcp.json:1:1 Portolan does not know the format of mcp.json",
    ]);
  });

  test("the option parseClientFile replaces the reader of client files", async () => {
    const folder = workspace({ ".mcp.json": "anything" });
    const origin = { file: join(folder, ".mcp.json"), line: 1, column: 1, format: "stub" };
    const seen: unknown[] = [];
    const catalog = await loadCatalog(folder, {
      home: "/nowhere",
      parseClientFile: (text, file, _, context) => {
        seen.push([text, file, context]);
        const endpoint = { transport: "stdio", command: text } as const;
        return {
          client: "stub",
          servers: [{ alias: "x", origin, endpoint, enabled: true }],
          diagnostics: [],
        };
      },
    });
    expect(commands(catalog)).toEqual(["x anything"]);
    expect(seen).toEqual([["anything", join(folder, ".mcp.json"), { cwd: folder, home: "/nowhere" }]]);
  });
});

describe("the same alias twice", () => {
  test("portolan.yaml wins, then the order of the sources; the warning names both places", async () => {
    const folder = workspace({
      "portolan.yaml": "sources: [b.yaml, a.yaml]\nservers:\n  one: {command: from-own}\n",
      "a.yaml": manifest("one", "two").replaceAll("from-manifest", "from-a"),
      "b.yaml": manifest("two").replaceAll("from-manifest", "from-b"),
    });
    const catalog = await loadCatalog(folder);
    expect(commands(catalog)).toEqual(["one from-own", "two from-b"]);
    expect(told(catalog)).toEqual([
      "warning a.yaml:3:7 server one is declared twice: Portolan uses portolan.yaml:3:3 and ignores a.yaml:3:7",
      "warning a.yaml:4:7 server two is declared twice: Portolan uses b.yaml:3:7 and ignores a.yaml:4:7",
    ]);
    expect(catalog.diagnostics[0]).toMatchObject({ code: "NAME_AMBIGUOUS", server: "one" });
  });

  test("two equal servers give no warning", async () => {
    const folder = workspace({
      "manifest.yaml": manifest("a").replace("from-manifest", "same"),
      ".mcp.json": client("a", "same"),
      ".cursor/mcp.json": client("a", "same"),
    });
    const catalog = await loadCatalog(folder);
    expect(commands(catalog)).toEqual(["a same"]);
    expect(told(catalog)).toEqual([]);
  });
});

describe("settings", () => {
  test("gateway files are relative to the folder; a rule with an unknown server is an error", async () => {
    const folder = workspace({
      "portolan.yaml": `gateway:
  port: 1
  tls: {cert: tls/cert.pem, key: /etc/key.pem}
  callers:
    - name: a
      token: "\${A}"
      allow: {servers: [own, listed]}
      deny: {servers: [lised]}
servers: {own: {command: x, lanes: 3}}
`,
      "manifest.yaml": manifest("listed"),
    });
    const catalog = await loadCatalog(folder);
    expect(catalog.settings.gateway).toMatchObject({
      port: 1,
      tls: { cert: join(folder, "tls/cert.pem"), key: "/etc/key.pem" },
      callers: [{ name: "a", token: "${A}", allow: { servers: ["own", "listed"] } }],
    });
    expect(told(catalog)).toEqual(['error portolan.yaml:8:24 there is no server "lised"']);
    expect(catalog.diagnostics[0]?.hint).toBe('Did you mean "listed"?');
    expect(catalog.servers.find(({ alias }) => alias === "own")?.lanes).toBe(3);
  });

  test("a tool pattern of a rule or a budget that names no server gives a warning", async () => {
    const folder = workspace({
      "portolan.yaml": `gateway:
  approval: [{tools: ["fles.write_file", "files.write_file", "mcp_files_write_file", "*.write"]}, {tools: ["fils.*", "files.*", "mcp_*_x.y", "write_*"]}]
  callers: [{name: a, token: "\${A}", allow: {tools: [echo]}}]
  budgets: {x: {tools: [filse.read], calls: 1/h}}
  loops: {identical: 3, within: 1m, except: ["filse.write_*"]}
servers: {files: {command: x}}
`,
    });
    const { diagnostics } = await loadCatalog(folder);
    expect(diagnostics.map(({ severity, message, hint }) => [severity, message, hint])).toEqual([
      [
        "warning",
        'the pattern "echo" matches no tool: it does not begin with the name of a server',
        "Add the name of the server, such as files.echo, or *echo.",
      ],
      [
        "warning",
        'the pattern "fles.write_file" matches no tool: it does not begin with the name of a server. No call waits for approval because of this pattern',
        'Did you mean "files"?',
      ],
      [
        "warning",
        'the pattern "fils.*" matches no tool: it does not begin with the name of a server. No call waits for approval because of this pattern',
        'Did you mean "files"?',
      ],
      [
        "warning",
        'the pattern "filse.read" matches no tool: it does not begin with the name of a server',
        'Did you mean "files"?',
      ],
      [
        "warning",
        'the pattern "filse.write_*" matches no tool: it does not begin with the name of a server',
        'Did you mean "files"?',
      ],
    ]);
  });

  test("servers get the defaults, 0 disables a default, and enabled_servers applies to all files", async () => {
    const folder = workspace({
      "portolan.yaml": `naming: "{alias}_{tool}"
description_prefix: true
env_file: conf/.env
defaults: {start: lazy, idle_stop: 10m, timeouts: {start: 5, request: 6}}
servers:
  own: {command: x, idle_stop: 0, timeouts: {request: 1}}
enabled_servers: [own, a, bb]
`,
      "manifest.yaml": `config: {description_prefix: "[m]", servers: [{alias: a, transport: stdio, command: x}, {alias: b, transport: stdio, command: x}]}`,
    });
    const catalog = await loadCatalog(folder);
    expect(catalog.settings).toEqual({
      naming: "{alias}_{tool}",
      descriptionPrefix: true,
      envFile: join(folder, "conf/.env"),
      defaults: {
        start: "lazy",
        idleStopMs: 600_000,
        limits: { startTimeoutMs: 5_000, requestTimeoutMs: 6_000 },
      },
    });
    const both = { start: "lazy", endpoint: { transport: "stdio", command: "x" } };
    const limits = { startTimeoutMs: 5_000, requestTimeoutMs: 6_000 };
    expect(catalog.servers.map((server) => ({ ...server, origin: undefined }))).toEqual([
      { ...both, alias: "a", enabled: true, idleStopMs: 600_000, descriptionPrefix: "[m]", limits },
      { ...both, alias: "b", enabled: false, idleStopMs: 600_000, descriptionPrefix: "[m]", limits },
      {
        ...both,
        alias: "own",
        enabled: true,
        descriptionPrefix: true,
        limits: { ...limits, requestTimeoutMs: 1_000 },
      },
    ]);
    expect(told(catalog)).toEqual(['error portolan.yaml:7:27 there is no server "bb"']);
    expect(catalog.diagnostics[0]?.hint).toBe('Did you mean "b"?');
  });

  test("naming of a manifest applies if portolan.yaml has none; two different values give a warning", async () => {
    const text = (naming: string, alias: string): string =>
      `config: {naming: "${naming}", servers: [{alias: ${alias}, transport: stdio, command: x}]}`;
    const folder = workspace({ "manifest.yaml": text("{tool}", "a"), "manifest.yml": text("x_{tool}", "b") });
    const catalog = await loadCatalog(folder);
    expect(catalog.settings.naming).toBe("{tool}");
    expect(told(catalog)).toEqual([
      "warning manifest.yml:undefined:undefined naming is {tool} in manifest.yaml, but x_{tool} in manifest.yml; Portolan uses {tool}",
    ]);
  });

  test("a relative cwd is resolved by the rules of its config file", async () => {
    const folder = workspace({
      "portolan.yaml":
        "sources: [sub/m.yaml, .cursor/mcp.json]\nservers: {own: {command: x, cwd: .}, away: {command: x, cwd: ~/x}}",
      "sub/m.yaml": "config: {servers: [{alias: m, transport: stdio, command: x, cwd: deep}]}",
      ".cursor/mcp.json": json({ mcpServers: { c: { command: "x", cwd: "here" } } }),
    });
    const { servers } = await loadCatalog(folder);
    expect(servers.map(({ alias, endpoint }) => [alias, "cwd" in endpoint && endpoint.cwd])).toEqual([
      ["away", "~/x"],
      ["c", join(folder, "here")],
      ["m", join(folder, "sub/deep")],
      ["own", folder],
    ]);
  });

  test("portolan.yaml wins over portolan.yml, with a warning", async () => {
    const folder = workspace({
      "portolan.yaml": "servers: {a: {command: x}}",
      "portolan.yml": "servers: {b: {command: x}}",
    });
    const catalog = await loadCatalog(folder);
    expect(commands(catalog)).toEqual(["a x"]);
    expect(told(catalog)).toEqual([
      "warning portolan.yml:undefined:undefined Portolan uses portolan.yaml and ignores portolan.yml",
    ]);
  });
});

describe("sources", () => {
  test("can be patterns, files in the home folder, and files outside of the workspace", async () => {
    const home = workspace({ "mine.json": client("home") });
    const elsewhere = workspace({ "m.yaml": manifest("far") });
    const folder = workspace({
      "portolan.yaml": `sources: ["ext/*/manifest.yaml", "deep/**/m?.yaml", ~/mine.json, ${elsewhere}/m.yaml]`,
      "ext/b/manifest.yaml": manifest("b"),
      "ext/a/manifest.yaml": manifest("a"),
      "ext/c/other.yaml": manifest("no"),
      "ext/d/manifest.yaml": "kind: Pod",
      "ext/node_modules/manifest.yaml": manifest("no"),
      "ext/.hidden/manifest.yaml": manifest("no"),
      "deep/m1.yaml": manifest("m1"),
      "deep/x/y/m2.yaml": manifest("m2"),
      "deep/x/y/m33.yaml": manifest("no"),
      ".mcp.json": client("no"),
    });
    const catalog = await loadCatalog(folder, { home });
    expect(told(catalog)).toEqual([]);
    expect(catalog.servers.map(({ alias }) => alias)).toEqual(["a", "b", "far", "home", "m1", "m2"]);
  });

  test("a listed file that is not a readable config file is an error", async () => {
    const folder = workspace({
      "portolan.yaml":
        "sources:\n  - missing.yaml\n  - folder\n  - pipe\n  - notes.txt\n  - large.yaml\n  - bytes.yaml\n  - none/*.yaml\n",
      "folder/x": "",
      "notes.txt": "hello",
      "large.yaml": `# ${"x".repeat(1024 * 1024)}`,
      "bytes.yaml": "",
    });
    writeFileSync(join(folder, "bytes.yaml"), Buffer.from([0xff, 0xfe, 0x00]));
    if (process.platform !== "win32") execFileSync("mkfifo", [join(folder, "pipe")]);
    const catalog = await loadCatalog(folder);
    expect(told(catalog)).toEqual([
      "warning portolan.yaml:8:5 no file matches none/*.yaml",
      "error portolan.yaml:2:5 the source missing.yaml does not exist",
      "error folder:undefined:undefined folder cannot be read: it is a folder",
      "error pipe:undefined:undefined pipe cannot be read: it is not a regular file",
      "error notes.txt:1:1 Portolan does not know the format of notes.txt",
      "error large.yaml:undefined:undefined large.yaml cannot be read: it has 1048578 bytes; a config file has at most 1048576",
      "error bytes.yaml:undefined:undefined bytes.yaml cannot be read: it is not UTF-8 text",
    ]);
  });

  test("a pattern reports files that cannot be read, and does not follow linked folders", async () => {
    const folder = workspace({
      "portolan.yaml": 'sources: "s/**/*.yaml"',
      "s/a.yaml": "a: b: c",
      "s/b.yaml": manifest("b"),
    });
    symlinkSync(folder, join(folder, "s/loop"));
    const catalog = await loadCatalog(folder);
    expect(told(catalog)[0]).toContain("warning s/a.yaml:1:4 Portolan ignores s/a.yaml: not valid YAML");
    expect(commands(catalog)).toEqual(["b from-manifest"]);
  });

  test("a hostile file is an error, and the other files are used", async () => {
    const folder = workspace({
      "portolan.yaml": "sources: [bomb.yaml, good.yaml]",
      "bomb.yaml": "{".repeat(1024 * 1024),
      "good.yaml": manifest("good"),
    });
    const catalog = await loadCatalog(folder);
    expect(commands(catalog)).toEqual(["good from-manifest"]);
    expect(told(catalog)).toEqual(["error bomb.yaml:1:1 values are nested more than 64 deep"]);
  });
});

test("a missing folder is reported", async () => {
  const catalog = await loadCatalog("/nowhere/at/all");
  expect(catalog.diagnostics).toMatchObject([
    { code: "FILE_FAILED", file: "/nowhere/at/all", message: "there is no such folder or file" },
  ]);
});

describe("a single file", () => {
  test("is a workspace of its own", async () => {
    const folder = workspace({ "m.yaml": `${manifest("m")}  naming: "{tool}"\n`, ".mcp.json": client("no") });
    const catalog = await loadCatalog(join(folder, "m.yaml"));
    expect(catalog).toMatchObject({ folder, settings: { naming: "{tool}" }, diagnostics: [] });
    expect(commands(catalog)).toEqual(["m from-manifest"]);
  });

  test("that is a workspace config with any name is read with its sources", async () => {
    const folder = workspace({
      "work.yaml": "naming: '{tool}'\nsources: [m.yaml, other/portolan.yaml]\nservers: {own: {command: x}}",
      "m.yaml": manifest("m"),
      "other/portolan.yaml": "naming: 'x_{tool}'\nsources: [more.yaml]\nservers: {other: {command: x}}",
    });
    const catalog = await loadCatalog(join(folder, "work.yaml"));
    expect(commands(catalog)).toEqual(["m from-manifest", "other x", "own x"]);
    expect(catalog.settings.naming).toBe("{tool}");
    expect(told(catalog)).toEqual([
      "warning other/portolan.yaml:2:11 Portolan ignores the sources that other/portolan.yaml lists",
    ]);
  });

  test("that is not a config file is an error", async () => {
    const folder = workspace({ "notes.txt": "hello" });
    expect(told(await loadCatalog(join(folder, "notes.txt")))).toEqual([
      "error notes.txt:1:1 Portolan does not know the format of notes.txt",
    ]);
  });
});

test("the valid parts of a broken portolan.yaml are used, and its errors are reported", async () => {
  const folder = workspace({
    "portolan.yaml": "servers:\n  good: {command: x}\n  bad: {comand: x}\nnaming: '{tool}'\n",
  });
  const catalog = await loadCatalog(folder);
  expect(commands(catalog)).toEqual(["good x"]);
  expect(catalog.settings.naming).toBe("{tool}");
  expect(told(catalog)).toEqual(['error portolan.yaml:3:9 unknown key "comand" in servers.bad']);
  expect(catalog.files).toMatchObject([{ valid: false }]);
});

describe("mcpfiles", () => {
  const tool = (name: string): string =>
    `{name: ${name}, description: d, inputSchema: {type: object}, invocation: {cli: {command: date}}}`;
  const one = (name: string): string =>
    `kind: MCPToolDefinitions\nschemaVersion: 0.2.0\nname: ${name}\nversion: 1.0.0\ntools: [${tool("t")}]\n`;
  const many = (...names: string[]): string =>
    `mcpFileVersion: 0.0.1\nservers:\n${names.map((name) => `- {name: ${json(name)}, version: 1.0.0, tools: [${tool("t")}]}\n`).join("")}`;

  test("are found by their usual name, and each server has its position", async () => {
    const folder = workspace({ "mcpfile.yaml": many("git-tools", "User Service") });
    const { servers, files, diagnostics } = await loadCatalog(folder);
    expect(diagnostics).toEqual([]);
    const file = join(folder, "mcpfile.yaml");
    expect(files).toEqual([{ file, format: "mcpfile", aliases: ["git-tools", "User_Service"], valid: true }]);
    expect(servers).toMatchObject([
      {
        alias: "User_Service",
        enabled: true,
        origin: { file, line: 4, column: 3, format: "mcpfile" },
        endpoint: { transport: "invoke", server: { info: { name: "User Service" }, folder } },
      },
      { alias: "git-tools", origin: { line: 3, column: 3 } },
    ]);
  });

  test("can be sources, and are recognized by their name or content", async () => {
    const folder = workspace({
      "portolan.yaml": "sources: [tools.yaml, '*.mcpfile.yaml', tools.json, mcpserver.yaml]",
      "tools.yaml": one("by-content"),
      "more.mcpfile.yaml": one("by-name"),
      "tools.json": json({ mcpFileVersion: "0.0.1", servers: [{ name: "by-json", version: "1.0.0" }] }),
      "mcpserver.yaml": "kind: MCPServerConfig\nschemaVersion: 0.2.0\nruntime: {transportProtocol: stdio}",
    });
    const catalog = await loadCatalog(folder);
    expect(told(catalog)).toEqual([]);
    expect(catalog.servers.map(({ alias }) => alias)).toEqual(["by-content", "by-json", "by-name"]);
    expect(catalog.files.filter(({ format }) => format === "mcpfile")).toHaveLength(4);
  });

  test("that are broken give the errors of the mcpfile format", async () => {
    const folder = workspace({
      "portolan.yaml": "sources: [a.yaml, b.mcpfile.yaml]",
      "a.yaml": "mcpFileVersion: 0.0.1\nservers: [",
      "b.mcpfile.yaml": "servers: []",
    });
    const { files, diagnostics } = await loadCatalog(folder);
    expect(files.slice(1)).toMatchObject([
      { format: "mcpfile", valid: false },
      { format: "mcpfile", valid: false },
    ]);
    expect(diagnostics.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^not valid YAML/) as string,
      "the version is missing: the file has neither kind and schemaVersion nor mcpFileVersion",
    ]);
  });

  test("with two names that become the same alias give an error", async () => {
    const catalog = await loadCatalog(workspace({ "mcpfile.yml": many("a b", "a_b") }));
    expect(told(catalog)).toEqual([
      'error mcpfile.yml:4:3 the servers "a_b" and "a b" would have the same alias, a_b',
    ]);
    expect(catalog.servers).toMatchObject([
      { alias: "a_b", endpoint: { server: { info: { name: "a b" } } } },
    ]);
  });
});
