// Sandbox backend for macOS: `sandbox-exec`, which is a part of the system, with a profile of Portolan. It has not
// been run on macOS yet; the text of the profile is tested.

import { access, mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { limitRule, type ResourceLimits } from "../../model/index.ts";
import { type Program, runProgram, type Spawnable } from "../../process/index.ts";
import type {
  BackendReport,
  EnforcedPolicy,
  Finding,
  Guarantee,
  RuleProblem,
  SandboxBackend,
  SandboxPolicy,
} from "../types.ts";
import { sandboxProfile } from "./profile.ts";

const SANDBOX_EXEC = "/usr/bin/sandbox-exec";
const SHELL = "/bin/sh";
const TEST_MS = 15_000;
const IMAGE = "Run the server from an image: docker: <image> instead of its command.";
/** Variables that macOS removes when it starts a program of its own, such as sandbox-exec. */
const INSIDE_ONLY = /^(?:LD_|DYLD_)\w+$/;

/** The options of `ulimit` and their units, for the limits that macOS enforces for one process. */
const ULIMIT: Readonly<Partial<Record<keyof ResourceLimits, readonly [option: string, unit: number]>>> = {
  openFiles: ["-n", 1],
  cpuSeconds: ["-t", 1],
  fileBytes: ["-f", 512],
};

/** Of the limits, macOS has only those of `ulimit`, and none on memory. */
const ENFORCES: readonly Guarantee[] = [
  ...(["files: only what is granted", "network: none by default", "exec.spawn: false"] as const),
];

export interface SandboxExecOptions {
  readonly platform?: NodeJS.Platform;
}

export function createSandboxExec({ platform = process.platform }: SandboxExecOptions = {}): SandboxBackend {
  let probed: Promise<BackendReport> | undefined;
  const probe = (): Promise<BackendReport> => (probed ??= tryOut(platform));
  return {
    name: "sandbox-exec",
    probe,
    missing: async (policy) => missing(policy, await probe()),
    enforced: async (policy) => enforcedPolicy(policy),
    wrap: async (program, policy) => wrap(program, policy),
  };
}

async function wrap(program: Program, policy: SandboxPolicy): Promise<Spawnable> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), "portolan-home-"));
  const ended = (): void => void rm(folder, { recursive: true, force: true });
  try {
    const temporary = join(folder, "tmp");
    await mkdir(temporary);
    const isKept = policy.mounts.some(({ path, access }) => access === "write" && path === policy.home);
    const home = isKept ? policy.home : folder;
    const all = Object.entries({ ...program.env, HOME: home, TMPDIR: temporary });
    const profile = sandboxProfile({ policy, own: [folder] });
    const script = shellScript(
      policy.limits,
      all.filter(([name]) => INSIDE_ONLY.test(name)),
    );
    const args = ["-p", profile, SHELL, "-c", script, "sh", program.file, ...program.args];
    const env = Object.fromEntries(all.filter(([name]) => !INSIDE_ONLY.test(name)));
    return { file: SANDBOX_EXEC, args, env, cwd: policy.cwd ?? home, fds: [], spawned: () => {}, ended };
  } catch (error) {
    ended();
    throw error;
  }
}

/** Sets limits and variables inside of the sandbox, and replaces itself with the command in its arguments. */
export function shellScript(limits: ResourceLimits, inside: readonly (readonly [string, string])[]): string {
  const set = (Object.keys(ULIMIT) as (keyof ResourceLimits)[]).flatMap((name) => {
    const [option, unit] = ULIMIT[name] ?? ["", 1];
    const value = limits[name];
    return value === undefined ? [] : [`ulimit ${option} ${Math.floor(value / unit)}`];
  });
  const exported = inside.map(([name, value]) => `export ${name}='${value.replaceAll("'", `'\\''`)}'`);
  const nice = (limits.niceness ?? 0) > 0 ? [`exec /usr/bin/nice -n ${limits.niceness} "$@"`] : [];
  return ["ulimit -c 0", ...set, ...exported, ...(nice.length > 0 ? nice : ['exec "$@"'])].join(" && ");
}

function missing(policy: SandboxPolicy, report: BackendReport): RuleProblem[] {
  if (!report.available) {
    const fault = report.findings.find(({ ok }) => !ok);
    return [
      {
        rule: "sandbox",
        problem: fault?.detail ?? "sandbox-exec cannot be used here",
        remedy: fault?.remedy ?? "portolan doctor",
      },
    ];
  }
  const { network, exec, configuredLimits, limits } = policy;
  const problems: RuleProblem[] = network.map((rule) => ({
    rule: `network: ${rule}`,
    problem: "sandbox-exec cannot allow single hosts, so it blocks all of them",
    remedy:
      "Remove the host from network, or run the server on Linux. A container image with the mode warn can reach all hosts.",
  }));
  if (exec.allow !== undefined)
    problems.push({
      rule: `exec.allow: ${exec.allow.join(", ")}`,
      problem: "sandbox-exec cannot distinguish the programs of macOS from its libraries",
      remedy: "Remove exec.allow, or run the server on Linux, with bubblewrap.",
    });
  for (const name of configuredLimits)
    if (!isEnforced(name)) problems.push(unenforced(limitRule(name, limits[name])));
  return problems;
}

const isEnforced = (name: keyof ResourceLimits): boolean => name === "niceness" || name in ULIMIT;

function unenforced(rule: string): RuleProblem {
  return { rule, problem: "macOS has no such limit for one server", remedy: IMAGE };
}

function enforcedPolicy(policy: SandboxPolicy): EnforcedPolicy {
  const entries = Object.entries(policy.limits) as [keyof ResourceLimits, number | undefined][];
  const others = entries.filter(([name]) => !isEnforced(name));
  return {
    policy: { ...policy, limits: Object.fromEntries(entries.filter(([name]) => isEnforced(name))) },
    unenforcedDefaults: [
      ...others.flatMap(([name, value]) =>
        policy.configuredLimits.has(name) ? [] : [unenforced(limitRule(name, value))],
      ),
      {
        rule: "process isolation",
        problem: "the server sees the list of processes, and continues to run if Portolan is killed",
        remedy: IMAGE,
      },
      { rule: "system call filter", problem: "sandbox-exec has none", remedy: IMAGE },
    ],
  };
}

async function tryOut(platform: NodeJS.Platform): Promise<BackendReport> {
  const report = (detail?: string, remedy?: string): BackendReport => {
    const finding: Finding = { what: "sandbox-exec", ok: detail === undefined, detail, remedy };
    return { available: finding.ok, enforces: ENFORCES, findings: [finding] };
  };
  if (platform !== "darwin") return report("sandbox-exec runs on macOS only");
  try {
    await access(SANDBOX_EXEC);
    const nothing = { file: "/usr/bin/true", args: [], cwd: "/", env: { PATH: "/usr/bin:/bin" } };
    const policy: SandboxPolicy = {
      ...{ mounts: [], home: "/", cwd: "/", network: [], limits: {}, configuredLimits: new Set() },
      exec: { allow: undefined, spawn: true },
    };
    const { code, stderr } = await runProgram(await wrap(nothing, policy), { timeoutMs: TEST_MS });
    if (code === 0) return report();
    return report(
      stderr.trim().slice(0, 500) || `it exited with code ${code}`,
      /not permitted/.test(stderr) ? "Start Portolan outside of another sandbox." : undefined,
    );
  } catch (error) {
    return report((error as Error).message);
  }
}
