// Origin of npm packages: attestations under a Sigstore of our own, and every way in which they can be wrong.

import { createHash, sign } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  type BundleOptions,
  BYTES,
  createBundle,
  createSigstore,
  createStatement,
  GITHUB,
  type LooseBundle,
  NPM_KEY_ID,
  npmKeys,
  provenance,
  PROVENANCE_V02,
  PROVENANCE_V1,
  PUBLISH,
  publishPredicate,
  type Sigstore,
  trustedRoot,
} from "../../../test/helpers/attestations.ts";
import { isSameRepository } from "./build-identity.ts";
import { checkNpmAttestations, toPurl } from "./npm-attestations.ts";
import type { NpmSubject } from "./npm-signature.ts";
import { attestationsPath, checkOrigin, type NpmOrigin } from "./origin.ts";
import { describeOrigin, type OriginCheck } from "./proof.ts";
import { createTrust, loadTrust, type Trust } from "./trust.ts";

const SUBJECT: NpmSubject = {
  name: "@alice/notes",
  version: "1.0.0",
  sha512: createHash("sha512").update(BYTES).digest(),
};
const REPOSITORY = "https://github.com/alice/notes";

let sigstore: Sigstore;
let trust: Trust;
beforeAll(async () => {
  sigstore = await createSigstore();
  trust = trustIn(sigstore);
});

function trustIn(one: Sigstore, end?: Date, validFor?: object): Trust {
  return createTrust({
    sigstoreRoot: { file: "root.json", content: trustedRoot(one, end) },
    npmKeys: { file: "keys.json", content: npmKeys(one, validFor) },
  });
}

const bundle = (options: BundleOptions = {}): Promise<LooseBundle> => createBundle(sigstore, options);
const answer = (...bundles: readonly LooseBundle[]): object => ({
  attestations: bundles.map((one) => ({ predicateType: PROVENANCE_V1, bundle: one })),
});
const reasonOf = (check: Awaited<ReturnType<typeof checkNpmAttestations>>): string =>
  check.state === "invalid" ? check.reason : "accepted";
const refusal = async (of: unknown, by = trust, subject = SUBJECT): Promise<string> =>
  reasonOf(await checkNpmAttestations(of, subject, by));

describe("accepted attestations", () => {
  test("provenance with repository, workflow and commit", async () => {
    const check = await checkNpmAttestations(answer(await bundle({ repositoryId: "42" })), SUBJECT, trust);
    expect(check).toEqual({
      state: "checked",
      proofs: [
        {
          kind: "npm-provenance",
          signer: `${REPOSITORY} (repository 42)`,
          details: {
            service: "GitHub Actions",
            repository: REPOSITORY,
            workflow: `${REPOSITORY}/.github/workflows/release.yml@refs/tags/v1`,
            ref: "refs/tags/v1",
            commit: "c0ffee",
          },
        },
      ],
    });
  });

  test("provenance of version 0.2, with a certificate of the old form", async () => {
    const predicate = {
      builder: { id: "https://github.com/npm/cli@9.2.0" },
      invocation: { configSource: { uri: `git+${REPOSITORY}@refs/tags/v1` } },
    };
    const statement = createStatement({ predicateType: PROVENANCE_V02, predicate });
    const made = await bundle({ old: true, statement });
    const check = await checkNpmAttestations(
      { attestations: [{ predicateType: PROVENANCE_V02, bundle: made }] },
      SUBJECT,
      trust,
    );
    expect(check).toMatchObject({ proofs: [{ signer: REPOSITORY, details: { commit: "c0ffee" } }] });
  });

  test("provenance of a reusable workflow in another repository", async () => {
    const workflow = "https://github.com/shared/workflows/.github/workflows/publish.yml@refs/heads/main";
    expect(await refusal(answer(await bundle({ workflow })))).toBe("accepted");
  });

  test("provenance beside a publish attestation and attestations of other kinds", async () => {
    const statement = createStatement({ predicateType: PUBLISH, predicate: publishPredicate() });
    const published = await bundle({ withNpmKey: true, statement });
    const check = await checkNpmAttestations(
      {
        attestations: [
          { predicateType: PUBLISH, bundle: published },
          { predicateType: PROVENANCE_V1, bundle: await bundle() },
          { predicateType: "https://example.com/sbom", bundle: "anything" },
        ],
      },
      SUBJECT,
      trust,
    );
    expect(check.state === "checked" && check.proofs.map(({ kind }) => kind)).toEqual([
      ...["npm-signature", "npm-provenance"],
    ]);
  });

  test("a publish attestation alone, which gives a signature but no provenance", async () => {
    const statement = createStatement({ predicateType: PUBLISH, predicate: publishPredicate() });
    const made = await bundle({ withNpmKey: true, statement });
    const check = await checkNpmAttestations(
      { attestations: [{ predicateType: PUBLISH, bundle: made }] },
      SUBJECT,
      trust,
    );
    expect(check).toEqual({
      state: "checked",
      proofs: [{ kind: "npm-signature", signer: "npm keys of keys.json" }],
    });
  });

  test("an empty list, which gives no proofs", async () => {
    expect(await checkNpmAttestations({ attestations: [] }, SUBJECT, trust)).toEqual({
      state: "checked",
      proofs: [],
    });
  });
});

