// `portolan import` and `portolan export` in a temporary home folder.

import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { type ClientId, parseClientFile } from "../../src/formats/clients/index.ts";
import { parseWorkspace } from "../../src/formats/workspace/index.ts";
import { envelope, portolan, type Ran, temporaryFolder, terminal } from "../helpers/cli.ts";
import { needs } from "../helpers/needs.ts";

const CANARY = "c4n4ry-0f-a-s3cret-value";

const SAMPLES = {
  ".claude.json": JSON.stringify({
    numStartups: 3,
    mcpServers: {
      github: {
        type: "stdio",
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-github"],
        env: { GITHUB_TOKEN: CANARY },
      },
      linear: {
        type: "http",
        url: `https://user:${CANARY}@mcp.linear.app/mcp?key=${CANARY}`,
        headers: { Authorization: `Bearer ${CANARY}` },
      },
    },
  }),
  ".cursor/mcp.json": `{
  // mine
  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "server-files", "--api-key", "${CANARY}", "--token=${CANARY}"] },
    "evil\\u001b[2J": { "command": "x", "args": ["\\u001b]0;title\\u0007"] }
  },
  "other": [1,   2]
}
`,
  ".config/Code/User/mcp.json": JSON.stringify({
    inputs: [{ type: "promptString", id: "key", description: "Key", password: true }],
    servers: {
      ctx: { type: "http", url: "https://mcp.context7.com/mcp", headers: { KEY: "${input:key}" } },
      broken: { type: "stdio" },
    },
  }),
  ".codex/config.toml": `model = "o3" # kept

[mcp_servers.docs]
command = "uvx"
args = ["docs-server"]
enabled = false
`,
};

interface Place {
  readonly home: string;
  readonly folder: string;
  readonly run: (...words: string[]) => Promise<Ran>;
}

function place(samples: Readonly<Record<string, string>> = SAMPLES): Place {
  const home = temporaryFolder();
  for (const [name, text] of Object.entries(samples)) put(join(home, name), text);
  const folder = temporaryFolder();
  const env = { HOME: home };
  return { home, folder, run: (...words) => portolan(words, { cwd: folder, env }) };
}

