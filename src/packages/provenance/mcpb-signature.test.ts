// Signatures of bundles: good ones of several kinds, tampered and untrusted ones, an archive hidden in a signature, random bytes.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { needs } from "../../../test/helpers/needs.ts";
import * as make from "../../../test/helpers/signed-bundle.ts";
import { parseCertificates, readCertificate } from "./certificate.ts";
import { checkMcpbSignature, type McpbSignatureCheck, splitBundle } from "./mcpb-signature.ts";

const NOW = new Date("2026-06-01T00:00:00Z");
const ZIP = make.createZip({ "manifest.json": "{}", "server/index.js": "//" });
const { CODE_SIGNING, SERVER_AUTH } = make;

const rootKey = make.createEcKey();
const leafKey = make.createEcKey();
const rsaKey = make.createRsaKey();
const ROOT = { name: "Root", key: rootKey };
const rootCertificate = make.createCertificate({ ...ROOT, ca: true, keyUsage: 0x04, serial: 1 });
const LEAF = { name: "Alice", key: leafKey, issuer: ROOT, extendedKeyUsage: [CODE_SIGNING] };
const leaf = make.createCertificate(LEAF);

type Signature = Partial<make.SignatureOptions>;

const signature = (options: Signature = {}): Buffer =>
  make.createSignature({ content: ZIP, certificate: leaf, key: leafKey, issuer: "Root", ...options });

const bundle = (options: Signature = {}, zip = ZIP): Buffer =>
  Buffer.concat([zip, make.signatureBlock(signature(options))]);

/** A bundle whose signer has a certificate like Alice's, with these differences. */
const certified = (options: Partial<make.CertificateOptions>, more: Signature = {}): Buffer => {
  const whole = { ...LEAF, ...options };
  return bundle({
    certificate: make.createCertificate(whole),
    key: whole.key,
    issuer: whole.issuer?.name,
    ...more,
  });
};

const check = (
  bytes: Buffer,
  trusted: readonly Buffer[] = [rootCertificate],
  now = NOW,
): McpbSignatureCheck => checkMcpbSignature(bytes, { trusted: trusted.map(readCertificate), now });

const summary = (result: McpbSignatureCheck): string =>
  "reason" in result ? `${result.state}: ${result.reason}` : result.state;

describe("a bundle is verified", () => {
  test("if a trusted root issued its certificate; the archive has the signed bytes", () => {
    const result = check(bundle());
    const { fingerprint } = readCertificate(rootCertificate);
    expect(result).toMatchObject({ state: "verified", signer: `CN=Alice (under sha256:${fingerprint})` });
    expect(result.state === "verified" && result.archive.equals(ZIP)).toBe(true);
  });

  test("with an RSA key", () => {
    expect(summary(check(certified({ key: rsaKey })))).toBe("verified");
  });

  test("through an intermediate certificate that is part of the signature", () => {
    const middle = { name: "Middle", key: make.createEcKey() };
    const others = [make.createCertificate({ ...middle, issuer: ROOT, ca: true, serial: 2 })];
    expect(summary(check(certified({ issuer: middle }, { others })))).toBe("verified");
    expect(summary(check(certified({ issuer: middle })))).toMatch(/^untrusted: no trusted certificate/);
  });

  test("by a self-signed certificate only if that certificate is trusted", () => {
    const self = { name: "Self", key: leafKey };
    const certificate = make.createCertificate(self);
    const bytes = bundle({ certificate, issuer: "Self" });
    expect(summary(check(bytes, [certificate]))).toBe("verified");
    expect(summary(check(bytes))).toMatch(/^untrusted: its certificate is not made for code signing/);
    const withUsage = make.createCertificate({ ...self, extendedKeyUsage: [CODE_SIGNING] });
    expect(summary(check(bundle({ certificate: withUsage, issuer: "Self" })))).toMatch(
      /^untrusted: its certificate is self-signed/,
    );
  });

  test("if the signature block is declared as the archive's comment", () => {
    const block = make.signatureBlock(signature());
    const declared = Buffer.from(ZIP);
    declared.writeUInt16LE(block.length, declared.length - 2);
    const result = check(Buffer.concat([declared, block]));
    expect(result.state).toBe("verified");
    // The archive has no comment any more, so that a strict reader accepts it.
    expect(result.state === "verified" && result.archive.equals(ZIP)).toBe(true);
    const other = Buffer.from(ZIP);
    other.writeUInt16LE(block.length + 1, other.length - 2);
    expect(check(Buffer.concat([other, block])).state).toBe("invalid");
  });

  test("if a file of the archive contains the header of a signature", () => {
    const zip = make.createZip({ "manifest.json": "MCPB_SIG_V1....MCPB_SIG_END", "b.txt": "MCPB_SIG_V1" });
    expect(summary(check(bundle({ content: zip }, zip)))).toBe("verified");
  });

  test("with another signed bundle in the archive", () => {
    const zip = Buffer.concat([make.signatureBlock(Buffer.from("inner")), ZIP]);
    const result = check(bundle({ content: zip }, zip));
    expect(result.state === "verified" && result.archive.equals(zip)).toBe(true);
  });

  test("with further signed attributes", () => {
    const more = make.attribute("1.2.3.4", make.octets(Buffer.from("x")));
    expect(summary(check(bundle({ attributes: (usual) => [...usual, more] })))).toBe("verified");
  });

  test("if the official mcpb command signed it", () => {
    // Made with version 2.1.2 of the format's own command and an RSA certificate of openssl.
    const folder = new URL("../../../test/fixtures/mcpb/", import.meta.url);
    const signed = readFileSync(new URL("signed.mcpb", folder));
    const { certificates } = parseCertificates(readFileSync(new URL("signer.pem", folder), "utf8"));
    const trust = { trusted: certificates, now: new Date("2027-01-01T00:00:00Z") };
    expect(checkMcpbSignature(signed, trust)).toMatchObject({ state: "verified" });
    expect(checkMcpbSignature(signed, { ...trust, trusted: [] })).toMatchObject({ state: "untrusted" });
    signed[40] = (signed[40] ?? 0) ^ 1;
    expect(checkMcpbSignature(signed, trust)).toMatchObject({ state: "invalid" });
  });
});

