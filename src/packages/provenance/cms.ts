// Detached CMS signatures (RFC 5652): one signer, signed attributes, RSA or ECDSA with SHA-2. Everything else is refused.

import { verify } from "node:crypto";
import { algorithmOf, type Certificate, readCertificate } from "./certificate.ts";
import { childrenOf, contextTag, DerCursor, DerError, type DerValue, readDer, TAG, toOid } from "./der.ts";

const ID = {
  data: "1.2.840.113549.1.7.1",
  signedData: "1.2.840.113549.1.7.2",
  contentType: "1.2.840.113549.1.9.3",
  messageDigest: "1.2.840.113549.1.9.4",
} as const;

const DIGESTS: Readonly<Record<string, DigestName>> = {
  "2.16.840.1.101.3.4.2.1": "sha256",
  "2.16.840.1.101.3.4.2.2": "sha384",
  "2.16.840.1.101.3.4.2.3": "sha512",
};

export type DigestName = "sha256" | "sha384" | "sha512";

/** The kind of key, and the digest where the algorithm names one. */
const SIGNATURES: Readonly<Record<string, { readonly key: "rsa" | "ec"; readonly digest?: DigestName }>> = {
  "1.2.840.113549.1.1.1": { key: "rsa" },
  "1.2.840.113549.1.1.11": { key: "rsa", digest: "sha256" },
  "1.2.840.113549.1.1.12": { key: "rsa", digest: "sha384" },
  "1.2.840.113549.1.1.13": { key: "rsa", digest: "sha512" },
  "1.2.840.10045.4.3.2": { key: "ec", digest: "sha256" },
  "1.2.840.10045.4.3.3": { key: "ec", digest: "sha384" },
  "1.2.840.10045.4.3.4": { key: "ec", digest: "sha512" },
};

const MAX_CERTIFICATES = 20;

/** A signature whose attributes are signed by the key of `signer`. Whether that certificate is trusted is another question. */
export interface DetachedSignature {
  readonly signer: Certificate;
  readonly certificates: readonly Certificate[];
  readonly digestName: DigestName;
  /** The digest of the content that was signed. The caller compares it with the digest of its bytes. */
  readonly digest: Buffer;
}

/** Throws if the bytes are not such a signature, or if the signature is wrong. */
export function readDetachedSignature(der: Buffer): DetachedSignature {
  const info = new DerCursor(readDer(der));
  if (toOid(info.take(TAG.oid)) !== ID.signedData) throw new DerError("it is not a CMS signature");
  const [inner, ...more] = childrenOf(info.take(contextTag(0)));
  info.end();
  if (inner === undefined || more.length > 0) throw new DerError("it is not a CMS signature");

  const signed = new DerCursor(inner);
  signed.take(TAG.integer);
  signed.take(TAG.set);
  const content = new DerCursor(signed.take(TAG.sequence));
  if (toOid(content.take(TAG.oid)) !== ID.data) throw new DerError("it signs another kind of content");
  if (content.optional(contextTag(0)) !== undefined) throw new DerError("it contains its own content");
  content.end();
  const embedded = signed.optional(contextTag(0));
  signed.optional(contextTag(1));
  const signers = childrenOf(signed.take(TAG.set));
  signed.end();
  const [signerInfo] = signers;
  if (signerInfo === undefined || signers.length > 1)
    throw new DerError(`it has ${signers.length} signers instead of one`);
  const items = embedded === undefined ? [] : childrenOf(embedded);
  if (items.length > MAX_CERTIFICATES) throw new DerError("it contains too many certificates");
  return verifySigner(
    signerInfo,
    items.map(({ whole }) => readCertificate(whole)),
  );
}

function verifySigner(signerInfo: DerValue, certificates: readonly Certificate[]): DetachedSignature {
  const parts = new DerCursor(signerInfo);
  parts.take(TAG.integer);
  const signer = findSigner(parts.takeAny(), certificates);
  const digestName = digestOf(parts.take(TAG.sequence));
  const attributes = parts.optional(contextTag(0));
  const algorithm = SIGNATURES[algorithmOf(parts.take(TAG.sequence))];
  const signature = parts.take(TAG.octetString).content;
  parts.optional(contextTag(1));
  parts.end();

  if (attributes === undefined) throw new DerError("it has no signed attributes");
  if (algorithm === undefined) throw new DerError("its algorithm is not supported");
  if (algorithm.digest !== undefined && algorithm.digest !== digestName)
    throw new DerError("it names two different digests");
  const { publicKey } = signer.x509;
  if (publicKey.asymmetricKeyType !== algorithm.key)
    throw new DerError("its algorithm does not fit the key of its certificate");
  // The attributes are signed as a SET, and stand in the message under another tag.
  const signedBytes = Buffer.from(attributes.whole);
  signedBytes[0] = TAG.set;
  if (!verify(digestName, signedBytes, publicKey, signature))
    throw new DerError("it was not made by the key of its certificate");
  return { signer, certificates, digestName, digest: readDigest(attributes) };
}

function digestOf(sequence: DerValue): DigestName {
  const name = DIGESTS[algorithmOf(sequence)];
  if (name === undefined) throw new DerError("its digest is weak or unknown");
  return name;
}

/** The certificate is named by issuer and serial number, or by the id of its key. */
function findSigner(id: DerValue, certificates: readonly Certificate[]): Certificate {
  const matches = certificates.filter((certificate) => {
    if (id.tag === 0x80) return certificate.subjectKeyId?.equals(id.content) === true;
    const parts = new DerCursor(id);
    const issuer = parts.take(TAG.sequence);
    const serial = parts.take(TAG.integer);
    parts.end();
    return issuer.whole.equals(certificate.issuerBytes) && serial.content.equals(certificate.serialBytes);
  });
  const [signer] = matches;
  if (signer === undefined) throw new DerError("it does not contain the certificate of its signer");
  if (matches.length > 1) throw new DerError("it contains several certificates for its signer");
  return signer;
}

function readDigest(attributes: DerValue): Buffer {
  const values = new Map<string, DerValue>();
  for (const attribute of childrenOf(attributes)) {
    const parts = new DerCursor(attribute);
    const id = toOid(parts.take(TAG.oid));
    const [value, ...more] = childrenOf(parts.take(TAG.set));
    parts.end();
    if (values.has(id) || value === undefined || more.length > 0)
      throw new DerError("a signed attribute has several values");
    values.set(id, value);
  }
  const type = values.get(ID.contentType);
  const digest = values.get(ID.messageDigest);
  if (type === undefined || toOid(type) !== ID.data) throw new DerError("it signs another kind of content");
  if (digest?.tag !== TAG.octetString) throw new DerError("it signs no digest");
  return digest.content;
}
