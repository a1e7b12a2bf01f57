// Explains the death of a server by a signal with the sandbox limit that may have caused it.

import { constants } from "node:os";
import type { PortolanError } from "../../errors/index.ts";
import type { LaunchPlan } from "../../launch/index.ts";
import { limitRule, type ResourceLimits } from "../../model/index.ts";

/** A runtime that gets no more memory may end with any of several signals. */
const ENDED_BY: Readonly<Partial<Record<keyof ResourceLimits, readonly NodeJS.Signals[]>>> = {
  cpuSeconds: ["SIGXCPU", "SIGKILL"],
  fileBytes: ["SIGXFSZ"],
  memoryBytes: ["SIGSEGV", "SIGABRT", "SIGTRAP", "SIGILL", "SIGBUS"],
};

export function limitHint(plan: LaunchPlan | undefined, { data }: PortolanError): string | undefined {
  if (plan === undefined || plan.sandbox.backend === "none") return undefined;
  const signal = signalOf(data);
  const { limits } = plan.sandbox.policy;
  const reached = (Object.keys(ENDED_BY) as (keyof ResourceLimits)[]).find(
    (name) => signal !== undefined && limits[name] !== undefined && ENDED_BY[name]?.includes(signal) === true,
  );
  if (reached === undefined) return undefined;
  return `It may have reached ${limitRule(reached, limits[reached])} of its sandbox: raise it there, if it needs more.`;
}

/** The wrapper programs of a sandbox report a signal as an exit code. */
function signalOf({ signal, exitCode }: PortolanError["data"]): NodeJS.Signals | undefined {
  if (typeof signal === "string") return signal as NodeJS.Signals;
  const number = typeof exitCode === "number" ? exitCode - 128 : 0;
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return found?.[0] as NodeJS.Signals | undefined;
}
