// Signatures of MCPB bundles: a bundle is split into the signed part and the signature behind it, and the signature is verified.
// Only the signed part may be unpacked: a second archive can hide in the unsigned fields of a valid signature.

import { createHash, timingSafeEqual } from "node:crypto";
import type { Certificate } from "./certificate.ts";
import { findChain } from "./certificate-chain.ts";
import { readDetachedSignature } from "./cms.ts";

const HEADER = Buffer.from("MCPB_SIG_V1");
const FOOTER = Buffer.from("MCPB_SIG_END");
/** The length of the signature, in four bytes. */
const LENGTH_SIZE = 4;
const MAX_SIGNATURE = 256 * 1024;
const MAX_BLOCK = HEADER.length + LENGTH_SIZE + MAX_SIGNATURE + FOOTER.length;

/** The end of a zip archive: its last 22 bytes, with the length of a comment in the last two. */
const ZIP_END = Buffer.from([0x50, 0x4b, 0x05, 0x06]);
const ZIP_END_SIZE = 22;

export type BundleParts =
  | { readonly state: "unsigned"; readonly archive: Buffer }
  | {
      readonly state: "signed";
      /** The bytes before the signature. */
      readonly archive: Buffer;
      readonly signature: Buffer;
      /** Length of header, signature and footer. */
      readonly blockLength: number;
    }
  | { readonly state: "damaged"; readonly reason: string };

/** Splits a bundle without verifying it. */
export function splitBundle(bundle: Buffer): BundleParts {
  const tail = Math.max(0, bundle.length - MAX_BLOCK);
  const blocks = findBlocks(bundle, tail);
  const [block, ...more] = blocks.filter(({ end }) => end === bundle.length);
  // A block that ends before the last one begins belongs to a file in the archive, such as another bundle.
  const others = blocks.filter((one) => one !== block && (block === undefined || one.end > block.start));
  if (more.length > 0 || (block !== undefined && others.length > 0))
    return { state: "damaged", reason: "it has several signature blocks" };
  if (block !== undefined)
    return {
      state: "signed",
      archive: bundle.subarray(0, block.start),
      signature: bundle.subarray(block.start + HEADER.length + LENGTH_SIZE, bundle.length - FOOTER.length),
      blockLength: bundle.length - block.start,
    };
  if (others.length > 0) return { state: "damaged", reason: "bytes follow its signature block" };
  return bundle.subarray(-FOOTER.length).equals(FOOTER)
    ? { state: "damaged", reason: "its signature block is damaged" }
    : { state: "unsigned", archive: bundle };
}

/** Blocks whose header, length and footer fit together. The name of the header alone may occur in any file. */
function findBlocks(bundle: Buffer, from: number): { start: number; end: number }[] {
  const blocks: { start: number; end: number }[] = [];
  for (let start = bundle.indexOf(HEADER, from); start >= 0; start = bundle.indexOf(HEADER, start + 1)) {
    const content = start + HEADER.length + LENGTH_SIZE;
    if (content > bundle.length) break;
    const footer = content + bundle.readUInt32LE(start + HEADER.length);
    const end = footer + FOOTER.length;
    if (end <= bundle.length && bundle.subarray(footer, end).equals(FOOTER)) blocks.push({ start, end });
  }
  return blocks;
}

export interface McpbTrust {
  /** Trusted certificates: roots, or the certificates of single signers. */
  readonly trusted: readonly Certificate[];
  readonly now: Date;
}

export type McpbSignatureCheck =
  | { readonly state: "unsigned"; readonly archive: Buffer }
  | {
      readonly state: "verified";
      /** The only bytes that may be unpacked. */
      readonly archive: Buffer;
      /** Subject and trusted certificate, the same for every signature under the same certificates. */
      readonly signer: string;
      readonly fingerprint: string;
    }
  /** The bytes are those that were signed, but nobody vouches for the signer. */
  | {
      readonly state: "untrusted";
      readonly archive: Buffer;
      readonly signer: string;
      readonly fingerprint: string;
      readonly reason: string;
    }
  | { readonly state: "invalid"; readonly reason: string };

/** Verifies the signature of a bundle. It never throws, whatever the bytes are. */
export function checkMcpbSignature(bundle: Buffer, { trusted, now }: McpbTrust): McpbSignatureCheck {
  const parts = splitBundle(bundle);
  if (parts.state === "unsigned") return parts;
  if (parts.state === "damaged") return { state: "invalid", reason: parts.reason };
  try {
    const { signer, certificates, digestName, digest } = readDetachedSignature(parts.signature);
    const fits = (bytes: Buffer): boolean => {
      const actual = createHash(digestName).update(bytes).digest();
      return actual.length === digest.length && timingSafeEqual(actual, digest);
    };
    const archive = [parts.archive, withoutComment(parts.archive, parts.blockLength)].find(
      (bytes) => bytes !== undefined && fits(bytes),
    );
    if (archive === undefined)
      return { state: "invalid", reason: "its bytes are not those that were signed" };
    const { subject, fingerprint } = signer;
    const chain = findChain(signer, certificates, { trusted, now });
    return chain.ok
      ? { state: "verified", archive, signer: toSigner(subject, chain.anchor), fingerprint }
      : { state: "untrusted", archive, signer: subject, fingerprint, reason: chain.reason };
  } catch (error) {
    return { state: "invalid", reason: `its signature cannot be verified: ${(error as Error).message}` };
  }
}

/**
 * Newer tools declare the signature block as the comment of the archive after they signed it, so that zip readers accept
 * the file. They signed the archive without a comment.
 */
function withoutComment(archive: Buffer, blockLength: number): Buffer | undefined {
  const end = archive.length - ZIP_END_SIZE;
  if (end < 0 || !archive.subarray(end, end + ZIP_END.length).equals(ZIP_END)) return undefined;
  if (archive.readUInt16LE(archive.length - 2) !== blockLength || blockLength === 0) return undefined;
  const copy = Buffer.from(archive);
  copy.writeUInt16LE(0, copy.length - 2);
  return copy;
}

/** A renewed certificate has another fingerprint, so a signer is its subject under the certificate that is trusted. */
function toSigner(subject: string, anchor: Certificate): string {
  return `${subject} (under sha256:${anchor.fingerprint})`;
}

/** The subject of a signer, without the certificate that is trusted. */
export function subjectOf(signer: string): string {
  return signer.replace(/ \(under sha256:[0-9a-f:]+\)$/i, "");
}