test("a bundle without a signature is unsigned, and all of it is the archive", () => {
  const result = check(ZIP);
  expect(result.state === "unsigned" && result.archive.equals(ZIP)).toBe(true);
  expect(summary(check(Buffer.alloc(0)))).toBe("unsigned");
});

describe("a tampered bundle is not verified", () => {
  const block = make.signatureBlock(signature());
  const swap = (at: number): Buffer => {
    const bytes = bundle();
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    return bytes;
  };
  const foreign = make.createZip({ "manifest.json": "{ }" });
  const digestOf = (content: Buffer): Buffer =>
    make.attribute(make.ATTRIBUTE.messageDigest, make.octets(content));

  test.each<[string, Buffer, RegExp]>([
    ["the first byte", swap(0), /not those that were signed/],
    ["the last byte of the archive", swap(ZIP.length - 1), /not those that were signed/],
    ["another archive", Buffer.concat([foreign, block]), /not those that were signed/],
    ["bytes before the archive", Buffer.concat([foreign, ZIP, block]), /not those that were signed/],
    ["bytes between archive and signature", Buffer.concat([ZIP, Buffer.from("x"), block]), /not those that/],
    ["bytes behind the signature", Buffer.concat([ZIP, block, Buffer.from("x")]), /bytes follow/],
    ["an archive behind the signature", Buffer.concat([ZIP, block, foreign]), /bytes follow/],
    ["two signatures", Buffer.concat([ZIP, block, block]), /not those that were signed/],
    ["a damaged footer", Buffer.concat([ZIP, block.subarray(0, -1), Buffer.from("X")]), /./],
    ["a wrong length", Buffer.concat([ZIP, make.signatureBlock(signature(), 5)]), /is damaged/],
    [
      "a length beyond the file",
      Buffer.concat([ZIP, make.signatureBlock(signature(), 0xffffffff)]),
      /is damaged/,
    ],
    ["an empty signature", Buffer.concat([ZIP, make.signatureBlock(Buffer.alloc(0))]), /cannot be verified/],
    [
      "a signature of random bytes",
      Buffer.concat([ZIP, make.signatureBlock(Buffer.alloc(99, 7))]),
      /cannot be/,
    ],
    [
      "bytes behind the CMS",
      Buffer.concat([ZIP, make.signatureBlock(Buffer.concat([signature(), Buffer.alloc(1)]))]),
      /bytes follow the end/,
    ],
    ["SHA-1", bundle({ digest: "sha1" }), /weak or unknown/],
    ["the content inside of the signature", bundle({ attached: true }), /contains its own content/],
    ["no signed attributes", bundle({ bare: true }), /no signed attributes/],
    ["no digest", bundle({ attributes: ([type]) => (type ? [type] : []) }), /signs no digest/],
    [
      "two digests",
      bundle({ attributes: (usual) => [...usual, digestOf(Buffer.alloc(32))] }),
      /several values/,
    ],
    [
      "a short digest",
      bundle({ attributes: ([type]) => [type ?? Buffer.alloc(0), digestOf(Buffer.alloc(4))] }),
      /not those that/,
    ],
    [
      "another type of content",
      bundle({
        attributes: ([, digest]) => [
          make.attribute(make.ATTRIBUTE.contentType, make.oid("1.2.3")),
          digest ?? Buffer.alloc(0),
        ],
      }),
      /another kind/,
    ],
    ["another key", bundle({ key: make.createEcKey() }), /not made by the key/],
    ["another kind of key", bundle({ key: rsaKey }), /does not fit the key/],
    ["another serial number", bundle({ serial: 8 }), /does not contain the certificate/],
    ["the certificate twice", bundle({ others: [leaf] }), /several certificates/],
    ["two signers", bundle({ signers: 2 }), /2 signers/],
    ["no signer", bundle({ signers: 0 }), /0 signers/],
  ])("because of %s", (_, bytes, reason) => {
    const result = check(bytes);
    if (result.state === "unsigned") {
      // Without its footer, the block is not found; a strict reader does not accept the whole file as an archive.
      expect(bytes.subarray(-12).toString()).not.toBe("MCPB_SIG_END");
    } else {
      expect(result.state).toBe("invalid");
      expect(summary(result)).toMatch(reason);
    }
  });
});

