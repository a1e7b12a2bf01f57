import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { FSWatcher } from "chokidar";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { type CatalogChange, type CatalogWatch, watchCatalog, type WatchOptions } from "./watch.ts";
import { toCommandLine } from "../../model/index.ts";

const open: AbortController[] = [];
afterEach(() => {
  for (const controller of open.splice(0)) controller.abort();
});

function manifest(command: string, ...aliases: string[]): string {
  const servers = aliases.map((alias) => `    - {alias: ${alias}, transport: stdio, command: ${command}}\n`);
  return `config:\n  servers:\n${servers.join("")}`;
}

/** A watched folder, its changes one after another. */
async function watched(
  files: Readonly<Record<string, string>>,
  options: WatchOptions = {},
): Promise<{
  readonly watch: CatalogWatch;
  readonly changes: CatalogChange[];
  next(): Promise<CatalogChange>;
  write(name: string, text: string): void;
  path(name: string): string;
  stop(): void;
}> {
  const folder = mkdtempSync(join(tmpdir(), "portolan-watch-"));
  const path = (name: string): string => join(folder, name);
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), text);
  };
  for (const [name, text] of Object.entries(files)) write(name, text);
  const changes: CatalogChange[] = [];
  const waiting: ((change: CatalogChange) => void)[] = [];
  const controller = new AbortController();
  open.push(controller);
  const onChange = (change: CatalogChange): void => {
    const waiter = waiting.shift();
    if (waiter === undefined) changes.push(change);
    else waiter(change);
  };
  const watch = await watchCatalog(folder, onChange, controller.signal, { debounceMs: 1, ...options });
  return {
    watch,
    changes,
    next: async () => changes.shift() ?? new Promise((done) => waiting.push(done)),
    write,
    path,
    stop: () => controller.abort(),
  };
}

test("servers are added, changed and removed", async () => {
  const { watch, next, write, path } = await watched({ "manifest.yaml": manifest("x", "a", "b") });
  expect(watch.catalog.servers.map(({ alias }) => alias)).toEqual(["a", "b"]);

  write("manifest.yaml", manifest("x", "b", "c"));
  expect(await next()).toMatchObject({ added: ["c"], removed: ["a"], changed: [], settingsChanged: false });

  write("manifest.yaml", `# a comment\n${manifest("y", "b", "c")}`);
  expect(await next()).toMatchObject({ added: [], removed: [], changed: ["b", "c"] });
  expect(watch.catalog.servers[0]?.origin.line).toBe(4);

  rmSync(path("manifest.yaml"));
  expect(await next()).toMatchObject({ added: [], removed: ["b", "c"], changed: [] });
  expect(watch.catalog.servers).toEqual([]);
});

test("a file that becomes invalid keeps its last valid servers, and is reported (F45)", async () => {
  const { watch, next, write } = await watched({
    "manifest.yaml": manifest("x", "a", "b"),
    ".mcp.json": "{}",
  });

  write("manifest.yaml", `${manifest("y", "a")}    - alias: b\n      transport: stido\n`);
  const bad = await next();
  expect(bad).toMatchObject({ added: [], removed: [], changed: [] });
  expect(bad.catalog.servers.map(({ alias, endpoint }) => [alias, endpoint])).toEqual([
    ["a", { transport: "stdio", command: "x" }],
    ["b", { transport: "stdio", command: "x" }],
  ]);
  expect(bad.catalog.diagnostics).toMatchObject([
    { severity: "error", line: 5, column: 18 },
    {
      severity: "warning",
      message: expect.stringContaining("Portolan keeps using its last valid content") as string,
    },
  ]);

  // Another file still brings its changes.
  write(".mcp.json", '{"mcpServers": {"c": {"command": "x"}}}');
  expect(await next()).toMatchObject({ added: ["c"], removed: [], changed: [] });

  write("manifest.yaml", "config: [");
  const broken = await next();
  expect(broken).toMatchObject({ added: [], removed: [], changed: [] });
  expect(broken.catalog.servers).toHaveLength(3);

  write("manifest.yaml", "hello: world");
  const other = await next();
  expect(other.catalog.servers).toHaveLength(3);
  expect(other.catalog.diagnostics[0]).toMatchObject({ message: "config is missing", line: 1 });

  write("manifest.yaml", manifest("y", "a"));
  const good = await next();
  expect(good).toMatchObject({ added: [], removed: ["b"], changed: ["a"] });
  expect(good.catalog.diagnostics).toEqual([]);
  expect(watch.catalog).toBe(good.catalog);
});

