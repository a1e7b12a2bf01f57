// Certificates, CMS signatures and signed MCPB bundles, made with Node.js alone, so that tests can make wrong ones of every kind.

import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export const createEcKey = (): KeyPair => generateKeyPairSync("ec", { namedCurve: "P-256" });
export const createRsaKey = (modulusLength = 2048): KeyPair => generateKeyPairSync("rsa", { modulusLength });

export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const digits = length.toString(16);
  const bytes = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, "hex");
  return Buffer.concat([Buffer.from([tag, 0x80 + bytes.length]), bytes, content]);
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts);
export const set = (...parts: readonly Uint8Array[]): Buffer => der(0x31, ...parts);
export const octets = (...parts: readonly Uint8Array[]): Buffer => der(0x04, ...parts);
export const integer = (...bytes: readonly number[]): Buffer => der(0x02, Buffer.from(bytes));

export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  const bytes = [first * 40 + second, ...rest].flatMap((part) => {
    const digits = [part & 0x7f];
    for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128))
      digits.unshift((left & 0x7f) | 0x80);
    return digits;
  });
  return der(0x06, Buffer.from(bytes));
}

const time = (date: Date): Buffer =>
  der(0x18, Buffer.from(`${date.toISOString().replace(/[-:T]/g, "").slice(0, 14)}Z`));

export const nameOf = (commonName: string): Buffer =>
  sequence(set(sequence(oid("2.5.4.3"), der(0x0c, Buffer.from(commonName)))));

const SIGNATURES: Readonly<Record<string, { readonly rsa: string; readonly ec: string }>> = {
  sha1: { rsa: "1.2.840.113549.1.1.5", ec: "1.2.840.10045.4.1" },
  sha256: { rsa: "1.2.840.113549.1.1.11", ec: "1.2.840.10045.4.3.2" },
};

function algorithmFor({ privateKey }: KeyPair, digest: string): Buffer {
  const { rsa = "", ec = "" } = SIGNATURES[digest] ?? {};
  return privateKey.asymmetricKeyType === "rsa" ? sequence(oid(rsa), der(0x05)) : sequence(oid(ec));
}

export interface Authority {
  readonly name: string;
  readonly key: KeyPair;
}

export interface CertificateOptions {
  readonly name: string;
  readonly key: KeyPair;
  /** The certificate signs itself if absent. */
  readonly issuer?: Authority;
  readonly ca?: boolean;
  readonly pathLength?: number;
  /** The first byte of the bits: 0x80 is digitalSignature, 0x04 is keyCertSign. */
  readonly keyUsage?: number;
  readonly extendedKeyUsage?: readonly string[];
  readonly criticalExtension?: string;
  readonly from?: Date;
  readonly to?: Date;
  readonly digest?: "sha1" | "sha256";
  readonly serial?: number;
}

export const CODE_SIGNING = "1.3.6.1.5.5.7.3.3";
export const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";

export const FROM = new Date("2026-01-01T00:00:00Z");
export const TO = new Date("2027-01-01T00:00:00Z");

export function createCertificate(options: CertificateOptions): Buffer {
  const { name, key, issuer = options, ca, pathLength, keyUsage, extendedKeyUsage } = options;
  const { from = FROM, to = TO, digest = "sha256", criticalExtension, serial = 7 } = options;
  const critical = der(0x01, Buffer.from([0xff]));
  const extensions = [
    ...(ca === undefined
      ? []
      : [
          sequence(
            ...[oid("2.5.29.19"), critical],
            octets(
              sequence(...(ca ? [critical] : []), ...(pathLength === undefined ? [] : [integer(pathLength)])),
            ),
          ),
        ]),
    ...(keyUsage === undefined
      ? []
      : [sequence(oid("2.5.29.15"), critical, octets(der(0x03, Buffer.from([0, keyUsage]))))]),
    ...(extendedKeyUsage === undefined
      ? []
      : [sequence(oid("2.5.29.37"), octets(sequence(...extendedKeyUsage.map(oid))))]),
    ...(criticalExtension === undefined
      ? []
      : [sequence(oid(criticalExtension), critical, octets(sequence()))]),
  ];
  const body = sequence(
    der(0xa0, integer(2)),
    integer(serial),
    algorithmFor(issuer.key, digest),
    nameOf(issuer.name),
    sequence(time(from), time(to)),
    nameOf(name),
    key.publicKey.export({ type: "spki", format: "der" }),
    ...(extensions.length === 0 ? [] : [der(0xa3, sequence(...extensions))]),
  );
  const signature = sign(digest, body, issuer.key.privateKey);
  return sequence(body, algorithmFor(issuer.key, digest), der(0x03, Buffer.from([0]), signature));
}

