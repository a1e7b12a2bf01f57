// Knowledge about the origin of a package: verified proofs, an untrusted signature, none, or one that is wrong. The comparison
// with the signers in the lock file, and the policy of a workspace, are pure functions here.

import type { LockedPackage } from "../lock/schema.ts";

export type ProofKind = "npm-provenance" | "npm-signature" | "mcpb-signature";

/** A verified statement about who made or published the bytes of a package. */
export interface Proof {
  readonly kind: ProofKind;
  /** The identity that the lock file remembers: a repository, the name of a registry's keys, or a certificate. */
  readonly signer: string;
  /** Further facts for people, such as the workflow and the commit. */
  readonly details?: Readonly<Record<string, string>>;
}

export type OriginCheck =
  | { readonly state: "verified"; readonly proofs: readonly Proof[] }
  /** There is no signature. It is shown, and is an error only if a policy requires one. */
  | { readonly state: "unsigned" }
  /** The bytes are those that `signer` signed, but no trusted certificate vouches for it. It counts as unsigned. */
  | { readonly state: "untrusted"; readonly signer: string; readonly reason: string }
  /** It could not be checked, because the registry did not answer. It counts as unsigned. */
  | { readonly state: "unchecked"; readonly reason: string; readonly hint?: string }
  /**
   * A signature is forged, is of another repository than the metadata names, or is not the one that the lock file
   * remembers. The package must not be installed.
   */
  | {
      readonly state: "invalid";
      readonly reason: string;
      readonly problem: "forged" | "wrong-repository" | "signer-changed";
    };

export type RememberedProofs = NonNullable<LockedPackage["provenance"]>;

/** The part of a check that the lock file keeps. */
export function toRemembered(check: OriginCheck): RememberedProofs {
  return check.state === "verified" ? check.proofs.map(({ kind, signer }) => ({ kind, signer })) : [];
}

/**
 * Compares a check with the proofs that the lock file remembers. A proof that is missing now, or is by another signer,
 * makes it invalid: a stripped signature looks like an unsigned package otherwise.
 */
export function compareWithRemembered(check: OriginCheck, remembered: RememberedProofs = []): OriginCheck {
  if (check.state === "invalid") return check;
  const proofs = check.state === "verified" ? check.proofs : [];
  const problems = remembered.flatMap(({ kind, signer }) => {
    const now = proofs.filter((proof) => proof.kind === kind);
    if (now.some((proof) => isSameSigner(proof.signer, signer))) return [];
    const found =
      now.length > 0
        ? `the ${LABELS[kind]} is now by ${now.map((proof) => proof.signer).join(" and ")}`
        : check.state === "untrusted" && kind === "mcpb-signature"
          ? `the ${LABELS[kind]} is now by ${check.signer}, which is not trusted (${check.reason})`
          : check.state === "unchecked"
            ? `the ${LABELS[kind]} cannot be checked (${check.reason})`
            : `the ${LABELS[kind]} is missing now`;
    return [`${found}; portolan.lock names ${signer}`];
  });
  return problems.length === 0
    ? check
    : { state: "invalid", problem: "signer-changed", reason: problems.join("; ") };
}

const LABELS: Readonly<Record<ProofKind, string>> = {
  "npm-provenance": "provenance",
  "npm-signature": "registry's signature",
  "mcpb-signature": "bundle's signature",
};

/** Older attestations do not say the id of their repository, so that it is compared only if both have one. */
function isSameSigner(a: string, b: string): boolean {
  const form = /^(.*) \(repository (\d+)\)$/;
  const [, nameA = a, idA] = form.exec(a) ?? [];
  const [, nameB = b, idB] = form.exec(b) ?? [];
  return nameA === nameB && (idA === undefined || idB === undefined || idA === idB);
}

/** The values of `packages.require` in a workspace. */
export const REQUIREMENTS = ["provenance", "signature", "audit"] as const;
export type Requirement = (typeof REQUIREMENTS)[number];

/** One sentence for each requirement that is not met. `hasAudit`: the metadata names reviewer, date and report. */
export function unmetRequirements(
  required: readonly Requirement[],
  { origin, hasAudit }: { readonly origin: OriginCheck; readonly hasAudit: boolean },
): string[] {
  const proofs = origin.state === "verified" ? origin.proofs : [];
  const isMet: Readonly<Record<Requirement, boolean>> = {
    provenance: proofs.some(({ kind }) => kind === "npm-provenance"),
    signature: proofs.length > 0,
    audit: hasAudit,
  };
  return [...new Set(required)].filter((name) => !isMet[name]).map((name) => UNMET[name](origin));
}

const UNMET: Readonly<Record<Requirement, (origin: OriginCheck) => string>> = {
  provenance: (origin) =>
    `the workspace requires provenance, but the package ${describeOrigin(origin)}${
      origin.state === "verified" ? ", without provenance" : ""
    }`,
  signature: (origin) => `the workspace requires a signature, but the package ${describeOrigin(origin)}`,
  audit: () => "the workspace requires an audit, but the metadata of the package names none",
};

/** The rest of a sentence about a package: "is unsigned". */
export function describeOrigin(origin: OriginCheck): string {
  switch (origin.state) {
    case "verified":
      return `is signed by ${[...new Set(origin.proofs.map(({ signer }) => signer))].join(" and ")}`;
    case "unsigned":
      return "is unsigned";
    case "untrusted":
      return `is signed by ${origin.signer}, which is not trusted: ${origin.reason}`;
    case "unchecked":
      return `was not checked: ${origin.reason}`;
    case "invalid":
      return `has a wrong origin: ${origin.reason}`;
  }
}
