// Rules of a policy that depend on programs of the machine, not on the backend: limits, and the number of paths.

import { limitRule, type ResourceLimits } from "../../model/index.ts";
import type { Program } from "../../process/index.ts";
import type { EnforcedPolicy, RuleProblem, SandboxPolicy } from "../types.ts";
import { installCommand, readLine } from "./explain.ts";
import { LIMITS_OF_PRLIMIT, limitWords, processLimitProblem, settableLimit } from "./limits.ts";

const MAX_DECLARED = 1_000;

/** Paths of the programs that set limits; undefined if they are not installed. */
export interface LimitPrograms {
  readonly prlimit: string | undefined;
  readonly nice: string | undefined;
}

/** The limits apply to the server, not to the relay that starts it. */
export function withLimits(program: Program, policy: SandboxPolicy, { prlimit }: LimitPrograms): Program {
  if (prlimit === undefined) return program;
  const [file = "", ...words] = limitWords(prlimit, policy.limits, processLimitProblem() === undefined);
  return { ...program, file, args: [...words, "--", program.file, ...program.args] };
}

/** The words before the command that set its niceness. */
export function niceWords({ limits }: SandboxPolicy, { nice }: LimitPrograms): string[] {
  const niceness = limits.niceness ?? 0;
  return niceness > 0 && nice !== undefined ? [nice, "-n", String(niceness)] : [];
}

/** Limits of the config that cannot be enforced, and too many paths. */
export function missingRules(policy: SandboxPolicy, programs: LimitPrograms, backend: string): RuleProblem[] {
  return [
    ...tooManyPaths(policy, backend),
    ...[...policy.configuredLimits].flatMap((name) => missingLimit(name, policy, programs)),
  ];
}

/** bubblewrap accepts 9000 arguments and scans all mounts for each new one: 2000 mounts take half a minute. */
function tooManyPaths({ mounts }: SandboxPolicy, backend: string): RuleProblem[] {
  const declared = mounts.filter(({ reason }) => reason === "declared").length;
  if (declared <= MAX_DECLARED) return [];
  return [
    {
      rule: `fs: ${declared} paths`,
      problem: `Portolan passes at most ${MAX_DECLARED} paths to ${backend}`,
      remedy: "Grant the folders that contain these paths.",
    },
  ];
}

/** Leaves out the limits that cannot be set on this machine. */
export function enforcedLimits(policy: SandboxPolicy, programs: LimitPrograms): EnforcedPolicy {
  const limits: Partial<Record<keyof ResourceLimits, number>> = {};
  const unenforcedDefaults: RuleProblem[] = [];
  for (const [key, wanted] of Object.entries(policy.limits) as [keyof ResourceLimits, number | undefined][]) {
    const problems = missingLimit(key, policy, programs);
    if (problems.length > 0) unenforcedDefaults.push(...(policy.configuredLimits.has(key) ? [] : problems));
    else if (wanted !== undefined) limits[key] = settableLimit(key, wanted);
  }
  return { policy: { ...policy, limits }, unenforcedDefaults };
}

function missingLimit(
  name: keyof ResourceLimits,
  policy: SandboxPolicy,
  { prlimit, nice }: LimitPrograms,
): RuleProblem[] {
  const rule = limitRule(name, policy.limits[name]);
  const notInstalled = (program: string, inPackage: string): RuleProblem[] => [
    {
      rule,
      problem: `the program ${program} is not installed`,
      remedy: installCommand(inPackage, readLine),
    },
  ];
  if (name === "niceness") return nice === undefined ? notInstalled("nice", "coreutils") : [];
  if (LIMITS_OF_PRLIMIT.includes(name) && prlimit === undefined) return notInstalled("prlimit", "util-linux");
  const counting = name === "processes" ? processLimitProblem() : undefined;
  return counting === undefined ? [] : [{ rule, ...counting }];
}
