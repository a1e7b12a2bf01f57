// Installations by real processes: some are killed, some run at the same time, some run out of disk or
// descriptors.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "vite";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Registry, startRegistry } from "../../../test/fixtures/npm-registry.mjs";
import { installed, installNpm, listInstalled } from "./package.ts";
import { needs } from "../../../test/helpers/needs.ts";

let folder: string;
let registry: Registry;
let env: Record<string, string>;
let count = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "portolan-install-"));
  // Node 20 does not read TypeScript, and dist/ may be older than the sources.
  await build({
    configFile: false,
    logLevel: "silent",
    root: fileURLToPath(new URL(".", import.meta.url)),
    build: {
      ssr: fileURLToPath(new URL("package.ts", import.meta.url)),
      outDir: join(folder, "built"),
      emptyOutDir: true,
      target: "node20",
      rolldownOptions: { output: { entryFileNames: "npm.mjs" } },
    },
  });
  await symlink(
    fileURLToPath(new URL("../../../node_modules", import.meta.url)),
    join(folder, "node_modules"),
  );
  registry = await startRegistry();
  const files = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [`lib/file-${index}.js`, `// ${index}\n`.repeat(400)]),
  );
  registry.publish({ name: "part", version: "1.0.0", files });
  registry.publish({
    name: "server",
    version: "1.0.0",
    bin: "server.js",
    dependencies: { part: "1" },
    files: { ...files, "server.js": "#!/usr/bin/env node\n" },
  });
  env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    npm_config_registry: registry.url,
    npm_config_cache: join(folder, "cache"),
    npm_config_fetch_retries: "0",
  };
});
afterAll(async () => {
  await registry.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
});

/** `body` has `install(root, more)`; what it prints can be read from stdout. */
async function start(body: string, wrap: readonly string[] = []): Promise<ChildProcess> {
  count += 1;
  const script = join(folder, "built", `script-${count}.mjs`);
  await writeFile(
    script,
    `import { installNpm } from ${JSON.stringify(pathToFileURL(join(folder, "built", "npm.mjs")).href)};
     const install = (root, more) => installNpm({ spec: "server@1", root, ...more });
     const die = async () => { process.kill(process.pid, "SIGKILL"); await new Promise(() => {}); };
     ${body}`,
  );
  const [file, ...args] = [...wrap, process.execPath, script];
  return spawn(file, args, { stdio: ["ignore", "pipe", "inherit"], env });
}

/** An npm that outlived its killed installer may still write into the old cache. */
async function useFreshCache(): Promise<void> {
  env = { ...env, npm_config_cache: await mkdtemp(join(folder, "cache-")) };
}

async function output(child: ChildProcess): Promise<string> {
  let text = "";
  child.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await once(child, "close");
  return text;
}

/** The package is complete, and the store has no other files. */
async function expectWhole(root: string): Promise<void> {
  const found = await installed({ spec: "server@1", root });
  expect(found?.version).toBe("1.0.0");
  const modules = join(found?.folder ?? "", "node_modules");
  expect(await readdir(join(modules, "server", "lib"))).toHaveLength(40);
  expect(await readdir(join(modules, "part", "lib"))).toHaveLength(40);
  expect(await readdir(join(root, "npm", "work"))).toEqual([]);
  expect(await readdir(join(root, "npm", "entries"))).toHaveLength(1);
}

test.each(["begun", "made", "marked", "placed"])(
  "an installer that is killed when it has %s leaves nothing broken",
  async (point) => {
    const root = join(folder, `killed-${point}`);
    const child = await start(
      `await install(${JSON.stringify(root)}, { pause: async (at) => at === "${point}" && (await die()) });`,
    );
    expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
    expect(await installed({ spec: "server@1", root })).toBeUndefined();
    await installNpm({ spec: "server@1", root, env });
    await expectWhole(root);
  },
);

test("an installer that is killed at several moments while npm works leaves nothing broken", async () => {
  const root = join(folder, "killed-npm");
  for (const pattern of [/server$/, /part$/, /server.*tgz/, /part.*tgz/]) {
    await useFreshCache();
    const held = registry.hold(pattern);
    const child = await start(`await install(${JSON.stringify(root)});`);
    await held.seen;
    child.kill("SIGKILL");
    await once(child, "exit");
    held.release();
    expect(await installed({ spec: "server@1", root })).toBeUndefined();
    expect(await listInstalled(root)).toEqual([]);
  }
  // The npm of a killed installer may run a little longer; nothing uses what it writes.
  await installNpm({ spec: "server@1", root, env });
  expect((await installed({ spec: "server@1", root }))?.version).toBe("1.0.0");
});

