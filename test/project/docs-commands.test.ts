// Every command and every TypeScript program of the README and of docs/ runs as it is written, in its sandbox, against real servers.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { MAIN, temporaryFolder } from "../helpers/cli.ts";
import { blocksOf, compileSnippets, FRAMEWORKS_PAGE, PAGES as DOCUMENTS } from "../helpers/docs-snippets.ts";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { startSseServer } from "../fixtures/sse-server.mjs";
import { startWsServer } from "../fixtures/ws-server.mjs";
import { git } from "../helpers/mcpfile.ts";
import { isRunning } from "../helpers/workspace.ts";
import { needs } from "../helpers/needs.ts";
import { packageDocument } from "../helpers/registry.ts";
import { freePort } from "../helpers/free-port.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

/** Commands that are not run here, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "npm ci && npm start": "scripts/fresh-machine.mjs runs it",
  "npm ci && npm test": "scripts/fresh-machine.mjs runs it",
  "npm install ~/portolan/portolan-*.tgz": "test/project/package.test.ts installs the packed file",
  "portolan login notes": "there is no such server; test/oauth/command.test.ts logs in to a stand-in",
  "portolan login notes --no-browser": "as above",
  "portolan login notes --account work": "as above",
  "portolan logout notes": "as above",
  "portolan login tracker-mcp": "there is no tracker; test/cli/login.test.ts logs in to a stand-in",
  "portolan logout tracker-mcp": "there is no tracker; test/cli/login.test.ts logs out of a stand-in",
};

interface Page {
  /** The folder of the repository in which its commands run; a temporary folder by default. */
  readonly at?: string;
  /** Files that the page assumes. `yaml 1` is the first such block of the page, `docs/x.md yaml 1` that of another page. */
  readonly files?: Readonly<Record<string, string>>;
  /** Files of the home folder. */
  readonly home?: Readonly<Record<string, string>>;
}

const SERVERS = {
  everything: { command: "npx", args: ["-y", "@modelcontextprotocol/server-everything"] },
  files: {
    command: "npx",
    args: ["-y", "@modelcontextprotocol/server-filesystem", "~/notes"],
    sandbox: { fs: { write: ["~/notes"] } },
  },
};

const PETSTORE = JSON.stringify({
  openapi: "3.0.3",
  info: { title: "Petstore", version: "1.0.0" },
  servers: [{ url: "https://api.example.com" }],
  components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
  security: [{ token: [] }],
  paths: {
    "/pets": {
      get: {
        ...{ operationId: "listPets", tags: ["orders"], responses: { 200: { description: "pets" } } },
        parameters: [{ name: "limit", in: "query", schema: { type: "integer" } }],
      },
    },
  },
});

const CONTRACT_FILES = {
  "tools/fs-read/TOOL.md": "docs/reference/contracts.md markdown 1",
  ".drivers/filesystem-mcp/DRIVER.md": "docs/reference/contracts.md markdown 2",
  "old/DRIVER.md": "docs/reference/contracts.md markdown 2",
  "notes/hello.md": "Hello.\n",
};
const BOTH_SERVERS = { "portolan.yaml": JSON.stringify({ servers: SERVERS }) };
const AUDITED_SERVER = { servers: { notes: { command: "node", args: ["server.js"] } }, audit: true };
const FILE_SERVER = { "portolan.yaml": JSON.stringify({ servers: { files: SERVERS.files } }) };

/** The package of the example: the server of the documents as one file. The registry of the page hosts it. */
function issuesPackage(): Record<string, string> {
  const program = readFileSync(fixture("docs-server.mjs"), "utf8");
  const digest = createHash("sha256").update(program).digest();
  const document = packageDocument((value) => {
    Object.assign(value, { name: "@alice/issues-mcp", description: "Issues and notes" });
    value["mcp"].executable = "issues-mcp.mjs";
    value["mcp"].capabilities = {
      tools: ["create_issue", "read_file", "get_chart"].map((name) => ({ name })),
    };
    value["mcp"].configuration = { schema: { type: "object", properties: { region: { type: "string" } } } };
    value["security"].permissions = [];
    value["source"] = {
      type: "binary",
      url: `http://127.0.0.1:7430/files/sha256-${digest.toString("hex")}`,
      hash: `sha256-${digest.toString("base64")}`,
      size: program.length,
    };
  });
  return { "issues-mcp.mjs": program, "issues-mcp.json": JSON.stringify(document) };
}

