// Hints for programs that fail in their sandbox: package runners without network, and resource limits.

import { expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import type { LaunchPlan } from "../../launch/index.ts";
import { comparisonHint, fetcherHint, limitHint, nativeHint, typescriptHint } from "./launch-hints.ts";

function hintFor(
  line: string,
  { backend = "bubblewrap", network = [] as string[] } = {},
): string | undefined {
  const [program = "", ...args] = line.split(" ");
  return fetcherHint({
    ...{ program: `/usr/bin/${program}`, args, sandbox: { backend, policy: { network } } },
  } as unknown as LaunchPlan);
}

test.each([
  ["uvx mcp-server-fetch --key s3cret", "`uv tool install mcp-server-fetch`", "`mcp-server-fetch`"],
  ["uvx -q --python 3.12 pkg@1.2", "`uv tool install --python 3.12 pkg@1.2`", "`pkg`"],
  ["uvx --from git+https://x.test/y serena start", "`uv tool install 'git+https://x.test/y'`", "`serena`"],
  ["uv tool run --with a --with=b pkg", "`uv tool install --with a --with b pkg`", "`pkg`"],
  ["pipx run --with a --python 3.12 pkg", "`pipx install --preinstall a --python 3.12 pkg`", "`pkg`"],
  ["pipx run --spec=pkg==2 prog", "`pipx install 'pkg==2'`", "`prog`"],
  ["uv run server.py", "`uv sync`", ".venv/bin"],
  ["deno run -A npm:@scope/pkg@1 --key s3cret", "`npx -y @scope/pkg@1`", "Node.js"],
  [
    "deno run --allow-net jsr:@scope/pkg a",
    "`deno compile --output server --allow-net jsr:@scope/pkg`",
    "`./server`",
  ],
])("the hint for %s says how to install the package first", (line, install, command) => {
  const hint = hintFor(line);
  expect(hint).toContain(install);
  expect(hint).toContain(command);
  expect(hint).not.toContain("s3cret");
});

test("other programs, allowed hosts and servers without a sandbox get no hint", () => {
  for (const line of ["node server.js", "uv pip install x", "deno run server.ts", "pipx list"])
    expect(hintFor(line)).toBeUndefined();
  expect(hintFor("uvx pkg", { network: ["packages.example"] })).toBeUndefined();
  expect(hintFor("uvx pkg", { backend: "none" })).toBeUndefined();
});

const plan = (limits: object, backend = "bubblewrap"): LaunchPlan =>
  ({ sandbox: { backend, policy: { limits } } }) as unknown as LaunchPlan;
const died = (data: Record<string, unknown>): PortolanError =>
  new PortolanError("SERVER_CRASHED", "it died", { data });

test.each([
  [{ exitCode: 137 }, { cpuSeconds: 2 }, "limits.cpu: 2s"],
  [{ exitCode: null, signal: "SIGXCPU" }, { cpuSeconds: 2 }, "limits.cpu: 2s"],
  [{ exitCode: 139 }, { memoryBytes: 300_000_000 }, "limits.memory: 300MB"],
  [{ exitCode: 134 }, { memoryBytes: 2 ** 32, cpuSeconds: 1 }, "limits.memory: 4GiB"],
  [{ exitCode: 153 }, { fileBytes: 1_000 }, "limits.file_size: 1KB"],
])("the hint for exit %j and limits %j names the limit", (data, limits, named) => {
  expect(limitHint(plan(limits), died(data))).toContain(
    `The server may have reached a limit of its sandbox, ${named}.`,
  );
});

test("exits by other signals, with other limits or without a sandbox get no limit hint", () => {
  expect(limitHint(plan({ cpuSeconds: 2 }), died({ exitCode: 1 }))).toBeUndefined();
  expect(limitHint(plan({ memoryBytes: 2 }), died({ exitCode: 137 }))).toBeUndefined();
  expect(limitHint(plan({ cpuSeconds: 2 }, "none"), died({ exitCode: 137 }))).toBeUndefined();
  expect(limitHint(undefined, died({ exitCode: 137 }))).toBeUndefined();
  expect(limitHint(plan({ cpuSeconds: 2 }), died({}))).toBeUndefined();
});

test("the hint for a package with missing compiled code names the package and how to install it", () => {
  const plan = { kind: "npm", source: "@a/mcp-db@1.0.9 (sha512-x)" } as LaunchPlan;
  const store = "/data/store/npm/entries/a1/node_modules";
  const error = (stderr: string): PortolanError => new PortolanError("SERVER_START_FAILED", "x", { stderr });
  const hint = nativeHint(
    plan,
    error(`Error: tried:\n → ${store}/sqlite3/build/Release/node_sqlite3.node\n`),
  );
  expect(hint).toContain("compiled code of sqlite3");
  expect(hint).toContain("`npm install --prefix ~/mcp/mcp-db @a/mcp-db`");
  expect(hint).toContain('["-y", "@a/mcp-db", "--verbose"] becomes ["--verbose"].');
  const scoped = nativeHint(
    plan,
    error(`Cannot find module '${store}/x/node_modules/@b/native/build/b.node'`),
  );
  expect(scoped).toContain("compiled code of @b/native");
  expect(nativeHint(plan, error(`Cannot find module '${store}/x/index.js'`))).toBeUndefined();
  expect(nativeHint({ ...plan, kind: "binary" }, error(`${store}/x/b.node`))).toBeUndefined();
});

test("the hint for a TypeScript file that this Node.js cannot run names the file", () => {
  const stderr = 'TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension ".ts" for /srv/server.ts\n';
  const error = new PortolanError("SERVER_START_FAILED", "it exited", { stderr });
  expect(typescriptHint(error)).toContain("cannot run the TypeScript file /srv/server.ts");
  expect(typescriptHint(new PortolanError("SERVER_START_FAILED", "it exited"))).toBeUndefined();
});

test("the hint for an unexplained end in a sandbox names the command without the sandbox", () => {
  const at = { server: "my files", kind: "binary", sandbox: { backend: "bubblewrap" } } as LaunchPlan;
  const command = "portolan grant 'my files' -w gw/portolan.yaml";
  const ended = (stderr: string, data: Record<string, unknown> = { exitCode: 1 }): PortolanError =>
    new PortolanError("SERVER_START_FAILED", "it exited", { stderr, data });
  expect(comparisonHint(at, ended("no"), command)).toContain(
    "portolan list 'my files' --sandbox 'my files'=off -w gw/portolan.yaml.",
  );
  expect(comparisonHint(at, ended("SyntaxError: x"), command)).toBeUndefined();
  expect(comparisonHint(at, ended("no", { exitCode: 0, stdout: "hello" }), command)).toBeUndefined();
  expect(comparisonHint(at, ended("no", { startTimeoutMs: 5 }), command)).toBeUndefined();
  expect(comparisonHint(at, ended("no"), undefined)).toBeUndefined();
  expect(comparisonHint({ ...at, kind: "docker" }, ended("no"), command)).toBeUndefined();
});
