// npm attestations under a Sigstore of our own: certificate authority, logs and keys that no one else trusts.

import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { createRequire } from "node:module";

interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}
interface ExtensionValue {
  readonly oid: string;
  readonly value: string;
  readonly legacy?: boolean;
}
interface Authority {
  readonly rootCertificate: Buffer;
  issueCertificate(options: {
    readonly publicKey: Buffer;
    readonly subjectAltName: string;
    readonly extensions: readonly ExtensionValue[];
  }): Promise<Buffer>;
}
interface CertificateLog {
  readonly publicKey: Buffer;
  readonly logID: ArrayBufferView;
}
interface LogEntry {
  readonly body: string;
  readonly integratedTime: number;
  readonly logID: string;
  readonly logIndex: number;
  readonly verification: {
    readonly signedEntryTimestamp: string;
    readonly inclusionProof: {
      readonly logIndex: number;
      readonly rootHash: string;
      readonly treeSize: number;
      readonly hashes: readonly string[];
      readonly checkpoint: string;
    };
  };
}
interface TransparencyLog {
  readonly publicKey: Buffer;
  log(entry: object): Promise<Readonly<Record<string, LogEntry>>>;
}

// Files of @sigstore/mock are loaded one by one: its index loads a library that replaces the HTTP client of the process. Their
// types need packages that are not installed, so those of the parts in use are written here.
const require = createRequire(import.meta.url);
const { initializeCA } = require("@sigstore/mock/dist/fulcio/ca.js") as {
  initializeCA(key: KeyPair, log: CertificateLog, clock?: Date): Promise<Authority>;
};
const { initializeCTLog } = require("@sigstore/mock/dist/fulcio/ctlog.js") as {
  initializeCTLog(key: KeyPair, clock?: Date): Promise<CertificateLog>;
};
const { initializeTLog } = require("@sigstore/mock/dist/rekor/tlog.js") as {
  initializeTLog(url: string, key: KeyPair): Promise<TransparencyLog>;
};

const OID = "1.3.6.1.4.1.57264.1";
export const NPM_KEY_ID = "SHA256:test";
export const PROVENANCE_V1 = "https://slsa.dev/provenance/v1";
export const PROVENANCE_V02 = "https://slsa.dev/provenance/v0.2";
export const PUBLISH = "https://github.com/npm/attestation/tree/main/specs/publish/v0.1";
export const GITHUB = "https://token.actions.githubusercontent.com";

const newKey = (namedCurve = "P-256"): KeyPair => generateKeyPairSync("ec", { namedCurve });
const toBase64 = (bytes: ArrayBufferView): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");

export interface Sigstore {
  readonly authority: Authority;
  readonly ctLog: CertificateLog;
  readonly log: TransparencyLog;
  readonly npmKey: KeyPair;
}

/** `clock` is the time of the certificates; the log always has the present time. */
export async function createSigstore(clock?: Date): Promise<Sigstore> {
  const ctLog = await initializeCTLog(newKey(), clock);
  const authority = await initializeCA(newKey("P-384"), ctLog, clock);
  const log = await initializeTLog("https://log.example", newKey());
  return { authority, ctLog, log, npmKey: newKey() };
}

/** trusted_root.json of this Sigstore. */
export function trustedRoot({ authority, ctLog, log }: Sigstore, end?: Date): string {
  const validFor = { start: "2020-01-01T00:00:00Z", end: end?.toISOString() };
  const toLog = (name: string, key: Buffer, id: string): object => ({
    baseUrl: `https://${name}.example`,
    hashAlgorithm: "SHA2_256",
    publicKey: {
      rawBytes: toBase64(key),
      keyDetails: "PKIX_ECDSA_P256_SHA_256",
      validFor: { start: validFor.start },
    },
    logId: { keyId: id },
  });
  const logId = createHash("sha256").update(log.publicKey).digest("base64");
  return JSON.stringify({
    mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
    tlogs: [toLog("log", log.publicKey, logId)],
    certificateAuthorities: [
      {
        subject: { organization: "sigstore.mock", commonName: "sigstore" },
        uri: "https://authority.example",
        certChain: { certificates: [{ rawBytes: toBase64(authority.rootCertificate) }] },
        validFor,
      },
    ],
    ctlogs: [toLog("ct", ctLog.publicKey, toBase64(ctLog.logID))],
    timestampAuthorities: [],
  });
}

/** keys.json of the registry. */
export function npmKeys({ npmKey }: Sigstore, validFor: object = { start: "2020-01-01T00:00:00Z" }): string {
  const rawBytes = npmKey.publicKey.export({ type: "spki", format: "der" }).toString("base64");
  const publicKey = { rawBytes, keyDetails: "PKIX_ECDSA_P256_SHA_256", validFor };
  const keys = ["npm:signatures", "npm:attestations"].map((keyUsage) => ({
    ...{ keyId: NPM_KEY_ID, keyUsage, publicKey },
  }));
  return JSON.stringify({ keys });
}

export interface StatementOptions {
  readonly name?: string;
  readonly version?: string;
  readonly bytes?: Buffer;
  readonly predicateType?: string;
  readonly predicate?: object;
  /** Replaces the list of subjects. */
  readonly subjects?: readonly object[];
}

export const BYTES: Buffer = Buffer.from("the bytes of the tarball");