describe("a bundle is untrusted", () => {
  const other = { name: "Root", key: make.createEcKey() };
  const weak = make.createRsaKey(1024);
  const middle = { name: "Middle", key: make.createEcKey() };
  const through = (options: Partial<make.CertificateOptions>): Buffer => {
    const certificate = make.createCertificate({ ...middle, issuer: ROOT, serial: 2, ca: true, ...options });
    return certified({ issuer: middle }, { others: [certificate] });
  };
  const day = (text: string): Date => new Date(`${text}T00:00:00Z`);

  test.each<[string, Buffer, RegExp]>([
    [
      "another root of the same name",
      certified({ issuer: other }),
      /invalid signature|no trusted certificate/,
    ],
    [
      "another root that is part of the signature",
      certified({ issuer: other }, { others: [make.createCertificate({ ...other, ca: true, serial: 1 })] }),
      /invalid signature|no trusted/,
    ],
    [
      "a certificate for web servers",
      certified({ extendedKeyUsage: [SERVER_AUTH] }),
      /not made for code signing/,
    ],
    [
      "a certificate without a usage",
      certified({ extendedKeyUsage: undefined }),
      /not made for code signing/,
    ],
    ["a key for other things than signatures", certified({ keyUsage: 0x20 }), /not made for signatures/],
    ["an expired certificate", certified({ to: day("2026-02-01") }), /expired on 2026-02-01/],
    ["a certificate of the future", certified({ from: day("2026-12-01") }), /not valid before 2026-12-01/],
    ["a certificate signed with SHA-1", certified({ digest: "sha1" }), /weak or unknown algorithm/],
    ["a weak key", certified({ key: weak }), /weak or unknown key/],
    [
      "an unknown critical extension",
      certified({ criticalExtension: "1.2.3.4.5" }),
      /critical extension 1\.2\.3\.4\.5/,
    ],
    ["an issuer that is no authority", through({ ca: false }), /is not allowed to issue certificates/],
    ["an issuer without constraints", through({ ca: undefined }), /is not allowed to issue certificates/],
    [
      "an issuer whose key is not allowed to sign certificates",
      through({ keyUsage: 0x80 }),
      /is not allowed to sign certificates/,
    ],
    ["an issuer for web servers", through({ extendedKeyUsage: [SERVER_AUTH] }), /not made for code signing/],
    ["an expired issuer", through({ to: day("2026-03-01") }), /issuer \(CN=Middle\) expired/],
    [
      "name constraints, which are not read",
      through({ criticalExtension: "2.5.29.30" }),
      /critical extension/,
    ],
  ])("because of %s", (_, bytes, reason) => {
    const result = check(bytes);
    expect(result.state).toBe("untrusted");
    expect(summary(result)).toMatch(reason);
    // The result names the claimed signer.
    expect(result).toMatchObject({ signer: "CN=Alice" });
  });

  test("because of a chain that is longer than the root allows", () => {
    const short = make.createCertificate({ ...ROOT, ca: true, pathLength: 0, serial: 1 });
    expect(summary(check(through({}), [short]))).toMatch(/does not allow a certificate chain of this length/);
    expect(summary(check(bundle(), [short]))).toBe("verified");
  });

  test("because of an empty list of trusted certificates", () => {
    expect(summary(check(bundle(), []))).toMatch(/no trusted certificate/);
  });

  test("because of an expired root", () => {
    expect(summary(check(bundle(), undefined, new Date("2030-01-01T00:00:00Z")))).toMatch(/expired/);
  });

  test("because of certificates that issue each other", () => {
    const ring = Array.from({ length: 8 }, (_, n) => ({ name: `R${n}`, key: leafKey }));
    const others = ring.flatMap((one) =>
      ring
        .slice(0, 2)
        .map((issuer, n) => make.createCertificate({ ...one, issuer, ca: true, serial: 10 + n })),
    );
    expect(check(certified({ issuer: ring[0] }, { others })).state).toBe("untrusted");
  });

  test("and invisible characters in the name of the signer are shown in hexadecimal", () => {
    const result = check(certified({ name: "Ali\u200bce", to: day("2026-02-01") }));
    expect(result).toMatchObject({ signer: "CN=#416c69e2808b6365" });
    expect(check(certified({ name: "A, O=Bank", to: day("2026-02-01") }))).toMatchObject({
      signer: "CN=A\\, O\\=Bank",
    });
  });
});

