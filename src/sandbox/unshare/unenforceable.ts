// Rules of a policy that `unshare` cannot enforce on this machine.

import { installCommand, readLine } from "../linux/explain.ts";
import { missingRules } from "../linux/rules.ts";
import type { RuleProblem, SandboxPolicy } from "../types.ts";
import type { UnshareProbe } from "./probe.ts";

export function missing(policy: SandboxPolicy, found: UnshareProbe): RuleProblem[] {
  const { report, programs, hasFilter } = found;
  if (!report.available) {
    const reason = report.findings.find(({ ok, remedy }) => !ok && remedy !== undefined);
    return [
      {
        rule: "sandbox",
        problem: reason?.detail ?? "unshare cannot be used here",
        remedy: reason?.remedy ?? "portolan doctor",
      },
    ];
  }
  const problems: RuleProblem[] = [];
  const remedy = installCommand("bubblewrap", readLine);
  const { network, exec } = policy;
  if (exec.allow !== undefined)
    problems.push({
      rule: `exec.allow: ${exec.allow.join(", ") || "[]"}`,
      problem:
        "without bubblewrap, the server can also run the programs that create its sandbox: sh, perl and others",
      remedy,
    });
  if (!exec.spawn && (!hasFilter || network.length > 0))
    problems.push({
      rule: "exec.spawn: false",
      problem: hasFilter
        ? "without bubblewrap, Portolan cannot forbid processes to a server that can reach hosts"
        : "system calls cannot be filtered without bubblewrap or Perl",
      remedy,
    });
  if (network.length > 0 && programs?.ip === undefined)
    problems.push({
      rule: `network: ${network.join(", ")}`,
      problem: "the program ip, which brings up the network of a sandbox, is not installed",
      remedy: installCommand("iproute2", readLine),
    });
  return [...problems, ...missingRules(policy, found, "unshare")];
}

/** Parts of the default profile that are not enforced. They do not stop the start. */
export function unenforcedDefaults({ hasFilter, programs }: UnshareProbe): RuleProblem[] {
  const problems: RuleProblem[] = [];
  const remedy = installCommand("bubblewrap", readLine);
  if (!hasFilter)
    problems.push({
      rule: "system call filter",
      problem: "system calls cannot be filtered without bubblewrap or Perl",
      remedy,
    });
  if (programs?.hostname === undefined)
    problems.push({
      rule: "host name",
      problem: "hostname is not installed, so that the server sees the name of this machine",
      remedy: installCommand("hostname", readLine),
    });
  return problems;
}