function put(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const read = (...parts: string[]): string => readFileSync(join(...parts), "utf8");
const readSamples = ({ home }: Place): string[] => Object.keys(SAMPLES).map((name) => read(home, name));
const backups = (folder: string): string[] => readdirSync(folder).filter((name) => name.endsWith(".bak"));

const WORKSPACE = `# my servers
servers:
  github: # the one for issues
    command: npx
    args: [-y, server-github]
    env:
      TOKEN: \${GITHUB_TOKEN}
  remote:
    url: https://mcp.example.com/mcp
    headers:
      Authorization: Bearer \${secrets.REMOTE}
`;

describe("import", () => {
  test("--write prints the result first, and last the grants that are still needed", async () => {
    const github = { command: "npx", args: ["-y", "@modelcontextprotocol/server-github"] };
    const { home, folder } = place({ ".cursor/mcp.json": JSON.stringify({ mcpServers: { github } }) });
    const env = { HOME: home, PORTOLAN_SANDBOX: "enforce" };
    const ran = await portolan(["import", "--write", "--text"], { cwd: folder, env });
    expect(ran).toMatchObject({ code: 0, err: "" });
    expect(ran.out.trimEnd().split("\n").slice(-3)).toEqual([
      "1 server added to portolan.yaml.",
      "1 server may need a change of its config. Without the change, some of its tools may fail:",
      "  github: To let the server reach api.github.com: portolan grant github --net api.github.com",
    ]);
  });

  test("--write names the grants for hosts in variables, also if a reference replaces the value", async () => {
    const env = { JIRA_URL: "https://jira.example.com", DB_SECRET: "postgres://me:pass@db.example.com/x" };
    const work = { command: "npx", args: ["-y", "some-server"], env };
    const { home, folder } = place({ ".cursor/mcp.json": JSON.stringify({ mcpServers: { work } }) });
    const passphrase = join(home, "passphrase");
    writeFileSync(passphrase, "a long passphrase", { mode: 0o600 });
    const ran = await portolan(["import", "--write", "--text", "--secrets", "vault"], {
      cwd: folder,
      env: { HOME: home, PORTOLAN_SANDBOX: "enforce", PORTOLAN_VAULT_PASSPHRASE_FILE: passphrase },
    });
    expect(ran.code).toBe(0);
    expect(read(folder, "portolan.yaml")).toContain("DB_SECRET: ${DB_SECRET}");
    expect(ran.out).toContain("portolan grant work --net jira.example.com");
    expect(ran.out).toContain("portolan grant work --net db.example.com:5432");
  });

  test("shows each file with its servers, and no secrets", async () => {
    const at = place();
    const ran = await at.run("import");
    expect(ran).toMatchObject({ code: 0, err: "" });
    const { files } = JSON.parse(ran.out) as {
      files: { client: string; scope: string; file: string; servers: object[]; diagnostics: object[] }[];
    };
    expect(files.map(({ client, scope }) => [client, scope])).toEqual([
      ["claude-code", "user"],
      ["cursor", "user"],
      ["vscode", "user"],
      ["codex", "user"],
    ]);
    expect(files[0]?.file).toBe(join(at.home, ".claude.json"));
    expect(files[0]?.servers).toEqual([
      {
        alias: "github",
        name: "github",
        transport: "stdio",
        runs: "npx -y @modelcontextprotocol/server-github",
        env: ["GITHUB_TOKEN"],
        enabled: true,
        line: 1,
      },
      expect.objectContaining({ runs: "https://mcp.linear.app/mcp?…", headers: ["Authorization"] }),
    ]);
    expect(files[1]?.servers[0]).toMatchObject({ runs: "npx -y server-files --api-key … --token=…" });
    expect(files[2]?.diagnostics).toMatchObject([{ severity: "error", server: "broken" }]);
    expect(files[3]?.servers).toMatchObject([{ alias: "docs", enabled: false }]);
    const text = await at.run("import", "--text");
    expect(text.code).toBe(0);
    expect(text.out).toMatch(/^Claude Code \(user\) ~\/\.claude\.json\n {2}github +stdio {2}npx -y/);
    expect(text.out).toContain("(off)");
    expect(text.out).toContain("6 servers in 4 files.");
    for (const shown of [ran.out, text.out, text.err]) {
      expect(shown).not.toContain(CANARY);
      expect(shown).not.toContain("\u001b");
    }
    expect(readdirSync(at.folder)).toEqual([]);
  });

  test("accepts names of clients, and suggests the nearest one", async () => {
    const at = place();
    const ran = await at.run("import", "vs-code", "codex");
    const { files } = JSON.parse(ran.out) as { files: { client: string }[] };
    expect(files.map(({ client }) => client)).toEqual(["vscode", "codex"]);
    const wrong = await at.run("import", "curser");
    expect(wrong.code).toBe(2);
    expect(envelope(wrong)).toMatchObject({
      code: "USAGE",
      hint: expect.stringMatching(/^Did you mean "cursor"\? Supported clients: claude-code, /) as string,
    });
  });

  test("lists the searched places when there is no config file", async () => {
    const at = place({});
    expect(JSON.parse((await at.run("import")).out)).toEqual({ files: [] });
    const { out, code } = await at.run("import", "cursor", "--text");
    expect(code).toBe(0);
    expect(out).toContain("~/.cursor/mcp.json");
    expect(out).not.toContain(".codex");
  });

  test("--write creates portolan.yaml, changes no client's file, and adds nothing twice", async () => {
    const at = place();
    const before = readSamples(at);
    const ran = await at.run("import", "--write", "--secrets", "keep");
    expect(ran.code).toBe(0);
    const result = JSON.parse(ran.out) as { added: { alias: string }[]; skipped: object[] };
    expect(result.added.map(({ alias }) => alias)).toEqual([
      "github",
      "linear",
      "files",
      "evil_2J",
      "ctx",
      "docs",
    ]);
    expect(result).not.toHaveProperty("backup");
    const { servers, diagnostics } = parseWorkspace(read(at.folder, "portolan.yaml"), "portolan.yaml");
    expect(diagnostics).toEqual([]);
    expect(servers.map(({ alias, enabled }) => [alias, enabled])).toContainEqual(["docs", false]);
    expect(servers.find(({ alias }) => alias === "ctx")?.endpoint).toEqual({
      transport: "http",
      url: "https://mcp.context7.com/mcp",
      headers: { KEY: "${secrets.key}" },
    });
    expect(ran.out).not.toContain(CANARY);
    if (process.platform !== "win32") expect(statSync(join(at.folder, "portolan.yaml")).mode & 0o077).toBe(0);
    const again = await at.run("import", "--write", "--text");
    expect(again.code).toBe(0);
    expect(again.out).toContain("No server was added to");
    expect(backups(at.folder)).toEqual([]);
    expect(readSamples(at)).toEqual(before);
  });

  test("--write keeps existing servers, reports skipped ones, and creates a backup", async () => {
    const at = place();
    put(join(at.folder, "portolan.yaml"), WORKSPACE);
    const ran = await at.run("import", "--write", "--text", "--secrets", "keep", "claude-code", "codex");
    expect(ran.code).toBe(0);
    expect(ran.out).toMatch(/\+ docs from ~\/\.codex\/config\.toml/);
    expect(ran.out).toMatch(
      /! github from [^\n]*another server of the workspace has this name \(portolan\.yaml, line 3\)/,
    );
    expect(ran.out).toMatch(
      /Authorization looks like a secret\. Its value is copied to portolan\.yaml in plain text/,
    );
    const after = read(at.folder, "portolan.yaml");
    expect(after.startsWith(WORKSPACE)).toBe(true);
    const [backup, ...more] = backups(at.folder);
    expect(more).toEqual([]);
    expect(read(at.folder, backup ?? "")).toBe(WORKSPACE);
    expect(ran.out).toContain(`Backup: ${backup}`);
  });

  test("a plain secret is not copied without consent; --secrets vault stores it", async () => {
    const at = place();
    const left = await at.run("import", "--write");
    expect(left.code).toBe(1);
    const { added, skipped } = JSON.parse(left.out) as { added: { alias: string }[]; skipped: object[] };
    expect(added.map(({ alias }) => alias)).toEqual(["evil_2J", "ctx", "docs"]);
    expect(skipped).toMatchObject([
      {
        alias: "github",
        reason: "secret",
        message: expect.stringContaining("GITHUB_TOKEN is a secret") as string,
      },
      { alias: "linear", reason: "secret" },
      { alias: "files", reason: "secret" },
    ]);
    expect(read(at.folder, "portolan.yaml")).not.toContain(CANARY);
    expect(envelope(await at.run("import", "--write", "--secrets", "valt")).hint).toContain('"vault"');

    const passphrase = join(at.home, "passphrase");
    put(passphrase, "open sesame");
    const env = {
      HOME: at.home,
      XDG_DATA_HOME: join(at.home, ".data"),
      PORTOLAN_VAULT_PASSPHRASE_FILE: passphrase,
    };
    const words = ["import", "--write", "--secrets", "vault"];
    const ran = await portolan(words, { cwd: at.folder, env });
    expect(ran.code).toBe(0);
    // One value has one name.
    expect(JSON.parse(ran.out)).toMatchObject({ stored: { names: ["GITHUB_TOKEN"], source: "vault" } });
    expect(ran.out + ran.err).not.toContain(CANARY);
    const text = read(at.folder, "portolan.yaml");
    expect(text).not.toContain(CANARY);
    expect(text).toContain("Authorization: Bearer ${GITHUB_TOKEN}");
    expect(text).toContain("https://user:${GITHUB_TOKEN}@mcp.linear.app/mcp?key=${GITHUB_TOKEN}");
    expect(text).toContain("--token=${GITHUB_TOKEN}");
    const checked = await portolan(["secrets", "list", "--text"], { cwd: at.folder, env });
    expect(checked.out).toContain("GITHUB_TOKEN");
    const again = await portolan(words, { cwd: at.folder, env });
    expect(JSON.parse(again.out)).toMatchObject({ added: [], skipped: [{}, {}, {}, {}, {}, {}] });
  });

  test("--write skips files that the workspace already reads, and refuses a broken file", async () => {
    const at = place({});
    put(join(at.folder, ".mcp.json"), JSON.stringify({ mcpServers: { here: { command: "x" } } }));
    const ran = await at.run("import", "--write");
    expect(JSON.parse(ran.out)).toMatchObject({ added: [], skipped: [{ alias: "here", reason: "there" }] });
    expect(readdirSync(at.folder)).toEqual([".mcp.json"]);
    put(join(at.folder, "portolan.yaml"), "servers: {a: [");
    const broken = await at.run("import", "--write");
    expect(broken.code).toBe(2);
    expect(envelope(broken)).toMatchObject({ code: "FILE_INVALID" });
    expect(read(at.folder, "portolan.yaml")).toBe("servers: {a: [");
  });
});

describe("export", () => {
  const CLIENTS: readonly ClientId[] = [
    "claude-code",
    "claude-desktop",
    "cursor",
    "windsurf",
    "vscode",
    "codex",
    "gemini",
    "opencode",
    "axle",
  ];

  function workspace(samples?: Readonly<Record<string, string>>): Place {
    const at = place(samples);
    put(join(at.folder, "portolan.yaml"), WORKSPACE);
    return at;
  }

  test.each(CLIENTS)("for %s prints a file that import can read", async (client) => {
    const at = workspace({});
    const { code, out, err } = await at.run("export", "--for", client);
    expect(code).toBe(0);
    const parsed = parseClientFile(out, "snippet", client);
    expect(parsed?.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    const commandsOnly = client === "claude-desktop";
    expect(parsed?.servers.map(({ alias }) => alias)).toEqual(
      commandsOnly ? ["github"] : ["github", "remote"],
    );
    if (commandsOnly)
      expect(err).toContain(
        "note remote: Claude Desktop does not support http servers: this server is left out. To use it there, connect the client to the gateway: portolan connect claude-desktop",
      );
    expect(parsed?.servers[0]?.endpoint).toMatchObject({ command: "npx", args: ["-y", "server-github"] });
    expect(readdirSync(at.home)).toEqual([]);
    expect(readdirSync(at.folder)).toEqual(["portolan.yaml"]);
  });

  test("takes aliases, reports lost settings, and has a JSON form", async () => {
    const at = workspace({});
    const ran = await at.run("export", "--for", "opencode", "remote", "--json");
    const { client, format, text, notes } = JSON.parse(ran.out) as Record<string, string>;
    expect([client, format]).toEqual(["opencode", "json"]);
    expect(text).not.toContain("github");
    expect(notes).toEqual([{ server: "remote", message: expect.stringContaining("REMOTE") as string }]);
    expect(ran.err).toMatch(/^note remote: OpenCode /);
    expect(envelope(await at.run("export", "--for", "cursor", "gihub"))).toMatchObject({
      code: "SERVER_UNKNOWN",
      hint: expect.stringContaining('Did you mean "github"?') as string,
    });
    expect(envelope(await at.run("export"))).toMatchObject({
      code: "USAGE",
      message: "No client was given.",
    });
    expect(envelope(await at.run("export", "--for", "claude")).hint).toContain('"claude-code"');
    expect(envelope(await place({}).run("export", "--for", "cursor"))).toMatchObject({
      code: "SERVER_UNKNOWN",
      hint: expect.stringContaining("portolan add <name>") as string,
    });
  });

  test("--write merges into the usual file: a backup, and every other byte unchanged", async () => {
    const at = workspace();
    const file = join(at.home, ".cursor", "mcp.json");
    const ran = await at.run("export", "--for", "cursor", "--write");
    expect(ran.code).toBe(0);
    const merged = JSON.parse(ran.out) as { backup: string; servers: object[] };
    expect(merged).toMatchObject({ client: "cursor", file, created: false, changed: true });
    expect(merged.servers).toMatchObject([
      { alias: "github", change: "added" },
      { alias: "remote", change: "added" },
    ]);
    expect(read(merged.backup)).toBe(SAMPLES[".cursor/mcp.json"]);
    const after = read(file);
    const [head = "", tail = ""] = SAMPLES[".cursor/mcp.json"].split("\n  },\n");
    expect(after.startsWith(head)).toBe(true);
    expect(after.endsWith(tail)).toBe(true);
    expect(parseClientFile(after, file)?.servers.map(({ alias }) => alias)).toEqual([
      "files",
      "evil_2J",
      "github",
      "remote",
    ]);
    const again = await at.run("export", "--for", "cursor", "--write", "--text");
    expect(again.out).toContain("is unchanged");
    expect(backups(dirname(file))).toHaveLength(1);
    put(join(at.folder, "portolan.yaml"), WORKSPACE.replace("server-github]", "server-github, --new]"));
    const changed = await at.run("export", "--for", "cursor", "--write", "--text");
    expect(changed.out).toMatch(/^~ github {2}changed: args\n= remote {2}same\n/);
    expect(changed.out).toMatch(/Backup: ~\/\.cursor\/mcp\.json\.portolan-/);
  });

  test("--write accepts a file, creates a new one, and uses files of the project", async () => {
    const at = workspace({});
    const named = await at.run("export", "--for", "codex", "github", "--write", "own.toml", "--text");
    expect(named.code).toBe(0);
    expect(named.out).toContain("Created own.toml for Codex.");
    expect(parseClientFile(read(at.folder, "own.toml"), "own.toml", "codex")?.servers).toHaveLength(1);
    const project = await at.run("export", "--for", "vscode", "--write", "--scope", "project");
    expect(JSON.parse(project.out)).toMatchObject({
      file: join(at.folder, ".vscode", "mcp.json"),
      created: true,
    });
    const user = await at.run("export", "--for", "claude-desktop", "github", "--write");
    expect(JSON.parse(user.out)).toMatchObject({
      file: join(at.home, ".config", "Claude", "claude_desktop_config.json"),
    });
  });

  test("--write refuses misspelt arguments and broken files", async () => {
    const at = workspace({ ".cursor/mcp.json": '{"mcpServers": {' });
    expect(envelope(await at.run("export", "--for", "cursor", "--write", "github"))).toMatchObject({
      code: "USAGE",
      hint: expect.stringContaining("Put --write last") as string,
    });
    expect(envelope(await at.run("export", "--for", "cursor", "--write", "--scope", "usr"))).toMatchObject({
      hint: 'Did you mean "user"?',
    });
    const broken = await at.run("export", "--for", "cursor", "--write");
    expect(broken.code).toBe(2);
    expect(envelope(broken)).toMatchObject({ code: "FILE_INVALID" });
    expect(read(at.home, ".cursor", "mcp.json")).toBe('{"mcpServers": {');
    expect(backups(join(at.home, ".cursor"))).toEqual([]);
  });
});

test("fits a narrow terminal without broken lines", needs("a terminal"), async () => {
  const at = place();
  const shown = await terminal(`cd ${at.folder}; portolan import`, 60, { HOME: at.home }).done;
  expect(shown.code).toBe(0);
  expect(shown.screen).toContain("Claude Code (user) ~/.claude.json");
  expect(shown.screen).not.toContain(CANARY);
  for (const line of shown.screen.split("\n")) expect(line.trimEnd().length).toBeLessThanOrEqual(60);
});
