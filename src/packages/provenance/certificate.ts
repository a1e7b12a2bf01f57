// X.509 certificates as far as a signature's chain needs them. `node:crypto` reads and verifies; the extensions that it does not
// show (key usage, critical ones, path length) are read here.

import { X509Certificate } from "node:crypto";
import {
  childrenOf,
  contextTag,
  DerCursor,
  DerError,
  type DerValue,
  readDer,
  TAG,
  toBoolean,
  toOid,
  toSmallInteger,
} from "./der.ts";

export interface Certificate {
  readonly x509: X509Certificate;
  /** SHA-256 of the whole certificate, in hexadecimal digits. */
  readonly fingerprint: string;
  /** The subject as text: `CN=Alice, O=Example`. Two different subjects never have the same text. */
  readonly subject: string;
  readonly subjectBytes: Buffer;
  /** The encodings of issuer and serial number, as a signature names its certificate. */
  readonly issuerBytes: Buffer;
  readonly serialBytes: Buffer;
  readonly subjectKeyId?: Buffer;
  readonly validFrom: Date;
  readonly validTo: Date;
  readonly isSelfIssued: boolean;
  /** The algorithm of its own signature. */
  readonly signatureAlgorithm: string;
  readonly isCa: boolean;
  readonly pathLength?: number;
  /** Absent when the certificate does not limit the use of its key. */
  readonly keyUsage?: { readonly digitalSignature: boolean; readonly certificateSigning: boolean };
  readonly extendedKeyUsage?: readonly string[];
  /** Critical extensions that are not understood here. */
  readonly unknownCritical: readonly string[];
}

const EXTENSION = {
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  basicConstraints: "2.5.29.19",
  extendedKeyUsage: "2.5.29.37",
} as const;

/** Says under which rules the authority works; nothing is decided by it. */
const CERTIFICATE_POLICIES = "2.5.29.32";

/** Larger than any certificate in use. */
const MAX_CERTIFICATE = 64 * 1024;

/** Throws if the bytes are not exactly one certificate. */
export function readCertificate(der: Buffer): Certificate {
  if (der.length > MAX_CERTIFICATE) throw new DerError("a certificate is too large");
  const outer = new DerCursor(readDer(der));
  const body = new DerCursor(outer.take(TAG.sequence));
  const signatureAlgorithm = algorithmOf(outer.take(TAG.sequence));
  outer.take(TAG.bitString);
  outer.end();

  body.optional(contextTag(0));
  const serial = body.take(TAG.integer);
  if (algorithmOf(body.take(TAG.sequence)) !== signatureAlgorithm)
    throw new DerError("a certificate names two different signature algorithms");
  const issuer = body.take(TAG.sequence);
  body.take(TAG.sequence);
  const subject = body.take(TAG.sequence);
  body.take(TAG.sequence);
  body.optional(0x81);
  body.optional(0x82);
  const extensions = readExtensions(body.optional(contextTag(3)));
  body.end();

  const x509 = new X509Certificate(der);
  return {
    x509,
    fingerprint: x509.fingerprint256.replaceAll(":", "").toLowerCase(),
    subject: toNameText(subject),
    subjectBytes: subject.whole,
    issuerBytes: issuer.whole,
    serialBytes: serial.content,
    validFrom: new Date(x509.validFrom),
    validTo: new Date(x509.validTo),
    isSelfIssued: issuer.whole.equals(subject.whole),
    signatureAlgorithm,
    ...extensions,
  };
}

export function algorithmOf(sequence: DerValue): string {
  return toOid(new DerCursor(sequence).take(TAG.oid));
}

type Extensions = Pick<
  Certificate,
  "subjectKeyId" | "isCa" | "pathLength" | "keyUsage" | "extendedKeyUsage" | "unknownCritical"
>;