test("an archive that is hidden in an unsigned attribute is not unpacked", () => {
  const hidden = make.createZip({ "manifest.json": '{ "evil": true }' });
  const bytes = bundle({ unsigned: [make.attribute("1.2.3.4", make.octets(hidden))] });
  const result = check(bytes);
  // The signature is valid, since nothing signs these attributes.
  expect(result.state).toBe("verified");
  expect(result.state === "verified" && result.archive.equals(ZIP)).toBe(true);
  // A block of its own inside of the hidden bytes makes it unclear where the archive ends.
  const nested = make.signatureBlock(Buffer.from("x"));
  expect(check(bundle({ unsigned: [make.attribute("1.2.3.4", make.octets(hidden, nested))] })).state).toBe(
    "invalid",
  );
});

describe("checkMcpbSignature()", () => {
  test("never throws, whatever the bytes", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => void check(Buffer.from(bytes))));
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        const result = check(Buffer.concat([ZIP, make.signatureBlock(Buffer.from(bytes))]));
        expect(result.state).toBe("invalid");
      }),
    );
  });

  test("refuses a bundle with one changed bit, or returns the same archive and signer", () => {
    const good = bundle({ unsigned: [make.attribute("1.2.3.4", make.octets(Buffer.from("x")))] });
    const before = check(good);
    let verified = 0;
    let tried = 0;
    // Eleven has no factor in common with eight, so that every bit position of a byte is tested.
    for (let bit = 0; bit < good.length * 8; bit += 11, tried += 1) {
      const bytes = Buffer.from(good);
      const at = bit >> 3;
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
      const result = check(bytes);
      if (result.state === "verified") verified += 1;
      if (result.state === "verified") expect(result).toEqual(before);
      // A block without its footer or header is not found: the whole file is then the archive.
      if (result.state === "unsigned") expect(splitBundle(bytes).state).toBe("unsigned");
    }
    // Only bits that the signature does not cover: versions, lists of algorithms, unsigned attributes.
    expect(verified).toBeLessThan(tried / 5);
  });
});

describe("signatures by openssl", () => {
  const openssl = (cwd: string, ...args: readonly string[]): void => {
    const { status, stderr } = spawnSync("openssl", args, { cwd, encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
  };

  test.each([
    ["RSA", ["-newkey", "rsa:2048"]],
    ["EC", ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]],
  ])("%s are verified", needs("openssl"), (_, key) => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-cms-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, "bundle"), ZIP);
    openssl(
      folder,
      ...["req", "-x509", ...key, "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "30"],
      ...["-subj", "/CN=Openssl/O=Tests", "-addext", "extendedKeyUsage=codeSigning"],
    );
    openssl(
      folder,
      ...["cms", "-sign", "-binary", "-in", "bundle", "-signer", "cert.pem", "-inkey", "key.pem"],
      ...["-outform", "DER", "-out", "sig", "-md", "sha256"],
    );
    const bytes = Buffer.concat([ZIP, make.signatureBlock(readFileSync(join(folder, "sig")))]);
    const { certificates } = parseCertificates(readFileSync(join(folder, "cert.pem"), "utf8"));
    const [certificate] = certificates;
    const now = new Date();
    expect(checkMcpbSignature(bytes, { trusted: certificates, now })).toMatchObject({
      state: "verified",
      signer: `CN=Openssl, O=Tests (under sha256:${certificate?.fingerprint ?? ""})`,
    });
    expect(checkMcpbSignature(bytes, { trusted: [], now }).state).toBe("untrusted");
  });
});

test("parseCertificates() reads all certificates of a PEM text, and reports broken ones", () => {
  const pem = readCertificate(leaf).x509.toString();
  expect(parseCertificates(`text\n${pem}\n${pem}`).certificates).toHaveLength(2);
  expect(parseCertificates("nothing").problems).toEqual(["the text has no certificate in PEM form"]);
  const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----";
  expect(parseCertificates(`${pem}\n${broken}`).problems).toEqual([
    expect.stringMatching(/^certificate 2: /),
  ]);
});
