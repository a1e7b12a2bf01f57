// Selects the relevant errors from the engine's flat list: leaves only, and the most likely one of several alternatives.

import type { OutputUnit } from "@cfworker/json-schema";

/** One leaf error, with the error that the engine reported before it. */
export interface Finding {
  readonly keyword: string;
  /** Pointers in the engine's form: URI-encoded, beginning with "#". */
  readonly instanceAt: string;
  readonly keywordAt: string;
  readonly text: string;
  readonly before: OutputUnit | undefined;
}

/** Limit on the number of errors. Later ones are ignored. */
const MOST_ERRORS = 300;

const WRAPPERS = new Set(
  "$ref $recursiveRef allOf anyOf if properties patternProperties additionalProperties unevaluatedProperties dependentSchemas prefixItems items additionalItems unevaluatedItems".split(
    " ",
  ),
);

export function findingsOf(errors: readonly OutputUnit[]): Finding[] {
  const seen = errors.slice(0, MOST_ERRORS);
  let findings: Finding[] = [];
  for (const [index, error] of seen.entries()) {
    const before = seen[index - 1];
    // For a `false` schema the engine reports the location of the instance. The error before it has the location of the schema.
    const keywordAt = error.keyword === "false" ? (before?.keywordLocation ?? "#") : error.keywordLocation;
    if (WRAPPERS.has(error.keyword) || (error.keyword === "oneOf" && countMatches(error) === 0)) continue;
    if (error.keyword === "dependencies" && error.error.endsWith("dependant schema.")) continue;
    findings.push({
      keyword: error.keyword,
      instanceAt: error.instanceLocation,
      keywordAt,
      text: error.error,
      before,
    });
  }
  for (const error of seen) {
    if (error.keyword === "anyOf" || (error.keyword === "oneOf" && countMatches(error) === 0)) {
      const below = new Set(findings.filter((finding) => isBelow(finding, error)));
      const kept = likeliest([...below], error);
      findings = findings.filter((finding) => !below.has(finding) || kept.has(finding));
    } else if (
      error.keyword === "oneOf" ||
      error.keyword === "propertyNames" ||
      error.keyword === "contains"
    ) {
      // The errors of subschemas of these keywords are about another value.
      findings = findings.filter((finding) => !isBelow(finding, error));
    }
  }
  return findings;
}

/**
 * Keeps the errors of the most likely alternative of an `anyOf`: first those whose type and whose
 * discriminating field (a `const` or `enum` one step down) match, then those whose type matches, else only the expected types.
 */
function likeliest(below: readonly Finding[], union: OutputUnit): Set<Finding> {
  const branches = new Map<string, Finding[]>();
  for (const finding of below) {
    const branch = finding.keywordAt.slice(union.keywordLocation.length + 1).split("/", 1)[0] ?? "";
    branches.set(branch, [...(branches.get(branch) ?? []), finding]);
  }
  const here = union.instanceLocation;
  const wrongKind = (finding: Finding): boolean => finding.keyword === "type" && finding.instanceAt === here;
  const wrongField = (finding: Finding): boolean =>
    (finding.keyword === "const" || finding.keyword === "enum") &&
    !finding.instanceAt.slice(here.length + 1).includes("/");

  const fitting = [...branches.values()].filter((branch) => !branch.some(wrongKind));
  const meant = fitting.filter((branch) => !branch.some(wrongField)).sort((a, b) => a.length - b.length)[0];
  if (meant !== undefined) return new Set(meant);
  if (fitting.length > 0) return new Set(fitting.flat().filter(wrongField));
  return new Set(below.filter(wrongKind));
}

function isBelow(finding: Finding, error: OutputUnit): boolean {
  const { instanceLocation: here, keywordLocation } = error;
  // The engine reports a property name at the location of its property.
  const inside = finding.instanceAt === here || finding.instanceAt.startsWith(`${here}/`);
  if (finding.keyword === "false" && finding.keywordAt === keywordLocation) return inside;
  return inside && finding.keywordAt.startsWith(`${keywordLocation}/`);
}

function countMatches(error: OutputUnit): number {
  return Number(/\((\d+) matches\)/.exec(error.error)?.[1] ?? 0);
}
