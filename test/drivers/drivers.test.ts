// Drivers with real servers: the specification's own example, two drivers for one contract, and the example of this repository.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type Contracts,
  type ContractCall,
  defineDriver,
  defineTool,
  type DriverHandle,
} from "../../src/contracts/index.ts";
import { openWorkspace } from "../../src/hub/index.ts";
import { portolan, temporaryFolder } from "../helpers/cli.ts";
import {
  EXAMPLE,
  examplePlace,
  FILESYSTEM,
  FS_CONTRACTS,
  FS_DRIVER,
  type Place,
  place,
} from "../helpers/drivers.ts";
import { startRegistry } from "../fixtures/npm-registry.mjs";
import { stdioCommand } from "../fixtures/processes.mjs";
import { until } from "../helpers/connect.ts";

describe("the driver example of the specification", () => {
  it("is valid as it is written", async () => {
    const { run } = place({ ...FS_CONTRACTS, ".drivers/filesystem-mcp/DRIVER.md": FS_DRIVER });
    const ran = await run("validate", "--json");
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
    const text = await run("validate", "--text");
    expect(text.out).toContain("(driver filesystem-mcp@1.0.0, for fs-read, fs-write, fs-list) valid");
    expect(text.out).toContain("(contract fs-read@1.0.0) valid");
  });

  it(
    "is refused at registration by the current server, with hints that make it work",
    { timeout: 120_000 },
    async () => {
      const here = await withPackage();
      here.write(".drivers/filesystem-mcp/DRIVER.md", FS_DRIVER.replace('"/workspace"', '"./workspace"'));
      const first = await here.run("why", "filesystem-mcp", "--text");
      expect(first.code).toBe(3);
      expect(first.out).toContain("The version check failed");
      expect(first.out).toMatch(
        /version_check runs "npx @modelcontextprotocol\/server-filesystem --version"/,
      );

      here.change(".drivers/filesystem-mcp/DRIVER.md", (text) =>
        text.replace(/version_check:\n(?: {2}.*\n)+/, ""),
      );
      const second = await here.run("why", "filesystem-mcp", "--text");
      expect(second.code).toBe(3);
      expect(second.out).toContain('result_extract $.contents of the tool "read_file" matches nothing');
      expect(second.out).toContain('result_extract $.entries of the tool "list_directory" matches nothing');
      expect(second.out).toContain("Matching paths: result_extract $.content.");
      const status = await here.run("status", "--json");
      expect(status.code).toBe(3);
      expect(JSON.parse(status.out)).toMatchObject({
        drivers: [{ id: "filesystem-mcp", server: "refused" }],
      });

      // The driver is corrected as the hints say.
      here.change(".drivers/filesystem-mcp/DRIVER.md", (text) =>
        text.replaceAll(/result_extract: ".*"/g, 'result_extract: "$.content"'),
      );
      expect((await here.run("why", "filesystem-mcp", "--text")).out).toContain(
        "No action needed: the driver works.",
      );
    },
  );

  it("can be written by portolan author from the package alone", { timeout: 60_000 }, async () => {
    const here = await withPackage();
    const name = "@modelcontextprotocol/server-filesystem";
    const made = await here.run(
      ...[
        "author",
        name,
        "--tools",
        "read_text_file=fs-read",
        "--allow-write",
        "workspace",
        "--yes",
        "--text",
      ],
      ...["--", "./workspace"],
    );
    expect(made.code).toBe(0);
    expect(made.out).toContain("filesystem-mcp (npm, stdio)");
    expect(made.out).toContain("The package has no version");
    expect(here.file(".drivers/filesystem-mcp/DRIVER.md")).toContain(`package: "${name}"`);
    const why = await here.run("why", "filesystem-mcp", "--text");
    expect(why.out).toContain("No action needed: the driver works.");
  });

  it("reads, writes and lists real files with the driver that portolan author writes", async () => {
    const here = place({ ...FS_CONTRACTS, "workspace/a.txt": "first" });
    const made = await here.run(
      ...["author", `node ${FILESYSTEM}`, "--id", "filesystem-mcp", "--allow-write", "./workspace"],
      ...["--tools", "read_text_file=fs-read,write_file=fs-write,list_directory=fs-list"],
      ...["--yes", "--json", "--", "./workspace"],
    );
    expect({ code: made.code, err: made.err }).toEqual({ code: 0, err: "" });
    expect(JSON.parse(made.out)).toMatchObject({
      id: "filesystem-mcp",
      kind: "binary",
      transport: "stdio",
      tools: [
        { tool: "read_text_file", contract: "fs-read", new: false, result_extract: "$.content" },
        { tool: "write_file", contract: "fs-write", new: false, result_extract: "$.content" },
        { tool: "list_directory", contract: "fs-list", new: false, result_extract: "$.content" },
      ],
    });
    const contracts = await contractsOf(here);
    const approve: ContractCall["ask"] = async () => ({ action: "accept", content: { allow: true } });
    const value = async (tool: string, input: object): Promise<unknown> => {
      const { result } = await contracts.call({ tool, input, ask: approve });
      return result.ok ? result.value : result.error;
    };
    expect(await value("fs-read", { path: "a.txt" })).toBe("first");
    expect(await value("fs-write", { path: "b.txt", content: "second" })).toContain("b.txt");
    expect(readFileSync(join(here.cwd, "workspace/b.txt"), "utf8")).toBe("second");
    expect(await value("fs-list", { path: "." })).toBe("[FILE] a.txt\n[FILE] b.txt");
    expect(await value("fs-read", { path: "../portolan.yaml" })).toMatchObject({ code: "upstream_error" });
  });
});

