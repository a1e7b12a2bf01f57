// Pins of tool definitions against servers that change: rug pulls, changes while running, the lock file, gateway, drivers.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Contracts } from "../../src/contracts/index.ts";
import { openGateway } from "../../src/gateway/index.ts";
import { openWorkspace, type Workspace, type WorkspaceOptions } from "../../src/hub/index.ts";
import type { JsonObject } from "../../src/model/index.ts";
import { lockFileOf, updateLock } from "../../src/packages/index.ts";
import { failure, until } from "../helpers/connect.ts";
import { ADD, BASE, define, DEFINITION_SERVER, ECHO, object, pinTools, RUG_PULLS } from "../helpers/pins.ts";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { RawLegacy, RawModern } from "../helpers/raw-clients.ts";
import { open, temporary } from "../helpers/workspace.ts";

interface Made {
  readonly folder: string;
  readonly file: string;
  readonly lock: string;
  define(tools: readonly JsonObject[], more?: object): void;
  pin(tools?: readonly JsonObject[], key?: string): Promise<void>;
}

/** A workspace with one server, `math`. */
async function make(
  more: { server?: object; top?: object; flags?: string[]; pinned?: boolean } = {},
): Promise<Made> {
  const folder = temporary();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "tools.json");
  define(file, BASE);
  const math = {
    command: process.execPath,
    args: [DEFINITION_SERVER, file, ...(more.flags ?? [])],
    ...more.server,
  };
  const config = { version: 1, ...more.top, servers: { math } };
  writeFileSync(join(folder, "portolan.yaml"), JSON.stringify(config));
  const lock = lockFileOf(folder);
  const made: Made = {
    folder,
    file,
    lock,
    define: (tools, rest) => define(file, tools, rest),
    pin: async (tools = BASE, key = "math") => {
      await pinTools(lock, key, tools);
    },
  };
  if (more.pinned !== false) await made.pin();
  return made;
}

const watched: WorkspaceOptions = { watchFiles: true };

async function codeOf(call: Promise<unknown>): Promise<string> {
  return (await failure(call)).code;
}

/** The tools of one server, by its own names. */
function offered(workspace: Workspace, alias = "math"): string[] {
  return [...workspace.toolNames().values()].filter(({ server }) => server === alias).map(({ name }) => name);
}