describe("refused attestations", () => {
  const statement = (options: Parameters<typeof createStatement>[0]): BundleOptions => ({
    statement: createStatement(options),
  });

  test.each<[string, BundleOptions, RegExp]>([
    ["another package", statement({ name: "@alice/other" }), /about "pkg:npm\/%40alice\/other@1\.0\.0", not/],
    ["another version", statement({ version: "2.0.0" }), /notes@2\.0\.0", not about/],
    ["other bytes", statement({ bytes: Buffer.from("other") }), /a file with another hash/],
    ["several subjects", statement({ subjects: [{}, {}] }), /2 subjects/],
    ["no subject", statement({ subjects: [] }), /0 subjects/],
    [
      "a subject without a hash",
      statement({ subjects: [{ name: toPurl("@alice/notes", "1.0.0") }] }),
      /a file with another hash/,
    ],
    ["another kind inside", statement({ predicateType: PUBLISH }), /the type that the registry names/],
    ["another kind of payload", { payloadType: "text/plain" }, /not an in-toto statement/],
    [
      "a statement of another type",
      { statement: { ...createStatement(), _type: "x" } },
      /not an in-toto statement/,
    ],
    ["a forged signature", { forged: true }, /cannot be verified/],
    ["a key instead of a certificate", { withNpmKey: true }, /a key instead of a certificate/],
    ["an unknown key", { withNpmKey: true, keyHint: "SHA256:other" }, /unknown key/],
    [
      "a login instead of a build",
      { issuer: "https://accounts.google.com" },
      /which is not a supported build service/,
    ],
    [
      "another issuer with the right beginning",
      { issuer: `${GITHUB}.evil.example` },
      /which is not a supported build service/,
    ],
    [
      "no repository",
      { repository: "https://evil.example/alice/notes" },
      /names no repository at https:\/\/github\.com/,
    ],
    [
      "a path that leads elsewhere",
      { repository: "https://github.com/alice/../notes" },
      /names no repository/,
    ],
    ["another service's workflow", { workflow: "https://evil.example/x.yml" }, /names no workflow/],
    ["a machine of the author", { runner: "self-hosted" }, /self-hosted runner/],
    [
      "a claim about another repository",
      statement({ predicate: provenance("https://github.com/mallory/notes") }),
      /claims the repository https:\/\/github\.com\/mallory\/notes, but its certificate names/,
    ],
    [
      "a claim about another builder",
      statement({ predicate: { runDetails: { builder: { id: "https://evil.example/x" } } } }),
      /claims the builder/,
    ],
  ])("%s", async (_, options, reason) => {
    expect(await refusal(answer(await bundle(options)))).toMatch(reason);
  });

  test("a bundle whose Sigstore root is not the trusted one", async () => {
    const made = answer(await bundle());
    expect(await refusal(made, trustIn(await createSigstore()))).toMatch(/cannot be verified/);
    expect(await refusal(made, createTrust())).toMatch(/cannot be verified/);
  });

  test("a bundle with an expired certificate chain", async () => {
    expect(
      await refusal(answer(await bundle()), trustIn(sigstore, new Date("2021-01-01T00:00:00Z"))),
    ).toMatch(/cannot be verified/);
    const old = await createSigstore(new Date("2022-01-01T00:00:00Z"));
    expect(await refusal(answer(await createBundle(old)), trustIn(old))).toMatch(/cannot be verified/);
  });

  test("a bundle with the certificate of another bundle", async () => {
    const [one, other] = [await bundle(), await bundle({ repository: "https://github.com/mallory/notes" })];
    one["verificationMaterial"].certificate = other["verificationMaterial"].certificate;
    expect(await refusal(answer(one))).toMatch(/cannot be verified/);
  });

  test("a bundle with the log entry of another bundle, or none", async () => {
    const [one, other] = [await bundle(), await bundle()];
    one["verificationMaterial"].tlogEntries = other["verificationMaterial"].tlogEntries;
    expect(await refusal(answer(one))).toMatch(/cannot be verified/);
    one["verificationMaterial"].tlogEntries = [];
    expect(await refusal(answer(one))).toMatch(/cannot be verified/);
  });

  test("a bundle with two signatures, or a changed payload", async () => {
    const one = await bundle();
    const { signatures } = one["dsseEnvelope"];
    one["dsseEnvelope"].signatures = [...signatures, ...signatures];
    expect(await refusal(answer(one))).toMatch(/cannot be verified/);
    one["dsseEnvelope"].signatures = signatures;
    const changed = JSON.stringify(createStatement({ predicate: {} }));
    one["dsseEnvelope"].payload = Buffer.from(changed).toString("base64");
    expect(await refusal(answer(one))).toMatch(/cannot be verified/);
  });

  test("a publish attestation about another package, or with a certificate", async () => {
    const about = (predicate: object): BundleOptions["statement"] =>
      createStatement({ predicateType: PUBLISH, predicate });
    const check = async (options: BundleOptions): Promise<string> =>
      refusal({ attestations: [{ predicateType: PUBLISH, bundle: await bundle(options) }] });
    expect(await check({ withNpmKey: true, statement: about(publishPredicate("other")) })).toMatch(
      /another package/,
    );
    expect(await check({ statement: about(publishPredicate()) })).toMatch(
      /not signed with the registry's key/,
    );
    const expired = trustIn(sigstore, undefined, { end: "2021-01-01T00:00:00Z" });
    const made = await bundle({ withNpmKey: true, statement: about(publishPredicate()) });
    expect(await refusal({ attestations: [{ predicateType: PUBLISH, bundle: made }] }, expired)).toMatch(
      /not valid/,
    );
  });

  test("one wrong attestation beside a good one", async () => {
    expect(await refusal(answer(await bundle(), await bundle({ forged: true })))).toMatch(
      /cannot be verified/,
    );
  });

  test("values of any other form, without an exception", async () => {
    for (const wrong of [undefined, null, 5, [], {}, { attestations: {} }, { attestations: [null] }])
      expect(await refusal(wrong)).not.toBe("accepted");
    expect(
      await refusal({ attestations: Array.from({ length: 100 }, () => ({ predicateType: PROVENANCE_V1 })) }),
    ).toMatch(/list/);
    const good = await bundle();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("mediaType", "verificationMaterial", "dsseEnvelope"),
        fc.jsonValue(),
        async (key, value) => {
          expect(await refusal(answer({ ...good, [key]: value }))).not.toBe("accepted");
        },
      ),
      { numRuns: 25 },
    );
  });

  test("a payload with one changed bit", async () => {
    const good = await bundle();
    const before = await checkNpmAttestations(answer(good), SUBJECT, trust);
    const { payload } = good["dsseEnvelope"] as { payload: string };
    const bytes = Buffer.from(payload, "base64");
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 0, max: 7 }), async (at, bit) => {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ (1 << bit);
        const wrong = {
          ...good,
          dsseEnvelope: { ...good["dsseEnvelope"], payload: changed.toString("base64") },
        };
        expect(await refusal(answer(wrong))).not.toBe("accepted");
      }),
      { numRuns: 20 },
    );
    expect(before.state).toBe("checked");
  });
});

