// Imports public servers from a client's file, as a person does: answers the questions at a terminal, then calls one tool of each.
// Prints a table, and fails if more than one of ten does not work. It needs the npm registry, `script` of
// bsdutils, and `npm run build` before.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

// In lower case, because mcp-obsidian finds no others.
const top = join(tmpdir(), `portolan-interop-import-${process.pid}`);
const [home, notes, project] = [join(top, "home"), join(top, "home/notes"), join(top, "home/project")];
for (const folder of [notes, project]) mkdirSync(folder, { recursive: true });
writeFileSync(join(notes, "hello.md"), "# Hello\n\nBuy milk.\n");
writeFileSync(join(project, "index.js"), "var unused = 1;\n");
writeFileSync(join(project, "eslint.config.mjs"), 'export default [{ rules: { "no-var": "error" } }];\n');
for (const words of [
  ["init", "-q"],
  ["add", "."],
])
  execFileSync("git", ["-C", project, ...words]);

const npx = (name, ...args) => ({ command: "npx", args: ["-y", name, ...args] });

/**
 * As their READMEs say. `call`: a tool and its arguments, with a text of the answer. `file`: written by it. Without `call`, the
 * server reaches the internet, and it works if its tools are listed.
 */
const SERVERS = {
  filesystem: {
    entry: npx("@modelcontextprotocol/server-filesystem", notes),
    call: ["write_file", { path: join(notes, "a.txt"), content: "written" }, "Successfully wrote"],
    file: [join(notes, "a.txt"), "written"],
  },
  memory: {
    entry: npx("@modelcontextprotocol/server-memory"),
    call: [
      "create_entities",
      { entities: [{ name: "milk", entityType: "thing", observations: ["white"] }] },
      "white",
    ],
    file: [join(home, "server-memory/memory.jsonl"), "white"],
  },
  everything: {
    entry: npx("@modelcontextprotocol/server-everything"),
    call: ["echo", { message: "hello" }, "hello"],
  },
  thinking: {
    entry: npx("@modelcontextprotocol/server-sequential-thinking"),
    call: [
      "sequentialthinking",
      { thought: "one", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
      "thoughtNumber",
    ],
  },
  budget: {
    entry: npx("@modelcontextprotocol/server-budget-allocator", "--stdio"),
    call: ["get-budget-data", {}, "Budget"],
  },
  eslint: {
    entry: { ...npx("@eslint/mcp@latest"), cwd: project },
    call: ["lint-files", { filePaths: [join(project, "index.js")] }, "no-var"],
  },
  git: {
    entry: { ...npx("@cyanheads/git-mcp-server"), env: { GIT_BASE_DIR: project, MCP_LOG_LEVEL: "info" } },
    call: ["git_status", { path: project }, "index.js"],
  },
  obsidian: {
    entry: npx("mcp-obsidian", notes),
    call: ["read_notes", { paths: ["hello.md"] }, "Buy milk"],
  },
  commands: {
    entry: npx("mcp-server-commands"),
    call: ["run_command", { command: "echo from a process" }, "from a process"],
  },
  sqlite: {
    entry: npx("mcp-sqlite", join(notes, "data.db")),
    call: ["list_tables", {}, "["],
  },
  github: {
    entry: {
      ...npx("@modelcontextprotocol/server-github"),
      env: { GITHUB_PERSONAL_ACCESS_TOKEN: "ghp_0000000000000000000000000000000000aa" },
    },
  },
  context7: { entry: npx("@upstash/context7-mcp") },
};

const env = {
  ...process.env,
  HOME: home,
  XDG_DATA_HOME: join(top, "data"),
  DBUS_SESSION_BUS_ADDRESS: "unix:path=/nowhere",
  PORTOLAN_VAULT_PASSPHRASE_FILE: join(top, "passphrase"),
  TERM: "xterm",
  SHELL: "/bin/sh",
  // The settings of npm, which are in the home folder.
  npm_config_userconfig: process.env.npm_config_userconfig ?? join(process.env.HOME ?? "", ".npmrc"),
};
const cwd = join(home, "tools");
mkdirSync(cwd);
mkdirSync(join(home, ".cursor"));
writeFileSync(env.PORTOLAN_VAULT_PASSPHRASE_FILE, "of this run\n", { mode: 0o600 });
const only = process.argv.slice(2);
const chosen = Object.entries(SERVERS).filter(([alias]) => only.length === 0 || only.includes(alias));
writeFileSync(
  join(home, ".cursor/mcp.json"),
  JSON.stringify({ mcpServers: Object.fromEntries(chosen.map(([alias, { entry }]) => [alias, entry])) }),
);

/** Runs the command at a terminal, and accepts the suggested answer of each question. Returns the questions. */
async function connect() {
  const line = `stty cols 160; ${process.execPath} ${MAIN} connect cursor`;
  const child = spawn("script", ["-qec", line, "/dev/null"], { cwd, env });
  let raw = "";
  let answered = 0;
  const questions = [];
  child.stdout.setEncoding("utf8").on("data", (text) => {
    raw += text;
    const asked = [...stripVTControlCharacters(raw).matchAll(/^◆ +(.*?)\r?$/gm)].map(
      ([, message]) => message,
    );
    const fresh = [...new Set(asked)].slice(answered);
    for (const question of fresh) {
      questions.push(question.trim());
      answered += 1;
      child.stdin.write("\r");
    }
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`portolan connect: exit code ${code}\n${stripVTControlCharacters(raw)}`);
  return questions;
}

function run(words) {
  const child = spawn(process.execPath, [MAIN, ...words], { cwd, env });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (err += text));
  child.stdin.end();
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, out, err })));
}

/** Undefined if it works, else the reason that Portolan gives. */
async function tryServer(alias, { call, file }) {
  const limits = ["--start-timeout", "2m"];
  const [tool, args, wanted = '"tools"'] = call ?? [];
  const { code, out, err } = await run(
    call === undefined
      ? ["list", alias, "--json", ...limits]
      : ["call", `${alias}.${tool}`, "--args", JSON.stringify(args), "--json", ...limits],
  );
  if (code === 0 && out.includes(wanted)) {
    if (file === undefined || (existsSync(file[0]) && readFileSync(file[0], "utf8").includes(file[1])))
      return undefined;
    return `it says that it wrote ${file[0]}, and did not`;
  }
  const [, error] = /^(\{"error":.*)$/m.exec(err) ?? [];
  if (error === undefined) return `${err}${out}`.trim() || `exit code ${code}`;
  const { message, hint } = JSON.parse(error).error;
  return `${message}\n${hint}`;
}

let broken = 0;
try {
  console.log(`${(await connect()).map((question) => `? ${question}`).join("\n")}\n`);
  for (const [alias, server] of chosen) {
    const reason = await tryServer(alias, server);
    if (reason !== undefined) broken += 1;
    const name = server.entry.args[1];
    const good = server.call === undefined ? "works (tools listed)" : `works (${server.call[0]})`;
    console.log((reason === undefined ? good : "FAILS").padEnd(28), name);
    if (reason !== undefined) console.log(reason.replace(/^/gm, "    "));
  }
} finally {
  rmSync(top, { recursive: true, force: true });
}
console.log(`${chosen.length - broken} of ${chosen.length} work`);
process.exitCode = broken <= Math.floor(chosen.length / 10) ? 0 : 1;
