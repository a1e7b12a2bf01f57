// A driver as a package: packed with its contracts, published, added, its contracts called in three ways, installed exactly elsewhere,
// updated and removed. Real processes, a real registry, and a registry of npm for the driver's server.

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { startRegistry as startNpm } from "../fixtures/npm-registry.mjs";
import { envelope, MAIN, portolan, quoted, type Ran, resultText } from "../helpers/cli.ts";
import { type Loose, startRegistry } from "../helpers/registry.ts";

const NAME = "@alice/tracker";
const SERVER = `#!/usr/bin/env node
const { mark } = require("tracker-marks");
const lines = require("node:readline").createInterface({ input: process.stdin });
const send = (value) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...value }) + "\\n");
const text = { type: "string" };
const tools = [
  { name: "issue_create", description: "Creates.", inputSchema: { type: "object", properties: { summary: text }, required: ["summary"] } },
  { name: "issue_purge", description: "Removes all.", inputSchema: { type: "object" } },
];
lines.on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === "initialize")
    return send({ id, result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "tracker", version: "2.0.0" } } });
  if (method === "tools/list") return send({ id, result: { tools } });
  if (method === "ping") return send({ id, result: {} });
  if (method === "tools/call") {
    const value = { made: params.arguments.summary, mark, key: process.env.TRACKER_TOKEN };
    return send({ id, result: { content: [{ type: "text", text: JSON.stringify(value) }] } });
  }
  send({ id, error: { code: -32601, message: "no such method" } });
});
`;
const CONTRACT = `---
id: create-issue
name: Create an issue
description: Creates an issue in a tracker.
version: 1.0.0
inputs: { type: object, properties: { title: { type: string } }, required: [title] }
outputs: { type: object, properties: { made: { type: string } }, required: [made] }
---
`;
const driver = (version: string, more = ""): string => `---
id: tracker-mcp
name: Tracker
description: Issues of a tracker.
version: ${version}
kind: mcp
transport: stdio
server:
  kind: npm
  package: tracker-server@2.0.0
  env: { TRACKER_TOKEN: "\${secrets.TRACKER_TOKEN}" }
${more}implements:
  - tool: ./tools/create-issue/TOOL.md
    version: "^1"
    metadata: { mcp: { tool_name: issue_create } }
    mapping: { title: summary }
---
`;

const json = (ran: Ran): Loose => {
  expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
  return JSON.parse(ran.out) as Loose;
};

async function stage() {
  const [registry, npm] = [await startRegistry(), await startNpm()];
  onTestFinished(() => npm.close());
  const publishMark = (version: string): void =>
    npm.publish({
      ...{ name: "tracker-marks", version, main: "index.js" },
      files: { "index.js": `exports.mark = ${JSON.stringify(version)};` },
    });
  publishMark("1.0.0");
  npm.publish({
    ...{ name: "tracker-server", version: "2.0.0", bin: "index.js", license: "MIT" },
    dependencies: { "tracker-marks": "^1.0.0" },
    files: { "index.js": SERVER },
  });
  const { folder } = registry;
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  /** A person on a machine of their own: another store, and another cache of npm. */
  const user = (name: string) => {
    const top = join(folder, name);
    const cwd = join(top, "workspace");
    mkdirSync(cwd, { recursive: true });
    const env = {
      ...{ XDG_DATA_HOME: join(top, "data"), XDG_CACHE_HOME: join(top, "cache") },
      ...{ PORTOLAN_SANDBOX: "off", PORTOLAN_REGISTRY: registry.url, TRACKER_TOKEN: "of the test" },
      ...{ DBUS_SESSION_BUS_ADDRESS: "unix:path=/nowhere" },
      ...{ npm_config_registry: npm.url, npm_config_cache: join(top, "npm"), npm_config_fetch_retries: "0" },
    };
    const read = (file: string): string =>
      existsSync(join(cwd, file)) ? readFileSync(join(cwd, file), "utf8") : "";
    return { cwd, env, read, run: (...words: string[]): Promise<Ran> => portolan(words, { cwd, env }) };
  };
  const author = user("author");
  const run = (...words: string[]): Promise<Ran> =>
    portolan(words, { cwd: folder, env: { ...author.env, PORTOLAN_REGISTRY_TOKEN: registry.token } });
  return { registry, npm, publishMark, write, user, run, folder };
}

