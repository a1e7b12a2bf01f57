// Protocol of the name service cache daemon (nscd), which glibc queries before it resolves a name itself; see
// nscd/nscd-client.h. Any program in the sandbox can write requests. Answers reveal only the sandbox's own names.

export type Family = 4 | 6;

export type NameRequest =
  /** The addresses of a name: of all families, or of one by the older calls. */
  | { readonly asks: "name"; readonly name: string; readonly family: Family | "all" }
  /** The name of an address. */
  | { readonly asks: "address"; readonly isLoopback: boolean; readonly family: Family }
  /** Accounts, services, the cache itself: without an answer, glibc reads the files of the sandbox. */
  | { readonly asks: "else" };

const LOOPBACK: Readonly<Record<Family, Buffer>> = {
  4: Buffer.from([127, 0, 0, 1]),
  6: Buffer.from([...Array.from({ length: 15 }, () => 0), 1]),
};

const VERSION = 2;
const HEADER_BYTES = 12;
/** The maximum that glibc sends. */
const MAX_KEY_BYTES = 1024;
export const MAX_REQUEST_BYTES: number = HEADER_BYTES + MAX_KEY_BYTES;

/** Request types about hosts. */
const NAME_TYPES = new Map<number, Family | "all">([
  [4, 4],
  [5, 6],
  [14, "all"],
]);
const ADDRESS_TYPES = new Map<number, Family>([
  [6, 4],
  [7, 6],
]);

/** `more`: the request is incomplete. */
export function readNameRequest(bytes: Buffer): NameRequest | "more" | "malformed" {
  if (bytes.length < HEADER_BYTES) return "more";
  const [version, type, length] = [bytes.readInt32LE(0), bytes.readInt32LE(4), bytes.readInt32LE(8)];
  if (version !== VERSION || length < 0 || length > MAX_KEY_BYTES) return "malformed";
  if (bytes.length < HEADER_BYTES + length) return "more";
  const key = bytes.subarray(HEADER_BYTES, HEADER_BYTES + length);
  const named = NAME_TYPES.get(type);
  // A name ends with a zero byte. Another zero byte inside of it makes it no host name.
  if (named !== undefined)
    return key.at(-1) === 0
      ? { asks: "name", name: key.toString("latin1", 0, length - 1), family: named }
      : "malformed";
  const family = ADDRESS_TYPES.get(type);
  return family === undefined
    ? { asks: "else" }
    : { asks: "address", isLoopback: LOOPBACK[family].equals(key), family };
}

/** AF_INET and AF_INET6 of Linux. */
const FAMILY_NUMBERS: Readonly<Record<Family, number>> = { 4: 2, 6: 10 };
const HOST_NOT_FOUND = 1;
const CANONICAL = Buffer.from("localhost\0");

/**
 * Answers with the sandbox's own addresses, or with "no such host". Never answers that the cache is disabled:
 * glibc would then skip it for its next hundred lookups.
 */
export function writeNameAnswer(family: Family | "all", found: readonly Family[]): Buffer {
  return family === "all" ? allFamilies(found) : oneFamily(family, found.includes(family));
}

/** `ai_response_header`; the addresses one after the other, the family of each, the name. */
function allFamilies(found: readonly Family[]): Buffer {
  if (found.length === 0) return numbers(VERSION, 0, 0, 0, 0, HOST_NOT_FOUND);
  const addresses = Buffer.concat(found.map((family) => LOOPBACK[family]));
  const families = Buffer.from(found.map((family) => FAMILY_NUMBERS[family]));
  const header = numbers(VERSION, 1, found.length, addresses.length, CANONICAL.length, 0);
  return Buffer.concat([header, addresses, families, CANONICAL]);
}

/** `hst_response_header`; the name, the address. */
function oneFamily(family: Family, isFound: boolean): Buffer {
  if (!isFound) return numbers(VERSION, 0, 0, 0, -1, -1, 0, HOST_NOT_FOUND);
  const address = LOOPBACK[family];
  const header = numbers(VERSION, 1, CANONICAL.length, 0, FAMILY_NUMBERS[family], address.length, 1, 0);
  return Buffer.concat([header, CANONICAL, address]);
}

/** Little-endian, because sandboxes exist on x64 and arm64 only. */
function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeInt32LE(value, index * 4);
  return bytes;
}
