// Rules that the optional runtime enforces for real, and the names of those that it cannot; needs the package, see
// below.

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { without } from "../../../test/helpers/needs.ts";
import type { SandboxPolicy, Mount } from "../types.ts";
import { createSrt } from "./backend.ts";

const cache = fileURLToPath(new URL("../../../.cache/srt/", import.meta.url));
const from = pathToFileURL(join(cache, "here.js")).href;
const nowhere = pathToFileURL(join(tmpdir(), "here.js")).href;
const backend = createSrt({ from });
const report = await backend.probe();
// Of the package, bubblewrap, socat and ripgrep at least one is missing.
const missing = report.available ? [] : [`srt: ${report.findings.at(-1)?.detail} (npm run interop)`];

const read = (path: string): Mount => ({ path, access: "read", reason: "system" });
const SYSTEM = ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/ssl"];

function policy(mounts: Mount[], more: Partial<SandboxPolicy> = {}): SandboxPolicy {
  return {
    mounts: [...SYSTEM.filter((path) => existsSync(path)).map(read), ...mounts],
    home: "/home/user",
    network: [],
    exec: { allow: undefined, spawn: true },
    limits: {},
    configuredLimits: new Set(),
    ...more,
  };
}

test("without the package, srt reports how to install it and enforces nothing", async () => {
  const backend = createSrt({ from: nowhere, shared: async () => undefined });
  expect(await backend.probe()).toMatchObject({ available: false });
  expect(await backend.missing(policy([]))).toMatchObject([
    {
      rule: "sandbox",
      problem: "@anthropic-ai/sandbox-runtime: it is not installed",
      remedy: "npm install -g @anthropic-ai/sandbox-runtime",
    },
  ]);
  await expect(
    backend.wrap({ file: "/bin/true", args: [], cwd: "/", env: {} }, policy([]), context),
  ).rejects.toThrow("not installed");
});

test("srt is loaded from the global installation, and never from the workspace", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-srt-")));
  const [prefix, workspace] = [join(folder, "prefix"), join(folder, "workspace")];
  const runtime = (modules: string, version: string): void => {
    const place = join(modules, "@anthropic-ai/sandbox-runtime");
    mkdirSync(join(place, "dist"), { recursive: true });
    writeFileSync(join(place, "package.json"), JSON.stringify({ type: "module", version }));
    writeFileSync(
      join(place, "dist/index.js"),
      "export const SandboxManager = { isSupportedPlatform: () => false };",
    );
  };
  const before = process.cwd();
  try {
    runtime(join(prefix, "lib/node_modules"), "9.9.1");
    runtime(join(workspace, "node_modules"), "9.9.2");
    writeFileSync(join(workspace, ".npmrc"), `prefix=${join(folder, "other-prefix")}\n`);
    runtime(join(folder, "other-prefix/lib/node_modules"), "9.9.3");
    vi.stubEnv("NPM_CONFIG_PREFIX", prefix);
    process.chdir(workspace);
    expect(await createSrt({ from: nowhere }).probe()).toMatchObject({
      version: "9.9.1",
      findings: [{ what: "platform" }],
    });
  } finally {
    process.chdir(before);
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true, force: true });
  }
});

const context = {
  server: "sandboxed",
  report: () => {},
  onDenied: () => {},
  warnedImages: new Set<string>(),
};

