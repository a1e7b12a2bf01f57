// Findings about programs and the kernel of this machine that concern every backend of Linux.

import { type Finding, type Guarantee, GUARANTEES } from "../types.ts";
import { installCommand, type ReadSystem } from "./explain.ts";
import { processLimitProblem } from "./limits.ts";

export function prlimitFinding(prlimit: string | undefined, readSystem: ReadSystem): Finding {
  return {
    what: "prlimit",
    ok: prlimit !== undefined,
    detail: prlimit ?? "not installed: no limits on memory, files and time",
    remedy: prlimit === undefined ? installCommand("util-linux", readSystem) : undefined,
  };
}

export function processLimitFinding(): Finding {
  const problem = processLimitProblem();
  const what = "limit on processes";
  if (problem === undefined) return { what, ok: true };
  return { what, ok: false, detail: problem.problem, remedy: problem.remedy };
}

/** The guarantees that need a filter of system calls. */
export const OF_THE_FILTER: readonly Guarantee[] = [
  ...(["system call filter", "exec.spawn: false", "exec.spawn: false, with granted hosts"] as const),
];

/** The guarantees of a backend of Linux, without those that it lacks on this machine. */
export function guarantees(prlimit: string | undefined, lacks: readonly Guarantee[]): Guarantee[] {
  return GUARANTEES.filter((name) => {
    if (name === "limits on memory, files and time") return prlimit !== undefined;
    if (name === "limit on processes") return prlimit !== undefined && processLimitProblem() === undefined;
    return !lacks.includes(name);
  });
}
