// Signatures of an npm registry: good ones, unknown keys, and every way in which they can be wrong.

import { createHash, sign } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import {
  BYTES,
  createSigstore,
  NPM_KEY_ID,
  npmKeys,
  type Sigstore,
} from "../../../test/helpers/attestations.ts";
import { checkNpmSignatures, type NpmSubject } from "./npm-signature.ts";
import { createTrust, type Trust } from "./trust.ts";

const SUBJECT: NpmSubject = {
  name: "@alice/notes",
  version: "1.0.0",
  sha512: createHash("sha512").update(BYTES).digest(),
};

let sigstore: Sigstore;
let trust: Trust;
beforeAll(async () => {
  sigstore = await createSigstore();
  trust = trustIn(sigstore);
});

const trustIn = (one: Sigstore, validFor?: object): Trust =>
  createTrust({ npmKeys: { file: "keys.json", content: npmKeys(one, validFor) } });

describe("the registry's signature", () => {
  const NOW = new Date("2026-06-01T00:00:00Z");
  const integrity = `sha512-${SUBJECT.sha512.toString("base64")}`;
  const signed = (message = `@alice/notes@1.0.0:${integrity}`, key = sigstore.npmKey): object => ({
    keyid: NPM_KEY_ID,
    sig: sign("sha256", Buffer.from(message), key.privateKey).toString("base64"),
  });
  const check = (signatures: unknown, publishedAt = NOW, by = trust): ReturnType<typeof checkNpmSignatures> =>
    checkNpmSignatures(signatures, SUBJECT, { keys: by.npmKeys, publishedAt });

  test("is verified, missing, or made with an unknown key", () => {
    expect(check([signed()])).toEqual({ state: "verified", keyId: NPM_KEY_ID });
    expect(check(undefined)).toEqual({ state: "none" });
    expect(check([])).toEqual({ state: "none" });
    expect(check([signed()], NOW, createTrust())).toEqual({ state: "unknown-key", keyId: NPM_KEY_ID });
  });

  test.each<[string, () => unknown]>([
    ["another version", () => [signed(`@alice/notes@2.0.0:${integrity}`)]],
    ["another package", () => [signed(`notes@1.0.0:${integrity}`)]],
    ["other bytes", () => [signed("@alice/notes@1.0.0:sha512-AAAA")]],
    ["no signature", () => [{ keyid: NPM_KEY_ID, sig: "" }]],
    ["random bytes", () => [{ keyid: NPM_KEY_ID, sig: "AAAA" }]],
    ["a good one and a forged one", () => [signed(), { keyid: NPM_KEY_ID, sig: "AAAA" }]],
    ["no key id", () => [{ sig: "AAAA" }]],
    ["no list", () => "signature"],
    ["too many", () => Array(50).fill(signed())],
  ])("is refused: %s", (_, signatures) => {
    expect(check(signatures()).state).toBe("invalid");
  });

  test("is refused if the key was not valid when the version was published", () => {
    const limited = trustIn(sigstore, {
      start: "2022-01-01T00:00:00Z",
      end: "2025-01-01T00:00:00Z",
    });
    expect(check([signed()], new Date("2024-01-01T00:00:00Z"), limited).state).toBe("verified");
    expect(check([signed()], NOW, limited)).toMatchObject({
      reason: expect.stringMatching(/was not valid on 2026-06/),
    });
    expect(check([signed()], new Date("2021-01-01T00:00:00Z"), limited).state).toBe("invalid");
    expect(check([signed()], new Date("never"), limited).state).toBe("invalid");
  });

  test("is not verified for random values, and causes no exception", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => check(value).state !== "verified"));
  });
});