describe("two drivers for one contract", () => {
  it("are chosen by cost, region and pin", async () => {
    const contracts = await contractsOf(examplePlace());
    const read = reader(contracts);
    expect(await read({})).toEqual(["filesystem-mcp", "A note that two servers can read.\n"]);
    expect(await read({ regionConstraint: "us-east-1" })).toEqual([
      "cat-mcp",
      "A note that two servers can read.\n",
    ]);
    expect(await read({ pinnedProvider: "cat-mcp" })).toEqual([
      "cat-mcp",
      "A note that two servers can read.\n",
    ]);
    expect(await read({ pinnedProvider: "cat-mcp", regionConstraint: "eu-west-1" })).toEqual([
      undefined,
      "pinned_provider_unavailable",
    ]);
    expect(await read({ regionConstraint: "mars" })).toEqual([undefined, "region_mismatch"]);
  });

  it("fail the health check when a contract has no server left, and health() names the contract", async () => {
    const unreachable = [/args: .*/, "args: [no-such-server.mjs]"] as const;
    const check = async (
      id: string,
      [from, to]: readonly [RegExp, string] = unreachable,
    ): Promise<unknown> => {
      const here = examplePlace();
      here.change(`.drivers/${id}/DRIVER.md`, (text) => text.replace(from, to));
      const workspace = await openWorkspace(here.cwd, { watchFiles: false, snapshots: false });
      onTestFinished(() => workspace.close());
      const healthy = await workspace.healthCheck();
      const [{ state, unserved } = {}, ...others] = workspace.health();
      return { healthy, state, unserved, others };
    };
    const ready = { state: "ready", others: [] };
    expect(await check("cat-mcp")).toEqual({ ...ready, healthy: true, unserved: undefined });
    // Only filesystem-mcp serves note-list.
    const unserved = { ...ready, healthy: false, unserved: ["note-list"] };
    expect(await check("filesystem-mcp")).toEqual(unserved);
    // The file is refused: the contract has no argument with this name.
    expect(await check("filesystem-mcp", [/folder: path/, "nothing: path"])).toEqual(unserved);
    expect(await check("filesystem-mcp", [/\^1\.0\.0/g, "^2.0.0"])).toEqual(unserved);
  });

  it("do not serve if the policy of the workspace denies their tags", async () => {
    const here = examplePlace();
    here.write("portolan.yaml", "version: 1\ncontracts: { deny_tags: [experimental] }\n");
    const read = reader(await contractsOf(here));
    expect(await read({ regionConstraint: "us-east-1" })).toMatchObject([undefined, expect.any(String)]);
    expect(await read({})).toMatchObject(["filesystem-mcp", expect.any(String)]);
  });

  it(
    "replace a driver whose server is gone only if pin and region allow it",
    { timeout: 60_000 },
    async () => {
      const here = examplePlace();
      // Like the example, but the cheaper server can be stopped for good.
      here.write(
        "servers/mortal.mjs",
        `import { existsSync, writeFileSync } from "node:fs";
      if (existsSync("down")) process.exit(1);
      writeFileSync("pid", String(process.pid));
      await import("./cat.mjs");`,
      );
      here.change(".drivers/cat-mcp/DRIVER.md", (text) =>
        text
          .replace("servers/cat.mjs", "servers/mortal.mjs")
          .replace("cost_units_per_call: 5", "cost_units_per_call: 0"),
      );
      here.change(".drivers/filesystem-mcp/DRIVER.md", (text) =>
        text.replace("cost_units_per_call: 0", "cost_units_per_call: 5"),
      );
      const contracts = await contractsOf(here);
      const read = reader(contracts);
      expect(await read({})).toMatchObject(["cat-mcp", expect.any(String)]);

      writeFileSync(join(here.cwd, "down"), "");
      process.kill(Number(readFileSync(join(here.cwd, "pid"), "utf8")), "SIGKILL");
      await until(async () => (await read({}))[0] === "filesystem-mcp");
      // A pin or a region that excludes the other driver prevents the replacement.
      expect((await read({ pinnedProvider: "cat-mcp" }))[0]).not.toBe("filesystem-mcp");
      expect((await read({ regionConstraint: "us-east-1" }))[0]).not.toBe("filesystem-mcp");

      rmSync(join(here.cwd, "down"));
      await until(async () => (await read({}))[0] === "cat-mcp");
    },
  );
});

