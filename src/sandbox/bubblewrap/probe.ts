// Probes what bubblewrap can do on this machine by running it, and finds the command that fixes what it cannot.

import { readFileSync, existsSync } from "node:fs";
import { runProgram } from "../../process/index.ts";
import { findAddressTools } from "../egress/address-tools.ts";
import { findProgram } from "../policy/system-paths.ts";
import type { BackendReport, Finding } from "../types.ts";
import { processLimitProblem } from "./limits.ts";
import { knowsArchitecture } from "./seccomp.ts";

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

/** Package managers by the distributions that use them; apt-get is the default. */
const MANAGERS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:fedora|rhel|centos)\b/, "sudo dnf install"],
  [/\b(?:suse|opensuse\S*)\b/, "sudo zypper install"],
  [/\barch\b/, "sudo pacman -S"],
  [/\balpine\b/, "sudo apk add"],
];

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
    {
      what: "prlimit",
      ok: prlimit !== undefined,
      detail: prlimit ?? "not installed: no limits on memory, files and time",
      remedy: prlimit === undefined ? installCommand("util-linux", readSystem) : undefined,
    },
    realAddresses(readSystem),
    processes(),
    {
      what: "system call filter",
      ok: knowsArchitecture(),
      detail: knowsArchitecture() ? process.arch : `none for ${process.arch}`,
    },
  ];
  const rest = { bwrap: bwrap ?? "bwrap", prlimit, nice };
  if (bwrap === undefined) {
    const finding = notInstalled(readSystem);
    return {
      ...rest,
      namespaces: ALL,
      canSize: false,
      report: { available: false, findings: [finding, ...tools] },
    };
  }
  const [version, tried] = await Promise.all([versionOf(bwrap), tryNamespaces(bwrap)]);
  const installed: Finding = { what: "bubblewrap", ok: true, detail: version };
  const namespaces: Finding =
    tried.problem === undefined
      ? { what: "namespaces", ok: true, detail: tried.namespaces === ALL ? "all" : "all but users" }
      : { what: "namespaces", ok: false, ...explain(tried.problem, bwrap, readSystem) };
  const report = { available: namespaces.ok, version, findings: [installed, namespaces, ...tools] };
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
  const name = installCommand(missing === "ip" ? "iproute2" : "util-linux", readSystem);
  return {
    what,
    ok: false,
    detail: `${missing} is not installed: servers that refuse private addresses cannot reach their hosts`,
    remedy: name.replace("dnf install iproute2", "dnf install iproute"),
  };
}

function processes(): Finding {
  const problem = processLimitProblem();
  const what = "limit on processes";
  if (problem === undefined) return { what, ok: true };
  return { what, ok: false, detail: problem.problem, remedy: problem.remedy };
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
  return failed ? stderr.trim() || "it ended without a word" : undefined;
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

export type ReadSystem = (file: string) => string | undefined;

/** Derives the cause and the fix from bubblewrap's output and the kernel's settings. */
export function explain(
  said: string,
  bwrap: string,
  readSystem: ReadSystem,
): { readonly detail: string; readonly remedy: string } {
  if (readSystem("/proc/sys/user/max_user_namespaces") === "0") {
    return {
      detail: "this machine allows no user namespaces (user.max_user_namespaces is 0)",
      remedy: "sudo sysctl -w user.max_user_namespaces=15000",
    };
  }
  if (readSystem("/proc/sys/kernel/unprivileged_userns_clone") === "0") {
    return {
      detail: "only root may make user namespaces here (kernel.unprivileged_userns_clone is 0)",
      remedy: "sudo sysctl -w kernel.unprivileged_userns_clone=1",
    };
  }
  if (readSystem("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") === "1") {
    const profile = `abi <abi/4.0>, include <tunables/global> profile bwrap ${bwrap} flags=(unconfined) { userns, }`;
    return {
      detail: "AppArmor keeps bubblewrap from making user namespaces",
      remedy: `echo '${profile}' | sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap`,
    };
  }
  if (readSystem("/.dockerenv") !== undefined || readSystem("/run/.containerenv") !== undefined) {
    return {
      detail: `this container does not allow sandboxes inside of it (${said})`,
      remedy:
        "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined …",
    };
  }
  return { detail: said, remedy: `${bwrap} --unshare-all --ro-bind / / --proc /proc --dev /dev true` };
}

function readLine(file: string): string | undefined {
  try {
    return existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
  } catch {
    return undefined;
  }
}

/** The command that installs a package on this distribution. */
export function installCommand(name: string, readSystem: ReadSystem): string {
  const about = readSystem("/etc/os-release") ?? "";
  const ids = [...about.matchAll(/^ID(?:_LIKE)?=(.*)$/gm)].map(([, value]) => value).join(" ");
  const manager = MANAGERS.find(([pattern]) => pattern.test(ids))?.[1] ?? "sudo apt-get install";
  return `${manager} ${name}`;
}