const PAGES: Readonly<Record<string, Page>> = {
  "README.md": { files: { "mcpfile.yaml": "yaml 1" } },
  "docs/guides/approvals.md": { files: { "portolan.yaml": "yaml 1" } },
  "docs/guides/backup.md": {
    files: { "portolan.yaml": JSON.stringify(AUDITED_SERVER), "mcpfile.yaml": "README.md yaml 1" },
  },
  "docs/guides/clients.md": { files: BOTH_SERVERS },
  "docs/guides/console.md": { files: FILE_SERVER },
  "docs/guides/debugging.md": { files: FILE_SERVER },
  "docs/guides/driver-code.md": { files: CONTRACT_FILES },
  "docs/guides/drivers.md": { files: CONTRACT_FILES },
  "docs/guides/embedding.md": { files: { "workspace/portolan.yaml": BOTH_SERVERS["portolan.yaml"] } },
  "docs/guides/driver-login.md": {},
  "docs/guides/observe.md": { files: { "portolan.yaml": "yaml 1" } },
  "docs/guides/openapi.md": { files: { "petstore.json": PETSTORE } },
  "docs/guides/operation.md": { files: BOTH_SERVERS },
  "docs/guides/packages.md": { files: { ...BOTH_SERVERS, ...issuesPackage() } },
  "docs/guides/pins.md": { files: FILE_SERVER },
  "docs/guides/publishing.md": { files: { "mcpfile.yaml": "yaml 1" } },
  "docs/guides/registry.md": { files: { "github-mcp.json": JSON.stringify(packageDocument()) } },
  "docs/guides/sandbox.md": { files: FILE_SERVER },
  "docs/guides/scripts.md": {
    files: { ...BOTH_SERVERS, "hello.mld": "mlld 1", "new.mld": "mlld 2" },
  },
  "docs/guides/secrets.md": { files: { "portolan.yaml": "yaml 1" } },
  "docs/guides/server-login.md": {},
  "docs/guides/terminal.md": {},
  "docs/guides/testing.md": { files: { "notes.mcpfile.yaml": "yaml 1" } },
  "docs/guides/workspaces.md": { files: { "portolan.yaml": "yaml 1" } },
  "docs/reference/access-control.md": { files: { "portolan.yaml": "yaml 1" } },
  "docs/reference/config-files.md": {
    files: { "portolan.yaml": "yaml 1", "bridge/manifest.yaml": "yaml 3" },
  },
  "docs/reference/events.md": { files: FILE_SERVER },
  "docs/reference/gateway.md": { files: BOTH_SERVERS },
  "docs/reference/mcpfile.md": { files: { "mcpfile.yaml": "yaml 1" } },
  "docs/start/agent.md": {},
  "docs/start/contract.md": {},
  "docs/start/gateway.md": {
    home: { ".cursor/mcp.json": JSON.stringify({ mcpServers: { everything: SERVERS.everything } }) },
  },
  "docs/start/installation.md": {},
  "docs/start/mcpfile.md": { files: { "mcpfile.yaml": "yaml 1" } },
  "examples/drivers/README.md": { at: "examples/drivers" },
  "examples/quickstart/README.md": { at: "." },
};

/** The text of a shell block; the command and the expected output of a console block. */
function scriptsOf(page: string): { readonly script: string; readonly prints: readonly string[] }[] {
  return blocksOf(page).flatMap(({ language, text }) => {
    if (language === "sh") return [{ script: text, prints: [] }];
    if (language !== "console") return [];
    const lines = text.trimEnd().split("\n");
    const command = (lines[0] ?? "").replace(/^\$ /, "");
    // A token is printed to terminals only.
    return [
      { script: command, prints: lines.slice(1).filter((line) => !/^(?:…|Token .*|.*ptl_….*)$/.test(line)) },
    ];
  });
}

/** `serve` runs in the background, and `connect` gets `--yes`. Everything else is the command itself. */
const PORTOLAN = `#!/bin/sh
if [ "$1 $2" = "registry serve" ]; then
  node "$MAIN" "$@" --port "$REGISTRY_PORT" >"$STAGE/registry-out" 2>&1 &
  echo $! >"$STAGE/registry-pid"
  until grep -q '^Serving' "$STAGE/registry-out"; do
    kill -0 "$(cat "$STAGE/registry-pid")" || { cat "$STAGE/registry-out" >&2; exit 1; }
    sleep 0.1
  done
  exit 0
fi
[ "$1" != connect ] || [ $# = 1 ] || exec node "$MAIN" "$@" --yes
[ "$1" = serve ] && [ "$2" != --stdio ] || exec node "$MAIN" "$@"
[ "$2" != --daemon ] || exec node "$MAIN" "$@" --port "$PORT"
[ -f "$STAGE/pid" ] && kill -9 "$(cat "$STAGE/pid")" 2>/dev/null
: >"$STAGE/out"
node "$MAIN" "$@" --port "$PORT" --log-format pretty >"$STAGE/out" 2>&1 &
echo $! >"$STAGE/pid"
until grep -qE '^(Claude Code|Connected clients)' "$STAGE/out"; do
  kill -0 "$(cat "$STAGE/pid")" || { cat "$STAGE/out" >&2; exit 1; }
  sleep 0.1
done
cat "$STAGE/out"
`;

