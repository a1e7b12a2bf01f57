// `portolan connect` and `portolan disconnect` with real files in a temporary home folder, and the entry that they write, started.

import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { stdioCommand } from "../fixtures/processes.mjs";
import { envelope, KEYS, portolan, type Ran, temporaryFolder, terminal } from "../helpers/cli.ts";
import { needs } from "../helpers/needs.ts";

const SECRET = "c4n4ry-0f-a-s3cret-value";
const { command, args } = stdioCommand();
const echo = JSON.stringify({ command, args });

const CURSOR = `{
  // mine
  "mcpServers": {
    "echo": ${echo},
    "search": { "url": "https://mcp.example.com/mcp", "headers": { "X-Api-Key": "${SECRET}" } },
  },
  "other": [1,   2]
}
`;
/** A config with only a server that works on this machine. */
const LOCAL = `{
  // mine
  "mcpServers": {
    "echo": ${JSON.stringify({ command, args, env: { API_KEY: SECRET } })},
  },
  "other": [1,   2]
}
`;
const CLAUDE = `{"numStartups":3,"mcpServers":{"echo":${JSON.stringify({ type: "stdio", command, args })}}}`;

interface Place {
  readonly home: string;
  readonly folder: string;
  readonly env: Record<string, string>;
  readonly run: (...words: string[]) => Promise<Ran>;
}

function place(files: Readonly<Record<string, string>>): Place {
  const home = temporaryFolder();
  for (const [name, text] of Object.entries(files)) put(join(home, name), text);
  const folder = temporaryFolder();
  const env = { HOME: home, XDG_DATA_HOME: join(home, ".local/share") };
  return { home, folder, env, run: (...words) => portolan(words, { cwd: folder, env }) };
}

function put(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const read = (...parts: string[]): string => readFileSync(join(...parts), "utf8");

interface Entry {
  readonly command: string;
  readonly args: readonly string[];
}

const entryOf = (text: string): Entry =>
  (
    JSON.parse(text.replace(/^\s*\/\/.*$/gm, "").replace(/,(\s*[}\]])/g, "$1")) as {
      mcpServers: { portolan: Entry };
    }
  ).mcpServers.portolan;

/** Starts the command of a client's file in another folder, and returns the names of the tools. */
async function toolsOf(
  { command: program, args: words }: Entry,
  env: Record<string, string>,
): Promise<string[]> {
  const child = spawn(program, words, {
    cwd: "/",
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const send = (message: object): void =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const clientInfo = { name: "test", version: "1" };
  send({
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
  });
  let text = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    text += String(chunk);
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const { id, result } = JSON.parse(line) as { id?: number; result?: { tools?: { name: string }[] } };
      if (id === 1) {
        send({ method: "notifications/initialized" });
        send({ id: 2, method: "tools/list" });
      }
      if (id === 2) {
        child.stdin.end();
        return (result?.tools ?? []).map(({ name }) => name);
      }
    }
  }
  throw new Error("the gateway ended without an answer");
}

