import fc from "fast-check";
import { expect, test } from "vitest";
import { integrityOf, parseIntegrity, sameIntegrity, toSri } from "./integrity.ts";

const HEX = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const SRI = "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=";

test.each([SRI, HEX, HEX.toUpperCase(), `sha256:${HEX}`])('parses %s as the SHA-256 of "abc"', (text) => {
  const parsed = parseIntegrity(text);
  expect(parsed && toSri(parsed)).toBe(SRI);
  expect(parsed && sameIntegrity(parsed, integrityOf(Buffer.from("abc")))).toBe(true);
});

test.each([
  "",
  "sha256-abc123...",
  "sha256-def456",
  "sha1-qZk+NkcGgWq6PiVxeFDCbJzQ2J0=",
  HEX.slice(1),
  `sha512:${HEX}`,
  `sha256:${HEX}00`,
  SRI.slice(0, -1),
  `${SRI} ${SRI}`,
  ` ${SRI}`,
  `constructor-${HEX}`,
])("rejects %j, which is not a hash", (text) => {
  expect(parseIntegrity(text)).toBeUndefined();
});

test("a hash is written and parsed back unchanged", () => {
  const algorithm = fc.constantFrom("sha256", "sha384", "sha512");
  fc.assert(
    fc.property(fc.uint8Array(), algorithm, (bytes, name) => {
      const integrity = integrityOf(bytes, name);
      expect(parseIntegrity(toSri(integrity))).toEqual(integrity);
      expect(parseIntegrity(`${name}:${integrity.digest.toString("hex")}`)).toEqual(integrity);
    }),
  );
});

test("hashes of two algorithms are not equal", () => {
  const bytes = Buffer.from("abc");
  expect(sameIntegrity(integrityOf(bytes), integrityOf(bytes, "sha512"))).toBe(false);
});
