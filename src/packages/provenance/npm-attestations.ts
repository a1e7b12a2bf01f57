// npm attestations: which repository and workflow built the bytes of a package (provenance), and that the registry published them.
// Signatures, certificates and logs are verified by @sigstore/verify; everything that it does not check is checked here.

import type { Bundle } from "@sigstore/bundle";
import type { Signer, Verifier } from "@sigstore/verify";
import { isObject } from "../../model/index.ts";
import { toIdentity } from "./build-identity.ts";
import type { NpmSubject } from "./npm-signature.ts";
import type { Proof } from "./proof.ts";
import type { Trust } from "./trust.ts";

const PROVENANCE = ["https://slsa.dev/provenance/v0.2", "https://slsa.dev/provenance/v1"];
const PUBLISH = "https://github.com/npm/attestation/tree/main/specs/publish/v0.1";
const STATEMENTS = ["https://in-toto.io/Statement/v0.1", "https://in-toto.io/Statement/v1"];
const PAYLOAD = "application/vnd.in-toto+json";

const MAX_ATTESTATIONS = 20;
const MAX_PAYLOAD = 4 * 1024 * 1024;

export type AttestationCheck =
  | { readonly state: "checked"; readonly proofs: readonly Proof[] }
  | { readonly state: "invalid"; readonly reason: string };

/** A reason why an attestation is refused; it never leaves this file. */
class Refused extends Error {}

/**
 * `answer` is the registry's answer about attestations of one version. Attestations of other kinds are ignored. A publish
 * attestation alone gives no proof of provenance: it names no repository. It never throws.
 */
export async function checkNpmAttestations(
  answer: unknown,
  subject: NpmSubject,
  trust: Trust,
): Promise<AttestationCheck> {
  try {
    const attestations = isObject(answer) ? answer.attestations : undefined;
    if (!Array.isArray(attestations) || attestations.length > MAX_ATTESTATIONS)
      throw new Refused("the registry's answer is not a list of attestations");
    const known = (attestations as unknown[]).flatMap((one) => {
      if (!isObject(one) || typeof one.predicateType !== "string")
        throw new Refused("an attestation has no predicateType");
      const { predicateType, bundle } = one;
      return PROVENANCE.includes(predicateType) || predicateType === PUBLISH
        ? [{ predicateType, bundle }]
        : [];
    });
    if (known.length === 0) return { state: "checked", proofs: [] };
    const verifier = await createVerifier(trust);
    const proofs: Proof[] = [];
    for (const { predicateType, bundle } of known)
      proofs.push(await checkAttestation(predicateType, bundle, subject, verifier, trust));
    return { state: "checked", proofs };
  } catch (error) {
    const { message } = error as Error;
    const reason = error instanceof Refused ? message : `an attestation cannot be verified: ${message}`;
    return { state: "invalid", reason: reason.slice(0, 500) };
  }
}

/** The libraries take time to load, and most packages have no attestations. */
async function createVerifier({ sigstoreRoot, npmKeys }: Trust): Promise<Verifier> {
  const [{ toTrustMaterial, Verifier: Class }, { TrustedRoot }] = await Promise.all([
    import("@sigstore/verify"),
    import("@sigstore/protobuf-specs"),
  ]);
  const keys = npmKeys.filter(({ usage }) => usage === "npm:attestations");
  const material = toTrustMaterial(TrustedRoot.fromJSON(sigstoreRoot), (hint) => {
    const key = keys.find(({ id }) => id === hint);
    if (key === undefined)
      throw new Refused(`an attestation is signed with the unknown key ${hint.slice(0, 100)}`);
    const { publicKey, validFrom, validTo } = key;
    return {
      publicKey,
      validFor: (date) =>
        (validFrom === undefined || date >= validFrom) && (validTo === undefined || date <= validTo),
    };
  });
  return new Class(material);
}

async function checkAttestation(
  predicateType: string,
  json: unknown,
  subject: NpmSubject,
  verifier: Verifier,
  trust: Trust,
): Promise<Proof> {
  const [{ bundleFromJSON }, { toSignedEntity }] = await Promise.all([
    import("@sigstore/bundle"),
    import("@sigstore/verify"),
  ]);
  const bundle = bundleFromJSON(json);
  const predicate = readStatement(bundle, predicateType, subject);
  const signer = verifier.verify(toSignedEntity(bundle));
  const hasCertificate = bundle.verificationMaterial.content.$case !== "publicKey";
  if (predicateType === PUBLISH) {
    if (hasCertificate) throw new Refused("the publish attestation is not signed with the registry's key");
    return checkPublish(predicate, subject, trust);
  }
  // A key names no repository: only a certificate of Sigstore says who built the package.
  if (!hasCertificate) throw new Refused("the provenance is signed with a key instead of a certificate");
  return checkProvenance(predicate, signer);
}

/** The statement must be about exactly this package, this version and these bytes. */
function readStatement(
  bundle: Bundle,
  predicateType: string,
  { name, version, sha512 }: NpmSubject,
): unknown {
  if (bundle.content.$case !== "dsseEnvelope") throw new Refused("an attestation has no statement");
  const { payload, payloadType, signatures } = bundle.content.dsseEnvelope;
  if (payloadType !== PAYLOAD) throw new Refused("an attestation is not an in-toto statement");
  if (signatures.length !== 1) throw new Refused("an attestation has several signatures");
  if (payload.length > MAX_PAYLOAD) throw new Refused("an attestation is too large");
  const statement: unknown = JSON.parse(payload.toString("utf8"));
  if (!isObject(statement) || typeof statement._type !== "string" || !STATEMENTS.includes(statement._type))
    throw new Refused("an attestation is not an in-toto statement");
  if (statement.predicateType !== predicateType)
    throw new Refused("the type of an attestation differs from the type that the registry names");
  const subjects = Array.isArray(statement.subject) ? (statement.subject as unknown[]) : [];
  const [only] = subjects;
  if (subjects.length !== 1 || !isObject(only))
    throw new Refused(`an attestation has ${subjects.length} subjects`);
  const expected = toPurl(name, version);
  if (only.name !== expected)
    throw new Refused(`an attestation is about ${quote(only.name)}, not about ${expected}`);
  const digest = isObject(only.digest) ? only.digest.sha512 : undefined;
  if (digest !== sha512.toString("hex"))
    throw new Refused("an attestation is about a file with another hash");
  return statement.predicate;
}

/** `pkg:npm/%40scope/name@1.0.0`. */
export function toPurl(name: string, version: string): string {
  return `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;
}

function checkPublish(predicate: unknown, { name, version }: NpmSubject, { npmSigner }: Trust): Proof {
  if (!isObject(predicate) || predicate.name !== name || predicate.version !== version)
    throw new Refused("the publish attestation is about another package");
  return { kind: "npm-signature", signer: npmSigner };
}

function checkProvenance(predicate: unknown, { identity }: Signer): Proof {
  const result = toIdentity(identity ?? {}, predicate);
  if (!result.ok) throw new Refused(result.reason);
  return { kind: "npm-provenance", signer: result.signer, details: result.details };
}

function quote(value: unknown): string {
  return JSON.stringify(String(value).slice(0, 100));
}