const DIGESTS: Readonly<Record<string, string>> = {
  sha1: "1.3.14.3.2.26",
  sha256: "2.16.840.1.101.3.4.2.1",
};

export const ATTRIBUTE = {
  contentType: "1.2.840.113549.1.9.3",
  messageDigest: "1.2.840.113549.1.9.4",
} as const;

export const attribute = (id: string, ...values: readonly Buffer[]): Buffer =>
  sequence(oid(id), set(...values));

export interface SignatureOptions {
  readonly content: Buffer;
  readonly certificate: Buffer;
  readonly key: KeyPair;
  /** The name in the issuer of the certificate. */
  readonly issuer: string;
  readonly others?: readonly Buffer[];
  readonly serial?: number;
  readonly digest?: "sha1" | "sha256";
  /** The content stands inside of the signature as well. */
  readonly attached?: true;
  /** Signs the digest itself, without attributes. */
  readonly bare?: true;
  readonly attributes?: (usual: readonly Buffer[]) => readonly Buffer[];
  readonly unsigned?: readonly Buffer[];
  readonly signers?: number;
}

export function createSignature(options: SignatureOptions): Buffer {
  const {
    content,
    certificate,
    key,
    issuer,
    others = [],
    serial = 7,
    digest = "sha256",
    signers = 1,
  } = options;
  const digestAlgorithm = sequence(oid(DIGESTS[digest] ?? ""), der(0x05));
  const usual = [
    attribute(ATTRIBUTE.contentType, oid("1.2.840.113549.1.7.1")),
    attribute(ATTRIBUTE.messageDigest, octets(createHash(digest).update(content).digest())),
  ];
  const attributes = options.attributes?.(usual) ?? usual;
  const signed = options.bare === true ? content : set(...attributes);
  const signerInfo = sequence(
    integer(1),
    sequence(nameOf(issuer), integer(serial)),
    digestAlgorithm,
    ...(options.bare === true ? [] : [der(0xa0, ...attributes)]),
    key.privateKey.asymmetricKeyType === "rsa"
      ? sequence(oid("1.2.840.113549.1.1.1"), der(0x05))
      : sequence(oid("1.2.840.10045.4.3.2")),
    octets(sign(digest, signed, key.privateKey)),
    ...(options.unsigned === undefined ? [] : [der(0xa1, ...options.unsigned)]),
  );
  return sequence(
    oid("1.2.840.113549.1.7.2"),
    der(
      0xa0,
      sequence(
        integer(1),
        set(digestAlgorithm),
        sequence(
          oid("1.2.840.113549.1.7.1"),
          ...(options.attached === true ? [der(0xa0, octets(content))] : []),
        ),
        der(0xa0, certificate, ...others),
        set(...Array.from({ length: signers }, () => signerInfo)),
      ),
    ),
  );
}

export function signatureBlock(signature: Buffer, length = signature.length): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(length);
  return Buffer.concat([Buffer.from("MCPB_SIG_V1"), size, signature, Buffer.from("MCPB_SIG_END")]);
}

/** A zip archive with stored files; enough for tests of everything around it. */
export function createZip(files: Readonly<Record<string, string>>): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const content = Buffer.from(text);
    const path = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(content.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(path.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, path, content]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    const made = Buffer.from([20, 0]);
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02", "latin1"), made, common, tail, path]));
    locals.push(local);
    offset += local.length;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(directory.length, 8);
  end.writeUInt16LE(directory.length, 10);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, list, end]);
}

function crc32(bytes: Buffer): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
