// Containers that outlive their program: the next start of an image removes them, and no other containers.

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openWorkspace, type Workspace } from "../../src/index.ts";
import { killWithEnv, pidsWithEnv } from "../fixtures/processes.mjs";
import { until } from "../helpers/connect.ts";

const ENTRY = new URL("../../dist/index.js", import.meta.url).href;
const STAND_IN = fileURLToPath(new URL("../fixtures/docker-stand-in.mjs", import.meta.url));
const DIGEST = `@sha256:${"c".repeat(64)}`;

interface Container {
  readonly id: string;
  readonly name: string;
  readonly labels: readonly string[];
  readonly pid: number;
}

function scratch(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-containers-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** An engine that records its calls, first on the PATH. Its containers end with the test. */
function withEngine(): string {
  const folder = scratch();
  writeFileSync(join(folder, "docker"), `#!/bin/sh\nexec "${process.execPath}" "${STAND_IN}" "$@"\n`);
  chmodSync(join(folder, "docker"), 0o755);
  vi.stubEnv("PATH", `${folder}:${process.env.PATH}`);
  vi.stubEnv("DOCKER_STAND_IN", folder);
  onTestFinished(async () => {
    killWithEnv("DOCKER_STAND_IN", folder);
    await until(
      () => pidsWithEnv("DOCKER_STAND_IN", folder).filter((pid) => pid !== process.pid).length === 0,
    );
    vi.unstubAllEnvs();
  });
  return folder;
}

const containers = (engine: string): Container[] =>
  readdirSync(engine)
    .filter((name) => name.startsWith("container-"))
    .map((name) => JSON.parse(readFileSync(join(engine, name), "utf8")) as Container);

const calls = (engine: string, command: string): string[][] =>
  readFileSync(join(engine, "calls.jsonl"), "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { argv: string[] }).argv)
    .filter(([first]) => first === command);

function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}/stat`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
}

/** A workspace with an image that serves HTTP, so that the end of its stdin does not end it. */
function declare(sandbox: object): string {
  const folder = scratch();
  const web = { docker: `http${DIGEST}`, transport: "http", port: 8000, sandbox };
  writeFileSync(join(folder, "portolan.yaml"), JSON.stringify({ servers: { web } }));
  return folder;
}

async function open(folder: string): Promise<Workspace> {
  const workspace = await openWorkspace(folder, { snapshots: false, onDiagnostic: () => {} });
  onTestFinished(() => workspace.close());
  await workspace.settled();
  return workspace;
}

/** The containers of a program that was killed. */
async function leaveBehind(engine: string, folder: string): Promise<Container> {
  const before = new Set(containers(engine).map(({ id }) => id));
  const script = `
    import { openWorkspace } from ${JSON.stringify(ENTRY)};
    const workspace = await openWorkspace(${JSON.stringify(folder)}, { snapshots: false, onDiagnostic() {} });
    await workspace.settled();
    console.log(workspace.health()[0].state);
    setInterval(() => {}, 1000);`;
  const program = spawn(process.execPath, ["--input-type=module", "-e", script], {
    ...{ stdio: ["ignore", "pipe", "inherit"], env: process.env },
  });
  onTestFinished(() => void program.kill("SIGKILL"));
  const [said] = (await once(program.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
  expect(said.toString()).toContain("ready");
  program.kill("SIGKILL");
  await once(program, "exit");
  const [left] = containers(engine).filter(({ id }) => !before.has(id));
  if (left === undefined) throw new Error("nothing was left behind");
  expect(isRunning(left.pid)).toBe(true);
  return left;
}

describe.skipIf(process.platform !== "linux")("after kill -9 of the program", () => {
  const warn = { mode: "warn", network: ["*"] };

  it("the next start of an image removes its containers, and no others", async () => {
    const engine = withEngine();
    const living = await open(declare(warn));
    const [own] = containers(engine);
    const orphan = await leaveBehind(engine, declare(warn));
    const label = orphan.labels.find((one) => one.startsWith("portolan.owner=")) ?? "";
    expect(label).toMatch(/^portolan\.owner=\d+\.\d+\.\d+\.[0-9a-f]{32}$/);
    // Containers of others at the same engine: of another machine, without a machine id, with another name.
    const others = [
      { name: "portolan-00000000000000aa", labels: [label.replace(/\w{32}$/, "0".repeat(32))] },
      { name: "portolan-00000000000000bb", labels: [label.replace(/\.\w{32}$/, "")] },
      { name: "somebodys-own", labels: [label] },
    ].map((one, index) => ({ ...one, id: `${index}`.repeat(64), pid: 4_194_303 }));
    for (const one of others) writeFileSync(join(engine, `container-${one.name}`), JSON.stringify(one));
    const next = await open(declare(warn));
    expect(calls(engine, "rm")).toEqual([["rm", "--force", orphan.id]]);
    await until(() => !isRunning(orphan.pid));
    const left = containers(engine).map(({ id }) => id);
    expect(left).toEqual(expect.arrayContaining([own?.id, ...others.map(({ id }) => id)]));
    for (const workspace of [living, next]) expect(workspace.health()).toMatchObject([{ state: "ready" }]);
  });

  it("the next start removes a container without a sandbox as well", async () => {
    const engine = withEngine();
    const folder = declare({ mode: "off" });
    const { id } = await leaveBehind(engine, folder);
    const started = calls(engine, "run").at(-1)?.join(" ");
    expect(started).toContain("--rm");
    expect(started).toContain("--label portolan.owner=");
    await open(declare(warn));
    expect(calls(engine, "rm")).toEqual([["rm", "--force", id]]);
  });

  it("a server starts although the engine cannot list its containers", async () => {
    const engine = withEngine();
    writeFileSync(join(engine, "ps-fails"), "");
    const workspace = await open(declare(warn));
    expect(workspace.health()).toMatchObject([{ state: "ready" }]);
    expect(calls(engine, "ps")).toHaveLength(1);
    expect(calls(engine, "rm")).toEqual([]);
  });
});
