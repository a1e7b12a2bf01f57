// Probes what bubblewrap can do on this machine by running it, and finds the command that fixes what it cannot.

import { runProgram } from "../../process/index.ts";
import { findAddressTools } from "../egress/address-tools.ts";
import { findProgram } from "../policy/system-paths.ts";
import type { BackendReport, Finding } from "../types.ts";
import { explainNamespaces, installCommand, readLine, type ReadSystem } from "../linux/explain.ts";
import { guarantees, OF_THE_FILTER, prlimitFinding, processLimitFinding } from "../linux/findings.ts";
import { knowsArchitecture } from "../linux/seccomp.ts";

export interface BubblewrapProbe {
  readonly report: BackendReport;
  readonly bwrap: string;
  /** The arguments that create its namespaces. Root may have to do without a user namespace. */
  readonly namespaces: readonly string[];
  /** Whether it supports `--size`; since version 0.7. */
  readonly canSize: boolean;
  readonly prlimit: string | undefined;
  readonly nice: string | undefined;
}

const ALL = ["--unshare-all"];
const WITHOUT_USER = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"];
const TIMEOUT_MS = 10_000;

/** Results of the probe of bubblewrap, by its path. They are kept because a probe starts several processes. */
const probes = new Map<string, Promise<BubblewrapProbe>>();

const FORGOTTEN_AFTER_MS = 1_000;

/**
 * Probes once per process and program: the machine is the same for every workspace. A failure is forgotten soon,
 * because the user may install what is missing meanwhile.
 */
export function probeBubblewrap(bwrap?: string): Promise<BubblewrapProbe> {
  const key = bwrap ?? "";
  let answer = probes.get(key);
  if (answer === undefined) {
    answer = runProbe(bwrap);
    probes.set(key, answer);
    const forget = (): boolean => probes.delete(key);
    void answer.then(({ report, prlimit }) => {
      // Looking for the program is cheap, running it is not.
      if (!report.available && report.version === undefined) forget();
      else if (!report.available || prlimit === undefined) setTimeout(forget, FORGOTTEN_AFTER_MS).unref();
    });
  }
  return answer;
}

export async function runProbe(given?: string, readSystem: ReadSystem = readLine): Promise<BubblewrapProbe> {
  const path = process.env.PATH;
  const [bwrap, prlimit, nice] = await Promise.all([
    process.platform === "linux" ? findProgram(given ?? "bwrap", path) : undefined,
    findProgram("prlimit", path),
    findProgram("nice", path),
  ]);
  const tools: Finding[] = [
    prlimitFinding(prlimit, readSystem),
    realAddresses(readSystem),
    processLimitFinding(),
    {
      what: "system call filter",
      ok: knowsArchitecture(),
      detail: knowsArchitecture() ? process.arch : `none for ${process.arch}`,
    },
  ];
  const rest = { bwrap: bwrap ?? "bwrap", prlimit, nice };
  const enforces = guarantees(prlimit, knowsArchitecture() ? [] : OF_THE_FILTER);
  if (bwrap === undefined) {
    const finding = notInstalled(readSystem);
    return {
      ...rest,
      namespaces: ALL,
      canSize: false,
      report: { available: false, enforces, findings: [finding, ...tools] },
    };
  }
  const [version, tried] = await Promise.all([versionOf(bwrap), tryNamespaces(bwrap)]);
  const installed: Finding = { what: "bubblewrap", ok: true, detail: version };
  const namespaces: Finding =
    tried.problem === undefined
      ? {
          what: "namespaces",
          ok: true,
          detail: tried.namespaces === ALL ? "all" : "all but the user namespace",
        }
      : { what: "namespaces", ok: false, ...explain(tried.problem, bwrap, readSystem) };
  const report = { available: namespaces.ok, version, enforces, findings: [installed, namespaces, ...tools] };
  const [major = 0, minor = 0] = version?.split(".").map(Number) ?? [];
  return { ...rest, namespaces: tried.namespaces, canSize: major > 0 || minor >= 7, report };
}

/**
 * Without these tools, the name of a host resolves to a loopback address inside of the sandbox, where the relay
 * listens.
 */
function realAddresses(readSystem: ReadSystem): Finding {
  const what = "real addresses of granted hosts";
  const tools = findAddressTools();
  if (tools?.setup !== undefined) return { what, ok: true, detail: tools.mounts.join(", ") };
  const missing = tools === undefined ? "setpriv" : "ip";
  return {
    what,
    ok: false,
    detail: `${missing} is not installed, so granted hosts have loopback addresses in a sandbox; servers that refuse such addresses cannot reach their hosts`,
    remedy: installCommand(missing === "ip" ? "iproute2" : "util-linux", readSystem),
  };
}

function notInstalled(readSystem: ReadSystem): Finding {
  if (process.platform !== "linux") {
    return { what: "bubblewrap", ok: false, detail: "bubblewrap runs on Linux only" };
  }
  const remedy = installCommand("bubblewrap", readSystem);
  return { what: "bubblewrap", ok: false, detail: "bubblewrap is not installed", remedy };
}

interface Tried {
  readonly namespaces: readonly string[];
  /** The error output of bubblewrap. */
  readonly problem?: string;
}

async function tryNamespaces(bwrap: string): Promise<Tried> {
  const problem = await tryOnce(bwrap, ALL);
  if (problem === undefined) return { namespaces: ALL };
  // Root in a container may lack the right to map users, and does not need it.
  const isRoot = process.getuid?.() === 0;
  if (isRoot && (await tryOnce(bwrap, WITHOUT_USER)) === undefined) return { namespaces: WITHOUT_USER };
  return { namespaces: ALL, problem };
}

/** Starts bubblewrap itself inside of a sandbox like that of a server, because it is known to exist. */
async function tryOnce(bwrap: string, namespaces: readonly string[]): Promise<string | undefined> {
  const walls = ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "probe"];
  // Without a /tmp of its own, because bubblewrap itself may be in /tmp.
  const mounts = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/dev/shm"];
  const words = [...namespaces, ...walls, ...mounts, "--", bwrap, "--version"];
  const { failed, stderr } = await run(bwrap, words);
  return failed ? stderr.trim() || "it ended without an error message" : undefined;
}

async function versionOf(bwrap: string): Promise<string | undefined> {
  const { stdout } = await run(bwrap, ["--version"]);
  return /\d+(?:\.\d+)+/.exec(stdout)?.[0];
}

interface Ran {
  readonly failed: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(file: string, args: readonly string[]): Promise<Ran> {
  const program = { file, args, cwd: undefined, env: { PATH: process.env.PATH ?? "" } };
  try {
    const { code, stdout, stderr } = await runProgram(program, { timeoutMs: TIMEOUT_MS });
    return { failed: code !== 0, stdout, stderr };
  } catch (error) {
    return { failed: true, stdout: "", stderr: (error as Error).message };
  }
}

/** Derives the cause and the fix from bubblewrap's output and the kernel's settings. */
export function explain(
  said: string,
  bwrap: string,
  readSystem: ReadSystem,
): ReturnType<typeof explainNamespaces> {
  const test = `${bwrap} --unshare-all --ro-bind / / --proc /proc --dev /dev true`;
  return explainNamespaces(said, { name: "bubblewrap", file: bwrap, profile: "bwrap", test }, readSystem);
}