/** One data folder for all pages, so that each package is installed once. */
const data = realpathSync(mkdtempSync(join(tmpdir(), "portolan-docs-data-")));
beforeAll(() => writeFileSync(join(data, "passphrase"), "of the test\n", { mode: 0o600 }));
afterAll(() => rmSync(data, { recursive: true, force: true }));

async function stage(page: string, { at, files = {}, home: atHome = {} }: Page) {
  const base = realpathSync(temporaryFolder());
  const [bin, home, cwd] = [
    join(base, "bin"),
    join(base, "home"),
    at === undefined ? join(base, "work") : join(root, at),
  ];
  for (const folder of [bin, join(home, "notes"), cwd]) mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(atHome)) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), text);
  }
  for (const name of ["todo.md", "notes.md"]) writeFileSync(join(home, "notes", name), "Buy milk.\n");
  const [port, registryPort] = [await freePort(), await freePort()];
  const example = await startExample();
  /** Replaces the hosts and folders of the examples by those of this machine. */
  const real = (text: string): string =>
    text
      .replaceAll("7420", String(port))
      .replaceAll("127.0.0.1:7430", `127.0.0.1:${registryPort}`)
      .replaceAll("https://mcp.example.com/mcp", example.mcp)
      .replaceAll("https://api.githubcopilot.com/mcp/", example.mcp)
      .replaceAll("https://api.example.com/mcp", example.mcp)
      .replaceAll("https://mcp-registry.example.com", example.api)
      .replaceAll("https://api.example.com", example.api)
      .replaceAll("http://localhost:8080", example.api)
      .replaceAll("http://localhost:3001/sse", example.sse)
      .replaceAll("ws://localhost:3002/mcp", example.socket)
      .replaceAll("http://localhost:8000/mcp", example.mcp)
      .replaceAll("https://example.com/a.git", `file://${base}/a.git`)
      .replaceAll("/home/me/", `${home}/`)
      .replaceAll(/\b(?:some|weather)-server\b/g, "@modelcontextprotocol/server-everything")
      .replaceAll("<target>", '"node server.js"');
  if (at === undefined) {
    cpSync(fixture("docs-server.mjs"), join(cwd, "server.js"));
    writeFileSync(join(cwd, "package.json"), '{ "type": "module" }');
    for (const words of ["init -q", "add .", "commit -qm one"]) git("-C", cwd, ...words.split(" "));
    git("clone", "-q", "--bare", cwd, join(base, "a.git"));
  }
  for (const [name, given] of Object.entries(files)) {
    const [, other = page, language, number] = /^(?:(\S+\.md) )?(yaml|markdown|mlld) (\d)$/.exec(given) ?? [];
    const own = blocksOf(other).filter((block) => block.language === language)[Number(number) - 1]?.text;
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), real(own ?? given));
  }
  for (const [name, text] of [
    ["portolan", PORTOLAN],
    ["claude", "#!/bin/sh\n"],
  ] as const) {
    writeFileSync(join(bin, name), text);
    chmodSync(join(bin, name), 0o755);
  }
  const { PATH, LANG } = process.env;
  const env = {
    ...{
      PATH: `${bin}:${PATH}`,
      LANG,
      HOME: home,
      MAIN,
      PORT: String(port),
      REGISTRY_PORT: String(registryPort),
      STAGE: base,
      GITHUB_TOKEN: "t",
      TOKEN: "t",
    },
    ...{
      XDG_DATA_HOME: data,
      PORTOLAN_VAULT_PASSPHRASE_FILE: join(data, "passphrase"),
      DBUS_SESSION_BUS_ADDRESS: "unix:path=/nowhere",
    },
    // The registry is that of the person who runs the tests.
    npm_config_userconfig: process.env.npm_config_userconfig ?? join(homedir(), ".npmrc"),
    npm_config_cache: process.env.npm_config_cache ?? join(homedir(), ".npm"),
  };
  onTestFinished(async () => {
    // A page may have stopped the daemon itself.
    if (blocksOf(page).some(({ text }) => text.includes("--daemon")))
      await promisify(execFile)(process.execPath, [MAIN, "stop"], { cwd, env }).catch(() => {});
    for (const name of ["pid", "registry-pid"]) {
      const file = join(base, name);
      // A page may stop the gateway itself.
      const pid = existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
      if (pid !== 0 && isRunning(pid)) process.kill(pid, "SIGTERM");
    }
  });
  return {
    real,
    run: (script: string) =>
      new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
        // A script that reads nothing may end before this is written.
        const child = execFile("sh", ["-e", "-c", real(script)], { cwd, env }, (error, out, err) =>
          resolve({ code: error === null ? 0 : error.code, out, err }),
        );
        child.stdin?.on("error", () => {}).end("a value\n");
      }),
  };
}