function readExtensions(explicit: DerValue | undefined): Extensions {
  const values = new Map<string, DerValue>();
  const unknownCritical: string[] = [];
  const known: readonly string[] = [...Object.values(EXTENSION), CERTIFICATE_POLICIES];
  const [sequence] = explicit === undefined ? [] : childrenOf(explicit);
  for (const one of sequence === undefined ? [] : childrenOf(sequence)) {
    const extension = new DerCursor(one);
    const id = toOid(extension.take(TAG.oid));
    const critical = extension.optional(TAG.boolean);
    const value = extension.take(TAG.octetString);
    extension.end();
    if (values.has(id)) throw new DerError("a certificate has an extension twice");
    values.set(id, value);
    if (critical !== undefined && toBoolean(critical) && !known.includes(id)) unknownCritical.push(id);
  }
  const inner = (id: string): DerValue | undefined => {
    const value = values.get(id);
    return value === undefined ? undefined : readDer(value.content);
  };
  const usage = inner(EXTENSION.extendedKeyUsage);
  return {
    subjectKeyId: inner(EXTENSION.subjectKeyId)?.content,
    ...readBasicConstraints(inner(EXTENSION.basicConstraints)),
    keyUsage: readKeyUsage(inner(EXTENSION.keyUsage)),
    extendedKeyUsage: usage === undefined ? undefined : childrenOf(usage).map(toOid),
    unknownCritical,
  };
}

function readBasicConstraints(value: DerValue | undefined): Pick<Extensions, "isCa" | "pathLength"> {
  if (value === undefined) return { isCa: false };
  const parts = new DerCursor(value);
  const isCa = parts.optional(TAG.boolean);
  const length = parts.optional(TAG.integer);
  parts.end();
  return {
    isCa: isCa !== undefined && toBoolean(isCa),
    pathLength: length === undefined ? undefined : toSmallInteger(length),
  };
}

function readKeyUsage(value: DerValue | undefined): Certificate["keyUsage"] {
  if (value === undefined) return undefined;
  if (value.tag !== TAG.bitString || value.content.length < 2) throw new DerError("a key usage is wrong");
  const bits = value.content[1] ?? 0;
  return { digitalSignature: (bits & 0x80) !== 0, certificateSigning: (bits & 0x04) !== 0 };
}

const NAME_PARTS: Readonly<Record<string, string>> = {
  "2.5.4.3": "CN",
  "2.5.4.5": "SERIALNUMBER",
  "2.5.4.6": "C",
  "2.5.4.7": "L",
  "2.5.4.8": "ST",
  "2.5.4.10": "O",
  "2.5.4.11": "OU",
  "1.2.840.113549.1.9.1": "emailAddress",
};

function toNameText(name: DerValue): string {
  return childrenOf(name)
    .map((set) =>
      childrenOf(set)
        .map((part) => {
          const fields = new DerCursor(part);
          const id = toOid(fields.take(TAG.oid));
          const value = fields.takeAny();
          fields.end();
          return `${NAME_PARTS[id] ?? id}=${toNameValue(value)}`;
        })
        .join("+"),
    )
    .join(", ");
}

/** UTF8String, PrintableString, T61String, IA5String. Others, and bytes that are not visible text, are shown as digits. */
function toNameValue({ tag, content }: DerValue): string {
  const text = [TAG.utf8String, 0x13, 0x14, 0x16].includes(tag) ? content.toString("utf8") : undefined;
  const isText = text !== undefined && Buffer.from(text).equals(content);
  const isVisible = isText && !/[\p{C}\p{Zl}\p{Zp}]/u.test(text);
  return isVisible ? text.replace(/[\\,+=#<>;"]/g, "\\$&") : `#${content.toString("hex")}`;
}

/** Reads the certificates of a PEM text; those that cannot be read are counted as problems. */
export function parseCertificates(pem: string): { certificates: Certificate[]; problems: string[] } {
  const certificates: Certificate[] = [];
  const problems: string[] = [];
  const blocks = pem.matchAll(/-----BEGIN CERTIFICATE-----([^-]{1,100000})-----END CERTIFICATE-----/g);
  for (const [, base64 = ""] of blocks) {
    try {
      certificates.push(readCertificate(Buffer.from(base64, "base64")));
    } catch (error) {
      problems.push(`certificate ${certificates.length + problems.length + 1}: ${(error as Error).message}`);
    }
  }
  if (certificates.length + problems.length === 0) problems.push("the text has no certificate in PEM form");
  return { certificates, problems };
}
