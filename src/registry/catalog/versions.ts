// Version resolution: the version of a package that a range, an exact version, a tag or nothing stands for.

import {
  compareVersions,
  parseRange,
  parseVersion,
  satisfies,
  type Version,
} from "../../base/text/versions.ts";
import { didYouMean, PortolanError } from "../../errors/index.ts";
import type { IndexPackage, IndexVersion } from "./types.ts";

interface Candidate {
  readonly text: string;
  readonly version: Version;
  readonly entry: IndexVersion;
}

/** The versions that can be installed, the highest first. */
export function availableVersions({ versions }: Pick<IndexPackage, "versions">): string[] {
  return candidates(versions).map(({ text }) => text);
}

/** All versions in the order of their numbers, the highest first; also deleted ones. */
export function sortVersions(versions: readonly string[]): string[] {
  return versions
    .flatMap((text) => {
      const version = parseVersion(text);
      return version === undefined ? [] : [{ text, version }];
    })
    .sort((a, b) => compareVersions(b.version, a.version) || (a.text < b.text ? 1 : -1))
    .map(({ text }) => text);
}

/**
 * No text: the tag `latest`, else the highest release, else the highest prerelease. A range: the highest version in it,
 * deprecated ones last. Anything else is a tag. Returns undefined if no version matches.
 */
export function resolveVersion(
  { versions, tags }: Pick<IndexPackage, "versions" | "tags">,
  wanted = "",
): string | undefined {
  const all = candidates(versions);
  const isAvailable = (text: string | undefined): text is string =>
    text !== undefined && all.some((candidate) => candidate.text === text);
  const text = wanted.trim();
  const tagged = Object.hasOwn(tags, text === "" ? "latest" : text)
    ? tags[text === "" ? "latest" : text]
    : undefined;
  if (text === "")
    return isAvailable(tagged) ? tagged : (best(all.filter(isRelease))?.text ?? best(all)?.text);
  if (isAvailable(text)) return text;
  if (isRange(text)) {
    const range = parseRange(text);
    return range && best(all.filter(({ version }) => satisfies(version, range)))?.text;
  }
  return isAvailable(tagged) ? tagged : undefined;
}

/** Throws an error with the versions and tags that exist. */
export function requireVersion(name: string, found: IndexPackage, wanted?: string): string {
  const version = resolveVersion(found, wanted);
  if (version !== undefined) return version;
  const versions = availableVersions(found);
  const gone = wanted !== undefined && found.versions[wanted]?.status === "deleted";
  throw new PortolanError(
    "INSTALL_FAILED",
    gone
      ? `${name}@${wanted} was unpublished${messageOf(found.versions[wanted])}`
      : versions.length === 0
        ? `${name} has no version that can be installed`
        : `${name} has no version ${wanted ?? ""}`,
    {
      hint:
        didYouMean(wanted ?? "", [...Object.keys(found.tags), ...versions]) ??
        `Run portolan versions ${name} to see its versions and tags.`,
      data: { name, wanted, versions: versions.slice(0, 50), tags: found.tags },
    },
  );
}

/** A tag must not look like a version or a range, or nobody could install by it. */
export function isTagName(text: string): boolean {
  return /^[a-z][a-z0-9-]{0,49}$/.test(text) && !isRange(text);
}

/**
 * The tags after a version was published. Without a tag, a release becomes `latest` if it is higher than the present one:
 * a fix of an old line does not downgrade everybody.
 */
export function tagsAfterPublish(
  { tags, versions }: Pick<IndexPackage, "tags" | "versions">,
  published: string,
  tag?: string,
): Record<string, string> {
  if (tag !== undefined) return { ...tags, [tag]: published };
  const version = parseVersion(published);
  const current = tags["latest"] === undefined ? undefined : parseVersion(tags["latest"]);
  const isGone = tags["latest"] !== undefined && versions[tags["latest"]]?.status === "deleted";
  if (version === undefined || version.prerelease.length > 0) return { ...tags };
  if (current !== undefined && !isGone && compareVersions(version, current) < 0) return { ...tags };
  return { ...tags, latest: published };
}

/** The tags after versions were deleted: no tag leads to a deleted version, and `latest` moves to the highest release. */
export function tagsAfterDelete({
  tags,
  versions,
}: Pick<IndexPackage, "tags" | "versions">): Record<string, string> {
  const kept = Object.fromEntries(
    Object.entries(tags).filter(([, text]) => versions[text]?.status !== "deleted"),
  );
  if (kept["latest"] !== undefined) return kept;
  const next = best(candidates(versions).filter(isRelease))?.text;
  return next === undefined ? kept : { ...kept, latest: next };
}

/** As in the source format: a text that begins with a comparison or a digit is a range. `*`, `x` and `v1` are ranges too. */
function isRange(text: string): boolean {
  return /^[\^~><=*\d]/.test(text) || parseRange(text) !== undefined;
}

function candidates(versions: IndexPackage["versions"]): Candidate[] {
  return Object.entries(versions)
    .flatMap(([text, entry]) => {
      const version = entry.status === "deleted" ? undefined : parseVersion(text);
      return version === undefined ? [] : [{ text, version, entry }];
    })
    .sort((a, b) => compareVersions(b.version, a.version) || (a.text < b.text ? 1 : -1));
}

function best(sorted: readonly Candidate[]): Candidate | undefined {
  return sorted.find(({ entry }) => entry.status === "active") ?? sorted[0];
}

function isRelease({ version }: Candidate): boolean {
  return version.prerelease.length === 0;
}

function messageOf(version: IndexVersion | undefined): string {
  return version?.message === undefined ? "" : `: ${version.message}`;
}