describe("the commands of a page run as written", needs("bubblewrap", "curl"), () => {
  it.each(Object.entries(PAGES))("%s", { timeout: 600_000 }, async (page, given) => {
    const { run, real } = await stage(page, given);
    for (const { script, prints } of scriptsOf(page)) {
      const isConsole = prints.length > 0;
      // `npm start` runs this after the build.
      const isStart = /^(?:npm ci && )?npm start$/.test(script.trim());
      const command = isStart ? `portolan serve ${root}examples/quickstart` : script;
      const { code, out, err } = await run(
        isConsole && !command.startsWith("portolan serve") ? `${command} --text` : runnable(command),
      );
      expect({ script, code, err: code === 0 ? "" : err }).toEqual({ script, code: 0, err: "" });
      let rest = out;
      for (const line of prints.map(real)) {
        const at = rest.search(new RegExp(`^${escaped(line)}$`, "m"));
        if (at < 0) expect(rest, script).toContain(line);
        rest = rest.slice(at + 1);
      }
    }
  });
});

describe("the programs of a page run as written", needs("bubblewrap"), () => {
  const written = DOCUMENTS.filter(
    (page) => page !== FRAMEWORKS_PAGE && blocksOf(page).some(({ language }) => language === "ts"),
  );
  let programs: Awaited<ReturnType<typeof compileSnippets>>["programs"];
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-docs-")));
  beforeAll(async () => void ({ programs } = await compileSnippets(folder)));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(written)("%s", async (page) => {
    const { run, real } = await stage(page, PAGES[page] ?? {});
    const program = programs[page] as string;
    // The program ends after the last block, whatever it still has open.
    writeFileSync(program, `${real(readFileSync(program, "utf8"))}\nprocess.exit();\n`);
    const { code, err } = await run(`node ${program}`);
    expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
  });
});

it("every page with commands is in the list of pages of this test", () => {
  const examples = ["examples/drivers/README.md", "examples/quickstart/README.md"];
  const pages = [...DOCUMENTS, ...examples].filter((page) => scriptsOf(page).length > 0);
  expect(pages.filter((page) => PAGES[page] === undefined)).toEqual([]);
  expect(Object.keys(PAGES).filter((page) => blocksOf(page).length === 0)).toEqual([]);
});

/** The script without the exceptions; a line with `(exit code 3)` must end with this code. */
function runnable(script: string): string {
  return script
    .split("\n")
    .filter((line) => !Object.hasOwn(EXCEPTIONS, line.replace(/\s+#.*/, "")))
    .map((line) => line.replace(/^(.*?)\s+#.*\(exit code (\d+)\)$/, "code=0; $1 || code=$?; [ $code = $2 ]"))
    .join("\n");
}

/** A pattern for a text in which "…" stands for anything; on a busy machine, a server may start later. */
function escaped(text: string): string {
  return text
    .replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)
    .replaceAll("…", ".*")
    .replace(/(\S) +ready .*/, "$1 +(?:ready|starting) .*")
    .replace(/^(Serving 2 servers), \d+ tools/, String.raw`$1, \d+ tools`);
}

/** The hosts of the examples: an MCP server for each transport, and an API with a description. */
/** The server of the pages about the official MCP registry API, as such a registry lists it. */
function listed(url: string): string {
  const remotes = [{ type: "streamable-http", url, headers: [{ name: "X-Region", default: "eu" }] }];
  return JSON.stringify({
    server: { name: "io.github.example/search", description: "Searches.", version: "1.2.0", remotes },
    _meta: { "io.modelcontextprotocol.registry/official": { status: "active" } },
  });
}

async function startExample(): Promise<{ mcp: string; api: string; sse: string; socket: string }> {
  const mcp = await startHttpServer({ era: "modern" });
  const sse = await startSseServer();
  const socket = await startWsServer();
  const api = createServer((request, response) => {
    const { url = "" } = request;
    response.setHeader("content-type", "application/json");
    response.end(/openapi/.test(url) ? PETSTORE : url.startsWith("/v0.1/servers/") ? listed(mcp.url) : "{}");
  });
  await new Promise<void>((resolve) => void api.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    await Promise.all([mcp.close(), sse.close(), socket.close()]);
    api.close();
  });
  const { port } = api.address() as AddressInfo;
  return { mcp: mcp.url, sse: sse.url, socket: socket.url, api: `http://127.0.0.1:${port}` };
}