describe("srt", without(missing), () => {
  let folder = "";

  beforeAll(() => {
    folder = mkdtempSync(join(realpathSync(tmpdir()), "portolan-srt-test-"));
    for (const name of ["granted", "granted/hidden", "written", "other"]) mkdirSync(join(folder, name));
    for (const name of ["granted/a", "granted/hidden/b", "other/c"]) writeFileSync(join(folder, name), name);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("reports every rule that it cannot enforce", async () => {
    const asked = policy([read("/data/[a]")], {
      network: ["api.example.com", "*"],
      exec: { allow: ["/usr/bin/git"], spawn: false },
      limits: { memoryBytes: 1, processes: 2 },
      configuredLimits: new Set(["memoryBytes"]),
    });
    expect((await backend.missing(asked)).map(({ rule }) => rule)).toEqual([
      ...["network: api.example.com", "network: *", "exec.allow: /usr/bin/git", "exec.spawn: false"],
      ...["limits.memory: 1", "fs: /data/[a]"],
    ]);
    expect(await backend.missing(policy([]))).toEqual([]);
  });

  test("contains only granted paths, and only paths with a write grant can be written", async () => {
    const script = `
      const fs = require("node:fs");
      const tries = (what) => { try { return what() ?? "done"; } catch (e) { return e.code; } };
      const at = (name) => ${JSON.stringify(`${folder}/`)} + name;
      require("node:net").connect(${JSON.stringify({ host: "169.254.169.254", port: 80 })}).on("error", (e) => console.log(JSON.stringify([
        tries(() => fs.readFileSync(at("granted/a"), "utf8")),
        tries(() => fs.readFileSync(at("granted/hidden/b"), "utf8")),
        tries(() => fs.readFileSync(at("other/c"), "utf8")),
        tries(() => fs.writeFileSync(at("granted/new"), "x")),
        tries(() => fs.writeFileSync(at("written/new"), "x")),
        tries(() => fs.writeFileSync(process.env.HOME + "/x", "x")),
        tries(() => fs.writeFileSync(process.env.TMPDIR + "/y", "y")),
        tries(() => fs.readFileSync("/etc/passwd", "utf8")),
        process.env.GIVEN, process.env.LD_LIBRARY_PATH, process.argv.slice(1), e.code,
      ])));`;
    const mounts: Mount[] = [
      read(join(folder, "granted")),
      { path: join(folder, "written"), access: "write", reason: "declared" },
      { path: join(folder, "granted/hidden"), access: "hidden", reason: "declared" },
      read(process.execPath),
    ];
    const { stdout, stderr, code } = await run(["-e", script, "--", "it's", "$(x) `y`"], policy(mounts));
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual([
      ...["granted/a", "ENOENT", "ENOENT", "EROFS", "done", "done", "done", "ENOENT"],
      ...["given", "/nowhere", ["it's", "$(x) `y`"], "ENETUNREACH"],
    ]);
    expect(readFileSync(join(folder, "written/new"), "utf8")).toBe("x");
  });

  test("keeps read-only and hidden paths inside of a writable folder unchanged and in place", async () => {
    const at = (name: string): string => join(folder, "fixed", name);
    mkdirSync(at("conf"), { recursive: true });
    mkdirSync(at("data/own"), { recursive: true });
    for (const name of ["conf/portolan.yaml", "data/token", "data/own/a"]) writeFileSync(at(name), name);
    const script = `
      const fs = require("node:fs");
      const tries = (what) => { try { return what() ?? "done"; } catch (e) { return e.code; } };
      const at = (name) => ${JSON.stringify(`${at("")}/`)} + name;
      console.log(JSON.stringify([
        tries(() => fs.writeFileSync(at("conf/portolan.yaml"), "x")),
        tries(() => fs.renameSync(at("conf"), at("other"))),
        tries(() => fs.unlinkSync(at("conf/portolan.yaml"))),
        tries(() => fs.writeFileSync(at("conf/new"), "x")),
        tries(() => fs.readFileSync(at("data/token"), "utf8")),
        tries(() => fs.readFileSync(at("data/own/a"), "utf8")),
      ]));`;
    const mounts: Mount[] = [
      { path: join(folder, "fixed"), access: "write", reason: "declared" },
      { path: at("data"), access: "hidden", reason: "portolan" },
      { path: at("conf/portolan.yaml"), access: "read", reason: "config file" },
      { path: at("data/own"), access: "read", reason: "own" },
      read(process.execPath),
    ];
    const { stdout, stderr } = await run(["-e", script], policy(mounts));
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual(["EROFS", "EBUSY", "EBUSY", "done", "ENOENT", "data/own/a"]);
  });

  test("ends when the process that started it is killed", async () => {
    const program = {
      file: process.execPath,
      args: ["-e", "console.log('up'); setInterval(() => {}, 1000)"],
    };
    const spawnable = await backend.wrap(
      { ...program, cwd: "/", env: { PATH: "/usr/bin:/bin" } },
      policy([read(process.execPath)]),
      context,
    );
    const starter = `require("node:child_process").spawn(process.argv[1], process.argv.slice(2), { stdio: "inherit" })`;
    const parent = spawn(process.execPath, ["-e", starter, "--", spawnable.file, ...spawnable.args], {
      env: spawnable.env,
      cwd: spawnable.cwd,
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(parent.stdout, "data");
    parent.kill("SIGKILL");
    // Every process in the sandbox has this pipe open.
    await once(parent, "close");
    spawnable.ended();
  });

  async function run(
    args: string[],
    within: SandboxPolicy,
  ): Promise<{ stdout: string; stderr: string; code: number | null }> {
    const program = {
      file: process.execPath,
      args,
      cwd: "/",
      env: { PATH: "/usr/bin:/bin", GIVEN: "given", LD_LIBRARY_PATH: "/nowhere" },
    };
    const spawnable = await backend.wrap(program, within, context);
    const child = spawn(spawnable.file, spawnable.args, { env: spawnable.env, cwd: spawnable.cwd ?? "/" });
    // Outside of the sandbox, the variable would affect the loader of the sandbox program itself.
    expect(spawnable.env).not.toHaveProperty("LD_LIBRARY_PATH");
    spawnable.spawned();
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (data: Buffer) => (stdout += data.toString()));
    child.stderr.on("data", (data: Buffer) => (stderr += data.toString()));
    const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
    spawnable.ended();
    return { stdout, stderr, code };
  }
});
