// Publishing: the document of a package becomes a version file and an entry of the index.

import { compareVersions, parseVersion } from "../../base/text/versions.ts";
import { integrityOf, parseIntegrity, toSri } from "../../base/text/integrity.ts";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import { type PackageMetadata, parsePackage } from "../../formats/package/index.ts";
import type { IndexPackage, IndexVersion, RegistryIndex } from "../catalog/types.ts";
import { tagsAfterPublish } from "../catalog/versions.ts";

const MAX_KEYWORDS = 50;
const MAX_PACKAGES = 200_000;
const MAX_VERSIONS = 5_000;

export interface PreparedVersion {
  readonly metadata: PackageMetadata;
  /** Content of the version file. */
  readonly bytes: Buffer;
  readonly integrity: string;
  /** Warnings of the document. */
  readonly diagnostics: readonly Diagnostic[];
  readonly publishedAt: string;
}

/** Checks the document by the strict rules. The registry sets the dates and drops counts. Throws with all errors. */
export function prepareVersion(
  text: string,
  file: string,
  now: Date,
  permissions: readonly string[],
): PreparedVersion {
  const { draft, diagnostics } = parsePackage(text, file, {
    mode: "strict",
    setLater: ["publishedAt"],
    permissions,
    now,
  });
  const publishedAt = now.toISOString();
  const { downloads: _downloads, stars: _stars, ...kept } = draft.metadata ?? {};
  const value = { ...draft, metadata: { ...kept, publishedAt, updatedAt: publishedAt } };
  const bytes = Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`);
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const { metadata, diagnostics: own } =
    errors.length > 0
      ? { metadata: undefined, diagnostics: errors }
      : parsePackage(bytes.toString("utf8"), file, { mode: "strict", permissions, now });
  if (metadata === undefined) throw invalidPackage(errors.length > 0 ? diagnostics : own);
  return { metadata, bytes, integrity: toSri(integrityOf(bytes)), diagnostics, publishedAt };
}

function invalidPackage(diagnostics: readonly Diagnostic[]): PortolanError {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const lines = errors.map(
    ({ file = "", line = 1, column = 1, message }) => `${file}:${line}:${column} ${message}`,
  );
  return new PortolanError(
    "FILE_INVALID",
    lines.length === 1
      ? (lines[0] as string)
      : `The package has ${lines.length} errors:\n- ${lines.join("\n- ")}`,
    {
      hint: errors.length === 1 ? errors[0]?.hint : "Correct the lines of the file that the message names.",
      data: { status: 422, diagnostics },
    },
  );
}

/** The hashes of all files that a package names, as SRI. */
export function declaredHashes({ source }: PackageMetadata): string[] {
  const written = [source.hash, ...Object.values(source.platforms ?? {}).map(({ hash }) => hash)];
  const parsed = written.flatMap((hash) => (hash === undefined ? [] : (parseIntegrity(hash) ?? [])));
  return [...new Set(parsed.map(toSri))];
}

/** The index with the version added. Throws if the version was published before, also if it was deleted since. */
export function addVersion(
  { packages }: Pick<RegistryIndex, "packages">,
  { metadata, integrity, publishedAt }: PreparedVersion,
  { tag, files }: { readonly tag: string | undefined; readonly files: readonly string[] },
): RegistryIndex["packages"] {
  const { name, version } = metadata;
  const before = Object.hasOwn(packages, name) ? packages[name] : undefined;
  const parsed = parseVersion(version);
  const same = Object.keys(before?.versions ?? {}).find((other) => {
    const known = parseVersion(other);
    // Versions that differ only in their build metadata have no order, so no range could choose between them.
    return known !== undefined && parsed !== undefined && compareVersions(known, parsed) === 0;
  });
  if (same !== undefined) {
    const isGone = before?.versions[same]?.status === "deleted";
    throw new PortolanError(
      "INPUT_INVALID",
      `${name}@${same} was published before${isGone ? " and unpublished" : ""}.`,
      {
        hint: `${same === version ? "A version never changes." : `Build metadata (+…) does not make another version: ${version} is the same version.`} Raise the version number, and publish again.`,
        data: { status: 409, name, version: same },
      },
    );
  }
  if (Object.keys(before?.versions ?? {}).length >= MAX_VERSIONS)
    throw full(`${name} already has ${MAX_VERSIONS} versions, which is the maximum.`);
  if (before === undefined && Object.keys(packages).length >= MAX_PACKAGES)
    throw full(`The registry already has ${MAX_PACKAGES} packages, which is the maximum.`);
  const entry: IndexVersion = {
    integrity,
    status: "active",
    publishedAt,
    ...(files.length === 0 ? {} : { files }),
  };
  const versions = { ...before?.versions, [version]: entry };
  const tags = tagsAfterPublish({ tags: before?.tags ?? {}, versions }, version, tag);
  // A fix of an old version does not change what the search shows.
  const facts = tags["latest"] === version || before === undefined ? toFacts(metadata) : before;
  return { ...packages, [name]: { ...facts, tags, versions } };
}

function toFacts({
  description,
  author,
  metadata,
}: PackageMetadata): Omit<IndexPackage, "tags" | "versions"> {
  return {
    description,
    keywords: (metadata.keywords ?? []).slice(0, MAX_KEYWORDS),
    author: author.name.slice(0, 200),
    ...(metadata.license === undefined ? {} : { license: metadata.license.slice(0, 200) }),
  };
}

function full(message: string): PortolanError {
  return new PortolanError("INPUT_INVALID", message, {
    hint: "Ask the operator of the registry.",
    data: { status: 409 },
  });
}