describe("connect", () => {
  test("connects two clients to one gateway; disconnect restores both files byte for byte", async () => {
    const { home, folder, env, run } = place({ ".cursor/mcp.json": LOCAL, ".claude.json": CLAUDE });
    const listed = JSON.parse((await run("connect")).out) as { next: string; clients: object[] };
    expect(listed.next).toBe("portolan connect claude-code cursor --import");
    expect(listed.clients).toMatchObject([
      {
        client: "claude-code",
        state: "not-connected",
        servers: 1,
        command: "portolan connect claude-code --import",
      },
      { client: "cursor", state: "not-connected", servers: 1 },
    ]);
    const refused = await run("connect", "claude-code", "cursor", "--import");
    expect(refused.code).toBe(2);
    expect(envelope(refused).hint).toContain("portolan connect claude-code cursor --import --yes");
    expect(read(home, ".cursor/mcp.json")).toBe(LOCAL);
    expect(existsSync(join(folder, "portolan.yaml"))).toBe(false);

    // A server with a plain secret stays until --secrets says where to store the secret.
    const first = await run("connect", "cursor", "--import", "--yes");
    expect(first.code).toBe(2);
    expect(envelope(first).hint).toContain("portolan connect cursor --import --secrets vault");
    const passphrase = join(home, "passphrase");
    writeFileSync(passphrase, "open sesame", { mode: 0o600 });
    const opened = { ...env, PORTOLAN_VAULT_PASSPHRASE_FILE: passphrase };
    const done = await portolan(
      ["connect", "claude-code", "cursor", "--import", "--secrets", "vault", "--yes"],
      { cwd: folder, env: opened },
    );
    expect(done.code).toBe(0);
    expect(done.out + done.err).not.toContain(SECRET);
    expect(read(folder, "portolan.yaml")).toContain("API_KEY: ${API_KEY}");
    expect(read(folder, "portolan.yaml")).not.toContain(SECRET);
    const cursor = read(home, ".cursor/mcp.json");
    expect(cursor).toContain("// mine");
    expect(cursor).toContain('"other": [1,   2]');
    expect(cursor).not.toContain("echo");
    const entry = entryOf(cursor);
    expect(entryOf(read(home, ".claude.json"))).toEqual({ type: "stdio", ...entry });
    expect(await toolsOf(entry, opened)).toContain("mcp_echo_echo");

    const states = JSON.parse((await run("connect")).out) as { clients: { state: string }[]; next?: string };
    expect(states.clients.map(({ state }) => state)).toEqual(["connected", "connected"]);
    expect(states.next).toBeUndefined();
    const again = JSON.parse((await run("connect", "cursor")).out) as { written: boolean };
    expect(again.written).toBe(false);

    expect((await run("disconnect", "claude-code", "cursor")).code).toBe(0);
    expect(read(home, ".cursor/mcp.json")).toBe(LOCAL);
    expect(read(home, ".claude.json")).toBe(CLAUDE);
    expect(envelope(await run("disconnect", "cursor")).message).toBe("Cursor is not connected.");
  });

  test("replaces only the servers that the workspace has, and gives a reason for the others", async () => {
    const { home, folder, run } = place({ ".cursor/mcp.json": CURSOR });
    const url = "https://mcp.example.com/mcp";
    writeFileSync(
      join(folder, "portolan.yaml"),
      `servers:\n  echo: ${echo}\n  other: { url: "${url}", headers: { X-Api-Key: else } }\n`,
    );
    const { out } = await run("connect", "cursor", "--yes");
    expect((JSON.parse(out) as { clients: { servers: object[] }[] }).clients[0]?.servers).toMatchObject([
      { alias: "echo", change: "replaced" },
      { alias: "search", change: "kept", reason: "its header X-Api-Key differs from the workspace" },
    ]);
    expect(read(home, ".cursor/mcp.json")).toContain(SECRET);
    // A reference in the workspace matches the plain value of the client.
    writeFileSync(
      join(folder, "portolan.yaml"),
      `servers:\n  echo: ${echo}\n  web: { url: "${url}", headers: { x-api-key: "\${KEY}" } }\n`,
    );
    expect((await run("connect", "cursor", "--yes")).code).toBe(0);
    expect(read(home, ".cursor/mcp.json")).not.toContain(SECRET);
    expect((await run("disconnect", "cursor")).code).toBe(0);
    expect(read(home, ".cursor/mcp.json")).toBe(CURSOR);
  });

  test("disconnect keeps later changes in the client's file, and asks for agreement", async () => {
    const { home, run } = place({ ".cursor/mcp.json": CURSOR });
    await run("connect", "cursor", "--import", "--secrets", "keep", "--yes");
    const file = join(home, ".cursor/mcp.json");
    const edited = read(file).replace('"other": [1,   2]', '"other": [3], // changed\n  "more": {}');
    writeFileSync(file, edited);
    expect(JSON.parse((await run("connect")).out)).toMatchObject({ clients: [{ state: "changed" }] });
    const refused = await run("disconnect", "cursor");
    expect(envelope(refused).hint).toContain("portolan disconnect cursor --yes");
    expect(read(file)).toBe(edited);
    const done = JSON.parse((await run("disconnect", "cursor", "--yes")).out) as {
      clients: { backup: string }[];
    };
    expect(done.clients).toMatchObject([{ change: "merged", servers: ["echo", "search"] }]);
    expect(read(done.clients[0]?.backup ?? "")).toBe(edited);
    const text = read(file);
    for (const kept of ["// mine", '"other": [3], // changed', '"more": {}', SECRET])
      expect(text).toContain(kept);
    expect(text).not.toContain('"portolan"');
  });

  test("a second connect imports only new servers; disconnect restores the first ones", async () => {
    const own = (...names: string[]): string =>
      names.map((name) => `    "${name}": { "command": "node", "args": ["${name}.js"] }`).join(",\n");
    const cursorBefore = `{\n  "mcpServers": {\n${own("files", "jira")}\n  }\n}\n`;
    // The same name, but other arguments: it is imported as another server.
    const claudeBefore = `{\n  "mcpServers": {\n    "files": { "command": "node", "args": ["b.js"] },\n${own("pylint")}\n  }\n}\n`;
    const { home, folder, run } = place({ ".cursor/mcp.json": cursorBefore, ".claude.json": claudeBefore });
    const [cursor, claude] = [join(home, ".cursor/mcp.json"), join(home, ".claude.json")];
    const both = ["connect", "cursor", "claude-code"];
    expect((await run(...both, "--import", "--yes")).code).toBe(0);
    expect((await run("remove", "files", "jira", "pylint")).code).toBe(0);
    const yaml = read(folder, "portolan.yaml");
    const written = [read(cursor), read(claude)];

    // Nothing is new in the files, so there is nothing to do, also with --import.
    for (const more of [[], ["--import"]]) {
      const again = JSON.parse((await run(...both, ...more, "--yes")).out) as object;
      expect(again).toMatchObject({
        written: false,
        clients: [
          { changed: false, servers: [] },
          { changed: false, servers: [] },
        ],
      });
    }
    expect([read(cursor), read(claude)]).toEqual(written);
    expect(read(folder, "portolan.yaml")).toBe(yaml);

    writeFileSync(claude, read(claude).replace('"mcpServers": {', `"mcpServers": {\n${own("time")},`));
    expect(JSON.parse((await run("connect")).out)).toMatchObject({
      clients: [
        { state: "changed", missing: 1, command: "portolan connect claude-code --import" },
        { state: "connected" },
      ],
    });
    expect((await run("connect", "--text")).out).toContain(", 1 server is not in this workspace ");
    const preview = (await run("connect", "claude-code", "--import", "--dry-run", "--text")).out;
    expect(preview).toMatch(/^ {2}= portolan /m);
    const left = (await run(...both, "--yes", "--text")).out;
    expect(left).toMatch(/= time +stays: it is not in this workspace/);
    expect(left.match(/stays/g)).toHaveLength(1);
    const namesIn = (file: string): string[] =>
      Object.keys((JSON.parse(read(file)) as { mcpServers: object }).mcpServers).toSorted();
    expect(namesIn(cursor)).toEqual(["portolan"]);
    expect(namesIn(claude)).toEqual(["portolan", "time"]);

    const imported = JSON.parse((await run(...both, "--import", "--yes")).out) as object;
    expect(imported).toMatchObject({
      imported: { servers: [{ alias: "time" }], skipped: [] },
      clients: [{ servers: [] }, { servers: [{ alias: "time", change: "replaced" }] }],
    });
    expect(namesIn(claude)).toEqual(["portolan"]);
    for (const removed of ["jira", "pylint", "files.js"])
      expect(read(folder, "portolan.yaml")).not.toContain(removed);

    // Cursor's file is as before the first connect; the later server of Claude Code comes back too, which is a change.
    expect((await run("disconnect", "cursor", "claude-code")).code).toBe(2);
    const planned = (await run("disconnect", "claude-code", "--dry-run", "--text")).out;
    expect(planned).toContain("your later changes stay");
    expect(planned).not.toContain("byte for byte");
    const done = JSON.parse((await run("disconnect", "cursor", "claude-code", "--yes")).out) as object;
    expect(done).toMatchObject({
      clients: expect.arrayContaining([
        expect.objectContaining({ client: "claude-code", change: "merged" }),
        expect.objectContaining({ client: "cursor", change: "restored" }),
      ]) as object,
    });
    expect(read(cursor)).toBe(cursorBefore);
    expect(namesIn(claude)).toEqual(["files", "pylint", "time"]);
  });

  test("disconnect restores the first servers of a client that was connected to another workspace later", async () => {
    const { home, folder, env, run } = place({ ".cursor/mcp.json": CURSOR });
    const file = join(home, ".cursor/mcp.json");
    expect((await run("connect", "cursor", "--import", "--secrets", "keep", "--yes")).code).toBe(0);
    const other = temporaryFolder();
    writeFileSync(join(other, "portolan.yaml"), `servers:\n  echo: ${echo}\n`);
    const moved = await portolan(["connect", "cursor", "--yes"], { cwd: other, env });
    expect(JSON.parse(moved.out)).toMatchObject({ written: true, clients: [{ servers: [] }] });
    expect(read(file)).toContain(other);
    expect(read(file)).not.toContain(folder);
    // The file was changed since, so the servers are added again from the saved file.
    writeFileSync(file, read(file).replace("[1,   2]", "[3]"));
    expect((await run("disconnect", "cursor", "--yes")).code).toBe(0);
    expect(read(file)).toContain("[3]");
    for (const name of ['"echo"', '"search"', SECRET]) expect(read(file)).toContain(name);
    expect(read(file)).not.toContain('"portolan"');
  });

  test("keeps links and permissions of files; disconnect removes a file that connect created", async () => {
    const { home, run } = place({ ".cursor/mcp.json": CURSOR, ".codex/x": "" });
    const [file, real] = [join(home, ".cursor/mcp.json"), join(home, "dotfiles.json")];
    renameSync(file, real);
    symlinkSync(real, file);
    chmodSync(real, 0o640);
    const words = ["connect", "cursor", "codex", "--import", "--secrets", "keep", "--yes"];
    expect((await run(...words)).code).toBe(0);
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(statSync(real).mode & 0o777).toBe(0o640);
    expect(read(home, ".codex/config.toml")).toContain("startup_timeout_sec");
    expect((await run("disconnect", "--all")).code).toBe(0);
    expect(read(real)).toBe(CURSOR);
    expect(statSync(real).mode & 0o777).toBe(0o640);
    expect(existsSync(join(home, ".codex/config.toml"))).toBe(false);
  });

  test("--http writes the address, and the token only as a reference", async () => {
    const { home, folder, run } = place({ ".cursor/mcp.json": "{}" });
    writeFileSync(join(folder, "portolan.yaml"), `servers:\n  echo: ${echo}\ngateway:\n  port: 7511\n`);
    const token = (await run("token")).out.trim();
    const clients = [
      "cursor",
      "vscode",
      "codex",
      "gemini",
      "opencode",
      "windsurf",
      "claude-code",
      "claude-desktop",
    ];
    expect((await run("connect", ...clients, "--http", "--yes")).code).toBe(0);
    const texts = {
      cursor: read(home, ".cursor/mcp.json"),
      vscode: read(home, ".config/Code/User/mcp.json"),
      codex: read(home, ".codex/config.toml"),
      gemini: read(home, ".gemini/settings.json"),
      opencode: read(home, ".config/opencode/opencode.json"),
      windsurf: read(home, ".codeium/windsurf/mcp_config.json"),
      claude: read(home, ".claude.json"),
      desktop: read(home, ".config/Claude/claude_desktop_config.json"),
    };
    for (const text of Object.values(texts)) expect(text).not.toContain(token);
    expect(texts.cursor).toContain("http://127.0.0.1:7511/mcp");
    expect(texts.cursor).toContain("Bearer ${env:PORTOLAN_TOKEN}");
    expect(texts.vscode).toContain("Bearer ${input:portolan-token}");
    expect(texts.vscode).toContain('"password": true');
    expect(texts.codex).toContain('bearer_token_env_var = "PORTOLAN_TOKEN"');
    expect(texts.gemini).toContain("Bearer ${PORTOLAN_TOKEN}");
    expect(texts.opencode).toContain("Bearer {env:PORTOLAN_TOKEN}");
    expect(texts.desktop).toContain("--stdio");
    expect((await run("disconnect", "--all")).code).toBe(0);
    expect(read(home, ".cursor/mcp.json")).toBe("{}");
    expect(existsSync(join(home, ".gemini/settings.json"))).toBe(false);
  });

  test("the last lines name the grants that are still needed; disconnect names the data that stays", async () => {
    const { home, folder, env: own } = place({});
    const env = { ...own, PORTOLAN_SANDBOX: "enforce" };
    const notes = join(home, "notes");
    mkdirSync(notes);
    const memory = { command: "npx", args: ["-y", "@modelcontextprotocol/server-memory"] };
    const servers = { files: { command, args: [...args, notes] }, memory };
    put(join(home, ".cursor/mcp.json"), JSON.stringify({ mcpServers: servers }));
    const old = join(home, ".npm/_npx/a1/node_modules/@modelcontextprotocol/server-memory/dist/memory.jsonl");
    put(old, "{}\n");
    const run = (...words: string[]): Promise<Ran> => portolan([...words, "--text"], { cwd: folder, env });
    const done = await run("connect", "cursor", "--import", "--yes");
    expect(done.code).toBe(0);
    expect(done.err).not.toContain("portolan grant");
    const data = join(home, "server-memory");
    const [, last = ""] = done.out
      .replaceAll(/\s+/g, " ")
      .split(
        "2 servers may need a change of their config. Without the change, some of their tools may fail:",
      );
    expect(last).toContain(`files: Grant it with: portolan grant files --read ${notes} (or --write`);
    expect(last).toContain(`memory: Keep the data in another folder: portolan grant memory --data ${data}`);

    put(join(data, "memory.jsonl"), "{}\n");
    const yaml = join(folder, "portolan.yaml");
    const set = `memory: { command: npx, env: { MEMORY_FILE_PATH: "${join(data, "memory.jsonl")}" },`;
    writeFileSync(yaml, `servers:\n  ${set} args: [-y, "@modelcontextprotocol/server-memory"] }\n`);
    const { out } = await run("disconnect", "cursor");
    expect(out).toContain("the data of memory: rm ~/server-memory/memory.jsonl");
    expect(out.replaceAll(/\s+/g, " ")).toContain(
      "note the restored server memory does not use ~/server-memory/memory.jsonl; only the server memory of the workspace uses this path (env.MEMORY_FILE_PATH)",
    );
    expect(out).not.toContain("the restored server files");

    // Data that the client's own server uses belongs to the user.
    const entry = { ...memory, env: { MEMORY_FILE_PATH: join(data, "memory.jsonl") } };
    put(join(home, ".cursor/mcp.json"), JSON.stringify({ mcpServers: { memory: entry } }));
    expect((await run("connect", "cursor", "--yes")).code).toBe(0);
    const again = await run("disconnect", "cursor");
    expect(again.out).toContain("1 server restored: memory");
    expect(again.out).not.toContain("the data of memory");
  });

  test("writes nothing if one of the files is broken", async () => {
    const { home, folder, run } = place({ ".cursor/mcp.json": CURSOR, ".claude.json": '{ "mcpServers": ' });
    const ran = await run("connect", "cursor", "claude-code", "--import", "--yes");
    expect(ran.code).toBe(2);
    expect(envelope(ran)).toMatchObject({ code: "FILE_INVALID" });
    expect(read(home, ".cursor/mcp.json")).toBe(CURSOR);
    expect(existsSync(join(folder, "portolan.yaml"))).toBe(false);
    expect(envelope(await run("connect", "cursr")).hint).toContain("cursor");
  });

  test("the entry of Portolan is never a server of its own workspace", async () => {
    const { folder, run } = place({ ".cursor/mcp.json": "{}" });
    writeFileSync(join(folder, "portolan.yaml"), `servers:\n  echo: ${echo}\n`);
    expect((await run("connect", "cursor", "--yes")).code).toBe(0);
    expect((await run("connect", "claude-code", "--scope", "project", "--yes")).code).toBe(0);
    const imported = JSON.parse((await run("import", "--write")).out) as { skipped: object[] };
    expect(imported.skipped).toMatchObject([{ reason: "gateway" }, { reason: "gateway" }]);
    expect(JSON.parse((await run("status")).out)).toMatchObject({ servers: [{ alias: "echo" }] });
  });
});

