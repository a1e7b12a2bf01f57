// `portolan install` and a broken store: the built command with a registry of the test's own.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { portolan, type Ran, start, temporaryFolder } from "../helpers/cli.ts";
import { type Registry, startRegistry } from "../fixtures/npm-registry.mjs";
import { until } from "../helpers/connect.ts";

/** A server with just enough for a list and a call. */
const SERVER = `#!/usr/bin/env node
require("part");
let rest = "";
process.stdin.on("end", () => process.exit(0)).on("data", (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const { id, method } of lines.filter(Boolean).map((line) => JSON.parse(line))) {
    const result = {
      initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
      "tools/list": { tools: [{ name: "hi", inputSchema: { type: "object" } }] },
      "tools/call": { content: [{ type: "text", text: "hi" }] },
    }[method];
    const answer = result === undefined ? { error: { code: -32601, message: "no" } } : { result };
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  }
});
`;

let registry: Registry;
beforeAll(async () => {
  registry = await startRegistry();
  registry.publish({ name: "part", version: "1.0.0", files: { "index.js": "" } });
});
afterAll(() => registry.close());

const publish = (name: string, version: string): void =>
  registry.publish({
    ...{ name, version, bin: { one: "server.js", two: "other.js" }, dependencies: { part: "^1.0.0" } },
    files: { "server.js": SERVER, "other.js": SERVER },
  });

/** A workspace with one server from a package, and a store for the test. */
function setUp(name: string) {
  const top = temporaryFolder();
  const cwd = join(top, "project");
  for (const folder of [cwd, join(top, "home")]) mkdirSync(folder);
  const servers = {
    a: { command: "npx", args: ["-y", "-p", `${name}@^1.0.0`, "one"] },
    b: { url: "https://mcp.example/" },
    c: { command: process.execPath },
  };
  writeFileSync(join(cwd, "portolan.yaml"), JSON.stringify({ version: 1, servers }));
  const env = {
    HOME: join(top, "home"),
    XDG_DATA_HOME: join(top, "data"),
    XDG_CACHE_HOME: join(top, "cache"),
    PORTOLAN_SANDBOX: "off",
    npm_config_registry: registry.url,
    npm_config_fetch_retries: "0",
  };
  const entries = join(top, "data", "portolan", "store", "npm", "entries");
  return {
    ...{ cwd, env },
    run: (...words: string[]) => portolan(words, { cwd, env }),
    offline: (...words: string[]) =>
      portolan(words, { cwd, env: { ...env, npm_config_registry: "http://127.0.0.1:1/" } }),
    /** A path in the only entry of the store. */
    stored: (path: string) => join(entries, readdirSync(entries)[0] ?? "", path),
  };
}

const states = ({ out }: Ran): string[] =>
  (JSON.parse(out) as { servers: { state: string }[] }).servers.map(({ state }) => state);

describe("portolan add", () => {
  it("adds an npm package by npm:<package>, and its server works", async () => {
    registry.publish({
      ...{ name: "@scope/single", version: "1.0.0", bin: { single: "server.js" } },
      ...{ dependencies: { part: "^1.0.0" }, files: { "server.js": SERVER } },
    });
    const { cwd, run } = setUp("none");
    writeFileSync(join(cwd, "portolan.yaml"), "version: 1\n");
    expect(await run("add", "x", "npm:@scope/single@^1")).toMatchObject({ code: 0 });
    expect(readFileSync(join(cwd, "portolan.yaml"), "utf8")).toContain('  x:\n    npm: "@scope/single@^1"\n');
    expect((await run("list", "x")).out).toContain('"hi"');
    // The range in the config does not say which version runs.
    expect(JSON.parse((await run("status")).out)).toMatchObject({
      servers: [{ program: expect.stringMatching(/^@scope\/single@1\.0\.0\b/) as string }],
    });
    expect((await run("why", "x", "--text")).out).toMatch(/program +@scope\/single@1\.0\.0\b/);
    expect((await run("add", "more", "--dry-run", "--text", "--", "npm:single", "-v")).out).toContain(
      "  more:\n    npm: single\n    args: [-v]\n",
    );
    expect((await run("add", "z", "npm:./folder")).err).toContain('"./folder\\" is not an npm package');
  });

  it("without a name or without a registry, names the command that adds an npm package", async () => {
    const { run } = setUp("none");
    expect((await run("add", "npm:single")).err).toContain("portolan add <name> npm:single");
    expect((await run("add", "x", "@scope/single")).err).toContain("portolan add x npm:@scope/single");
  });
});

