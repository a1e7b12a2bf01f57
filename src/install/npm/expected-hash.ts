// Compares an npm package with the hash and version that a lock file or a publisher names.

import { createReadStream } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { type Integrity, parseIntegrity, sameIntegrity, toSri } from "../../base/text/integrity.ts";
import { compareVersions, parseVersion } from "../../base/text/versions.ts";
import { PortolanError } from "../../errors/index.ts";
import { type PackageSpec, registryHint } from "../../model/index.ts";

/** A registry that answers with another version than the exact one, such as an older one with a known fault. */
export function refuseOtherVersion(known: PackageSpec, got: string): void {
  const { spec, range: wanted } = known;
  const [exact, found] = [parseVersion(wanted), parseVersion(got)];
  if (exact === undefined || (found !== undefined && compareVersions(exact, found) === 0)) return;
  throw new PortolanError("INSTALL_FAILED", `The npm registry returned the version ${got} for ${spec}.`, {
    hint: `Report this to the operator of the npm registry. ${registryHint(known)}`,
    data: { spec, reason: "VERSION_MISMATCH", permanent: true },
  });
}

/** npm's lock file has SHA-512 hashes. Another kind of hash needs the bytes: see `checkTarball`. */
export function refuseOtherHash(spec: string, expected: Integrity, written: string): void {
  const found = ofAlgorithm(written, expected.algorithm);
  if (found !== undefined && !sameIntegrity(found, expected)) throw mismatch(spec, expected, found);
}

/** Compares the bytes of the tarball, which npm keeps in its cache by their SHA-512. */
export async function checkTarball(
  spec: string,
  expected: Integrity,
  written: string,
  cache: string,
): Promise<void> {
  const found = ofAlgorithm(written, expected.algorithm);
  if (found !== undefined) return;
  const known = ofAlgorithm(written, "sha512");
  if (known === undefined) throw unknown(spec, expected);
  const hex = known.digest.toString("hex");
  const path = join(
    cache,
    "_cacache",
    "content-v2",
    "sha512",
    hex.slice(0, 2),
    hex.slice(2, 4),
    hex.slice(4),
  );
  const [own, check] = [createHash(expected.algorithm), createHash("sha512")];
  try {
    for await (const chunk of createReadStream(path)) {
      own.update(chunk as Buffer);
      check.update(chunk as Buffer);
    }
  } catch (error) {
    throw unknown(spec, expected, error);
  }
  if (!check.digest().equals(known.digest)) throw unknown(spec, expected);
  const got: Integrity = { algorithm: expected.algorithm, digest: own.digest() };
  if (!sameIntegrity(got, expected)) throw mismatch(spec, expected, got);
}

/** npm may write several hashes, separated by spaces. */
function ofAlgorithm(written: string, algorithm: Integrity["algorithm"]): Integrity | undefined {
  return written
    .split(/\s+/)
    .map((text) => parseIntegrity(text))
    .find((found) => found?.algorithm === algorithm);
}

function mismatch(spec: string, expected: Integrity, found: Integrity): PortolanError {
  return new PortolanError(
    "INSTALL_FAILED",
    `${spec} is not the package that was published: its hash is ${toSri(found)}, but ${toSri(expected)} was expected.`,
    {
      hint: "Do not trust the package, and report it to the operator of the registry.",
      data: { spec, reason: "HASH_MISMATCH", permanent: true },
    },
  );
}

function unknown(spec: string, expected: Integrity, cause?: unknown): PortolanError {
  return new PortolanError(
    "INSTALL_FAILED",
    `The ${expected.algorithm} hash of ${spec} cannot be computed.`,
    {
      hint: "Use the sha512 hash that npm shows: npm view <package> dist.integrity.",
      data: { spec, reason: "HASH_UNKNOWN" },
      cause,
    },
  );
}
