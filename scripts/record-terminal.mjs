// Records docs/terminal.svg, the picture in the README: runs real commands on a pseudo-terminal and draws their output.
// Usage: npm run build && node scripts/record-terminal.mjs. It needs `script` (bsdutils) and bubblewrap.

import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./lib/install-once.mjs";
import { renderScreen } from "./lib/terminal-screen.mjs";

const COMMANDS = [
  "portolan add files --allow-write ~/notes -- npx -y @modelcontextprotocol/server-filesystem ~/notes",
  "portolan add everything -- npx -y @modelcontextprotocol/server-everything",
  "portolan status",
  "portolan call files.read_text_file path=~/notes/todo.md",
  "portolan serve",
];

const COLUMNS = 112;
const SERVING = "Claude Code";
/** Lines of `portolan serve` that the picture shows. */
const SERVE_LINES = 10;

const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-record-")));
try {
  const env = prepare();
  const lines = [];
  for (const command of COMMANDS) {
    lines.push([
      { text: "$ ", color: "green", isBold: true },
      { text: command, isBold: true },
    ]);
    const output = renderScreen(await run(command, env)).filter((_, index, all) => !isTail(all, index));
    lines.push(...(command.endsWith("serve") ? output.slice(0, SERVE_LINES) : output), []);
    console.log(`${command}: ${output.length} lines`);
  }
  writeFileSync(join(root, "docs", "terminal.svg"), drawSvg(lines.slice(0, -1)));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Makes an empty HOME with a note in it, and a PATH on which `portolan` is this build. */
function prepare() {
  const [bin, home, work] = ["bin", "home", "work"].map((name) => join(folder, name));
  for (const path of [bin, join(home, "notes"), work]) mkdirSync(path, { recursive: true });
  writeFileSync(join(home, "notes", "todo.md"), "Buy milk.\n");
  const program = join(bin, "portolan");
  writeFileSync(program, `#!/bin/sh\nexec node "${join(root, "dist", "cli", "main.js")}" "$@"\n`);
  chmodSync(program, 0o755);
  return {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: home,
    LANG: "C.UTF-8",
    TERM: "xterm-256color",
    npm_config_cache: process.env.npm_config_cache ?? join(homedir(), ".npm"),
    npm_config_userconfig: process.env.npm_config_userconfig ?? join(homedir(), ".npmrc"),
  };
}

/** Runs a command on a pseudo-terminal and returns what it wrote; a gateway is stopped as soon as it serves. */
function run(command, env) {
  return new Promise((resolve, reject) => {
    const child = spawn("script", ["-qec", `stty cols ${COLUMNS}; ${command}`, "/dev/null"], {
      cwd: join(folder, "work"),
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
      if (output.includes(SERVING)) child.kill("SIGINT");
    });
    child.once("error", reject);
    child.once("close", () => resolve(hidePrivate(output)));
  });
}

/** The picture shows no token and no path of the machine that made it. */
function hidePrivate(text) {
  return text
    .replaceAll(/ptl_\w+/g, "ptl_…")
    .replaceAll(`node ${join(root, "dist", "cli", "main.js")}`, "portolan")
    .replaceAll(join(folder, "home"), "~")
    .replaceAll(`${join(folder, "work")}/`, "");
}

function isTail(lines, index) {
  return lines.slice(index).every((runs) => runs.every(({ text }) => text.trim() === ""));
}

function drawSvg(lines) {
  const [width, height] = [COLUMNS * 7.83 + 32, lines.length * 18 + 56];
  let time = 0.3;
  const rows = lines.map((runs, index) => {
    const isCommand = runs[0]?.text === "$ ";
    time += isCommand ? 1 : 0.06;
    const spans = runs.map((run) => `<tspan${classOf(run)}>${escapeText(run.text)}</tspan>`).join("");
    return `<text x="16" y="${index * 18 + 56}" style="animation-delay:${time.toFixed(2)}s">${spans}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.round(width)}" height="${height}" viewBox="0 0 ${Math.round(width)} ${height}" role="img" aria-label="A terminal session with portolan">
<style>
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d8dee9; white-space: pre; }
.bold { font-weight: bold; } .dim { opacity: 0.6; }
.red { fill: #ef6b73; } .green { fill: #8fce7e; } .yellow { fill: #ebcb8b; } .blue { fill: #81a1c1; }
.magenta { fill: #c792ea; } .cyan { fill: #7fd1de; } .white { fill: #ffffff; } .black { fill: #6b7280; }
@media (prefers-reduced-motion: no-preference) {
  text { opacity: 0; animation: show 0.01s linear forwards; }
  @keyframes show { to { opacity: 1; } }
}
</style>
<rect width="100%" height="100%" rx="10" fill="#1e222a"/>
<circle cx="20" cy="20" r="6" fill="#ef6b73"/><circle cx="40" cy="20" r="6" fill="#ebcb8b"/><circle cx="60" cy="20" r="6" fill="#8fce7e"/>
${rows.join("\n")}
</svg>
`;
}

function classOf({ color = "", isBold = false, isDim = false }) {
  const names = [color, isBold ? "bold" : "", isDim ? "dim" : ""].filter(Boolean);
  return names.length === 0 ? "" : ` class="${names.join(" ")}"`;
}

function escapeText(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