test("a broken portolan.yaml keeps its last valid settings, sources and servers", async () => {
  const { next, write } = await watched({
    "portolan.yaml": "naming: '{tool}'\nsources: [m.yaml]\nservers: {own: {command: x}}\n",
    "m.yaml": manifest("x", "a"),
  });
  write("portolan.yaml", "naming: '{tol}'\nservers: {}\n");
  const bad = await next();
  expect(bad).toMatchObject({ added: [], removed: [], changed: [], settingsChanged: false });
  expect(bad.catalog.settings.naming).toBe("{tool}");
  write("portolan.yaml", "naming: 'x_{tool}'\nsources: [m.yaml]\n");
  expect(await next()).toMatchObject({ added: [], removed: ["own"], changed: [], settingsChanged: true });
});

test("an emptied or deleted portolan.yaml keeps its last servers and settings, until the file says otherwise", async () => {
  const text = "servers: {own: {command: x}}\ngateway: {approval: [{tools: ['own.*']}]}\n";
  const { watch, next, write, path } = await watched({ "portolan.yaml": text });
  const { settings } = watch.catalog;
  expect(settings.gateway?.approval).toHaveLength(1);
  const kept = (what: string): object => ({
    ...{ added: [], removed: [], changed: [], settingsChanged: false },
    catalog: {
      settings,
      diagnostics: [
        {
          severity: "error",
          message: `the file ${what}, so Portolan keeps using its last valid content`,
          file: path("portolan.yaml"),
          hint: expect.stringContaining("write servers: {} into the file") as string,
        },
      ],
    },
  });
  write("portolan.yaml", "");
  expect(await next()).toMatchObject(kept("is empty"));
  rmSync(path("portolan.yaml"));
  expect(await next()).toMatchObject(kept("does not exist any more"));
  write("portolan.yaml", "# nothing\n");
  expect(await next()).toMatchObject(kept("is empty"));
  // The earlier content is not forgotten while the file is gone.
  write("portolan.yaml", "servers: [");
  expect(await next()).toMatchObject({ removed: [], settingsChanged: false });
  write("portolan.yaml", "servers: {}\n");
  const applied = await next();
  expect(applied).toMatchObject({ removed: ["own"], settingsChanged: true });
  expect(applied.catalog.diagnostics).toEqual([]);
});

test("a portolan.yaml that is gone for a moment is not reported, except by reload()", async () => {
  const text = "servers: {own: {command: x}}\n";
  let missed = (): void => {};
  const isMissed = new Promise<void>((done) => (missed = done));
  // Called while a changed file is read.
  const writerOf = async (file: string): Promise<undefined> => {
    if (file === path("portolan.yaml")) missed();
  };
  const { watch, next, changes, write, path } = await watched({ "portolan.yaml": text }, { writerOf });
  rmSync(path("portolan.yaml"));
  write("manifest.yaml", manifest("x", "a"));
  await isMissed;
  write("portolan.yaml", text);
  expect(await next()).toMatchObject({ added: ["a"], removed: [], catalog: { diagnostics: [] } });
  expect(changes).toEqual([]);

  rmSync(path("portolan.yaml"));
  expect((await watch.reload()).diagnostics).toMatchObject([{ severity: "error" }]);
});

test("a portolan.yaml may be renamed to portolan.yml, and may be deleted if it was empty at the start", async () => {
  const { next, path, watch } = await watched({ "portolan.yaml": "servers: {a: {command: x}}\n" });
  renameSync(path("portolan.yaml"), path("portolan.yml"));
  expect((await next()).catalog.diagnostics).toEqual([]);
  expect(watch.catalog.servers[0]?.origin.file).toBe(path("portolan.yml"));

  const empty = await watched({ "portolan.yaml": "# nothing yet\n", "manifest.yaml": manifest("x", "b") });
  rmSync(empty.path("portolan.yaml"));
  const after = await empty.watch.reload();
  expect(after).toMatchObject({ servers: [{ alias: "b" }], diagnostics: [] });
});

