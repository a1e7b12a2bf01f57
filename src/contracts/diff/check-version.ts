// Checks that the version number of a driver or contract was raised as far as its changes need.

import { parseVersion } from "../../base/text/versions.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { Contract, Driver } from "../../model/index.ts";
import { diffContracts } from "./diff-contracts.ts";
import { diffDrivers } from "./diff-drivers.ts";
import { type Step, STEPS } from "./changes.ts";

/** A breaking change under the same major version is an error; a smaller step that is missing is a warning. */
export function checkBump(before: Driver, after: Driver): readonly Diagnostic[];
export function checkBump(before: Contract, after: Contract): readonly Diagnostic[];
export function checkBump(before: Driver | Contract, after: Driver | Contract): readonly Diagnostic[] {
  const { needs, changes } =
    "implements" in before && "implements" in after
      ? diffDrivers(before, after)
      : diffContracts(before as Contract, after as Contract);
  const took = stepBetween(before.version, after.version);
  // A return to an earlier version is not checked.
  if (took === undefined || STEPS.indexOf(took) >= STEPS.indexOf(needs)) return [];
  const causes = changes
    .filter((change) => change.needs === needs)
    .map(({ what, why }) => `${what} (${why})`);
  return [
    {
      code: "FILE_INVALID",
      severity: needs === "major" ? "error" : "warning",
      server: after.id,
      file: after.origin.file,
      message: `${after.id} ${after.version}: the version is too low for the changes since ${before.version}: ${causes.join("; ")}`,
      hint: `This is a ${needs} change: raise the version to ${raised(before.version, needs)}.`,
    },
  ];
}

function stepBetween(before: string, after: string): Step | undefined {
  const [a, b] = [parseVersion(before), parseVersion(after)];
  if (a === undefined || b === undefined) return undefined;
  if (b.major !== a.major) return b.major > a.major ? "major" : undefined;
  // Before 1.0.0 a breaking change raises the second number.
  if (b.minor !== a.minor) return b.minor < a.minor ? undefined : a.major === 0 ? "major" : "minor";
  if (b.patch !== a.patch) return b.patch < a.patch ? undefined : a.major === 0 ? "minor" : "patch";
  return "none";
}

function raised(version: string, needs: Step): string {
  const { major, minor, patch } = parseVersion(version) ?? { major: 0, minor: 0, patch: 0 };
  const level = major === 0 && needs !== "patch" ? (needs === "major" ? "minor" : "patch") : needs;
  if (level === "major") return `${major + 1}.0.0`;
  return level === "minor" ? `${major}.${minor + 1}.0` : `${major}.${minor}.${patch + 1}`;
}
