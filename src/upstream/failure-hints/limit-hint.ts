// A server that was ended by a signal, and a limit of its box that ends servers so: told together, as what may have happened.

import { constants } from "node:os";
import type { PortolanError } from "../../errors/index.ts";
import type { LaunchPlan } from "../../launch/index.ts";
import { limitClause, type ResourceLimits } from "../../model/index.ts";

/** Runtimes that get no more memory end themselves in many ways. */
const ENDED_BY: Readonly<Partial<Record<keyof ResourceLimits, readonly NodeJS.Signals[]>>> = {
  cpuSeconds: ["SIGXCPU", "SIGKILL"],
  fileBytes: ["SIGXFSZ"],
  memoryBytes: ["SIGSEGV", "SIGABRT", "SIGTRAP", "SIGILL", "SIGBUS"],
};

export function limitHint(plan: LaunchPlan | undefined, { data }: PortolanError): string | undefined {
  if (plan === undefined || plan.sandbox.backend === "none") return undefined;
  const signal = signalOf(data);
  const { limits } = plan.sandbox.box;
  const reached = (Object.keys(ENDED_BY) as (keyof ResourceLimits)[]).find(
    (name) => signal !== undefined && limits[name] !== undefined && ENDED_BY[name]?.includes(signal) === true,
  );
  if (reached === undefined) return undefined;
  return `It may have reached ${limitClause(reached, limits[reached])} of its sandbox: raise it there, if it needs more.`;
}

/** What stands around a server in its box passes a signal on as an exit code. */
function signalOf({ signal, exitCode }: PortolanError["data"]): NodeJS.Signals | undefined {
  if (typeof signal === "string") return signal as NodeJS.Signals;
  const number = typeof exitCode === "number" ? exitCode - 128 : 0;
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return found?.[0] as NodeJS.Signals | undefined;
}
