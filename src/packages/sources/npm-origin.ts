// The origin of an npm package: its signatures and attestations, compared with the bytes that its hash allows.

import { createHash } from "node:crypto";
import { type Integrity, integrityOf, sameIntegrity } from "../../base/text/integrity.ts";
import { isPortolanError, PortolanError } from "../../errors/index.ts";
import { findNpmRegistry, packNpmPackage } from "../../install/index.ts";
import { parsePackageSpec } from "../../model/index.ts";
import { findNpmOrigin } from "../provenance/npm-registry.ts";
import { checkOrigin, type OriginOptions } from "../provenance/origin.ts";
import type { OriginCheck } from "../provenance/proof.ts";

export interface NpmOriginOptions extends OriginOptions {
  readonly signal?: AbortSignal;
  /** Replaces this process's own environment: the settings of npm. */
  readonly env?: NodeJS.ProcessEnv;
}

/** `spec` names an exact version. A registry that does not answer gives `unchecked`. Bytes with another hash are an error. */
export async function checkNpmOrigin(
  source: { readonly spec: string; readonly integrity: Integrity },
  options: NpmOriginOptions,
): Promise<OriginCheck> {
  const { trust, signal, env, now } = options;
  const spec = parsePackageSpec(source.spec);
  if (typeof spec === "string") throw new PortolanError("INSTALL_FAILED", `${spec}.`);
  const { name, range: version } = spec;
  try {
    const registry = await findNpmRegistry(name, { url: spec.registry, signal, env });
    const sha512 = await hashOf(`${name}@${version}`, source.integrity, {
      registry: registry.url,
      signal,
      env,
    });
    const origin = await findNpmOrigin(
      { name, version, sha512 },
      { ...registry, isNamed: spec.registry !== undefined, signal },
      trust,
      now,
    );
    return await checkOrigin(origin, options);
  } catch (error) {
    signal?.throwIfAborted();
    if (!isPortolanError(error) || error.data?.["reason"] === "HASH_MISMATCH") throw error;
    if (!["HTTP_ERROR", "INSTALL_FAILED", "PACKAGE_NOT_FOUND"].includes(error.code)) throw error;
    const { message, hint } = error;
    return checkOrigin({ kind: "unknown", reason: message.replace(/\.$/, ""), hint }, options);
  }
}

/** Only bytes with the hash of the metadata are ever installed, so that its SHA-512 needs no download. */
async function hashOf(
  spec: string,
  expected: Integrity,
  options: { readonly registry: string; readonly signal?: AbortSignal; readonly env?: NodeJS.ProcessEnv },
): Promise<Buffer> {
  if (expected.algorithm === "sha512") return expected.digest;
  const { bytes } = await packNpmPackage(spec, options);
  if (!sameIntegrity(integrityOf(bytes, expected.algorithm), expected))
    throw new PortolanError(
      "INSTALL_FAILED",
      `${spec} is not the package that was published: its hash differs.`,
      {
        hint: "Do not trust the package, and report it to the operator of the registry.",
        data: { spec, reason: "HASH_MISMATCH", permanent: true },
      },
    );
  return createHash("sha512").update(bytes).digest();
}
