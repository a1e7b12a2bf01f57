// `portolan doctor`: probes each sandbox backend of this machine, and starts a test program in the default sandbox
// that tries to break out.

import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { toPortolanError } from "../errors/index.ts";
import { checkStore } from "../install/index.ts";
import type { SandboxBackendName } from "../model/index.ts";
import { runProgram } from "../process/index.ts";
import {
  backendNamed,
  type BackendReport,
  type Finding,
  loadDocker,
  usualBackends,
} from "../sandbox/index.ts";
import { type LaunchRequest, prepare, type Prepared } from "./prepare.ts";

export interface Diagnosis {
  readonly backends: readonly DiagnosedBackend[];
  /** Empty when no backend is available. */
  readonly selfTest: readonly Finding[];
  readonly store: readonly Finding[];
}

export interface DiagnosedBackend {
  readonly name: SandboxBackendName;
  /** Servers need an optional backend only if their config names it. */
  readonly optional: boolean;
  /** Whether local programs run in it if their config names no backend. */
  readonly chosen: boolean;
  readonly report: BackendReport;
}

const TEST_MS = 15_000;
const DEATH_MS = 1_000;
const STARTS = "the test program starts in the default sandbox";

export async function diagnose(): Promise<Diagnosis> {
  const usual = usualBackends();
  const others = (["srt"] as const).filter((name) => !usual.includes(name));
  const [own, docker, further] = await Promise.all([
    Promise.all(usual.map((name) => probed(name))),
    loadDocker().then(({ probeEngine }) => probeEngine("docker")),
    Promise.all(others.map((name) => probed(name))),
  ]);
  const chosen = own.find(({ report }) => report.available)?.name;
  const backends: DiagnosedBackend[] = [
    ...own.map((backend) => ({ ...backend, optional: false, chosen: backend.name === chosen })),
    { name: "docker", optional: true, chosen: false, report: docker },
    ...further.map((backend) => ({ ...backend, optional: true, chosen: false })),
  ];
  const tested = chosen === undefined ? [] : await selfTest();
  return { backends, selfTest: tested, store: await checkStore() };
}

async function probed(
  name: Parameters<typeof backendNamed>[0],
): Promise<Pick<DiagnosedBackend, "name" | "report">> {
  return { name, report: await (await backendNamed(name)).probe() };
}

