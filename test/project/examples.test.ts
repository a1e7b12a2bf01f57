// Every example runs against a public server and prints the expected lines, also on a machine without a sandbox.

import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";

const folder = fileURLToPath(new URL("../../examples/", import.meta.url));
const found = readdirSync(folder).filter((name) => /\.(?:[cm]?js|ts)$/.test(name));

/** The output of each example, in this order. */
const EXPECTED: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  "agent-tools.mjs": [
    /^mcp-servers\/everything speaks 2025-11-25 \(legacy\) and has \d+ tools$/m,
    /^what a model is shown: \{"a":\{"type":"number",.*"b":\{/m,
    "what a call returns: The sum of 2 and 40 is 42.",
    /^INPUT_INVALID: .*\bb must be a number, got "forty"/m,
  ],
  "elicitation.mjs": [
    "the server asks: Please provide inputs for the following fields:",
    "User provided the requested information!",
    "- Name: Ada",
  ],
  "embedded-gateway.mjs": [
    "its own page: Hello from the program itself.",
    "over HTTP: The sum of 2 and 40 is 42.",
    'over fetch: 200 {"status":"ok"}',
  ],
  "first-success.mjs": [
    '$ portolan list "node node_modules/@modelcontextprotocol/server-everything/dist/index.js" --text',
    "mcp-servers/everything",
    "function get-sum(a: number, b: number): string",
    '$ portolan call "node node_modules/@modelcontextprotocol/server-everything/dist/index.js" get-sum a=2 b=40 --text',
    /^The sum of 2 and 40 is 42\.$/m,
  ],
  "progress-and-cancel.mjs": [
    "step 1 of 4",
    "step 4 of 4",
    "Long running operation completed. Duration: 1 seconds, Steps: 4.",
    /^(?:CANCELLED|TIMEOUT): ./m,
  ],
  "resources-and-prompts.mjs": [
    /^demo:\/\/resource\/static\/document\/\S+: ./m,
    "prompt args-prompt(city, state?)",
    "What's weather in Lisbon?",
    "departments that begin with E: Engineering",
  ],
};

describe("examples", () => {
  it("are all in the list of this test", () => {
    expect(found.sort()).toEqual(Object.keys(EXPECTED).sort());
  });

  it.each(found)("%s prints the expected lines", async (name) => {
    const { code, out, err } = await run(name);
    expect({ code, err: withoutSandboxWarning(err) }).toEqual({ code: 0, err: "" });
    const lines = EXPECTED[name] ?? [];
    expect(lines).not.toEqual([]);
    let rest = out;
    for (const line of lines) {
      const at = typeof line === "string" ? rest.indexOf(line) : rest.search(line);
      if (at < 0) expect(rest).toMatch(line);
      rest = rest.slice(at + 1);
    }
  });
});

/** The examples say `sandbox: warn`, so a machine without bubblewrap prints one warning, and nothing else. */
function withoutSandboxWarning(err: string): string {
  return err
    .replace(
      /^\(node:\d+\) \[SANDBOX_UNAVAILABLE\] PortolanWarning: .*Sandbox not enforced for server .*\n/m,
      "",
    )
    .replace(/^\(Use `node --trace-warnings .*\n/m, "");
}

function run(name: string): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [`${folder}${name}`], { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, out, err }));
  });
}