test.skipIf(process.platform !== "linux")(
  "npm ends with its killed installer, and the next installation removes the leftovers of both",
  async () => {
    const root = join(folder, "killed-leash");
    const atWork = async (): Promise<string[]> => {
      const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
      const places = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => "")));
      return places.filter((place) => place.startsWith(root));
    };
    await useFreshCache();
    const held = registry.hold(/server$/);
    const child = await start(`await install(${JSON.stringify(root)});`);
    await held.seen;
    expect(await atWork()).toHaveLength(1);
    child.kill("SIGKILL");
    await once(child, "exit");
    await vi.waitFor(async () => expect(await atWork()).toEqual([]), { timeout: 10_000 });
    held.release();
    expect((await readdir(join(root, "npm", "work"))).length).toBeGreaterThan(0);
    await installNpm({ spec: "server@1", root, env });
    await expectWhole(root);
  },
);

test("an installer that is killed at any moment leaves nothing broken", async () => {
  const root = join(folder, "killed-any");
  for (let round = 0; round < 6; round += 1) {
    const child = await start(
      `console.log("go"); for (;;) await install(${JSON.stringify(root)}, { update: true });`,
    );
    const ended = once(child, "exit");
    await once(child.stdout as NonNullable<typeof child.stdout>, "data");
    await new Promise((resolve) => setTimeout(resolve, 100 + round * 130));
    child.kill("SIGKILL");
    await ended;
    // The package is either complete or missing.
    const found = await installed({ spec: "server@1", root });
    if (found === undefined) expect(await listInstalled(root)).toEqual([]);
    else expect(await readdir(join(found.folder, "node_modules", "part", "lib"))).toHaveLength(40);
  }
  await installNpm({ spec: "server@1", root, env, update: true });
  const found = await installed({ spec: "server@1", root });
  expect(await readdir(join(found?.folder ?? "", "node_modules", "server", "lib"))).toHaveLength(40);
});

test("an installation removes leftovers of other packages, but no files of a running installation", async () => {
  const root = join(folder, "leftovers");
  const dead = await start(`await install(${JSON.stringify(root)}, { pause: die });`);
  await once(dead, "exit");
  const busy = await start(
    `await installNpm({ spec: "server@1.0.0", root: ${JSON.stringify(root)},
       pause: async (at) => at === "begun" && (console.log("busy"), await new Promise((resolve) => setTimeout(resolve, 60_000))) });`,
  );
  await once(busy.stdout as NonNullable<typeof busy.stdout>, "data");
  await installNpm({ spec: "part@1", root, env }).catch(() => {});
  const left = await readdir(join(root, "npm", "work"));
  expect(left.filter((name) => !name.includes("lock"))).toHaveLength(1);
  busy.kill("SIGKILL");
  await once(busy, "exit");
});

test("simultaneous installations download each package once", async () => {
  const root = join(folder, "two");
  await useFreshCache();
  const before = registry.requests.filter((path) => path.endsWith(".tgz")).length;
  const body = `const { folder } = await install(${JSON.stringify(root)}); console.log(folder);`;
  const children = await Promise.all([start(body), start(body), start(body)]);
  const said = await Promise.all(children.map(output));
  expect(new Set(said).size).toBe(1);
  expect(registry.requests.filter((path) => path.endsWith(".tgz")).length - before).toBe(2);
  await expectWhole(root);
});

test("a full disk is reported as ENOSPC, and leaves no files", needs("bubblewrap"), async () => {
  const root = join(folder, "full");
  await mkdir(root);
  for (const size of [32_768, 262_144, 524_288, 1_048_576]) {
    const wrap = [
      "bwrap",
      "--bind",
      "/",
      "/",
      "--dev-bind",
      "/dev",
      "/dev",
      "--size",
      `${size}`,
      "--tmpfs",
      root,
    ];
    const child = await start(
      `import { readdirSync } from "node:fs";
       const root = ${JSON.stringify(root)};
       try { await install(root); console.log("installed"); }
       catch (error) {
         const left = ["work", "entries", "specs"].map((name) => { try { return readdirSync(root + "/npm/" + name).length; } catch { return 0; } });
         console.log(error.code, error.data?.reason, left.join());
       }`,
      wrap,
    );
    expect(await output(child), `${size} bytes`).toMatch(/^INSTALL_FAILED ENOSPC 0,0,0\n$/);
  }
});

test(
  "without free file descriptors it reports INSTALL_FAILED, and works again afterwards",
  needs("prlimit"),
  async () => {
    const root = join(folder, "descriptors");
    const child = await start(
      `import { openSync, closeSync } from "node:fs";
     const open = [];
     try { for (;;) open.push(openSync("/dev/null")); } catch {}
     const root = ${JSON.stringify(root)};
     try { await install(root); } catch (error) { open.splice(0, 40).forEach(closeSync); console.log(error.code); }
     open.forEach(closeSync);
     console.log((await install(root)).version);`,
      ["prlimit", "--nofile=128"],
    );
    expect(await output(child)).toMatch(/^INSTALL_FAILED\n1\.0\.0\n$/);
    expect(existsSync(join(root, "npm", "entries"))).toBe(true);
  },
);