export function createStatement(options: StatementOptions = {}): object {
  const { name = "@alice/notes", version = "1.0.0", bytes = BYTES, predicateType = PROVENANCE_V1 } = options;
  const subject = {
    name: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    digest: { sha512: createHash("sha512").update(bytes).digest("hex") },
  };
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: options.subjects ?? [subject],
    predicateType,
    predicate: options.predicate ?? provenance("https://github.com/alice/notes"),
  };
}

export const provenance = (repository: string): object => ({
  buildDefinition: {
    buildType: "https://slsa-framework.github.io/github-actions-buildtypes/workflow/v1",
    externalParameters: {
      workflow: { repository, ref: "refs/tags/v1", path: ".github/workflows/release.yml" },
    },
  },
  runDetails: { builder: { id: "https://github.com/actions/runner/github-hosted" } },
});

export const publishPredicate = (name = "@alice/notes", version = "1.0.0"): object => ({ name, version });

export interface CertificateFields {
  readonly issuer?: string;
  readonly repository?: string;
  readonly workflow?: string;
  readonly runner?: string;
  readonly repositoryId?: string;
  /** The fields of certificates before 2023. */
  readonly old?: boolean;
}

function toExtensions({
  issuer = GITHUB,
  repository,
  runner,
  repositoryId,
  old,
}: CertificateFields): ExtensionValue[] {
  const url = repository ?? "https://github.com/alice/notes";
  if (old === true)
    return [
      { oid: `${OID}.1`, value: issuer, legacy: true },
      { oid: `${OID}.3`, value: "c0ffee", legacy: true },
      { oid: `${OID}.5`, value: url.replace("https://github.com/", ""), legacy: true },
      { oid: `${OID}.6`, value: "refs/tags/v1", legacy: true },
    ];
  return [
    { oid: `${OID}.8`, value: issuer },
    { oid: `${OID}.11`, value: runner ?? "github-hosted" },
    { oid: `${OID}.12`, value: url },
    { oid: `${OID}.13`, value: "c0ffee" },
    { oid: `${OID}.14`, value: "refs/tags/v1" },
    ...(repositoryId === undefined ? [] : [{ oid: `${OID}.15`, value: repositoryId }]),
  ];
}

export interface BundleOptions extends CertificateFields {
  readonly statement?: object;
  readonly payloadType?: string;
  /** Signs with the key of the registry instead of a certificate. */
  readonly withNpmKey?: boolean;
  /** Signs with another key than that of the certificate. */
  readonly forged?: boolean;
  readonly keyHint?: string;
}

// oxlint-disable-next-line typescript/no-explicit-any -- tests change bundles of any shape
export type LooseBundle = Record<string, any>;

/** A bundle in the form of version 0.3. */
export async function createBundle(sigstore: Sigstore, options: BundleOptions = {}): Promise<LooseBundle> {
  const { statement = createStatement(), payloadType = "application/vnd.in-toto+json" } = options;
  const key = options.withNpmKey === true ? sigstore.npmKey : newKey();
  const payload = Buffer.from(JSON.stringify(statement));
  const signed = Buffer.concat([
    Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `),
    payload,
  ]);
  const signature = sign("sha256", signed, options.forged === true ? newKey().privateKey : key.privateKey);
  const certificate =
    options.withNpmKey === true
      ? undefined
      : await sigstore.authority.issueCertificate({
          publicKey: Buffer.from(key.publicKey.export({ type: "spki", format: "der" })),
          subjectAltName:
            options.workflow ?? "https://github.com/alice/notes/.github/workflows/release.yml@refs/tags/v1",
          extensions: toExtensions(options),
        });
  const verifier = key.publicKey.export({ type: "spki", format: "pem" }).toString();
  const logged = await sigstore.log.log({
    apiVersion: "0.0.1",
    kind: "dsse",
    spec: {
      signatures: [
        { signature: signature.toString("base64"), verifier: Buffer.from(verifier).toString("base64") },
      ],
      payloadHash: { algorithm: "sha256", value: createHash("sha256").update(payload).digest("hex") },
      envelopeHash: { algorithm: "sha256", value: "00" },
    },
  });
  return {
    mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
    verificationMaterial: {
      ...(certificate === undefined
        ? { publicKey: { hint: options.keyHint ?? NPM_KEY_ID } }
        : { certificate: { rawBytes: toBase64(certificate) } }),
      tlogEntries: Object.values(logged).map(toLogEntry),
      timestampVerificationData: { rfc3161Timestamps: [] },
    },
    dsseEnvelope: {
      payload: payload.toString("base64"),
      payloadType,
      signatures: [{ sig: signature.toString("base64"), keyid: "" }],
    },
  };
}

function toLogEntry(entry: LogEntry): object {
  const { body, integratedTime, logID, logIndex, verification } = entry;
  const proof = verification.inclusionProof;
  return {
    logIndex: String(logIndex),
    logId: { keyId: Buffer.from(logID, "hex").toString("base64") },
    kindVersion: { kind: "dsse", version: "0.0.1" },
    integratedTime: String(integratedTime),
    inclusionPromise: { signedEntryTimestamp: verification.signedEntryTimestamp },
    inclusionProof: {
      logIndex: String(proof.logIndex),
      rootHash: Buffer.from(proof.rootHash, "hex").toString("base64"),
      treeSize: String(proof.treeSize),
      hashes: proof.hashes,
      checkpoint: { envelope: proof.checkpoint },
    },
    canonicalizedBody: body,
  };
}
