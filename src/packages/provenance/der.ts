// Strict reader of DER, as far as certificates and CMS signatures need it. Anything that has a second encoding is refused.
// Errors are thrown as `DerError`; the functions that check signatures catch them.

export class DerError extends Error {}

/** Tags of the universal class that are used here. */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
} as const;

/** `[n]` of a constructed value, such as `[0] EXPLICIT`. */
export function contextTag(number: number): number {
  return 0xa0 + number;
}

export interface DerValue {
  readonly tag: number;
  /** The content without tag and length. */
  readonly content: Buffer;
  /** The whole encoding. */
  readonly whole: Buffer;
}

/** Reads the one value that fills `bytes` exactly. */
export function readDer(bytes: Buffer): DerValue {
  const value = readAt(bytes, 0);
  if (value.whole.length !== bytes.length) throw new DerError("bytes follow the end of a value");
  return value;
}

function readAt(bytes: Buffer, start: number): DerValue {
  const tag = bytes[start];
  const first = bytes[start + 1];
  if (tag === undefined || first === undefined) throw new DerError("a value ends too early");
  if ((tag & 0x1f) === 0x1f) throw new DerError("a tag has several bytes");
  let length = first;
  let at = start + 2;
  if (first >= 0x80) {
    const count = first - 0x80;
    if (count === 0) throw new DerError("a length is indefinite");
    if (count > 4 || at + count > bytes.length) throw new DerError("a length is too large");
    length = bytes.readUIntBE(at, count);
    at += count;
    if (length < 0x80 || length < 2 ** (8 * (count - 1)))
      throw new DerError("a length is not in its shortest form");
  }
  if (at + length > bytes.length) throw new DerError("a value ends too early");
  return { tag, content: bytes.subarray(at, at + length), whole: bytes.subarray(start, at + length) };
}

/** More values in one list than a signature has. */
const MAX_ITEMS = 1_000;

/** The values inside of a constructed value. */
export function childrenOf({ tag, content }: DerValue): DerValue[] {
  if ((tag & 0x20) === 0) throw new DerError("a value has no inner values");
  const children: DerValue[] = [];
  for (let at = 0; at < content.length;) {
    if (children.length === MAX_ITEMS) throw new DerError("a value has too many inner values");
    const child = readAt(content, at);
    children.push(child);
    at += child.whole.length;
  }
  return children;
}

/** Takes values from a list one after the other, and knows which tag is next. */
export class DerCursor {
  readonly #values: readonly DerValue[];
  #next = 0;

  constructor(parent: DerValue, tag: number = TAG.sequence) {
    if (parent.tag !== tag) throw new DerError(`a value has the tag ${parent.tag} instead of ${tag}`);
    this.#values = childrenOf(parent);
  }

  take(tag: number): DerValue {
    const value = this.optional(tag);
    if (value === undefined) throw new DerError(`a value with the tag ${tag} is missing`);
    return value;
  }

  takeAny(): DerValue {
    const value = this.#values[this.#next];
    if (value === undefined) throw new DerError("a value is missing");
    this.#next += 1;
    return value;
  }

  optional(tag: number): DerValue | undefined {
    const value = this.#values[this.#next];
    if (value?.tag !== tag) return undefined;
    this.#next += 1;
    return value;
  }

  end(): void {
    if (this.#next < this.#values.length) throw new DerError("a value has more parts than it may have");
  }
}

/** `1.2.840.113549.1.7.2`. */
export function toOid({ tag, content }: DerValue): string {
  if (tag !== TAG.oid || content.length === 0 || content.length > 64)
    throw new DerError("an object identifier is wrong");
  const parts: number[] = [];
  let part = 0;
  let isNew = true;
  for (const byte of content) {
    if (isNew && byte === 0x80) throw new DerError("an object identifier is not in its shortest form");
    part = part * 128 + (byte & 0x7f);
    if (part > Number.MAX_SAFE_INTEGER) throw new DerError("an object identifier is too large");
    isNew = byte < 0x80;
    if (!isNew) continue;
    if (parts.length === 0) {
      const first = Math.min(Math.floor(part / 40), 2);
      parts.push(first, part - first * 40);
    } else parts.push(part);
    part = 0;
  }
  if (!isNew) throw new DerError("an object identifier ends too early");
  return parts.join(".");
}

/** A small number; large ones, such as serial numbers, are compared by their bytes. */
export function toSmallInteger({ tag, content }: DerValue): number {
  if (tag !== TAG.integer || content.length === 0 || content.length > 4)
    throw new DerError("a number is wrong");
  return content.readIntBE(0, content.length);
}

export function toBoolean({ tag, content }: DerValue): boolean {
  const [byte] = content;
  if (tag !== TAG.boolean || content.length !== 1 || (byte !== 0 && byte !== 0xff))
    throw new DerError("a boolean is wrong");
  return byte === 0xff;
}