describe("connect at a terminal", needs("a terminal"), () => {
  test("the suggested command asks, shows the changes and writes; Ctrl-C changes nothing", async () => {
    const { home, folder, env } = place({ ".cursor/mcp.json": CURSOR });
    const run = (words: string): ReturnType<typeof terminal> =>
      terminal(`cd ${folder}; portolan ${words}`, 120, env);
    // A typed passphrase starts the vault agent, which would outlive the test.
    onTestFinished(async () => void (await portolan(["secrets", "lock"], { cwd: folder, env })));
    const listed = await run("connect").done;
    expect(listed.screen).toMatch(/gateway of this workspace:\s+portolan connect cursor --import/);

    const dry = await run("connect cursor --dry-run").done;
    expect(dry.code).toBe(0);
    expect(dry.screen).toContain("+ echo");
    expect(existsSync(join(folder, "portolan.yaml"))).toBe(false);

    const stopped = run("connect cursor");
    await stopped.shows("2 servers of these clients are not in this workspace yet: echo, search.");
    stopped.press(KEYS.ctrlC);
    expect((await stopped.done).code).not.toBe(0);
    expect(read(home, ".cursor/mcp.json")).toBe(CURSOR);

    const asked = run("connect cursor");
    await asked.shows("not in this workspace yet:");
    await asked.shows(`Copy into ${join(folder, "portolan.yaml")}`);
    asked.press(KEYS.enter);
    await asked.shows("1 secret is in plain text in the clients' files: X-Api-Key (search).");
    await asked.shows("If this computer has no keyring");
    asked.press(KEYS.enter);
    await asked.shows("- echo");
    await asked.shows("Write 2 files?");
    asked.press(KEYS.enter);
    await asked.shows("Choose a passphrase for the new vault");
    asked.press(`open sesame${KEYS.enter}`);
    await asked.shows("The same passphrase again");
    asked.press(`open sesame${KEYS.enter}`);
    const { code, screen } = await asked.done;
    expect(code).toBe(0);
    expect(screen).toContain("Connected Cursor to this workspace. Restart the client to use the gateway.");
    expect(screen).toContain("SEARCH_X_API_KEY is now in the vault. portolan.yaml contains only the name.");
    expect(screen).toMatch(
      /keeps\s+each\s+client.s\s+file\s+as\s+it\s+was,\s+with\s+its\s+secrets\s+in\s+plain\s+text/,
    );
    expect(screen).not.toContain(SECRET);
    expect(read(folder, "portolan.yaml")).not.toContain(SECRET);
    expect((await run("disconnect cursor").done).screen).toContain("byte for byte as before");
    expect(read(home, ".cursor/mcp.json")).toBe(CURSOR);
  });
});