test("new files and folders are detected, and new sources are watched", async () => {
  const { next, write } = await watched({});
  write(".cursor/mcp.json", '{"mcpServers": {"cursor": {"command": "x"}}}');
  expect(await next()).toMatchObject({ added: ["cursor"] });

  write("deep/er/one.yaml", manifest("x", "one"));
  write("portolan.yaml", "sources: ['deep/**/*.yaml', .cursor/mcp.json]\n");
  expect(await next()).toMatchObject({ added: ["one"], removed: [] });

  write("deep/other/two.yaml", manifest("x", "two"));
  expect(await next()).toMatchObject({ added: ["two"] });

  write("deep/er/one.yaml", manifest("y", "one"));
  expect(await next()).toMatchObject({ changed: ["one"] });
});

test("a file outside of the folder is watched too", async () => {
  const elsewhere = mkdtempSync(join(tmpdir(), "portolan-watch-far-"));
  const far = join(elsewhere, "m.yaml");
  const { next } = await watched({ "portolan.yaml": `sources: ["${far}"]` });
  writeFileSync(far, manifest("x", "far"));
  expect(await next()).toMatchObject({ added: ["far"] });
});

test("a single file is watched, also after it was deleted, and its last content stays in use until then", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "portolan-watch-one-")), "m.yaml");
  writeFileSync(file, manifest("x", "a"));
  const seen: CatalogChange[] = [];
  let wake = (): void => {};
  await using watch = await watchCatalog(file, (change) => {
    seen.push(change);
    wake();
  });
  const until = async (aliases: string): Promise<void> => {
    while (watch.catalog.servers.map(({ alias }) => alias).join() !== aliases)
      await new Promise<void>((done) => (wake = done));
  };
  await until("a");
  rmSync(file);
  while (watch.catalog.diagnostics.length === 0) await new Promise<void>((done) => (wake = done));
  await until("a");
  writeFileSync(file, manifest("x", "b"));
  await until("b");
  writeFileSync(file, manifest("x", "c"));
  await until("c");
  expect(seen.length).toBeGreaterThanOrEqual(3);
});

test("an editor that writes temporary files and renames them gives one change", async () => {
  const { changes, next, write, path } = await watched({ "manifest.yaml": manifest("x", "a") });
  for (const command of ["one", "two", "three"]) {
    write("manifest.yaml.tmp", manifest(command, "a"));
    renameSync(path("manifest.yaml.tmp"), path("manifest.yaml"));
  }
  const change = await next();
  expect(change).toMatchObject({ added: [], removed: [], changed: ["a"] });
  expect(change.catalog.servers[0]?.endpoint).toMatchObject({ command: "three" });
  expect(changes).toEqual([]);
});

test("changes without a pause are read too, and the last one is applied", async () => {
  const { watch, next, write } = await watched({ "manifest.yaml": manifest("x", "a") });
  let count = 0;
  const timer = setInterval(() => {
    count += 1;
    write("manifest.yaml", manifest(`x${count}`, "a"));
  }, 20);
  try {
    // A file may be read half written; then its old state stays for a moment.
    for (let applied = 0; applied < 2;) if ((await next()).changed.length > 0) applied += 1;
  } finally {
    clearInterval(timer);
  }
  for (;;) {
    const [server] = watch.catalog.servers;
    if (server?.endpoint.transport === "stdio" && toCommandLine(server.endpoint).command === `x${count}`)
      break;
    await next();
  }
});

test("a closed watch reports nothing, and reload() works without a change", async () => {
  const first = await watched({ "manifest.yaml": manifest("x", "a") });
  expect(await first.watch.reload()).toBe(first.watch.catalog);
  expect(first.changes).toEqual([]);
  first.write("manifest.yaml", manifest("y", "a"));
  await first.watch.close();
  expect(await first.watch.reload()).toBe(first.watch.catalog);
  expect(first.changes).toEqual([]);

  const ended = new AbortController();
  ended.abort();
  const watch = await watchCatalog(dirname(first.path("x")), () => expect.unreachable(), ended.signal);
  expect(watch.catalog.servers).toHaveLength(1);
});