describe("examples/drivers", () => {
  const run = (...words: string[]): ReturnType<typeof portolan> =>
    portolan(words, { cwd: EXAMPLE, env: { XDG_DATA_HOME: temporaryFolder() } });

  it.each(["filesystem-mcp", "cat-mcp"])("passes the tests of its contracts: %s", async (id) => {
    const ran = await run("test", id, "--text");
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
    expect(ran.out).toMatch(/^passed {3}note-read +a note that is there/m);
  });

  it("works in its sandbox", async () => {
    const ran = await portolan(["call", "contracts.note-read", "name=hello.md", "--json"], {
      cwd: EXAMPLE,
      env: { XDG_DATA_HOME: temporaryFolder(), PORTOLAN_SANDBOX: "warn" },
    });
    expect(JSON.parse(ran.out)).toMatchObject({ _meta: { "portolan/driver": "filesystem-mcp" } });
  });
});

/** A workspace that installs the public server from a local npm registry. */
async function withPackage(): Promise<Place> {
  const registry = await startRegistry();
  onTestFinished(() => registry.close());
  registry.publish({
    name: "@modelcontextprotocol/server-filesystem",
    version: "2026.8.31",
    bin: { "mcp-server-filesystem": "index.mjs" },
    files: {
      "index.mjs": `#!/usr/bin/env node\nawait import(${JSON.stringify(pathToFileURL(FILESYSTEM).href)});\n`,
    },
  });
  const cache = temporaryFolder();
  const here = place(FS_CONTRACTS, {
    npm_config_registry: registry.url,
    npm_config_cache: cache,
    npm_config_fetch_retries: "0",
  });
  mkdirSync(join(here.cwd, "workspace"));
  return here;
}

async function contractsOf({ cwd }: Place): Promise<Contracts> {
  const workspace = await openWorkspace(cwd, { watchFiles: false, snapshots: false });
  onTestFinished(() => workspace.close());
  const contracts = await workspace.contracts();
  if (contracts === undefined) throw new Error("there are no contracts");
  return contracts;
}

/** The driver that served the call, and the result. */
function reader(contracts: Contracts) {
  return async (context: ContractCall["context"]): Promise<[string | undefined, unknown]> => {
    const { result, driver } = await contracts.call({
      tool: "note-read",
      input: { name: "hello.md" },
      context,
    });
    return [result.ok ? driver : undefined, result.ok ? result.value : result.error.code];
  };
}