it(
  "a driver package is packed, published, added, called, installed elsewhere, updated and removed",
  { timeout: 120_000 },
  async () => {
    const { npm, publishMark, write, user, run, folder } = await stage();
    write(".drivers/tracker/DRIVER.md", driver("1.0.0"));
    write("tools/create-issue/TOOL.md", CONTRACT);
    const pack = (...words: string[]): Promise<Ran> => run("pack", ".drivers/tracker", ...words);
    expect(json(await pack("--name", NAME))).toMatchObject({ isNew: true });
    const file = ".drivers/tracker/mcp-package.json";
    const document = JSON.parse(readFileSync(join(folder, file), "utf8")) as Loose;
    expect(Object.keys(document["mcp"].driver as object)).toEqual([
      "DRIVER.md",
      "tools/create-issue/TOOL.md",
    ]);
    document["author"].name = "Alice";
    write(file, JSON.stringify(document, null, 2));
    expect(json(await pack("--check"))).toMatchObject({ isReady: true, isCurrent: true });
    json(await run("publish", file));

    const bob = user("bob");
    const accept = ["--yes", "--allow", "none", "--config", "tracker_token={{TRACKER_TOKEN}}"];
    const asked = await bob.run("add", NAME, "--text");
    expect(asked.err).toContain("create-issue 1.0.0: Creates an issue in a tracker.");
    expect(json(await bob.run("add", NAME, ...accept))).toMatchObject({
      server: "tracker",
      tools: { pinned: ["issue_create"], undeclared: ["issue_purge"] },
    });
    const lock = JSON.parse(bob.read("portolan.lock")) as Loose;
    const { package: locked } = lock["servers"].tracker as Loose;
    expect(locked).toMatchObject({
      contracts: ["create-issue 1.0.0"],
      dependencies: [expect.stringMatching(/^tracker-marks 1\.0\.0 sha512-/) as string],
    });

    const tools = json(await bob.run("list"))["tools"] as Loose[];
    expect(tools.map(({ name }) => name as string).sort()).toEqual([
      "create-issue",
      "mcp_tracker_issue_create",
    ]);
    const made = (ran: Ran): Loose => JSON.parse(resultText(ran)) as Loose;
    expect(made(await bob.run("call", "contracts.create-issue", "title=Bug"))).toMatchObject({ made: "Bug" });
    const stdio = quoted([process.execPath, MAIN, "serve", "--stdio"]);
    const variables = Object.keys(bob.env).flatMap((name) => ["--env", name]);
    const served = ["call", stdio, "create-issue", "title=Over stdio", "--sandbox", "off"];
    expect(made(await bob.run(...served, ...variables))).toMatchObject({ made: "Over stdio" });
    writeFileSync(
      join(bob.cwd, "agent.mjs"),
      `import { openWorkspace } from ${JSON.stringify(new URL("../../dist/index.js", import.meta.url).href)};
const workspace = await openWorkspace(".");
const tool = (await workspace.tools()).find(({ name }) => name.endsWith("create-issue"));
console.log(JSON.stringify(await tool.execute({ title: "From code" })));
await workspace.close();
`,
    );
    const program = promisify(execFile);
    const { stdout } = await program(process.execPath, ["agent.mjs"], {
      cwd: bob.cwd,
      env: { ...process.env, ...bob.env },
    });
    expect(stdout).toContain("From code");

    // Another machine gets the same packages, although a newer dependency is published.
    publishMark("1.1.0");
    const carol = user("carol");
    for (const name of ["portolan.yaml", "portolan.lock"])
      writeFileSync(join(carol.cwd, name), bob.read(name));
    expect((await carol.run("validate")).out).toContain("portolan install tracker");
    json(await carol.run("install", "--frozen"));
    const there = await carol.run("call", "contracts.create-issue", "title=Elsewhere");
    expect(made(there)).toMatchObject({ made: "Elsewhere", mark: "1.0.0" });
    expect((await carol.run("audit")).code).toBe(0);

    // A registry of npm that swaps the bytes of a dependency, with a hash that fits them.
    npm.publish({ name: "tracker-marks", version: "1.0.0", files: { "index.js": "exports.mark = 'evil';" } });
    const dave = user("dave");
    for (const name of ["portolan.yaml", "portolan.lock"])
      writeFileSync(join(dave.cwd, name), bob.read(name));
    const swapped = await dave.run("install", "--frozen");
    expect(swapped.code).toBe(1);
    expect(swapped.out).toContain(
      "its dependency tracker-marks 1.0.0 has another hash than portolan.lock names",
    );
    expect(readdirSync(join(folder, "dave", "data", "portolan", "store", "npm", "entries"))).toEqual([]);

    write(".drivers/tracker/DRIVER.md", driver("1.1.0"));
    write("tools/create-issue/TOOL.md", CONTRACT.replace("in a tracker", "in the tracker"));
    publishMark("1.0.0");
    json(await pack());
    json(await run("publish", file));
    const [{ difference, state }] = json(await bob.run("update", "--yes"))["servers"] as [Loose];
    expect({ state, contracts: difference.contracts as unknown }).toEqual({
      ...{ state: "updated", contracts: { added: [], removed: [], changed: ["create-issue"] } },
    });
    json(await bob.run("remove", "tracker"));
    expect(bob.read("portolan.yaml") + bob.read("portolan.lock")).not.toContain("tracker");
    expect(json(await bob.run("list"))["tools"]).toEqual([]);
  },
);

it("drivers that cannot be packed are refused with the reason", async () => {
  const { write, run, folder } = await stage();
  write("tools/create-issue/TOOL.md", CONTRACT);
  const refused = async (text: string, more: Record<string, string> = {}): Promise<string> => {
    rmSync(join(folder, ".drivers"), { recursive: true, force: true });
    write(".drivers/tracker/DRIVER.md", text);
    for (const [name, content] of Object.entries(more)) write(`.drivers/tracker/${name}`, content);
    return envelope(await run("pack", ".drivers/tracker")).message;
  };
  const text = driver("1.0.0");
  expect(await refused(text, { "driver.mjs": "export default {};" })).toContain(
    "code of its own (driver.mjs)",
  );
  expect(await refused(text.replace("@2.0.0", ""))).toContain("has no exact version");
  expect(await refused(driver("1.0.0", "health_check: { method: exec, cmd: id }\n"))).toContain(
    "its health check (exec) would run outside of the sandbox",
  );
  expect(
    await refused(text.replace("kind: npm\n  package: tracker-server@2.0.0", "kind: binary\n  path: node")),
  ).toContain("a program of this machine");
  expect(await refused(text.replace("./tools/create-issue/TOOL.md", "no-such-contract"))).toContain(
    "the contract no-such-contract does not exist or has errors",
  );
});