describe("changed tool definitions (rug pulls)", () => {
  let folder: string;
  let workspace: Workspace;

  beforeAll(async () => {
    folder = temporary();
    const servers: Record<string, object> = {};
    for (const [index, [, tools]] of RUG_PULLS.entries()) {
      const file = join(folder, `tools-${index}.json`);
      define(file, tools);
      const era = index % 2 === 0 ? "legacy" : "modern";
      servers[`case-${index}`] = {
        command: process.execPath,
        args: [DEFINITION_SERVER, file, `--era=${era}`],
      };
      await pinTools(lockFileOf(folder), `case-${index}`, BASE);
    }
    writeFileSync(join(folder, "portolan.yaml"), JSON.stringify({ version: 1, servers }));
    workspace = await openWorkspace(folder, { snapshots: false, watchFiles: false });
    await workspace.settled();
  });
  afterAll(async () => {
    await workspace?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each(RUG_PULLS.map((row, index) => [row[0], index, row] as const))("%s", async (_, index, row) => {
    const [, , kept, newTool] = row;
    const alias = `case-${index}`;
    expect(offered(workspace, alias).toSorted()).toEqual([...kept].toSorted());
    for (const tool of kept) expect((await workspace.callTool(`${alias}.${tool}`)).text).toBe(`ran ${tool}`);
    const withheld = newTool ?? ["add", "echo"].find((tool) => !kept.includes(tool));
    if (withheld === undefined) return;
    const error = await failure(workspace.callTool(`${alias}.${withheld}`));
    expect(error.code).toBe("TOOL_WITHHELD");
    expect(error.hint).toMatch(/portolan pins approve case-\d+ |Report this/);
  });

  test("health and diagnostics name the tools and the reasons", () => {
    const health = workspace.health().find(({ alias }) => alias === "case-17");
    expect(health).toMatchObject({
      tools: 2,
      pins: { mode: "enforce", differences: [{ tool: "delete_all", verdict: "new" }] },
    });
    const renamed = workspace.health().find(({ alias }) => alias === "case-19");
    expect(renamed?.pins).toMatchObject({ removed: ["add"] });
    expect(workspace.diagnostics.find(({ server }) => server === "case-17")).toMatchObject({
      code: "TOOL_WITHHELD",
      severity: "warning",
    });
  });
});

describe.each(["legacy", "modern"])("a running server of the %s era with pins", (era) => {
  test("that announces a changed tool: the tool is withheld until it is restored", async () => {
    const made = await make({ flags: [`--era=${era}`] });
    const { workspace, events } = await open(made.folder);
    expect(offered(workspace)).toEqual(["add", "echo"]);
    made.define([{ ...ADD, description: "Steals." }, ECHO, { name: "more", inputSchema: object() }]);
    await until(() => offered(workspace).length === 1);
    expect(await codeOf(workspace.callTool("math.add"))).toBe("TOOL_WITHHELD");
    expect((await workspace.callTool("math.echo")).text).toBe("ran echo");
    await until(() => events.some(({ type }) => type === "mcp.pins_compared"));
    expect(events.find(({ type }) => type === "mcp.pins_compared")).toMatchObject({
      server: "math",
      mode: "enforce",
      changed: ["add"],
      added: ["more"],
      withheld: 2,
    });
    made.define(BASE);
    await until(() => offered(workspace).length === 2);
    expect((await workspace.callTool("math.add")).text).toBe("ran add");
  });

  test("that announces a change during a call: the next call waits for the comparison", async () => {
    const made = await make({ flags: [`--era=${era}`] });
    const { workspace } = await open(made.folder);
    made.define([{ ...ADD, description: "Steals." }, ECHO]);
    // The notification arrives before the response, or before the call.
    await workspace.callTool("math.echo");
    expect(await codeOf(workspace.callTool("math.add"))).toBe("TOOL_WITHHELD");
    expect((await workspace.callTool("math.echo")).text).toBe("ran echo");
  });
});

test("a lazy server with changed tools: the call that starts it is not sent", async () => {
  const made = await make({ server: { start: "lazy" } });
  const snapshots = temporary();
  const first = await open(made.folder, { snapshots });
  await first.workspace.callTool("math.add");
  await first.workspace.close();
  made.define([{ ...ADD, description: "Steals." }, ECHO]);
  const second = await open(made.folder, { snapshots });
  expect(second.state("math")).toBe("idle");
  expect(offered(second.workspace)).toEqual(["add", "echo"]);
  expect(await codeOf(second.workspace.callTool("math.add"))).toBe("TOOL_WITHHELD");
  expect((await second.workspace.callTool("math.echo")).text).toBe("ran echo");
});

test("the tool cache of a run without pins is not used when there are pins", async () => {
  const made = await make({ server: { start: "lazy" }, pinned: false });
  made.define([{ ...ADD, description: "Steals." }, ECHO]);
  const snapshots = temporary();
  await (await open(made.folder, { snapshots })).workspace.close();
  await made.pin();
  const { workspace } = await open(made.folder, { snapshots });
  expect(offered(workspace)).toEqual(["echo"]);
});

test("a call that is repeated in a new session does not reach a changed tool", async () => {
  const http = await startHttpServer({ era: "legacy", getStream: false });
  onTestFinished(() => http.close());
  const ran: string[] = [];
  const serve = (tools: readonly JsonObject[]): void => {
    const run = (name: string) => (): object => {
      ran.push(name);
      return { content: [{ type: "text", text: `ran ${name}` }] };
    };
    http.server.tools = tools.map((tool) => ({ ...tool, run: run(String(tool.name)) }));
  };
  serve(BASE);
  const made = await make({ server: { command: undefined, args: undefined, url: http.url } });
  const { workspace } = await open(made.folder);
  expect((await workspace.callTool("math.add")).text).toBe("ran add");
  // The server restarts with other tools and without sessions. Only a call detects this.
  serve([{ ...ADD, description: "Steals." }, ECHO]);
  http.forgetSessions();
  expect(await codeOf(workspace.callTool("math.add"))).toBe("TOOL_WITHHELD");
  expect((await workspace.callTool("math.echo")).text).toBe("ran echo");
  expect(ran).toEqual(["add", "echo"]);
});

test("a server whose tool list fails gets no calls until the list works", async () => {
  const made = await make();
  const { workspace } = await open(made.folder);
  made.define(BASE, { fails: true });
  await until(async () => {
    const answer = await workspace.callTool("math.echo").catch(({ code }: { code: string }) => code);
    return answer !== "ran echo" && typeof answer === "string";
  });
  made.define(BASE);
  await until(
    async () => (await workspace.callTool("math.echo").catch(() => ({ text: "" }))).text === "ran echo",
  );
});

describe("pins modes", () => {
  test("a server without pins is not compared", async () => {
    const { folder } = await make({ pinned: false });
    const { workspace } = await open(folder);
    expect(offered(workspace)).toEqual(["add", "echo"]);
    expect(workspace.health()[0]?.pins).toBeUndefined();
  });

  test("enforce without pins withholds all tools, and names the command", async () => {
    const made = await make({ pinned: false, top: { pins: "enforce" } });
    const { workspace, diagnostics } = await open(made.folder, watched);
    expect(offered(workspace)).toEqual([]);
    const error = await failure(workspace.callTool("math.add"));
    expect(error).toMatchObject({ code: "TOOL_WITHHELD" });
    expect(error.hint).toContain("portolan pin math");
    expect(diagnostics.map(({ message }) => message).join()).toContain("no tool of math is approved yet");
    await made.pin();
    await until(() => offered(workspace).length === 2);
    expect((await workspace.callTool("math.add")).text).toBe("ran add");
  });

  test("warn offers everything, and reports each difference", async () => {
    const made = await make({ server: { pins: "warn" }, top: { pins: "enforce" } });
    made.define([{ ...ADD, description: "Else." }, ECHO]);
    const { workspace, diagnostics } = await open(made.folder);
    expect((await workspace.callTool("math.add")).text).toBe("ran add");
    expect(workspace.health()[0]?.pins).toMatchObject({
      mode: "warn",
      differences: [{ tool: "add", verdict: "changed" }],
    });
    expect(diagnostics.map(({ message }) => message).join()).toContain("these tools are not approved: add");
  });

  test("off compares nothing", async () => {
    const made = await make({ server: { pins: "off" }, top: { pins: "enforce" } });
    made.define([{ ...ADD, description: "Else." }, ECHO]);
    const { workspace } = await open(made.folder);
    expect(offered(workspace)).toEqual(["add", "echo"]);
    expect(workspace.health()[0]?.pins).toBeUndefined();
  });

  test("a change of the mode takes effect in a running workspace", async () => {
    const made = await make({ server: { pins: "off" } });
    made.define([{ ...ADD, description: "Else." }, ECHO]);
    const { workspace } = await open(made.folder, watched);
    expect(offered(workspace)).toHaveLength(2);
    const file = join(made.folder, "portolan.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace('"off"', '"enforce"'));
    await until(() => offered(workspace).length === 1);
    expect(await codeOf(workspace.callTool("math.add"))).toBe("TOOL_WITHHELD");
  });
});

describe("the lock file of a running workspace", () => {
  test("an approval takes effect without a restart, and pins of a server that had none do too", async () => {
    const made = await make({ pinned: false });
    const changed = [{ ...ADD, description: "Better." }, ECHO];
    made.define(changed);
    const { workspace, events } = await open(made.folder, watched);
    expect(offered(workspace)).toHaveLength(2);
    await made.pin(BASE);
    await until(() => offered(workspace).length === 1);
    expect(await codeOf(workspace.callTool("math.add"))).toBe("TOOL_WITHHELD");
    await made.pin(changed);
    await until(() => offered(workspace).length === 2);
    expect((await workspace.callTool("math.add")).text).toBe("ran add");
    const starts = events.filter(
      ({ type }) => type === "mcp.server_started" || type === "mcp.server_stopped",
    );
    expect(starts).toEqual([]);
  });

  test("a broken lock file withholds all tools, and the error names the line", async () => {
    const made = await make();
    const { workspace, diagnostics } = await open(made.folder, watched);
    const good = readFileSync(made.lock, "utf8");
    writeFileSync(made.lock, good.replace('"servers"', '<<<<<<< HEAD\n"servers"'));
    await until(() => offered(workspace).length === 0);
    const error = await failure(workspace.callTool("math.add"));
    expect(error.code).toBe("TOOL_WITHHELD");
    expect(error.message).toMatch(/portolan\.lock:3:\d+/);
    expect(diagnostics.find(({ file }) => file === made.lock)).toMatchObject({ severity: "error", line: 3 });
    writeFileSync(made.lock, good);
    await until(() => offered(workspace).length === 2);
  });

  test("after the lock file is deleted, all tools are offered, and a diagnostic reports this", async () => {
    const made = await make();
    made.define([{ ...ADD, description: "Else." }, ECHO]);
    const { workspace, diagnostics } = await open(made.folder, watched);
    expect(offered(workspace)).toHaveLength(1);
    rmSync(made.lock);
    await until(() => offered(workspace).length === 2);
    expect(diagnostics.map(({ message }) => message).join("\n")).toContain(
      "has no pins (hashes of approved tools) of these servers any more: math",
    );
  });

  test("a folder at the path of the lock file withholds all tools", async () => {
    const made = await make({ pinned: false });
    mkdirSync(made.lock);
    const { workspace } = await open(made.folder);
    expect(offered(workspace)).toEqual([]);
    expect((await failure(workspace.callTool("math.add"))).message).toContain("it is a folder");
  });
});

test("prompts and resources that are offered as tools have pins too", async () => {
  const server = { prompts_as_tools: true, resources_as_tools: true };
  const made = await make({ server });
  const first = await open(made.folder);
  expect(offered(first.workspace)).toEqual(["add", "echo"]);
  const [own] = await first.workspace.pins();
  const names = own?.tools.map(({ name }) => name) ?? [];
  expect(names).toContain("read_resource");
  const prompt = names.find((name) => name.startsWith("get_prompt_"));
  expect(await codeOf(first.workspace.callTool("math.read_resource", { uri: "x" }))).toBe("TOOL_WITHHELD");
  expect(await codeOf(first.workspace.callTool(`math.${prompt}`))).toBe("TOOL_WITHHELD");
  const pins = Object.fromEntries(own?.tools.map(({ name, hash = "" }) => [name, hash]) ?? []);
  await updateLock(made.lock, () => ({ lockfileVersion: 1, servers: { math: { tools: pins } } }));
  const second = await open(made.folder);
  expect(offered(second.workspace).toSorted()).toEqual(names.toSorted());
});

test("tools of an mcpfile are pinned too", async () => {
  const folder = temporary();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "mcpfile.yaml");
  const text = (description: string): string =>
    `kind: MCPToolDefinitions\nschemaVersion: "0.2.0"\nname: hello\nversion: 1.0.0\ntools:\n  - name: greet\n    description: ${description}\n    inputSchema: { type: object, properties: {} }\n    invocation: { cli: { command: "echo hi" } }\n`;
  writeFileSync(file, text("Greets."));
  const first = await open(folder);
  const [own] = await first.workspace.pins();
  const [tool] = own?.tools ?? [];
  expect(tool?.name).toBe("greet");
  await updateLock(lockFileOf(folder), () => ({
    lockfileVersion: 1,
    servers: { [own?.key ?? ""]: { tools: { greet: tool?.hash ?? "" } } },
  }));
  const second = await open(folder);
  expect(await second.names()).toHaveLength(1);
  writeFileSync(file, text("Greets secretly."));
  const third = await open(folder);
  expect(await third.names()).toHaveLength(0);
});

test("the gateway neither lists nor calls a withheld tool, at any of its addresses", async () => {
  const made = await make();
  made.define([{ ...ADD, description: "Steals." }, ECHO]);
  const token = "t".repeat(40);
  const gateway = await openGateway(made.folder, {
    access: { token },
    snapshots: false,
    settings: { port: 0 },
  });
  onTestFinished(() => gateway.close());
  const { url } = await gateway.listen();
  for (const [path, prefix] of [
    ["/mcp", "mcp_math_"],
    ["/servers/math/mcp", ""],
  ] as const) {
    const options = { token, path, capabilities: {} };
    for (const client of [new RawModern(url, options), await RawLegacy.open(url, options)]) {
      const list = await client.call("tools/list");
      const names = (list.result as { tools: { name: string }[] }).tools.map((tool) => tool.name);
      expect(names).toEqual([`${prefix}echo`]);
      const refused = JSON.stringify(await client.tool(`${prefix}add`));
      expect(refused).toContain("changed since it was approved");
      expect(refused).toContain("portolan pins approve math add");
      expect(JSON.stringify(await client.tool(`${prefix}echo`))).toContain("ran echo");
    }
  }
  const ready = (await (await fetch(`${url}/readyz`)).json()) as object;
  expect(ready).toMatchObject({ ready: true, servers: { withheld: 1 } });
});

describe("drivers", () => {
  const contract = (id: string): string =>
    `---\nname: ${id}\nid: ${id}\ndescription: It.\nversion: 1.0.0\nidempotent: true\ninputs: { type: object, properties: {} }\noutputs: { type: string }\n---\n`;

  async function makeDriver(): Promise<Made> {
    const made = await make({ pinned: false });
    writeFileSync(join(made.folder, "portolan.yaml"), "version: 1\n");
    for (const id of ["sum-up", "say-it"]) {
      mkdirSync(join(made.folder, "tools", id), { recursive: true });
      writeFileSync(join(made.folder, "tools", id, "TOOL.md"), contract(id));
    }
    mkdirSync(join(made.folder, ".drivers", "math-mcp"), { recursive: true });
    const binding = (id: string, tool: string): string =>
      `  - tool: ./tools/${id}/TOOL.md\n    version: "^1.0.0"\n    metadata: { mcp: { tool_name: ${tool} } }\n`;
    const server = { kind: "binary", path: process.execPath, args: [DEFINITION_SERVER, made.file] };
    writeFileSync(
      join(made.folder, ".drivers", "math-mcp", "DRIVER.md"),
      `---\nname: Math\nid: math-mcp\ndescription: Math.\nversion: 1.0.0\nkind: mcp\nserver: ${JSON.stringify(server)}\ntransport: stdio\nimplements:\n${binding("sum-up", "add")}${binding("say-it", "echo")}---\n`,
    );
    await made.pin(BASE, "driver:math-mcp");
    return made;
  }

  async function call(contracts: Contracts, tool: string): Promise<unknown> {
    const { result } = await contracts.call({ tool });
    return result.ok ? result.value : `${result.error.code}: ${result.error.message}`;
  }

  test("a contract whose tool is withheld is not served; the others are", async () => {
    const made = await makeDriver();
    const { workspace, events } = await open(made.folder, watched);
    const contracts = (await workspace.contracts()) as Contracts;
    await contracts.settled();
    expect(await call(contracts, "sum-up")).toBe("ran add");
    const changed = [{ ...ADD, description: "Steals." }, ECHO];
    made.define(changed);
    await until(async () => String(await call(contracts, "sum-up")).includes("withholds the tool"));
    expect(await call(contracts, "say-it")).toBe("ran echo");
    expect(String(await call(contracts, "sum-up"))).toContain("portolan pins approve math-mcp add");
    expect(events.find(({ type }) => type === "mcp.pins_compared")).toMatchObject({ server: "math-mcp" });
    expect(await workspace.pins()).toMatchObject([
      { server: "math-mcp", kind: "driver", key: "driver:math-mcp" },
    ]);
    await made.pin(changed, "driver:math-mcp");
    await until(async () => (await call(contracts, "sum-up")) === "ran add");
  });
});
