// Adds public npm servers as packages: packed, published to a registry of this run, added in their sandbox and pinned.
// Prints a table, and fails if one is refused. It needs the npm registry, and `npm run build` before.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const { devDependencies } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

/** `args`: arguments of the server. `add`: options that grant what it needs. */
const SERVERS = [
  { name: "@modelcontextprotocol/server-budget-allocator", args: ["--stdio"] },
  { name: "@modelcontextprotocol/server-everything" },
  { name: "@modelcontextprotocol/server-filesystem", args: ["files"], add: ["--allow-write", "files"] },
  { name: "@modelcontextprotocol/server-github", permissions: ["network", "github-api"] },
  { name: "@modelcontextprotocol/server-memory" },
  { name: "@upstash/context7-mcp", permissions: ["network"] },
  { name: "shadcn", version: "4.23.0", args: ["mcp"], permissions: ["network"] },
];

const top = mkdtempSync(join(tmpdir(), "portolan-interop-add-"));
const env = {
  ...process.env,
  HOME: join(top, "home"),
  XDG_DATA_HOME: join(top, "data"),
  DBUS_SESSION_BUS_ADDRESS: "unix:path=/nowhere",
  // The settings of npm, which are in the home folder.
  npm_config_userconfig: process.env.npm_config_userconfig ?? join(process.env.HOME ?? "", ".npmrc"),
};
mkdirSync(env.HOME);

function start(words, { cwd = top, more = {} } = {}) {
  const child = spawn(process.execPath, [MAIN, ...words], { cwd, env: { ...env, ...more } });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (err += text));
  child.stdin.end();
  const done = new Promise((resolve) => {
    child.once("close", (code) => resolve({ code, out, err }));
  });
  return { child, done, out: () => out };
}

async function run(words, options) {
  const { code, out, err } = await start([...words, "--json"], options).done;
  if (code === 0) return JSON.parse(out);
  const { error } = JSON.parse(err.trimEnd().split("\n").at(-1));
  throw new Error(`portolan ${words[0]}: ${error.message} [${error.code}] ${error.hint}`);
}

/** What a person fills in after `portolan pack`. */
function complete(file, { args = [], permissions = [] }) {
  const document = JSON.parse(readFileSync(file, "utf8"));
  document.description ||= "A public server";
  document.author = { ...document.author, name: document.author?.name || "Its author" };
  document.mcp.executable ||= document.name.split("/")[1];
  if (args.length > 0) document.mcp.args = args;
  document.security = {
    permissions,
    sandbox: { required: true, type: "process" },
    audit: {
      lastReviewed: "2026-01-15T10:00:00Z",
      reviewer: "@interop",
      report: "https://example.com/audit",
    },
  };
  document.metadata = { ...document.metadata, license: document.metadata?.license || "MIT" };
  writeFileSync(file, JSON.stringify(document, null, 2));
}

async function addOne(server, registry, index) {
  const { name, version = devDependencies[name], permissions = [], add = [] } = server;
  const cwd = join(top, `server-${index}`);
  mkdirSync(join(cwd, "files"), { recursive: true });
  const more = { PORTOLAN_REGISTRY: registry.url, PORTOLAN_REGISTRY_TOKEN: registry.token };
  const own = `@interop/${name.replace(/^@/, "").replaceAll(/[^a-z0-9]+/g, "-")}`;
  const grants = permissions.length === 0 ? [] : ["--allow-net", "*"];
  const packed = await run(["pack", `${name}@${version}`, "--name", own, ...grants], { cwd, more });
  complete(join(cwd, "mcp-package.json"), server);
  await run(["publish"], { cwd, more });
  const allow = permissions.length === 0 ? "none" : permissions.join(",");
  const added = await run(["add", own, "--name", "server", "--yes", "--allow", allow, ...add], { cwd, more });
  const status = await run(["audit", "--live"], { cwd, more });
  const errors = status.findings.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new Error(`portolan audit: ${errors.map(({ message }) => message).join(" ")}`);
  const { pinned, undeclared, absent } = added.tools;
  return {
    version,
    size: packed.size,
    pinned: pinned.length,
    withheld: undeclared.length,
    absent: absent.length,
  };
}

async function openRegistry() {
  const folder = join(top, "registry");
  const { child, done, out } = start(["registry", "serve", folder, "--port", "0", "--json"]);
  while (!out().includes('"url"')) {
    if (child.exitCode !== null) throw new Error((await done).err);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { token } = await run(["registry", "token", "add", "interop", "--folder", folder, "--show"]);
  return { url: /"url": "([^"]+)"/.exec(out())[1], token, child, done };
}

const registry = await openRegistry();
let refused = 0;
try {
  for (const [index, server] of SERVERS.entries()) {
    const row = await addOne(server, registry, index).catch((error) => ({ refused: error.message }));
    if ("refused" in row) refused += 1;
    const { version = "", pinned, withheld, absent, refused: reason } = row;
    const shown = reason ?? `${pinned} pinned, ${withheld} withheld, ${absent} absent`;
    console.log(
      `${reason === undefined ? "added  " : "REFUSED"}  ${`${server.name} ${version}`.padEnd(60)} ${shown}`,
    );
  }
} finally {
  registry.child.kill();
  await registry.done;
  rmSync(top, { recursive: true, force: true });
}
console.log(`${SERVERS.length - refused} added, ${refused} refused`);
process.exitCode = refused === 0 ? 0 : 1;
