// Sandbox backend for Linux: runs each server in its own namespaces with bubblewrap, which needs no privileges.

import { closeSync } from "node:fs";
import { limitRule, type ResourceLimits } from "../../model/index.ts";
import { childrenOf, stateOf, type Program, type Spawnable, type Spawned } from "../../process/index.ts";
import type { SandboxPolicy, RuleProblem, EnforcedPolicy, SandboxBackend, WrapContext } from "../types.ts";
import { SANDBOX_HOSTNAME, bubblewrapArguments } from "./arguments.ts";
import { openData, openSecretData } from "./data-files.ts";
import { LIMITS_OF_PRLIMIT, limitWords, processLimitProblem, settableLimit } from "./limits.ts";
import { nestedSandbox } from "./nested.ts";
import { probeBubblewrap, type BubblewrapProbe } from "./probe.ts";
import { seccompProgram } from "./seccomp.ts";

type OpenEgress = typeof import("../egress/egress.ts").openEgress;
type Egress = Awaited<ReturnType<OpenEgress>>;
type NameListener = import("../egress/name-listener.ts").NameListener;

export interface BubblewrapOptions {
  /** Default: bwrap on the PATH. */
  readonly bwrap?: string;
  readonly openEgress?: OpenEgress;
}

/** Variables that could make bubblewrap itself, outside of the sandbox, load other code. */
const OF_THE_LOADER =
  /^(?:LD_.*|MALLOC_.*|GLIBC_TUNABLES|GCONV_PATH|GETCONF_DIR|HOSTALIASES|LOCALDOMAIN|LOCPATH|NIS_PATH|NLSPATH|RESOLV_HOST_CONF|RES_OPTIONS|TZDIR)$/;

const MAX_DECLARED = 1_000;

export function createBubblewrap(options: BubblewrapOptions = {}): SandboxBackend {
  const probe = (): Promise<BubblewrapProbe> => probeBubblewrap(options.bwrap);
  return {
    name: "bubblewrap",
    probe: async () => (await probe()).report,
    missing: async (policy) => {
      const found = probe();
      // Loads the name listener while the probe runs, because most sandboxes need it.
      if (policy.network.length === 0) loadNameListener().catch(() => {});
      return missing(policy, await found);
    },
    enforced: async (policy) => enforcedPolicy(policy, await probe()),
    wrap: async (program, policy, context) =>
      wrap(program, policy, context, await probe(), options.openEgress),
  };
}

async function wrap(
  program: Program,
  policy: SandboxPolicy,
  context: WrapContext,
  found: BubblewrapProbe,
  open: OpenEgress | undefined,
): Promise<Spawnable> {
  const fds: number[] = [];
  const data = (fd: number): number => fds.push(fd) + 2;
  const close = (): void => {
    for (const fd of fds.splice(0)) closeSync(fd);
  };
  const egress = policy.network.length === 0 ? undefined : await openProxy(policy, context, open);
  const names = egress === undefined ? await openListener(context) : undefined;
  try {
    // The relay must start the server, but the server must not start processes. That takes two filters, and so two
    // nested sandboxes.
    const nested = egress === undefined || policy.exec.spawn ? undefined : await nestedSandbox(policy, found);
    const limited = withLimits(program, policy, found);
    const started = nested?.command(limited) ?? limited;
    const inner = egress?.command(started, data(openSecretData(egress.settings))) ?? started;
    const { env, aside } = withoutLoader({ ...inner.env, HOME: policy.home, TMPDIR: "/tmp" });
    const words = await bubblewrapArguments({
      policy,
      namespaces: found.namespaces,
      uid: nested?.uid,
      nests: nested !== undefined,
      canSize: found.canSize,
      extra: {
        mounts: [found.prlimit ?? [], egress?.mounts ?? [], nested?.mounts ?? []].flat(),
        // Its /etc/hosts contains the machine's name; the sandbox has another one.
        files: [...(egress?.files ?? []), ...(nested?.files ?? [])].filter(
          ({ path }) => path !== "/etc/hosts",
        ),
        caps: egress?.caps ?? [],
        names: names?.socket,
      },
      data: (content) => data(openData(content)),
    });
    if (egress !== undefined) words.push("--ro-bind", egress.socket.outside, egress.socket.inside);
    // /dev is in memory as well, and has no size limit.
    words.push("--remount-ro", "/dev");
    const filter = seccompProgram(nested === undefined ? policy.exec : { spawn: true, nests: true });
    if (filter !== undefined) words.push("--seccomp", String(data(openData(filter))));
    // Every user can read the list of processes, so that values of variables are passed in a descriptor.
    if (aside !== undefined) words.push("--args", String(data(openSecretData(aside))));
    const niceness = policy.limits.niceness ?? 0;
    const nice = niceness > 0 && found.nice !== undefined ? [found.nice, "-n", String(niceness)] : [];
    const [file = "", ...args] = [...nice, found.bwrap, ...words, "--", inner.file, ...inner.args];
    const inside = egress === undefined ? "server" : nested === undefined ? "relay" : "relay and sandbox";
    const spawned = (): void => {
      close();
      names?.spawned();
    };
    return {
      ...{ file, args, env, cwd: "/", fds: [...fds], spawned, ended: () => (egress ?? names)?.close() },
      terminate: (child) => terminateServer(child, inside),
    };
  } catch (error) {
    close();
    (egress ?? names)?.close();
    throw error;
  }
}