describe("the origin of an npm package", () => {
  const ATTESTATIONS = "/-/npm/v1/attestations/@alice%2fnotes@1.0.0";
  const source = (dist: unknown, answers: Readonly<Record<string, unknown>> = {}): NpmOrigin => ({
    ...SUBJECT,
    kind: "npm",
    dist,
    publishedAt: "2026-06-01T00:00:00Z",
    fetchJson: (path) => Promise.resolve(answers[path]),
  });
  const attested = { attestations: { url: `https://elsewhere.example${ATTESTATIONS}?x=1` } };
  const signatures = (): object[] => {
    const message = `@alice/notes@1.0.0:sha512-${SUBJECT.sha512.toString("base64")}`;
    return [
      {
        keyid: NPM_KEY_ID,
        sig: sign("sha256", Buffer.from(message), sigstore.npmKey.privateKey).toString("base64"),
      },
    ];
  };
  const summary = (check: OriginCheck): string => `${check.state}: ${describeOrigin(check)}`;

  test("is verified by signature and provenance; only the path of the attestations URL is used", async () => {
    const check = await checkOrigin(
      source({ ...attested, signatures: signatures() }, { [ATTESTATIONS]: answer(await bundle()) }),
      { trust, repository: "git+ssh://git@github.com/alice/notes.git" },
    );
    expect(check.state === "verified" && check.proofs.map(({ kind, signer }) => ({ kind, signer }))).toEqual([
      { kind: "npm-signature", signer: "npm keys of keys.json" },
      { kind: "npm-provenance", signer: REPOSITORY },
    ]);
  });

  test("is unsigned without both, and unchecked if attestations that the registry names are missing", async () => {
    expect(await checkOrigin(source(attested), { trust })).toMatchObject({ state: "unchecked" });
    for (const dist of [undefined, {}, { signatures: [] }, { attestations: { url: "x" } }])
      expect(await checkOrigin(source(dist), { trust })).toEqual({ state: "unsigned" });
    expect(await checkOrigin({ kind: "plain" }, { trust })).toEqual({ state: "unsigned" });
  });

  test("is untrusted with the keys of another registry", async () => {
    expect(summary(await checkOrigin(source({ signatures: signatures() }), { trust: createTrust() }))).toBe(
      "untrusted: is signed by key SHA256:test, which is not trusted: the key is not among the trusted ones",
    );
  });

  test("is refused if one proof is wrong, or if it is of another repository", async () => {
    const good = { [ATTESTATIONS]: answer(await bundle()) };
    const forged = [{ keyid: NPM_KEY_ID, sig: "AAAA" }];
    expect((await checkOrigin(source({ ...attested, signatures: forged }, good), { trust })).state).toBe(
      "invalid",
    );
    const wrong = { [ATTESTATIONS]: answer(await bundle({ forged: true })) };
    expect(
      (await checkOrigin(source({ ...attested, signatures: signatures() }, wrong), { trust })).state,
    ).toBe("invalid");
    const other = await checkOrigin(source(attested, good), {
      trust,
      repository: "https://github.com/bob/notes",
    });
    expect(other).toMatchObject({ state: "invalid", problem: "wrong-repository" });
    expect(summary(other)).toMatch(/alice\/notes, but its metadata names https:\/\/github\.com\/bob\/notes/);
  });

  test("is refused if the lock file remembers another signer, or if the registry dropped the proof", async () => {
    const remembered = [{ kind: "npm-provenance" as const, signer: REPOSITORY }];
    const good = { [ATTESTATIONS]: answer(await bundle()) };
    expect((await checkOrigin(source(attested, good), { trust, remembered })).state).toBe("verified");
    expect(await checkOrigin(source(attested), { trust, remembered })).toMatchObject({
      ...{ state: "invalid", problem: "signer-changed" },
    });
    const mallory = await bundle({
      ...{
        repository: "https://github.com/mallory/notes",
        workflow: "https://github.com/mallory/notes/x.yml",
      },
      statement: createStatement({ predicate: provenance("https://github.com/mallory/notes") }),
    });
    const changed = await checkOrigin(source(attested, { [ATTESTATIONS]: answer(mallory) }), {
      trust,
      remembered,
    });
    expect(summary(changed)).toMatch(
      /mallory\/notes; portolan.lock names https:\/\/github\.com\/alice\/notes/,
    );
  });

  test("is an error, and not unsigned, if the registry cannot be reached", async () => {
    const failing = { ...source(attested), fetchJson: () => Promise.reject(new Error("no network")) };
    await expect(checkOrigin(failing, { trust })).rejects.toThrow("no network");
  });

  test.each([
    ["https://x.example/-/npm/v1/attestations/a@1", "/-/npm/v1/attestations/a@1"],
    ["https://x.example//evil.example/a", undefined],
    ["file:///etc/passwd", undefined],
    ["/-/npm", undefined],
    [5, undefined],
  ])("attestationsPath() reads the URL %j", (url, path) => {
    expect(attestationsPath({ url })).toBe(path);
  });
});

