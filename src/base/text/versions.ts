// Versions and version ranges in the syntax of npm, by the package `semver`. It loads with the first version, not at the start.

import { createRequire } from "node:module";

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  readonly prerelease: readonly (string | number)[];
}

/** A parsed range. Only `satisfies` looks inside. */
export interface VersionRange {
  readonly range: string;
}

/** The part of `semver` that is used. */
interface Semver {
  parse(version: string): Version | null;
  compare(a: Version, b: Version): number;
  satisfies(version: string | Version, range: string | VersionRange): boolean;
  readonly Range: new (range: string) => VersionRange;
}

/** Longer texts are not ranges that a person wrote. */
const MAX_RANGE_LENGTH = 1_024;

const require = createRequire(import.meta.url);
const semver = (): Semver => require("semver") as Semver;

/** Returns undefined for a text that is not a version. */
export function parseVersion(text: string): Version | undefined {
  return semver().parse(text) ?? undefined;
}

/** Returns a negative number, 0 or a positive number, as a sort function does. */
export function compareVersions(a: Version, b: Version): number {
  return semver().compare(a, b);
}

/** Returns undefined for a text that is not a range. */
export function parseRange(text: string): VersionRange | undefined {
  if (text.length > MAX_RANGE_LENGTH) return undefined;
  try {
    return new (semver().Range)(text);
  } catch {
    return undefined;
  }
}

/** Returns false also for a text that is not a version or not a range. */
export function satisfies(version: string | Version, range: string | VersionRange): boolean {
  const parsed = typeof range === "string" ? parseRange(range) : range;
  return parsed !== undefined && semver().satisfies(version, parsed);
}