it("contracts.call() and register() refuse unknown fields and invalid drivers", async () => {
  const contracts = await contractsOf(examplePlace());
  const call = (more: object): Promise<unknown> =>
    contracts.call({ tool: "note-read", input: { name: "hello.md" }, ...more });
  await expect(call({ pin: "cat-mcp" })).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: 'the fields of contracts.call() are not valid: unknown key "pin"',
  });
  await expect(call({ context: { regionConstrain: "eu" } })).rejects.toMatchObject({
    message: 'the fields of contracts.call() are not valid: unknown key "regionConstrain" in context',
    hint: 'Did you mean "regionConstraint"?',
  });
  expect(await call({ context: { roles: [], userId: undefined } })).toMatchObject({ result: { ok: true } });
  const wrong: unknown[] = [{ id: "x" }, { kind: "mcp", id: "x" }, undefined];
  for (const one of wrong)
    await expect(contracts.register(one as DriverHandle)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      hint: "Pass what defineDriver() or defineTool() returns.",
    });
});

it("a contract can be called by its name as soon as it is registered with its driver", async () => {
  const here = examplePlace();
  const workspace = await openWorkspace(here.cwd, { onDiagnostic: () => {} });
  onTestFinished(() => workspace.close());
  const contracts = (await workspace.contracts()) as Contracts;
  expect((await workspace.tools()).map(({ name }) => name)).not.toContain("shout");
  const { command, args } = stdioCommand();
  const shout = defineTool({
    id: "shout",
    description: "Shouts.",
    version: "1.0.0",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    outputSchema: { type: "string" },
  });
  const shouter = defineDriver({
    ...{ kind: "mcp", id: "shout-mcp", name: "Shouter", description: "Shouts.", version: "1.0.0" },
    server: { kind: "binary", path: command, args },
    transport: "stdio",
    policyTags: ["self-hosted"],
    implements: [{ tool: shout, metadata: { mcp: { toolName: "echo" } } }],
  });
  expect(await contracts.register(shout)).toEqual([]);
  expect((await contracts.register(shouter)).filter(({ severity }) => severity === "error")).toEqual([]);
  expect((await workspace.callTool("shout", { text: "ada" })).text).toContain("ada");
  expect((await workspace.tools()).map(({ name }) => name)).toContain("shout");
});

it("errors of the library name the command that accepts a changed contract or driver", async () => {
  const here = examplePlace();
  const open = async () => {
    const workspace = await openWorkspace(here.cwd, { onDiagnostic: () => {} });
    onTestFinished(() => workspace.close());
    const contracts = await workspace.contracts();
    await contracts?.settled();
    return { workspace, contracts: contracts as Contracts };
  };
  const first = await open();
  expect((await first.workspace.callTool("note-read", { name: "hello.md" })).text).toContain("A note");
  await first.workspace.close();
  const refusal = async (command: string): Promise<void> => {
    const { workspace, contracts } = await open();
    const hint = expect.stringContaining(command) as string;
    await expect(workspace.callTool("note-read", { name: "hello.md" })).rejects.toMatchObject({
      ...{ code: "TOOL_NOT_FOUND", server: "contracts", hint },
    });
    const { result } = await contracts.call({ tool: "note-read", input: { name: "hello.md" } });
    expect(result).toMatchObject({ ok: false, error: { code: "tool_unavailable", message: hint } });
    expect(contracts.unservedReason("note-read")).toEqual(hint);
    expect(contracts.status()).toContainEqual(expect.objectContaining({ server: "refused", reason: hint }));
    await workspace.close();
  };
  const before = here.file("tools/note-read/TOOL.md");
  here.change("tools/note-read/TOOL.md", (text) =>
    text.replace("outputs: { type: string }", "outputs: { type: string, maxLength: 1000 }"),
  );
  await refusal("portolan drivers accept note-read");
  here.write("tools/note-read/TOOL.md", before);
  for (const id of ["cat-mcp", "filesystem-mcp"])
    here.change(`.drivers/${id}/DRIVER.md`, (text) =>
      text.replace("transport: stdio", 'transport: stdio\nprotocol_version: "2025-11-25"'),
    );
  await refusal("portolan drivers accept cat-mcp");
});