interface Store {
  store: { what: string; ok: boolean; detail?: string; remedy?: string }[];
}

describe("portolan install", () => {
  it("installs missing packages, reports installed ones, and updates with --update", async () => {
    publish("fresh", "1.0.0");
    const { run } = setUp("fresh");
    const first = await run("install", "--text");
    expect(first).toMatchObject({ code: 0 });
    expect(first.out).toContain("a  fresh@1.0.0 was installed\n");
    expect(first.out).toContain("b  is reached by its URL");
    expect(first.out).toContain(`c  nothing to install: ${process.execPath} is a program of this machine\n`);
    expect(states(await run("install"))).toEqual(["there", "none", "none"]);
    publish("fresh", "1.1.0");
    expect(states(await run("install", "a"))).toEqual(["there"]);
    const { servers } = JSON.parse((await run("install", "a", "--update")).out) as { servers: unknown[] };
    const facts = { server: "a", kind: "npm", source: "fresh@1.1.0" };
    expect(servers).toEqual([{ ...facts, state: "updated", version: "1.1.0", before: "1.0.0" }]);
  });

  it("update --check reports the installed and the newer version, and installs nothing", async () => {
    publish("checked", "1.0.0");
    const { run, offline, cwd } = setUp("checked");
    const check = async (...words: string[]): Promise<unknown> => {
      const { code, out } = await run("update", "--check", ...words);
      return { code, ...(JSON.parse(out) as object) };
    };
    expect(await check()).toEqual({ code: 0, servers: [{ server: "a", state: "absent", to: "1.0.0" }] });
    expect(states(await run("install", "a"))).toEqual(["installed"]);
    expect(await check("a")).toEqual({
      code: 0,
      servers: [{ server: "a", state: "current", from: "1.0.0" }],
    });
    publish("checked", "1.1.0");
    publish("checked", "2.0.0");
    const excluded =
      "2.0.0 is also published, but the version range in portolan.yaml excludes it. To use it, change the version in portolan.yaml.";
    const available = { server: "a", state: "available", from: "1.0.0", to: "1.1.0", newer: "2.0.0" };
    for (const words of [[], ["a"]]) expect(await check(...words)).toEqual({ code: 1, servers: [available] });
    expect((await run("update", "--check", "--text")).out).toBe(
      `a: 1.0.0 → 1.1.0 is available. To install it: portolan install --update a\n  ${excluded}\n`,
    );
    // A dry run reports the same, and an available version is no failure of it.
    expect(await run("update", "a", "--dry-run")).toMatchObject({
      code: 0,
      out: expect.stringContaining('"state": "available"') as string,
    });
    expect(states(await run("update", "a"))).toEqual(["updated"]);
    const current = await run("update", "--check", "--text");
    expect(current).toMatchObject({ code: 0, out: `a is up to date.\n  ${excluded}\n` });
    expect((await run("update", "--text")).out).toMatch(/^a +checked@1\.1\.0 is up to date\n/);
    publish("checked", "1.2.0");
    expect(states(await run("update"))).toEqual(["updated"]);
    const file = join(cwd, "portolan.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace("checked@^1.0.0", "checked@1.1.0"));
    const kept = await run("update", "a", "--text");
    expect(kept).toMatchObject({
      ...{ code: 0, out: expect.stringContaining("checked@1.1.0 was installed") as string },
      err: "portolan.yaml:1 names exactly checked@1.1.0, so that portolan update keeps the version of a. To see whether there is a newer one: portolan update --check a\n",
    });
    expect((await run("update", "a", "--dry-run", "--text")).out).toBe(
      "a is up to date.\n  1.2.0 is also published, but portolan.yaml:1 names exactly checked@1.1.0. To use it, write checked@1.2.0 there.\n",
    );
    const failed = await offline("update", "--check");
    expect(failed.code).toBe(3);
    expect(JSON.parse(failed.out)).toMatchObject({
      servers: [{ server: "a", state: "failed", error: { code: "INSTALL_FAILED" } }],
    });
  });

  it("continues after a failed installation, and reports why", async () => {
    const { run } = setUp("nowhere-to-be-found");
    const ran = await run("install");
    expect(ran.code).toBe(3);
    expect(states(ran)).toEqual(["failed", "none", "none"]);
    expect(ran.out).toContain('"code": "PACKAGE_NOT_FOUND"');
    expect((await run("install", "d")).code).toBe(2);
    expect((await run("install", "a", "--", "npx", "-y", "x")).code).toBe(2);
  });
});

describe("damaged files of an installed package", () => {
  it.each<[string, (stored: (path: string) => string) => void, string]>([
    [
      "a part that was removed",
      (stored) => rmSync(stored("node_modules/part"), { recursive: true }),
      "node_modules/part is missing",
    ],
    [
      "a program that was removed",
      (stored) => rmSync(stored("node_modules/broken/server.js")),
      "node_modules/broken/server.js is missing",
    ],
    [
      "a program that was changed",
      (stored) => writeFileSync(stored("node_modules/broken/server.js"), "evil"),
      "node_modules/broken/server.js was changed",
    ],
  ])("%s: doctor names it, and install and a start repair it", async (_, damage, detail) => {
    publish("broken", "1.0.0");
    const { cwd, env, run, stored } = setUp("broken");
    expect(await run("install")).toMatchObject({ code: 0 });
    const look = async () => (JSON.parse((await run("doctor", "--json")).out) as Store).store;
    damage(stored);
    const remedy = "portolan install -- npx -y -p broken@^1.0.0 one";
    expect(await look()).toEqual([{ what: "broken@1.0.0", ok: false, detail, remedy }]);
    // The command that the doctor shows repairs it.
    const mended = await portolan(remedy.split(" ").slice(1), { cwd, env });
    expect(states(mended)).toEqual(["mended"]);
    expect(await look()).toEqual([{ what: "broken@1.0.0", ok: true }]);
    // A start repairs it as well.
    damage(stored);
    expect(await run("call", "a.hi")).toMatchObject({ code: 0 });
    expect(readFileSync(stored("node_modules/broken/server.js"), "utf8")).toBe(SERVER);
    expect(existsSync(stored("node_modules/part"))).toBe(true);
  });

  it("are findings of audit, which also names the servers that it does not check", async () => {
    publish("audited", "1.0.0");
    const { run, stored } = setUp("audited");
    const audit = async () => {
      const { code, out } = await run("audit");
      const { servers, notChecked, findings } = JSON.parse(out) as {
        servers: string[];
        notChecked: { server: string }[];
        findings: { rule: string; message: string }[];
      };
      const others = notChecked.map(({ server }) => server);
      return { code, servers, others, findings: findings.map(({ rule, message }) => `${rule} ${message}`) };
    };
    const covered = { servers: ["a"], others: ["b", "c"] };
    const missing = "files-missing The files of audited@^1.0.0 are not on this machine.";
    expect(await audit()).toEqual({ code: 0, ...covered, findings: [missing] });
    expect(await run("install")).toMatchObject({ code: 0 });
    expect(await audit()).toEqual({ code: 0, ...covered, findings: [] });
    const text = await run("audit", "--text");
    expect(text.out).toContain(
      "No findings. Checked the packages of: a.\nNot checked: b is reached by its URL",
    );
    expect(text.out).toContain("Not checked: c runs a program that is no package.\n");
    writeFileSync(stored("node_modules/part/index.js"), "// evil");
    const changed =
      "files-damaged Files of audited@1.0.0 changed after the installation: node_modules/part/index.js was changed.";
    expect(await audit()).toEqual({ code: 1, ...covered, findings: [changed] });
    expect(states(await run("install", "a"))).toEqual(["mended"]);
    expect(await audit()).toEqual({ code: 0, ...covered, findings: [] });
  });

  it("have another error than a missing package if there is no network", async () => {
    publish("offline", "1.0.0");
    const { run, offline, stored } = setUp("offline");
    const never = await offline("call", "a.hi", "--text");
    expect(never.code).toBe(3);
    expect(never.err).toContain(
      "npm could not install offline@^1.0.0, because its registry cannot be reached",
    );
    expect(await run("install")).toMatchObject({ code: 0 });
    rmSync(stored("node_modules/part"), { recursive: true });
    const broken = await offline("call", "a.hi", "--text");
    expect(broken.code).toBe(3);
    expect(broken.err).toContain(
      "The installed files of offline@^1.0.0 are damaged (node_modules/part is missing), and Portolan could not install it again.",
    );
    expect(broken.err).toContain("Check the network connection");
  });
});

it("serve reports the start and the end of an installation", async () => {
  publish("served", "1.0.0");
  const { cwd, env } = setUp("served");
  const serving = start(["serve", "--port", "0", "--no-auth", "--only", "a"], { cwd, env });
  await until(() => serving.err().includes("Serving 1 server"));
  const lines = serving.err().split("\n");
  expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d a installing served@\^1\.0\.0$/);
  expect(lines[1]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d a installed served@1\.0\.0$/);
  serving.child.kill("SIGTERM");
  expect((await serving.done).code).toBe(0);
});