describe("trust", () => {
  test("files of a workspace replace the built-in ones", async () => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-trust-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, "root.json"), trustedRoot(sigstore));
    writeFileSync(join(folder, "keys.json"), npmKeys(sigstore));
    const loaded = await loadTrust({ sigstoreRoot: "root.json", npmKeys: "keys.json" }, folder);
    expect(await refusal(answer(await bundle()), loaded)).toBe("accepted");
    expect(loaded.npmKeys).toHaveLength(2);
    expect((await loadTrust({}, folder)).npmSigner).toBe("npm");
    await expect(loadTrust({ certificates: ["ca.pem"] }, folder)).rejects.toThrow(/ca\.pem cannot be read/);
  });

  test("the built-in root can be read", async () => {
    const { npmKeys: keys, certificates, npmSigner } = createTrust();
    expect(keys.length).toBeGreaterThanOrEqual(4);
    expect(certificates).toEqual([]);
    expect(npmSigner).toBe("npm");
    // The check of a test bundle reaches the certificate chain, which shows that the root was read.
    expect(await refusal(answer(await bundle()), createTrust())).toMatch(/certificate|log/i);
  });

  test.each([
    [{ sigstoreRoot: { file: "root.json", content: "{" } }, /root\.json:1/],
    [{ sigstoreRoot: { file: "root.json", content: "[]" } }, /must be an object/],
    [{ sigstoreRoot: { file: "root.json", content: "{}" } }, /not a trusted root/],
    [{ npmKeys: { file: "keys.json", content: "{}" } }, /keys is missing/],
    [
      {
        npmKeys: {
          file: "keys.json",
          content: '{"keys":[{"keyId":"a","keyUsage":"b","publicKey":{"rawBytes":"AAAA"}}]}',
        },
      },
      /keys\[0\] cannot be read/,
    ],
    [{ certificates: [{ file: "ca.pem", content: "x" }] }, /ca\.pem: the text has no certificate/],
  ])("%#: a broken file is an error, and is never ignored", (files, expected) => {
    expect(() => createTrust(files)).toThrow(expected);
  });
});

test.each([
  ["git+https://github.com/alice/notes.git", true],
  ["git@github.com:alice/notes.git", true],
  ["git://github.com/alice/notes", true],
  ["github:alice/notes", true],
  ["alice/notes", true],
  ["https://github.com/Alice/Notes#readme", true],
  ["https://github.com/alice/notes2", false],
  ["https://evil.example/alice/notes", false],
  ["https://github.com.evil.example/alice/notes", false],
])("isSameRepository() compares the repository %s", (written, same) => {
  expect(isSameRepository(written, REPOSITORY)).toBe(same);
});
