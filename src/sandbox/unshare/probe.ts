// Probes what the programs of util-linux can do on this machine, by creating a sandbox with them.

import { runProgram } from "../../process/index.ts";
import { explainNamespaces, installCommand, readLine, type ReadSystem } from "../linux/explain.ts";
import { guarantees, OF_THE_FILTER, prlimitFinding, processLimitFinding } from "../linux/findings.ts";
import { knowsArchitecture } from "../linux/seccomp.ts";
import { systemPaths } from "../policy/system-paths.ts";
import type { BackendReport, Finding, SandboxPolicy } from "../types.ts";
import { findPrograms, type FoundPrograms, type Programs } from "./programs.ts";
import { namespaceWords } from "./script.ts";
import { wrapWith } from "./wrap.ts";

export interface UnshareProbe {
  readonly report: BackendReport;
  /** Undefined if a needed one is missing. */
  readonly programs: Programs | undefined;
  /** Whether a filter of system calls can be installed. */
  readonly hasFilter: boolean;
  readonly prlimit: string | undefined;
  readonly nice: string | undefined;
}

const TIMEOUT_MS = 10_000;
const FORGOTTEN_AFTER_MS = 1_000;

/** The result of the probe. It is kept because a probe starts several processes. */
let kept: Promise<UnshareProbe> | undefined;

/**
 * Probes once per process: the machine is the same for every workspace. A failure is forgotten soon, because the
 * user may fix it meanwhile.
 */
export function probeUnshare(): Promise<UnshareProbe> {
  if (kept === undefined) {
    const running = runUnshareProbe();
    kept = running;
    const forget = (): void => {
      if (kept === running) kept = undefined;
    };
    running.then(({ report }) => {
      if (!report.available) setTimeout(forget, FORGOTTEN_AFTER_MS).unref();
    }, forget);
  }
  return kept;
}

export interface ProbeMachine {
  readonly platform?: NodeJS.Platform;
  readonly programs?: FoundPrograms;
  readonly readSystem?: ReadSystem;
}

export async function runUnshareProbe({
  platform = process.platform,
  programs: given,
  readSystem = readLine,
}: ProbeMachine = {}): Promise<UnshareProbe> {
  const nothing = { programs: undefined, hasFilter: false, prlimit: undefined, nice: undefined };
  if (platform !== "linux") {
    const finding: Finding = { what: "util-linux", ok: false, detail: "unshare runs on Linux only" };
    return { ...nothing, report: { available: false, findings: [finding] } };
  }
  const { programs, missing, optional } = given ?? (await findPrograms(process.env.PATH));
  const { prlimit, nice } = optional;
  if (programs === undefined) {
    const finding: Finding = {
      what: "util-linux",
      ok: false,
      detail: `not installed: ${missing.join(", ")}`,
      remedy: installCommand("bubblewrap", readSystem),
    };
    return { ...nothing, prlimit, nice, report: { available: false, findings: [finding] } };
  }
  const [version, tried] = await Promise.all([versionOf(programs), tryOut(programs)]);
  const test = [...namespaceWords(programs), "true"].join(" ");
  const unshare = { name: "unshare", file: programs.unshare, profile: "portolan-unshare", test };
  const namespaces: Finding =
    tried.problem === undefined
      ? { what: "namespaces", ok: true, detail: "all" }
      : { what: "namespaces", ok: false, ...reasonOf(tried.problem, unshare, readSystem) };
  const findings: Finding[] = [
    { what: "util-linux", ok: true, detail: version },
    namespaces,
    prlimitFinding(prlimit, readSystem),
    addresses(programs, readSystem),
    processLimitFinding(),
    filter(tried.hasFilter, programs, readSystem),
  ];
  const { hasFilter } = tried;
  const enforces = guarantees(prlimit, [
    "exec.allow: only these programs",
    "exec.spawn: false, with granted hosts",
    ...(programs.ip === undefined ? (["network: only granted hosts"] as const) : []),
    ...(hasFilter ? [] : OF_THE_FILTER),
  ]);
  return {
    ...{ programs, prlimit, nice, hasFilter },
    report: { available: namespaces.ok, version, enforces, findings },
  };
}

