import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CLIENTS, type Computer } from "./clients.ts";
import { findClientFiles } from "./find.ts";
import { importClients } from "../import.ts";
import type { ClientId } from "../types.ts";

const LINUX: Computer = { home: "/home/me", cwd: "/repo", platform: "linux", env: {} };
const MAC: Computer = { home: "/Users/me", cwd: "/repo", platform: "darwin", env: {} };
const WINDOWS: Computer = {
  home: "C:\\Users\\me",
  cwd: "D:\\repo",
  platform: "win32",
  env: { APPDATA: "C:\\Users\\me\\AppData\\Roaming", LOCALAPPDATA: "C:\\Users\\me\\AppData\\Local" },
};

function places(client: ClientId, computer: Computer): string[] {
  return CLIENTS[client].places(computer).map(({ file, scope }) => `${scope} ${file}`);
}

test("knows the config file locations on Linux, macOS and Windows", () => {
  expect(places("claude-code", LINUX)).toEqual(["user /home/me/.claude.json", "project /repo/.mcp.json"]);
  expect(places("claude-code", WINDOWS)).toEqual([
    "user C:\\Users\\me\\.claude.json",
    "project D:\\repo\\.mcp.json",
  ]);
  expect(places("claude-desktop", LINUX)).toEqual([
    "user /home/me/.config/Claude/claude_desktop_config.json",
  ]);
  expect(places("claude-desktop", MAC)).toEqual([
    "user /Users/me/Library/Application Support/Claude/claude_desktop_config.json",
  ]);
  expect(places("claude-desktop", WINDOWS)).toEqual([
    "user C:\\Users\\me\\AppData\\Local\\Packages\\Claude_*\\LocalCache\\Roaming\\Claude\\claude_desktop_config.json",
    "user C:\\Users\\me\\AppData\\Roaming\\Claude\\claude_desktop_config.json",
  ]);
  expect(places("cursor", MAC)).toEqual([
    "user /Users/me/.cursor/mcp.json",
    "project /repo/.cursor/mcp.json",
  ]);
  expect(places("windsurf", WINDOWS)[0]).toBe("user C:\\Users\\me\\.codeium\\windsurf\\mcp_config.json");
  expect(places("vscode", LINUX)[0]).toBe("user /home/me/.config/Code/User/mcp.json");
  expect(places("vscode", MAC)[0]).toBe("user /Users/me/Library/Application Support/Code/User/mcp.json");
  expect(places("vscode", WINDOWS)[0]).toBe("user C:\\Users\\me\\AppData\\Roaming\\Code\\User\\mcp.json");
  expect(places("vscode", WINDOWS).at(-1)).toBe("project D:\\repo\\.vscode\\mcp.json");
  expect(places("codex", LINUX)).toEqual([
    "user /home/me/.codex/config.toml",
    "project /repo/.codex/config.toml",
  ]);
  expect(places("gemini", LINUX)).toEqual([
    "user /home/me/.gemini/settings.json",
    "project /repo/.gemini/settings.json",
  ]);
  expect(places("opencode", MAC).slice(0, 3)).toEqual([
    "user /Users/me/.config/opencode/opencode.json",
    "user /Users/me/.config/opencode/opencode.jsonc",
    "project /repo/opencode.json",
  ]);
});

test("environment variables change the locations, and empty variables do not", () => {
  const env = {
    CODEX_HOME: "/codex",
    CLAUDE_CONFIG_DIR: "/claude",
    XDG_CONFIG_HOME: "/xdg",
    OPENCODE_CONFIG: "/o/c.json",
  };
  expect(places("codex", { ...LINUX, env })[0]).toBe("user /codex/config.toml");
  expect(places("claude-code", { ...LINUX, env })[0]).toBe("user /claude/.claude.json");
  expect(places("claude-desktop", { ...LINUX, env })[0]).toBe("user /xdg/Claude/claude_desktop_config.json");
  expect(places("opencode", { ...LINUX, env })).toContain("user /o/c.json");
  expect(places("codex", { ...LINUX, env: { CODEX_HOME: "" } })).toEqual(places("codex", LINUX));
  expect(places("vscode", { ...WINDOWS, env: {} })[0]).toBe(places("vscode", WINDOWS)[0]);
});

test("every client has a title, a format and its own id", () => {
  for (const [id, client] of Object.entries(CLIENTS)) {
    expect(client.id).toBe(id);
    expect(client.title).not.toBe("");
    expect(["json", "toml", "yaml"]).toContain(client.format);
  }
});

let root: string;
let computer: Computer;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "portolan-clients-")));
  computer = { home: join(root, "home"), cwd: join(root, "home/repo/sub"), platform: "linux", env: {} };
  await mkdir(computer.cwd, { recursive: true });
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

