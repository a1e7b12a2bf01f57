// Grants in the text of a config file: added and removed one by one, without a change of any other byte.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  grantIn,
  type Grants,
  readGrants,
  revokeIn,
  SANDBOX_PLACES,
  type SandboxPlace,
} from "./edit-sandbox.ts";
import { openDocument } from "./index.ts";

const PLACE: SandboxPlace = {
  at: ["servers", "a", "sandbox"],
  places: SANDBOX_PLACES,
  same: (_kind, a, b) => a === b,
};
const NONE: Grants = { read: [], write: [], net: [], env: [] };
const open = (text: string) => openDocument("yaml", text);

describe("grantIn", () => {
  test.each<[string, string, Partial<Grants>, string]>([
    [
      "no block",
      "servers:\n  a: { command: x } # c\n",
      { net: ["h"] },
      "servers:\n  a: { command: x, sandbox: {network: [h]} } # c\n",
    ],
    [
      "a mode",
      "servers:\n  a:\n    sandbox: warn\n",
      { read: ["./d"] },
      "servers:\n  a:\n    sandbox: {mode: warn, fs: {read: [./d]}}\n",
    ],
    [
      "a list with comments",
      "servers:\n  a:\n    sandbox:\n      fs:\n        write:\n          - ./a # one\n",
      { write: ["./b"] },
      "servers:\n  a:\n    sandbox:\n      fs:\n        write:\n          - ./a # one\n          - ./b\n",
    ],
    [
      "the long form of hosts",
      "servers:\n  a:\n    sandbox: { network: { egress: [g] } }\n",
      { net: ["h"] },
      "servers:\n  a:\n    sandbox: { network: { egress: [g, h] } }\n",
    ],
  ])("grants with %s in the text", (_name, before, grants, after) => {
    expect(grantIn(open(before), PLACE, { ...NONE, ...grants }).document?.render()).toBe(after);
  });

  test("a write grant replaces the read grant of the same path", () => {
    const text = "servers:\n  a:\n    sandbox: { fs: { read: [./a, ./b] } }\n";
    const edit = grantIn(open(text), PLACE, { ...NONE, write: ["./a"], read: ["./a"] });
    expect(readGrants(edit.document ?? open(""), PLACE)).toEqual({ ...NONE, read: ["./b"], write: ["./a"] });
    expect(edit).toMatchObject({ changed: ["write ./a"], unchanged: ["read ./a"] });
  });
});

test("revokeIn removes the grant and the parents that become empty, and nothing else", () => {
  const text =
    "servers:\n  a:\n    command: x\n    sandbox:\n      fs:\n        read: [./a]\n      network: [h] # hosts\n";
  const edit = revokeIn(open(text), PLACE, { ...NONE, read: ["./a", "./z"] });
  expect(edit.document?.render()).toBe(
    "servers:\n  a:\n    command: x\n    sandbox:\n      network: [h] # hosts\n",
  );
  expect(edit).toMatchObject({ changed: ["read ./a"], unchanged: ["read ./z"] });
});

test("granting and then revoking the same rules restores the text", () => {
  const entry = fc.stringMatching(/^[a-z./]{1,8}$/);
  const lists = fc.record({
    read: fc.array(entry),
    write: fc.array(entry),
    net: fc.array(entry),
    env: fc.array(entry),
  });
  const before = "# top\nservers:\n  # the first\n  a:\n    command: x # end\n  b: {}\n";
  fc.assert(
    fc.property(lists, (grants) => {
      const granted = grantIn(open(before), PLACE, grants).document;
      expect(granted).toBeDefined();
      const revoked = granted && revokeIn(granted, PLACE, grants).document;
      expect(revoked?.render()).toBe(before);
    }),
    { numRuns: 30 },
  );
});
