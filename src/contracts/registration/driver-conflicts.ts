// Conflicts of a driver with its earlier version and with other drivers: missing version steps, and kinds of references that are taken.

import type { Diagnostic } from "../../errors/index.ts";
import { BASE_REF_KINDS } from "../../formats/driver/index.ts";
import type { Driver } from "../../model/index.ts";
import { checkBump } from "../diff/check-version.ts";

/** How a driver is treated whose changes need a larger step of its version. */
export type Bumps = "enforce" | "warn" | "off";

/** A version number must not stand for another behaviour than before. */
export function versionConflicts(before: Driver, after: Driver, bumps: Bumps): readonly Diagnostic[] {
  if (bumps === "off") return [];
  const diagnostics = checkBump(before, after).map((one) => ({
    ...one,
    hint: `${one.hint ?? ""} Or review the changes, and accept them: portolan drivers accept ${after.id}`.trim(),
  }));
  return bumps === "enforce" ? diagnostics : diagnostics.map((one) => ({ ...one, severity: "warning" }));
}

/** A kind of reference belongs to one driver only. */
export function refKindConflicts(driver: Driver, others: readonly Driver[]): readonly Diagnostic[] {
  const diagnostics: Diagnostic[] = [];
  const own = new Set<string>();
  for (const kind of refKinds(driver)) {
    const other = others.find((one) => one.id !== driver.id && refKinds(one).includes(kind));
    const taken = BASE_REF_KINDS.has(kind)
      ? "is reserved for a built-in kind"
      : other && `belongs to the driver ${other.id}`;
    if (taken !== undefined && !own.has(kind))
      diagnostics.push({
        code: "FILE_INVALID",
        severity: "error",
        server: driver.id,
        file: driver.origin.file,
        ...driver.origin.places?.[`ref_kind:${kind}`],
        message: `${driver.id}: the ref_kind_id ${kind} ${taken}`,
        hint: `Choose another name, such as mcp_${driver.id.replace(/-mcp$/, "").replace(/[^a-z0-9]+/g, "_")}.`,
      });
    own.add(kind);
  }
  return diagnostics;
}

function refKinds({ resources }: Driver): readonly string[] {
  return resources.flatMap((one) => (one.integrateAs === "ref_kind" ? [one.refKindId] : []));
}