async function selfTest(): Promise<Finding[]> {
  const folder = await mkdtemp(join(tmpdir(), "portolan-doctor-"));
  const trap = createServer((socket) => socket.on("error", () => {}).end());
  try {
    const outside = join(folder, "outside");
    await writeFile(outside, "outside");
    trap.listen(0, "127.0.0.1");
    await once(trap, "listening");
    return [...(await tryToGetOut(outside, trap)), await diesWithUs()];
  } catch (error) {
    const { message, hint } = toPortolanError(error, {});
    return [{ what: STARTS, ok: false, detail: message, remedy: hint }];
  } finally {
    trap.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** A host name that exists nowhere. */
const LOOKED_UP = "portolan-doctor.invalid";

/** Runs inside of the sandbox and prints, for each attempt, whether the sandbox stopped it. */
const ATTEMPTS = `
const { openSync, readdirSync, readFileSync, readlinkSync, writeFileSync } = require("node:fs");
const { connect } = require("node:net");
const { lookup } = require("node:dns");
const [outside, port, pid] = process.argv.slice(1);
const fails = (attempt) => { try { attempt(); return false; } catch { return true; } };
const results = {
  home: !fails(() => writeFileSync(process.env.HOME + "/probe", "x")),
  files: fails(() => readFileSync(outside)) && fails(() => readFileSync("/etc/shadow")),
  system: fails(() => writeFileSync("/usr/portolan-probe", "x")),
  processes: fails(() => process.kill(Number(pid), 0)),
  settings: fails(() => openSync("/proc/sys/kernel/core_pattern", "r+")),
  descriptors: readdirSync("/proc/self/fd").every((fd) => {
    try { return !readlinkSync("/proc/self/fd/" + fd).startsWith("/") || /^\\/(dev|proc)\\//.test(readlinkSync("/proc/self/fd/" + fd)); } catch { return true; }
  }),
};
const socket = connect(Number(port), "127.0.0.1");
const done = (network) => lookup("${LOOKED_UP}", (error) => {
  console.log(JSON.stringify({ ...results, network, names: error !== null }));
  process.exit(0);
});
socket.on("connect", () => done(false)).on("error", () => done(true));
`;

const MEANINGS: Readonly<Record<string, string>> = {
  files: "the test program cannot read files outside of its sandbox",
  system: "the test program cannot write to system folders",
  settings: "the test program cannot change settings of the kernel",
  descriptors: "the test program inherits no open file of Portolan",
  network: "the test program cannot connect to ports of this machine",
  names: "the test program cannot look up host names",
  processes: "the test program cannot signal other programs",
  home: "the test program can write to a private HOME",
};

async function tryToGetOut(outside: string, trap: Server): Promise<Finding[]> {
  const { port } = trap.address() as AddressInfo;
  const words = ["-e", ATTEMPTS, outside, String(port), String(process.pid)];
  let isHeard = false;
  const { spawnable } = await inSandbox(words, (news) => {
    if (news.type === "denied" && news.host === LOOKED_UP) isHeard = true;
  });
  const { stdout, stderr } = await runProgram(spawnable, { timeoutMs: TEST_MS });
  if (stdout === "")
    return [
      {
        what: STARTS,
        ok: false,
        detail: stderr.trim() || "the test program printed nothing",
      },
    ];
  const results = JSON.parse(stdout) as Record<string, boolean>;
  const heard = isHeard
    ? "Portolan reports such lookups"
    : "Portolan cannot report such lookups on this machine";
  return Object.entries(MEANINGS).map(([name, what]) => {
    const ok = results[name] === true;
    // Next to "fail", a sentence with "cannot" does not say what the program did.
    const failed = what.includes("cannot") ? "the test program did this" : "the test showed the opposite";
    return { what, ok, detail: !ok ? failed : name === "names" ? heard : undefined };
  });
}

/** Starts the given program, and kills itself, but not the program, as soon as that prints something. */
const STARTER = `
const [file, args, count] = JSON.parse(process.argv[1]);
const fds = Array.from({ length: count }, (_, index) => index + 3);
const { stdout } = require("node:child_process").spawn(file, args, { stdio: ["ignore", "pipe", "ignore", ...fds] });
stdout.once("data", (text) => process.stdout.write(text, () => process.kill(process.pid, "SIGKILL")));
`;

async function diesWithUs(): Promise<Finding> {
  const marker = `portolan-doctor-${process.pid}-${Date.now()}`;
  const { spawnable } = await inSandbox(["-e", "console.log('up'); setInterval(() => {}, 1000)", marker]);
  const { file, args, fds } = spawnable;
  const starter = {
    file: process.execPath,
    args: ["-e", STARTER, JSON.stringify([file, args, fds.length])],
    env: { ...(process.env as Record<string, string>), ...spawnable.env },
    ...{ cwd: undefined, fds, spawned: () => spawnable.spawned() },
  };
  const { stdout } = await runProgram(starter, { timeoutMs: TEST_MS });
  const deadline = performance.now() + DEATH_MS;
  let left = await countWith(marker);
  while (left > 0 && performance.now() < deadline) {
    await sleep(20);
    left = await countWith(marker);
  }
  spawnable.ended();
  const ok = stdout !== "" && left === 0;
  const detail = stdout === "" ? "the test program did not start" : undefined;
  return { what: "the test program ends when Portolan is killed", ok, detail };
}

async function countWith(marker: string): Promise<number> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "")),
  );
  return lines.filter((line) => line.includes(marker)).length;
}

function inSandbox(args: readonly string[], onLaunch?: LaunchRequest["onLaunch"]): Promise<Prepared> {
  return prepare({
    server: "doctor",
    onLaunch,
    endpoint: { command: process.execPath, args },
    settings: { sandbox: { mode: "enforce" }, cwdImplied: true },
  });
}