async function openProxy(
  policy: SandboxPolicy,
  context: WrapContext,
  open: OpenEgress | undefined,
): Promise<Egress> {
  const openEgress = open ?? (await import("../egress/egress.ts")).openEgress;
  return openEgress({
    server: context.server,
    rules: policy.network,
    onDenied: context.onDenied,
  });
}

const loadNameListener = (): Promise<typeof import("../egress/name-listener.ts")> =>
  import("../egress/name-listener.ts");

/** Without granted hosts there is no relay, but look-ups are still reported. */
async function openListener({ server, onDenied }: WrapContext): Promise<NameListener | undefined> {
  const { openNameListener } = await loadNameListener();
  return openNameListener({ server, onDenied, hostname: SANDBOX_HOSTNAME });
}

/** The limits apply to the server, not to the relay that starts it. */
function withLimits(program: Program, policy: SandboxPolicy, { prlimit }: BubblewrapProbe): Program {
  if (prlimit === undefined) return program;
  const [file = "", ...words] = limitWords(prlimit, policy.limits, processLimitProblem() === undefined);
  return { ...program, file, args: [...words, "--", program.file, ...program.args] };
}

function withoutLoader(all: Readonly<Record<string, string>>): {
  readonly env: Record<string, string>;
  /** Arguments that set these variables inside of the sandbox. */
  readonly aside: string | undefined;
} {
  const isAside = ([name]: [string, string]): boolean => OF_THE_LOADER.test(name);
  const entries = Object.entries(all);
  const aside = entries.filter((entry) => isAside(entry)).flatMap((entry) => ["--setenv", ...entry]);
  return {
    env: Object.fromEntries(entries.filter((entry) => !isAside(entry))),
    aside: aside.length === 0 ? undefined : aside.map((word) => `${word}\0`).join(""),
  };
}

function missing(policy: SandboxPolicy, found: BubblewrapProbe): RuleProblem[] {
  const { report } = found;
  if (!report.available) {
    const reason = report.findings.find(({ ok, remedy }) => !ok && remedy !== undefined);
    return [
      {
        rule: "sandbox",
        problem: reason?.detail ?? "bubblewrap cannot be used here",
        remedy: reason?.remedy ?? "portolan doctor",
      },
    ];
  }
  const problems: RuleProblem[] = [];
  if (seccompProgram({ spawn: true }) === undefined) {
    problems.push({
      rule: policy.exec.spawn ? "sandbox" : "exec.spawn: false",
      problem: `system calls cannot be filtered on ${process.arch}`,
      remedy: "Use a machine with an x64 or arm64 processor.",
    });
  }
  return [
    ...problems,
    ...tooManyPaths(policy),
    ...[...policy.configuredLimits].flatMap((name) => missingLimit(name, policy, found)),
  ];
}

