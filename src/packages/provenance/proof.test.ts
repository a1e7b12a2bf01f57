// The comparison with the lock file's signers, and the policy, as tables.

import { describe, expect, test } from "vitest";
import {
  compareWithRemembered,
  describeOrigin,
  type OriginCheck,
  type Proof,
  type RememberedProofs,
  type Requirement,
  toRemembered,
  unmetRequirements,
} from "./proof.ts";

const REPOSITORY = "https://github.com/alice/notes";
const provenance = (signer = REPOSITORY): Proof => ({ kind: "npm-provenance", signer });
const registry: Proof = { kind: "npm-signature", signer: "npm" };
const certificate: Proof = { kind: "mcpb-signature", signer: "CN=Alice (under sha256:00)" };
const verified = (...proofs: readonly Proof[]): OriginCheck => ({ state: "verified", proofs });
const UNSIGNED: OriginCheck = { state: "unsigned" };
const UNTRUSTED: OriginCheck = { state: "untrusted", signer: "CN=Mallory", reason: "it is self-signed" };
const FORGED: OriginCheck = { state: "invalid", problem: "forged", reason: "its bytes differ" };

describe("the lock file's signers", () => {
  test.each<[string, OriginCheck, RememberedProofs]>([
    ["nothing is remembered", UNSIGNED, []],
    ["an untrusted signature where there was none", UNTRUSTED, []],
    ["a first signature", verified(certificate), []],
    ["the same signer", verified(provenance(), registry), [provenance(), registry]],
    ["one more proof", verified(provenance(), registry), [registry]],
    ["an id that was not known before", verified(provenance(`${REPOSITORY} (repository 5)`)), [provenance()]],
  ])("the signer counts as unchanged: %s", (_, check, remembered) => {
    expect(compareWithRemembered(check, remembered)).toBe(check);
  });

  test.each<[string, OriginCheck, RememberedProofs, RegExp]>([
    [
      "a stripped signature",
      UNSIGNED,
      [certificate],
      /signature is missing now; portolan.lock names CN=Alice/,
    ],
    [
      "an untrusted signer",
      UNTRUSTED,
      [certificate],
      /now by CN=Mallory, which is not trusted \(it is self-signed\); portolan.lock names CN=Alice/,
    ],
    [
      "another signer",
      verified({ ...certificate, signer: "CN=Mallory (under sha256:00)" }),
      [certificate],
      /now by CN=Mallory .*portolan.lock names CN=Alice/,
    ],
    [
      "another root",
      verified({ ...certificate, signer: "CN=Alice (under sha256:11)" }),
      [certificate],
      /sha256:11.*sha256:00/,
    ],
    [
      "provenance alone is missing",
      verified(registry),
      [provenance(), registry],
      /provenance is missing now/,
    ],
    [
      "another repository",
      verified(provenance(`${REPOSITORY}2`)),
      [provenance()],
      /notes2; portolan.lock names .*notes$/,
    ],
    [
      "a repository that was made anew under the same name",
      verified(provenance(`${REPOSITORY} (repository 6)`)),
      [provenance(`${REPOSITORY} (repository 5)`)],
      /repository 6.*repository 5/,
    ],
    [
      "everything is missing",
      UNSIGNED,
      [provenance(), registry],
      /provenance is missing.*registry's signature is/,
    ],
    [
      "the registry does not answer",
      { state: "unchecked", reason: "status 503" },
      [provenance()],
      /provenance cannot be checked \(status 503\)/,
    ],
  ])("a change of signer is refused: %s", (_, check, remembered, reason) => {
    const result = compareWithRemembered(check, remembered);
    expect(result).toMatchObject({ state: "invalid", problem: "signer-changed" });
    expect(result.state === "invalid" && result.reason).toMatch(reason);
  });

  test("a forged signature stays reported as forged", () => {
    expect(compareWithRemembered(FORGED, [certificate])).toBe(FORGED);
  });

  test("only verified proofs are written to the lock file", () => {
    expect(toRemembered(verified({ ...provenance(), details: { commit: "abc" } }))).toEqual([provenance()]);
    for (const check of [UNSIGNED, UNTRUSTED, FORGED]) expect(toRemembered(check)).toEqual([]);
  });
});

describe("the policy", () => {
  test.each<[readonly Requirement[], OriginCheck, boolean, readonly string[]]>([
    [[], UNSIGNED, false, []],
    [[], UNTRUSTED, false, []],
    [["signature"], verified(registry), false, []],
    [["signature"], verified(provenance()), false, []],
    [["provenance", "signature", "audit"], verified(provenance()), true, []],
    [["signature"], UNSIGNED, false, ["the workspace requires a signature, but the package is unsigned"]],
    [
      ["signature"],
      UNTRUSTED,
      false,
      [
        "the workspace requires a signature, but the package is signed by CN=Mallory, which is not trusted: it is self-signed",
      ],
    ],
    [
      ["provenance"],
      verified(registry),
      false,
      ["the workspace requires provenance, but the package is signed by npm, without provenance"],
    ],
    [
      ["signature"],
      { state: "unchecked", reason: "status 503" },
      false,
      ["the workspace requires a signature, but the package was not checked: status 503"],
    ],
    [
      ["audit", "audit"],
      UNSIGNED,
      false,
      ["the workspace requires an audit, but the metadata of the package names none"],
    ],
  ])("names the unmet requirements of %j", (required, origin, hasAudit, expected) => {
    expect(unmetRequirements(required, { origin, hasAudit })).toEqual(expected);
  });

  test("describes an origin in a sentence", () => {
    expect(describeOrigin(verified(registry, registry))).toBe("is signed by npm");
    expect(describeOrigin(FORGED)).toBe("has a wrong origin: its bytes differ");
  });
});
