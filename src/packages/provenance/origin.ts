// The check of a package's origin: all signatures that its source has, the signer that the lock file remembers, and the repository
// that its metadata names.

import { isObject } from "../../model/index.ts";
import { isSameRepository } from "./build-identity.ts";
import type { McpbSignatureCheck } from "./mcpb-signature.ts";
import { checkNpmAttestations } from "./npm-attestations.ts";
import { checkNpmSignatures, type NpmSubject } from "./npm-signature.ts";
import { compareWithRemembered, type OriginCheck, type Proof, type RememberedProofs } from "./proof.ts";
import type { Trust } from "./trust.ts";

export interface NpmOrigin extends NpmSubject {
  readonly kind: "npm";
  /** `dist` of the version, as the registry describes it. */
  readonly dist: unknown;
  /** `time[version]`, as the registry describes it. */
  readonly publishedAt?: string;
  /**
   * Gets a JSON document by its path from the npm registry that is configured. Undefined means that there is none (404).
   * It throws if the registry cannot be reached: that must not look like an unsigned package.
   */
  readonly fetchJson: (path: string) => Promise<unknown>;
}

export type OriginSource =
  | NpmOrigin
  | { readonly kind: "mcpb"; readonly signature: McpbSignatureCheck }
  /** The registry did not say what it has. */
  | { readonly kind: "unknown"; readonly reason: string; readonly hint?: string }
  /** Files without any kind of signature: of GitHub, of a gist, or a program. */
  | { readonly kind: "plain" };

export interface OriginOptions {
  readonly trust: Trust;
  /** The proofs of the lock file, for a package that was installed before. */
  readonly remembered?: RememberedProofs;
  /** The repository that the package's metadata names. Provenance of another one is refused. */
  readonly repository?: string;
  readonly now?: Date;
}

/** Checks where a package comes from. Only `fetchJson` can make it throw. */
export async function checkOrigin(source: OriginSource, options: OriginOptions): Promise<OriginCheck> {
  const check = await checkSource(source, options);
  return compareWithRemembered(compareWithRepository(check, options.repository), options.remembered);
}

async function checkSource(source: OriginSource, options: OriginOptions): Promise<OriginCheck> {
  switch (source.kind) {
    case "npm":
      return checkNpm(source, options);
    case "mcpb":
      return toOrigin(source.signature);
    case "unknown":
      return { state: "unchecked", reason: source.reason, hint: source.hint };
    case "plain":
      return { state: "unsigned" };
  }
}

function toOrigin(check: McpbSignatureCheck): OriginCheck {
  switch (check.state) {
    case "unsigned":
      return { state: "unsigned" };
    case "verified": {
      const { signer, fingerprint } = check;
      return { state: "verified", proofs: [{ kind: "mcpb-signature", signer, details: { fingerprint } }] };
    }
    case "untrusted":
      return {
        state: "untrusted",
        signer: `${check.signer} (sha256:${check.fingerprint})`,
        reason: check.reason,
      };
    case "invalid":
      return { state: "invalid", problem: "forged", reason: check.reason };
  }
}

async function checkNpm(source: NpmOrigin, { trust, now = new Date() }: OriginOptions): Promise<OriginCheck> {
  const { dist, publishedAt, fetchJson } = source;
  const { signatures, attestations } = isObject(dist) ? dist : {};
  const signed = checkNpmSignatures(signatures, source, {
    keys: trust.npmKeys,
    publishedAt: publishedAt === undefined ? now : new Date(publishedAt),
  });
  if (signed.state === "invalid") return { state: "invalid", problem: "forged", reason: signed.reason };
  const proofs: Proof[] =
    signed.state === "verified"
      ? [{ kind: "npm-signature", signer: trust.npmSigner, details: { key: signed.keyId } }]
      : [];
  const path = attestationsPath(attestations);
  const answer = path === undefined ? undefined : await fetchJson(path);
  if (answer !== undefined) {
    const checked = await checkNpmAttestations(answer, source, trust);
    if (checked.state === "invalid") return { state: "invalid", problem: "forged", reason: checked.reason };
    for (const proof of checked.proofs)
      if (!proofs.some(({ kind, signer }) => kind === proof.kind && signer === proof.signer))
        proofs.push(proof);
  }
  if (proofs.length > 0) return { state: "verified", proofs };
  if (path !== undefined && answer === undefined)
    return {
      state: "unchecked",
      reason: "the registry lists attestations of the package, but does not return them",
    };
  return signed.state === "unknown-key"
    ? { state: "untrusted", signer: `key ${signed.keyId}`, reason: "the key is not among the trusted ones" }
    : { state: "unsigned" };
}

/** Only the path of the URL is used: a registry cannot send us to another host. */
export function attestationsPath(attestations: unknown): string | undefined {
  const { url } = isObject(attestations) ? attestations : {};
  if (typeof url !== "string" || url.length > 2_000 || !URL.canParse(url)) return undefined;
  const { pathname, protocol } = new URL(url);
  // Two slashes at the beginning would name a host again.
  return /^https?:$/.test(protocol) && /^\/(?!\/)/.test(pathname) ? pathname : undefined;
}

function compareWithRepository(check: OriginCheck, repository: string | undefined): OriginCheck {
  if (check.state !== "verified" || repository === undefined) return check;
  const other = check.proofs.find(
    ({ kind, details }) =>
      kind === "npm-provenance" && !isSameRepository(repository, details?.["repository"] ?? ""),
  );
  return other === undefined
    ? check
    : {
        state: "invalid",
        problem: "wrong-repository",
        reason: `the package was built from ${other.signer}, but its metadata names ${repository}`,
      };
}