async function put(file: string, text = "{}"): Promise<void> {
  const path = join(root, file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

test("finds the files of the project up to its root, then those of the user", async () => {
  await put("home/.claude.json");
  await put("home/.cursor/mcp.json");
  await put("home/.config/Code/User/mcp.json");
  await put("home/.config/Code/User/profiles/b/mcp.json");
  await put("home/.config/Code/User/profiles/a/mcp.json");
  await put("home/.codex/config.toml", "");
  await put("home/.mcp.json");
  await put("home/repo/.mcp.json");
  await put("home/repo/sub/.mcp.json");
  await put("home/repo/.git/HEAD");
  const found = await findClientFiles(computer);
  expect(found.map(({ client, file, scope }) => [client, scope, file.slice(root.length + 1)])).toEqual([
    ["claude-code", "project", "home/repo/sub/.mcp.json"],
    ["claude-code", "project", "home/repo/.mcp.json"],
    ["claude-code", "user", "home/.claude.json"],
    ["cursor", "user", "home/.cursor/mcp.json"],
    ["vscode", "user", "home/.config/Code/User/mcp.json"],
    ["vscode", "user", "home/.config/Code/User/profiles/a/mcp.json"],
    ["vscode", "user", "home/.config/Code/User/profiles/b/mcp.json"],
    ["codex", "user", "home/.codex/config.toml"],
  ]);
});

test("outside of a repository only the working folder is a project; a file in the home folder is the user's", async () => {
  await put("home/repo/.mcp.json");
  expect(await findClientFiles(computer)).toEqual([]);
  await put("home/.cursor/mcp.json");
  const found = await findClientFiles({ ...computer, cwd: computer.home });
  expect(found.map(({ scope }) => scope)).toEqual(["user"]);
});

test("finds no files in a folder that does not exist", async () => {
  expect(
    await findClientFiles({ ...computer, home: join(root, "nowhere"), cwd: join(root, "nowhere/else") }),
  ).toEqual([]);
});

test("imports every file that it finds, and reports the files that it cannot read", async () => {
  await put("home/.claude.json", '{"mcpServers":{"a":{"command":"x"},"b":{}}}');
  await put("home/.cursor/mcp.json", '{"mcpServers":');
  await put("home/.codex/config.toml", "\xff\xfe");
  await writeFile(join(root, "home/.codex/config.toml"), Buffer.from([0xff, 0xfe, 0x00]));
  await mkdir(join(root, "home/.gemini/settings.json"), { recursive: true });
  await put(
    "home/.codeium/windsurf/mcp_config.json",
    '\uFEFF{"mcpServers":{"w":{"serverUrl":"https://w.example/mcp"}}}',
  );
  const imported = await importClients(computer);
  expect(
    imported.map(({ client, servers, diagnostics }) => [
      client,
      servers.map(({ alias }) => alias),
      diagnostics.map(({ code, severity, message, line }) => `${code} ${severity} ${line ?? "-"} ${message}`),
    ]),
  ).toEqual([
    ["claude-code", ["a"], ["FILE_INVALID error 1 the entry has neither a command nor a url"]],
    ["cursor", [], expect.arrayContaining([expect.stringMatching(/^FILE_INVALID error 1 /)])],
    ["windsurf", ["w"], []],
    ["codex", [], ["FILE_FAILED error - it is not UTF-8 text"]],
    ["gemini", [], ["FILE_FAILED error - it is not a regular file"]],
  ]);
});

test("imports only the clients and the files that the caller names", async () => {
  await put("home/.claude.json", '{"mcpServers":{"a":{"command":"x"}}}');
  await put("home/.cursor/mcp.json", '{"mcpServers":{"c":{"command":"x"}}}');
  expect((await importClients({ ...computer, clients: ["cursor"] })).map(({ client }) => client)).toEqual([
    "cursor",
  ]);
  const missing = { client: "cursor", file: join(root, "none.json"), scope: "user" } as const;
  expect(await importClients({ ...computer, files: [missing] })).toMatchObject([
    {
      ...missing,
      servers: [],
      diagnostics: [{ code: "FILE_FAILED", message: "it cannot be read (ENOENT)" }],
    },
  ]);
});

test("imports only the project of the working folder from the file of Claude Code, unless all are requested", async () => {
  await put(
    "home/.claude.json",
    JSON.stringify({
      projects: {
        [computer.cwd]: { mcpServers: { here: { command: "x" } } },
        "/else": { mcpServers: { there: { command: "x" } } },
      },
    }),
  );
  const aliases = async (projects?: "all"): Promise<unknown> =>
    (await importClients({ ...computer, projects })).flatMap(({ servers }) =>
      servers.map(({ alias }) => alias),
    );
  expect(await aliases()).toEqual(["here"]);
  expect(await aliases("all")).toEqual(["here", "there"]);
});