function addresses({ ip }: Programs, readSystem: ReadSystem): Finding {
  return {
    what: "granted hosts, and local ports of a server",
    ok: ip !== undefined,
    detail: ip ?? "ip is not installed: the network of a sandbox stays down",
    remedy: ip === undefined ? installCommand("iproute2", readSystem) : undefined,
  };
}

function filter(hasFilter: boolean, { perl }: Programs, readSystem: ReadSystem): Finding {
  const what = "system call filter";
  if (hasFilter) return { what, ok: true, detail: `${process.arch}, installed by ${perl}` };
  if (!knowsArchitecture()) return { what, ok: false, detail: `none for ${process.arch}` };
  const detail = perl === undefined ? "Perl is not installed" : "the kernel refused the filter";
  return { what, ok: false, detail, remedy: installCommand("bubblewrap", readSystem) };
}

function reasonOf(
  said: string,
  unshare: Parameters<typeof explainNamespaces>[1],
  readSystem: ReadSystem,
): ReturnType<typeof explainNamespaces> {
  if (/unrecognized option|invalid option/.test(said))
    return { detail: "util-linux is older than 2.36", remedy: installCommand("bubblewrap", readSystem) };
  return explainNamespaces(said, unshare, readSystem);
}

async function versionOf({ unshare }: Programs): Promise<string | undefined> {
  const program = { file: unshare, args: ["--version"], cwd: undefined, env: {} };
  const { stdout } = await runProgram(program, { timeoutMs: TIMEOUT_MS }).catch(() => ({ stdout: "" }));
  return /\d+(?:\.\d+)+/.exec(stdout)?.[0];
}

interface Tried {
  readonly hasFilter: boolean;
  /** The error output. */
  readonly problem?: string;
}

async function tryOut(programs: Programs): Promise<Tried> {
  const canFilter = programs.perl !== undefined && knowsArchitecture();
  if (canFilter && (await tryOnce(programs, true)) === undefined) return { hasFilter: true };
  return { hasFilter: false, problem: await tryOnce(programs, false) };
}

/** Runs inside of the sandbox. A shell needs no other program for it. */
const CHECK = `while read -r name value; do case $name in NoNewPrivs: | Seccomp: | CapBnd:) echo "$name $value";; esac; done < /proc/self/status`;

/** Undefined if the sandbox works. */
async function tryOnce(programs: Programs, hasFilter: boolean): Promise<string | undefined> {
  const mounts = (await systemPaths()).map((path) => ({ path, access: "read", reason: "system" }) as const);
  const policy: SandboxPolicy = {
    ...{ mounts, home: "/tmp/home", network: [], limits: {}, configuredLimits: new Set() },
    exec: { allow: undefined, spawn: true },
  };
  const program = { file: programs.sh, args: ["-c", CHECK], cwd: undefined, env: {} };
  const context = { server: "probe", report: () => {}, onDenied: () => {}, warnedImages: new Set<string>() };
  try {
    const spawnable = await wrapWith(programs, { program, policy, context, hasFilter });
    const { code, stdout, stderr } = await runProgram(spawnable, { timeoutMs: TIMEOUT_MS });
    if (code !== 0) return stderr.trim().split("\n")[0]?.slice(0, 500) || `it exited with code ${code}`;
    const held = ["NoNewPrivs: 1", "CapBnd: 0000000000000000", ...(hasFilter ? ["Seccomp: 2"] : [])];
    const gap = held.find((line) => !stdout.split("\n").includes(line));
    return gap === undefined ? undefined : `the sandbox lacks ${gap}`;
  } catch (error) {
    return (error as Error).message;
  }
}
