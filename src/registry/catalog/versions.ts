// Version resolution: the version of a package that a range, an exact version, a tag or nothing stands for.

import {
  compareVersions,
  parseRange,
  parseVersion,
  satisfies,
  type Version,
} from "../../base/text/versions.ts";
import { parseIntegrity } from "../../base/text/integrity.ts";
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
 * deprecated ones last. Otherwise a tag, or the beginning of the hash of one version. Returns undefined if no version
 * matches.
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
    const found = range && best(all.filter(({ version }) => satisfies(version, range)))?.text;
    if (found !== undefined) return found;
  }
  // A tag that was named after a hash later must not lead the pin elsewhere.
  const pinned = versionsByHash(versions, text);
  if (pinned.length > 0) return pinned.length === 1 ? pinned[0] : undefined;
  return isAvailable(tagged) ? tagged : undefined;
}

/**
 * The versions whose document or files have a hash that begins with these digits: at least four, hexadecimal. Decimal
 * digits alone are a range: the lock file has only the version, and compares it with the range at every start.
 */
function versionsByHash(versions: IndexPackage["versions"], prefix: string): string[] {
  if (!/^[0-9a-f]{4,128}$/i.test(prefix) || isDecimal(prefix)) return [];
  const digits = prefix.toLowerCase();
  const begins = (hash: string): boolean =>
    parseIntegrity(hash)?.digest.toString("hex").startsWith(digits) === true;
  return candidates(versions)
    .filter(({ entry: { integrity, files = [] } }) => [integrity, ...files].some(begins))
    .map(({ text }) => text);
}

const isDecimal = (text: string): boolean => /^\d{4,}$/.test(text);

/** Throws an error with the versions and tags that exist. */
export function requireVersion(name: string, found: IndexPackage, wanted?: string): string {
  const version = resolveVersion(found, wanted);
  if (version !== undefined) return version;
  const versions = availableVersions(found);
  const pinned = versionsByHash(found.versions, wanted?.trim() ?? "");
  if (pinned.length > 1)
    throw new PortolanError(
      "INPUT_INVALID",
      `${name}@${wanted ?? ""} is ambiguous: the hashes of several versions start with ${wanted ?? ""} (${pinned.join(", ")})`,
      {
        hint: "Write more digits of the hash, or the version.",
        data: { name, wanted, versions: pinned.slice(0, 50) },
      },
    );
  const gone = wanted !== undefined && found.versions[wanted]?.status === "deleted";
  throw new PortolanError(
    "PACKAGE_NOT_FOUND",
    gone
      ? `${name}@${wanted} was unpublished${messageOf(found.versions[wanted])}`
      : versions.length === 0
        ? `${name} has no version that can be installed`
        : `${name} has no version ${wanted ?? ""}`,
    {
      hint: isDecimal(wanted?.trim() ?? "")
        ? `Portolan reads decimal digits alone as a version. If you mean a hash, write it at least up to its first letter. To see the versions: portolan versions ${name}`
        : (didYouMean(wanted ?? "", [...Object.keys(found.tags), ...versions]) ??
          `Run portolan versions ${name} to see its versions and tags.`),
      data: { name, wanted, versions: versions.slice(0, 50), tags: found.tags },
    },
  );
}

/** A tag must not look like a version, a range or a hash, or nobody could install by it. */
export function isTagName(text: string): boolean {
  return /^[a-z][a-z0-9-]{0,49}$/.test(text) && !isRange(text) && !/^[0-9a-f]{4,}$/.test(text);
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
