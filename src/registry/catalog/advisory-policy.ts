// Policy about advisories: which of them are a warning, and which refuse a version.

import { type AdvisoryThreshold, PACKAGE_POLICY_DEFAULTS, type PackagePolicy } from "../../model/index.ts";
import type { Advisory, Severity } from "./types.ts";

const ORDER: readonly Severity[] = ["low", "medium", "high", "critical"];

export type AdvisoryAction = "refuse" | "warn" | "show";

export interface AssessedAdvisory {
  readonly advisory: Advisory;
  /** `show`: below the severity that the policy names, so it is only listed. */
  readonly action: AdvisoryAction;
}

/** By default, medium and high warn, and critical refuses. */
export function assessAdvisories(
  advisories: readonly Advisory[],
  policy: PackagePolicy["advisories"] = {},
): AssessedAdvisory[] {
  const { warn, refuse } = { ...PACKAGE_POLICY_DEFAULTS.advisories, ...definedOnly(policy) };
  return advisories.map((advisory) => ({
    advisory,
    action: reaches(advisory.severity, refuse)
      ? "refuse"
      : reaches(advisory.severity, warn)
        ? "warn"
        : "show",
  }));
}

function reaches(severity: Severity, threshold: AdvisoryThreshold): boolean {
  return threshold !== "never" && ORDER.indexOf(severity) >= ORDER.indexOf(threshold);
}

function definedOnly<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
}
