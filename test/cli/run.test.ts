// `portolan run`: the script of the package format against a local stand-in for the GitHub API, with real processes.

import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { envelope, KEYS, portolan, quoted, start, temporaryFolder, terminal } from "../helpers/cli.ts";
import { needs } from "../helpers/needs.ts";

const SERVER = fileURLToPath(new URL("../fixtures/github-server.mjs", import.meta.url));
const TOKEN = "ghp-of-the-test-1234";
const SEED = `# Import MCP server
@import mcp github from @alice/github-mcp

# Configure (prompts for token if not cached)
@mcp:config github {
  github_token: "{{GITHUB_TOKEN}}"
}

# Use tools
@mcp issue = github.create_issue({
  repo: "mlld-lang/mlld",
  title: "Feature request: Add MCP support",
  body: "It would be great if..."
})

# Access resources
@mcp repo = github.resource("github://repos/mlld-lang/mlld")
`;

/** A fake GitHub API: issues need the token. */
async function startApi(): Promise<{ url: string; requests: string[] }> {
  const requests: string[] = [];
  const api = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      requests.push(`${request.method} ${request.url} ${body}`);
      if (request.headers.authorization !== `Bearer ${TOKEN}`) {
        response.writeHead(401).end('{"message":"Bad credentials"}');
        return;
      }
      const issue = { number: 42, title: "", labels: [{ name: "idea" }], ...JSON.parse(body || "{}") };
      response.end(JSON.stringify(request.method === "POST" ? issue : { full_name: request.url?.slice(7) }));
    });
  });
  await new Promise<void>((resolve) => void api.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void api.close());
  return { url: `http://127.0.0.1:${(api.address() as AddressInfo).port}`, requests };
}

async function workspace(script: string) {
  const { url, requests } = await startApi();
  const cwd = temporaryFolder();
  const github = { command: process.execPath, args: [SERVER], env: { API_URL: url }, sandbox: "off" };
  writeFileSync(join(cwd, "portolan.yaml"), JSON.stringify({ servers: { github } }));
  writeFileSync(join(cwd, "x.mld"), script);
  const env = { XDG_DATA_HOME: join(cwd, "data"), DBUS_SESSION_BUS_ADDRESS: "unix:path=/nowhere" };
  return { cwd, env, requests };
}