test("a delayed watch detects earlier changes when it begins, and never begins after close()", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-watch-"));
  const write = (...names: string[]): void =>
    writeFileSync(join(folder, "manifest.yaml"), manifest("x", ...names));
  write("a");
  let told: (change: CatalogChange) => void = () => {};
  const next = (): Promise<CatalogChange> => new Promise((done) => (told = done));
  const options = { watchAfterMs: 50, debounceMs: 1 };
  await using watch = await watchCatalog(folder, (change) => told(change), undefined, options);
  const first = next();
  write("a", "b");
  expect(await first).toMatchObject({ added: ["b"] });
  const second = next();
  write("a");
  expect(await second).toMatchObject({ removed: ["b"] });

  const closed = await watchCatalog(folder, () => expect.unreachable(), undefined, options);
  await closed.close();
  write("c");
  expect((await watch.reload()).servers.map(({ alias }) => alias)).toEqual(["c"]);
});

test("a missing folder is detected when it is created", async () => {
  const folder = join(mkdtempSync(join(tmpdir(), "portolan-watch-none-")), "later");
  let told: (change: CatalogChange) => void = () => {};
  const change = new Promise<CatalogChange>((done) => (told = done));
  await using watch = await watchCatalog(folder, (found) => found.added.length > 0 && told(found));
  expect(watch.catalog.diagnostics).toMatchObject([{ code: "FILE_FAILED" }]);
  mkdirSync(folder);
  writeFileSync(join(folder, "manifest.yaml"), manifest("x", "a"));
  expect(await change).toMatchObject({ added: ["a"] });
});

test("a changed tool of an mcpfile changes its server, and a broken one changes nothing", async () => {
  const mcpfile = (command: string): string =>
    `kind: MCPToolDefinitions\nschemaVersion: 0.2.0\nname: a\nversion: 1.0.0\ntools: [{name: t, description: d, invocation: {cli: {command: ${command}}}}]\n`;
  const { watch, next, write } = await watched({ "mcpfile.yaml": mcpfile("date") });
  expect(watch.catalog.servers).toMatchObject([{ alias: "a", endpoint: { transport: "invoke" } }]);
  write("mcpfile.yaml", mcpfile("uname"));
  expect(await next()).toMatchObject({ added: [], removed: [], changed: ["a"] });
  write("mcpfile.yaml", mcpfile("'ls | wc'"));
  expect(await next()).toMatchObject({ added: [], removed: [], changed: [] });
  expect(watch.catalog.servers).toMatchObject([
    { endpoint: { server: { tools: [{ invocation: { words: [{ parts: [{ text: "uname" }] }] } }] } } },
  ]);
});

test("the mcpserver.yaml beside an mcpfile is watched, also before it exists", async () => {
  const text = `kind: MCPToolDefinitions\nschemaVersion: "0.2.0"\nname: a\nversion: "1.0.0"\n`;
  const { watch, next, write, path } = await watched({ "mcpfile.yaml": text });
  expect(watch.catalog.servers).toHaveLength(1);
  const settings = (more: string): string =>
    `kind: MCPServerConfig\nschemaVersion: "0.2.0"\nruntime: {transportProtocol: streamablehttp${more}}\n`;

  write("mcpserver.yaml", settings(", clientTlsConfig: {caCertFiles: [ca.pem]}"));
  expect(await next()).toMatchObject({ changed: ["a"] });
  expect(watch.catalog.servers).toMatchObject([
    { endpoint: { server: { clientTls: { caCertFiles: [path("ca.pem")] } } } },
  ]);

  write("mcpserver.yaml", settings(", clientTlsConfig: {caCertFile: x}"));
  const broken = await next();
  expect(broken).toMatchObject({ changed: [] });
  expect(broken.catalog.diagnostics).toMatchObject([
    { severity: "error", file: path("mcpserver.yaml") },
    { severity: "warning" },
  ]);

  rmSync(path("mcpserver.yaml"));
  expect(await next()).toMatchObject({ changed: ["a"] });
});

