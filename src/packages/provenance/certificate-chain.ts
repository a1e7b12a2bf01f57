// Finds a chain from the certificate of a signature to a trusted one, and says why there is none.

import type { Certificate } from "./certificate.ts";

export interface ChainOptions {
  /** Trusted certificates: roots, intermediates, or the signer's own. */
  readonly trusted: readonly Certificate[];
  readonly now: Date;
}

export type ChainResult =
  | { readonly ok: true; readonly anchor: Certificate; readonly chain: readonly Certificate[] }
  | { readonly ok: false; readonly reason: string };

const CODE_SIGNING = "1.3.6.1.5.5.7.3.3";
const ANY_USAGE = "2.5.29.37.0";
const MAX_LENGTH = 6;
/** Each step verifies a signature, so their number is limited, whatever certificates a bundle contains. */
const MAX_STEPS = 30;

/** RSA and ECDSA with SHA-256, SHA-384 or SHA-512, and Ed25519. RSA-PSS has parameters that are not read here. */
const SIGNATURE_ALGORITHMS: ReadonlySet<string> = new Set([
  "1.2.840.113549.1.1.11",
  "1.2.840.113549.1.1.12",
  "1.2.840.113549.1.1.13",
  "1.2.840.10045.4.3.2",
  "1.2.840.10045.4.3.3",
  "1.2.840.10045.4.3.4",
  "1.3.101.112",
]);

/** `others` are certificates that came with the signature. */
export function findChain(
  leaf: Certificate,
  others: readonly Certificate[],
  { trusted, now }: ChainOptions,
): ChainResult {
  const anchors = new Set(trusted.map(({ fingerprint }) => fingerprint));
  const isPinned = anchors.has(leaf.fingerprint);
  const problem = signerProblem(leaf, isPinned, now);
  if (problem !== undefined) return { ok: false, reason: problem };
  if (isPinned) return { ok: true, anchor: leaf, chain: [leaf] };

  const candidates = [...trusted, ...others];
  // The reason of the longest attempt is the one that helps.
  let reason = leaf.isSelfIssued
    ? "its certificate is self-signed and not among the trusted ones"
    : "no trusted certificate issued its certificate";
  let depth = 0;
  let steps = 0;
  const extend = (chain: readonly Certificate[]): readonly Certificate[] | undefined => {
    const last = chain.at(-1);
    if (last === undefined || chain.length > MAX_LENGTH) return undefined;
    for (const issuer of candidates) {
      if (chain.some(({ fingerprint }) => fingerprint === issuer.fingerprint)) continue;
      if (!last.issuerBytes.equals(issuer.subjectBytes)) continue;
      steps += 1;
      if (steps > MAX_STEPS) return undefined;
      const wrong = issuerProblem(last, issuer, chain.length, now);
      if (wrong !== undefined) {
        if (chain.length > depth) [reason, depth] = [wrong, chain.length];
        continue;
      }
      const longer = [...chain, issuer];
      const whole = anchors.has(issuer.fingerprint) ? longer : extend(longer);
      if (whole !== undefined) return whole;
    }
    return undefined;
  };
  const chain = extend([leaf]);
  const anchor = chain?.at(-1);
  return chain !== undefined && anchor !== undefined ? { ok: true, anchor, chain } : { ok: false, reason };
}

function signerProblem(leaf: Certificate, isPinned: boolean, now: Date): string | undefined {
  const { keyUsage, extendedKeyUsage } = leaf;
  if (keyUsage?.digitalSignature === false) return "its certificate is not made for signatures";
  // A certificate that a person trusts by itself may lack the usage, but not have another one.
  const isForCode = extendedKeyUsage === undefined ? isPinned : extendedKeyUsage.includes(CODE_SIGNING);
  if (!isForCode) return "its certificate is not made for code signing";
  return commonProblem(leaf, "its certificate", now);
}

/** Why `issuer` cannot vouch for `subject`. `below` is the number of certificates below the issuer. */
function issuerProblem(
  subject: Certificate,
  issuer: Certificate,
  below: number,
  now: Date,
): string | undefined {
  const name = `the certificate of its issuer (${issuer.subject})`;
  if (!issuer.isCa) return `${name} is not allowed to issue certificates`;
  if (issuer.keyUsage?.certificateSigning === false) return `${name} is not allowed to sign certificates`;
  if (issuer.pathLength !== undefined && below - 1 > issuer.pathLength)
    return `${name} does not allow a certificate chain of this length`;
  const { extendedKeyUsage: usage } = issuer;
  if (usage !== undefined && !usage.includes(CODE_SIGNING) && !usage.includes(ANY_USAGE))
    return `${name} is not made for code signing`;
  if (!SIGNATURE_ALGORITHMS.has(subject.signatureAlgorithm))
    return `the certificate ${subject.subject} is signed with a weak or unknown algorithm`;
  const problem = commonProblem(issuer, name, now);
  if (problem !== undefined) return problem;
  return subject.x509.verify(issuer.x509.publicKey)
    ? undefined
    : `the certificate ${subject.subject} has an invalid signature`;
}

function commonProblem(certificate: Certificate, name: string, now: Date): string | undefined {
  const { validFrom, validTo, unknownCritical, x509 } = certificate;
  if (!(now >= validFrom)) return `${name} is not valid before ${toDay(validFrom)}`;
  if (!(now <= validTo)) return `${name} expired on ${toDay(validTo)}`;
  const [critical] = unknownCritical;
  if (critical !== undefined) return `${name} has the unknown critical extension ${critical}`;
  return keyProblem(x509, name);
}

const CURVES: readonly string[] = ["prime256v1", "secp384r1", "secp521r1"];

function keyProblem({ publicKey }: Certificate["x509"], name: string): string | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = publicKey;
  const isStrong =
    (type === "rsa" && (details?.modulusLength ?? 0) >= 2048) ||
    (type === "ec" && CURVES.includes(details?.namedCurve ?? "")) ||
    type === "ed25519";
  return isStrong ? undefined : `${name} has a weak or unknown key`;
}

function toDay(date: Date): string {
  return Number.isNaN(date.getTime()) ? "an unknown date" : date.toISOString().slice(0, 10);
}
