// What is wrong with a driver beside those that were there before it, whatever its server is: its version, and kinds of references that are taken.

import type { Diagnostic } from "../../errors/index.ts";
import { BASE_REF_KINDS } from "../../formats/driver/index.ts";
import type { Driver } from "../../model/index.ts";
import { checkBump } from "../diff/check-version.ts";

/** What becomes of a driver that takes the place of its earlier version without the version that its changes need. */
export type Bumps = "enforce" | "warn" | "off";

/** Whoever relied on the version before must not be surprised by what is under the same number now. */
export function bumpProblems(before: Driver, after: Driver, bumps: Bumps): readonly Diagnostic[] {
  if (bumps === "off") return [];
  const problems = checkBump(before, after).map((problem) => ({
    ...problem,
    hint: `${problem.hint ?? ""} Or take it as it is, after a look: portolan drivers accept ${after.id}`.trim(),
  }));
  return bumps === "enforce" ? problems : problems.map((problem) => ({ ...problem, severity: "warning" }));
}

/** A kind of reference belongs to one driver only. */
export function refKindProblems(driver: Driver, others: readonly Driver[]): readonly Diagnostic[] {
  const problems: Diagnostic[] = [];
  const own = new Set<string>();
  for (const kind of refKinds(driver)) {
    const other = others.find((one) => one.id !== driver.id && refKinds(one).includes(kind));
    const taken = BASE_REF_KINDS.has(kind)
      ? "is one of the kinds that every host has"
      : other && `is that of ${other.id}`;
    if (taken !== undefined && !own.has(kind))
      problems.push({
        code: "DECLARATION_INVALID",
        severity: "error",
        server: driver.id,
        file: driver.origin.file,
        ...driver.origin.places?.[`ref_kind:${kind}`],
        message: `${driver.id}: the ref_kind_id ${kind} ${taken}`,
        hint: `Take a name of its own, such as mcp_${driver.id.replace(/-mcp$/, "").replace(/[^a-z0-9]+/g, "_")}.`,
      });
    own.add(kind);
  }
  return problems;
}

function refKinds({ resources }: Driver): readonly string[] {
  return resources.flatMap((one) => (one.integrateAs === "ref_kind" ? [one.refKindId] : []));
}