test("an internal error during a read is reported, and the last valid servers stay", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-watch-"));
  const write = (text: string): void => writeFileSync(join(folder, ".mcp.json"), text);
  write('{"mcpServers": {}}');
  let faulty = false;
  const server = {
    alias: "a",
    origin: { file: ".mcp.json", line: 1, column: 1, format: "claude-code" },
    endpoint: { transport: "stdio", command: "x" },
    enabled: true,
  } as const;
  const changes: CatalogChange[] = [];
  const watch = await watchCatalog(folder, (change) => void changes.push(change), undefined, {
    parseClientFile: () => {
      if (faulty) throw new TypeError("list?.flatMap is not a function");
      return { servers: [server], diagnostics: [], client: "claude-code" };
    },
  });
  try {
    expect(watch.catalog.servers.map(({ alias }) => alias)).toEqual(["a"]);
    faulty = true;
    write('{"mcpServers": {} }');
    const { servers, diagnostics } = await watch.reload();
    expect(servers.map(({ alias }) => alias)).toEqual(["a"]);
    expect(diagnostics).toMatchObject([
      { code: "INTERNAL", severity: "error", message: expect.stringContaining("flatMap") as string },
      {
        severity: "warning",
        message: expect.stringContaining("keeps using its last valid content") as string,
      },
    ]);
    faulty = false;
    expect((await watch.reload()).diagnostics).toEqual([]);
  } finally {
    await watch.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a listener that throws ends neither the watch nor the program", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-watch-"));
  const write = (text: string): void => writeFileSync(join(folder, "manifest.yaml"), text);
  write(manifest("x", "a"));
  const heard: string[][] = [];
  const watch = await watchCatalog(folder, ({ catalog, added }) => {
    heard.push(catalog.diagnostics.map(({ message }) => message));
    if (added.length > 0) throw new Error("the listener failed");
  });
  try {
    write(manifest("x", "a", "b"));
    await watch.reload();
    expect(heard.at(-1)).toEqual([expect.stringContaining("the listener failed")]);
    write(manifest("x", "a"));
    expect((await watch.reload()).servers.map(({ alias }) => alias)).toEqual(["a"]);
    expect(watch.catalog.diagnostics).toEqual([]);
  } finally {
    await watch.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a server that a tool rule still names can be removed", async () => {
  const text = (servers: string): string => `servers:
  a: { command: x }
${servers}gateway:
  callers:
    - { name: bob, token: "\${BOB}", deny: { tools: [b.write] } }
`;
  const { next, write } = await watched({ "portolan.yaml": text("  b: { command: x }\n") });
  write("portolan.yaml", text(""));
  const change = await next();
  expect(change).toMatchObject({ removed: ["b"] });
  expect(change.catalog.diagnostics).toMatchObject([{ severity: "warning" }]);
});

test("a change whose rules name a server that does not exist is not used at all", async () => {
  const text = (denied: string, command: string): string => `servers:
  a: { command: ${command} }
  b: { command: x }
gateway:
  callers:
    - { name: bob, token: "\${BOB}", deny: { servers: [${denied}] } }
`;
  const { watch, next, write } = await watched({ "portolan.yaml": text("b", "x") });
  const before = watch.catalog;
  write("portolan.yaml", text("misspelt", "y"));
  const refused = await next();
  expect(refused).toMatchObject({ added: [], changed: [], removed: [], settingsChanged: false });
  expect(refused.catalog.settings.gateway).toEqual(before.settings.gateway);
  expect(refused.catalog.diagnostics.map(({ message }) => message)).toEqual([
    'there is no server "misspelt"',
    "the settings name a server that does not exist, so Portolan keeps using the previous config",
  ]);
  write("portolan.yaml", text("a", "y"));
  const corrected = await next();
  expect(corrected).toMatchObject({ changed: ["a"], settingsChanged: true });
  expect(corrected.catalog.diagnostics).toEqual([]);
});

test("an error of the watch is reported until reload() begins a new watch", async () => {
  const add = vi.spyOn(FSWatcher.prototype, "add");
  onTestFinished(() => add.mockRestore());
  const { watch, changes, next, write } = await watched({ "manifest.yaml": manifest("x", "a") });
  const watcher = add.mock.contexts.at(-1) as FSWatcher;
  watcher.emit("error", new Error("too many watched files"));
  expect((await next()).catalog.diagnostics).toMatchObject([
    {
      severity: "warning",
      message: "Portolan may miss changes to config files: too many watched files",
      hint: "After you change a config file, run portolan reload, or restart your program.",
    },
  ]);
  expect((await watch.reload()).diagnostics).toEqual([]);
  expect(add.mock.contexts.at(-1)).not.toBe(watcher);
  changes.length = 0;
  write("manifest.yaml", manifest("x", "a", "b"));
  expect(await next()).toMatchObject({ added: ["b"] });
});