/** bubblewrap accepts 9000 arguments and scans all mounts for each new one: 2000 mounts take half a minute. */
function tooManyPaths({ mounts }: SandboxPolicy): RuleProblem[] {
  const declared = mounts.filter(({ reason }) => reason === "declared").length;
  if (declared <= MAX_DECLARED) return [];
  return [
    {
      rule: `fs: ${declared} paths`,
      problem: `bubblewrap is not given more than ${MAX_DECLARED}`,
      remedy: "Name the folders that contain them.",
    },
  ];
}

/** Leaves out the limits that cannot be set on this machine. */
function enforcedPolicy(policy: SandboxPolicy, found: BubblewrapProbe): EnforcedPolicy {
  const limits: Partial<Record<keyof ResourceLimits, number>> = {};
  const unenforcedDefaults: RuleProblem[] = [];
  for (const [key, wanted] of Object.entries(policy.limits) as [keyof ResourceLimits, number | undefined][]) {
    const problems = missingLimit(key, policy, found);
    if (problems.length > 0) unenforcedDefaults.push(...(policy.configuredLimits.has(key) ? [] : problems));
    else if (wanted !== undefined) limits[key] = settableLimit(key, wanted);
  }
  return { policy: { ...policy, limits }, unenforcedDefaults };
}

function missingLimit(
  name: keyof ResourceLimits,
  policy: SandboxPolicy,
  { prlimit, nice }: BubblewrapProbe,
): RuleProblem[] {
  const rule = limitRule(name, policy.limits[name]);
  const install = { rule, remedy: "sudo apt-get install util-linux coreutils" };
  if (name === "niceness") return nice === undefined ? [{ ...install, problem: "there is no nice" }] : [];
  if (LIMITS_OF_PRLIMIT.includes(name) && prlimit === undefined) {
    return [{ ...install, problem: "there is no prlimit" }];
  }
  const counting = name === "processes" ? processLimitProblem() : undefined;
  return counting === undefined ? [] : [{ rule, ...counting }];
}

/** The program that bubblewrap starts: the server, the relay that starts it, or the relay that starts it in a nested sandbox. */
type StartedInside = "server" | "relay" | "relay and sandbox";

/**
 * Sends SIGTERM to the server inside of the sandbox. A signal to bubblewrap itself would kill the sandbox at once,
 * and nothing inside forwards signals. Signals the server's process group. False if the server has not started
 * yet, or has ended.
 */
export function terminateServer({ pid, exitCode, signalCode }: Spawned, inside: StartedInside): boolean {
  // Until its exit is reported, the process id is not reused, and all its descendants belong to the sandbox.
  const isOurs = exitCode === null && signalCode === null;
  const first = pid === undefined || !isOurs ? undefined : firstInside(pid);
  if (first === undefined) return false;
  if (inside === "server") return terminateGroup(first, first);
  const [relay] = childrenOf(first);
  if (relay === undefined) return false;
  if (inside === "relay") return terminateGroup(first, relay);
  const nested = childrenOf(relay)
    .map((pid) => firstInside(pid))
    .find((pid) => pid !== undefined);
  return nested !== undefined && terminateGroup(nested, nested);
}

/** The first process leads a session of its own once the sandbox is ready. */
function firstInside(bwrap: number): number | undefined {
  return childrenOf(bwrap).find((pid) => stateOf(pid)?.group === pid);
}

/** The kernel does not deliver the signal to the first process of a pid namespace, which leads the group. */
function terminateGroup(group: number, starter: number): boolean {
  for (const pid of childrenOf(starter)) {
    const own = stateOf(pid)?.group ?? group;
    // The server has left the group that it was started in.
    if (own !== group) terminate(own === pid ? -pid : pid);
  }
  return terminate(-group);
}

function terminate(pid: number): boolean {
  try {
    return process.kill(pid, "SIGTERM");
  } catch {
    return false;
  }
}
