// A program that fetches its package at each start: the commands that install it once instead.

import { expect, test } from "vitest";
import type { LaunchPlan } from "../../launch/index.ts";
import { fetcherHint } from "./package-runner-hint.ts";

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
  ["uvx -q --python 3.12 pkg@1.2", "`uv tool install pkg@1.2`", "`pkg`"],
  ["uvx --from git+https://x.test/y serena start", "`uv tool install 'git+https://x.test/y'`", "`serena`"],
  ["uv tool run --with other pkg", "`uv tool install pkg`", "`pkg`"],
  ["pipx run --spec=pkg==2 prog", "`pipx install 'pkg==2'`", "`prog`"],
  ["uv run server.py", "`uv sync`", ".venv/bin"],
  ["deno run -A npm:@scope/pkg@1 --key s3cret", "`npx -y @scope/pkg@1`", "Node.js"],
  [
    "deno run --allow-net jsr:@scope/pkg a",
    "`deno compile --output server --allow-net jsr:@scope/pkg`",
    "`./server`",
  ],
])("%s", (line, install, command) => {
  const hint = hintFor(line);
  expect(hint).toContain(install);
  expect(hint).toContain(command);
  expect(hint).not.toContain("s3cret");
});

test("other programs, granted hosts and no sandbox need no hint", () => {
  for (const line of ["node server.js", "uv pip install x", "deno run server.ts", "pipx list"])
    expect(hintFor(line)).toBeUndefined();
  expect(hintFor("uvx pkg", { network: ["packages.example"] })).toBeUndefined();
  expect(hintFor("uvx pkg", { backend: "none" })).toBeUndefined();
});