test("in the home folder, Cursor's user file is not a config file of the workspace", async () => {
  const { home, env } = place({ ".cursor/mcp.json": `{"mcpServers":{"echo":${echo}}}` });
  const at = (cwd: string, ...words: string[]): Promise<Ran> => portolan(words, { cwd, env });
  expect((await at(home, "connect", "--text")).out).toMatch(
    /Cursor +not connected, 1 server {2}~\/\.cursor\/mcp\.json\n/,
  );
  expect((await at(home, "connect", "cursor", "--import", "--yes")).code).toBe(0);
  expect(read(home, "portolan.yaml")).toContain("echo:");
  expect(
    Object.keys((JSON.parse(read(home, ".cursor/mcp.json")) as { mcpServers: object }).mcpServers),
  ).toEqual(["portolan"]);
  const aliasesIn = async (cwd: string): Promise<string[]> =>
    (JSON.parse((await at(cwd, "status")).out) as { servers: { alias: string }[] }).servers.map(
      ({ alias }) => alias,
    );
  expect(await aliasesIn(home)).toEqual(["echo"]);
  // In a folder without a config file, the entry of the gateway in the client's file is not a server.
  expect(await aliasesIn(temporaryFolder())).toEqual([]);
  const { out } = await at(home, "disconnect", "cursor", "--text");
  expect(out).toContain(`Portolan did not remove the following. To remove it:
  1 server in ~/portolan.yaml: portolan remove echo
  the file portolan.yaml itself: rm ~/portolan.yaml
`);
});