describe("portolan run", () => {
  it("runs the example script of the package format", async () => {
    const { cwd, env, requests } = await workspace(SEED);
    const ran = await portolan(["run", "x.mld", "--json"], { cwd, env: { ...env, GITHUB_TOKEN: TOKEN } });
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
    expect(JSON.parse(ran.out)).toEqual({
      outputs: [],
      variables: {
        issue: {
          number: 42,
          title: "Feature request: Add MCP support",
          body: "It would be great if...",
          labels: [{ name: "idea" }],
        },
        repo: { full_name: "mlld-lang/mlld" },
      },
    });
    expect(requests).toEqual([
      'POST /repos/mlld-lang/mlld/issues {"title":"Feature request: Add MCP support","body":"It would be great if..."}',
      "GET /repos/mlld-lang/mlld ",
    ]);
  });

  it("prints text with values, takes variables, and redacts secrets", async () => {
    const more =
      '@text who = "nobody"\n@mcp token = github.showToken()\nFor {{who}}: #{{issue.number}} {{issue.labels[0].name}}\n{{token}}\n';
    const { cwd, env } = await workspace(SEED + more);
    const ran = await portolan(["run", "x.mld", "--var", "who={{x}}"], {
      cwd,
      env: { ...env, GITHUB_TOKEN: TOKEN },
    });
    expect(ran).toEqual({ code: 0, err: "", out: "For {{x}}: #42 idea\nThe token is [redacted].\n" });
  });

  it("fails with the name of a missing secret before it calls a tool", async () => {
    const { cwd, env, requests } = await workspace(SEED);
    const ran = await portolan(["run", "x.mld", "--json"], { cwd, env });
    expect(ran.code).toBe(2);
    expect(envelope(ran)).toMatchObject({
      code: "SECRET_MISSING",
      message: "x.mld:6:18 A secret is missing: GITHUB_TOKEN (for GITHUB_TOKEN of github).",
    });
    expect(requests).toEqual([]);
  });

  it("shows a failed call in its line", async () => {
    const { cwd, env } = await workspace(SEED);
    const ran = await portolan(["run", "x.mld"], { cwd, env: { ...env, GITHUB_TOKEN: "ghp-wrong-token" } });
    expect(ran).toMatchObject({ code: 1, out: "" });
    expect(ran.err).toContain("  10 │ @mcp issue = github.create_issue({\n     │              ^\n");
    expect(ran.err).toContain(
      'error x.mld:10:14 github.create_issue failed: {"message":"Bad credentials"} [TOOL_FAILED]',
    );
    expect(ran.err).not.toContain("ghp-wrong-token");
  });

  it("reports all syntax errors at once, each in its line", async () => {
    const { cwd, env, requests } = await workspace(`${SEED}@tex a = 1\n{{nobody}}\n`);
    const ran = await portolan(["run", "x.mld"], { cwd, env: { ...env, GITHUB_TOKEN: TOKEN } });
    expect(ran).toMatchObject({ code: 2, out: "" });
    expect(ran.err).toMatch(
      /^x\.mld:18:1 error "@tex".*\n +18 │ @tex a = 1\n.*\^\n.*\nx\.mld:19:1 error There is no variable "nobody"/,
    );
    expect(ran.err).toContain("x.mld has 2 errors; nothing was run.");
    expect(requests).toEqual([]);
  });

  it("--dry-run shows the servers, secrets and calls, and needs no secret", async () => {
    const { cwd, env, requests } = await workspace(SEED);
    const ran = await portolan(["run", "x.mld", "--dry-run"], { cwd, env });
    expect(ran).toEqual({
      code: 0,
      err: "",
      out: [
        "github @alice/github-mcp, server github (portolan.yaml:1)",
        "  sets GITHUB_TOKEN (secret GITHUB_TOKEN)",
        "  calls create_issue (line 10)",
        "  reads github://repos/mlld-lang/mlld (line 17)",
        "",
      ].join("\n"),
    });
    expect(requests).toEqual([]);
  });

  it("an unknown package names the command that adds it", async () => {
    const { cwd, env } = await workspace("@import mcp slack from @bob/slack-mcp\n");
    const ran = await portolan(["run", "x.mld", "--json"], { cwd, env });
    expect(envelope(ran)).toMatchObject({
      code: "SERVER_UNKNOWN",
      hint: "Add it: portolan add @bob/slack-mcp, or portolan add slack -- npx -y @bob/slack-mcp",
    });
  });

  it("runs scripts in the current syntax of the language", async () => {
    const command = quoted([process.execPath, SERVER]).replaceAll('"', "'");
    const { cwd, env } = await workspace(
      `import tools from mcp "${command}" as @gh\nimport tools { @show_token as @token } from mcp "${command}"\nshow @gh.showToken()\nvar @t = @token()\nshow @t\n`,
    );
    const ran = await portolan(["run", "x.mld", "--sandbox", "off"], { cwd, env });
    expect(ran).toMatchObject({ code: 0, out: "The token is undefined.\nThe token is undefined.\n" });
  });

  it("a script that is not a file is refused, with what a script must be", async () => {
    const { cwd, env } = await workspace("Ready.\n");
    expect(envelope(await portolan(["run", ".", "--json"], { cwd, env }))).toMatchObject({
      code: "FILE_FAILED",
      message: "The script . cannot be read: it is not a regular file.",
      hint: "Name a regular file that you can read, with at most 1048576 bytes.",
    });
  });

  it("Ctrl-C also ends the server", async () => {
    const { cwd, env } = await workspace(
      "@import mcp github from @alice/github-mcp\nReady.\n@mcp a = github.wait()\n",
    );
    const pidFile = join(cwd, "pid");
    writeFileSync(
      join(cwd, "wrap.mjs"),
      `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(pidFile)}, String(process.pid));\nawait import(${JSON.stringify(SERVER)});\n`,
    );
    const github = { command: process.execPath, args: [join(cwd, "wrap.mjs")], sandbox: "off" };
    writeFileSync(join(cwd, "portolan.yaml"), JSON.stringify({ servers: { github } }));
    const running = start(["run", "x.mld"], { cwd, env });
    await expect.poll(() => readPid(pidFile)).toBeGreaterThan(0);
    running.child.kill("SIGINT");
    expect((await running.done).code).toBe(130);
    await expect.poll(() => isAlive(readPid(pidFile))).toBe(false);
  });
});

it("run asks for a missing secret without showing it", needs("a terminal"), async () => {
  const { cwd, env, requests } = await workspace(`${SEED}Issue {{issue.number}}.\n`);
  const screen = terminal(`cd ${quoted([cwd])} && portolan run x.mld`, 100, env);
  await screen.shows("Value of GITHUB_TOKEN");
  screen.press(TOKEN + KEYS.enter);
  await screen.shows("Store GITHUB_TOKEN for later runs?");
  screen.press(KEYS.enter);
  await screen.shows("Issue 42.");
  const { code, raw } = await screen.done;
  expect(code).toBe(0);
  expect(raw).not.toContain(TOKEN);
  expect(requests).toHaveLength(2);
});

function readPid(file: string): number {
  try {
    return Number(readFileSync(file, "utf8"));
  } catch {
    return 0;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
