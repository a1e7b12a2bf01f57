import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseChallenges, tokenChallenge } from "./challenge.ts";

describe("WWW-Authenticate", () => {
  test.each([
    ["Bearer", [["bearer", {}]]],
    ['Bearer realm="a, b", scope="x y"', [["bearer", { realm: "a, b", scope: "x y" }]]],
    ['Bearer error=insufficient_scope,scope="a"', [["bearer", { error: "insufficient_scope", scope: "a" }]]],
    [
      'Basic realm="x", Bearer resource_metadata="https://h/p"',
      [
        ["basic", { realm: "x" }],
        ["bearer", { resource_metadata: "https://h/p" }],
      ],
    ],
    [
      'Basic, DPoP algs="ES256"',
      [
        ["basic", {}],
        ["dpop", { algs: "ES256" }],
      ],
    ],
    ['BEARER Scope = "a\\"b"', [["bearer", { scope: 'a"b' }]]],
    ["Negotiate dG9rZW4=", [["negotiate", { dg9rzw4: "" }]]],
    ["", []],
  ])("is parsed: %s", (header, expected) => {
    const found = parseChallenges(header).map(({ scheme, parameters }) => [
      scheme,
      Object.fromEntries(parameters),
    ]);
    expect(found).toEqual(expected);
  });

  test("can have the parameters of Bearer after another scheme", () => {
    const header =
      'Basic realm="x", Bearer resource_metadata="https://h/p", scope="a b", error="invalid_token"';
    expect(tokenChallenge(header)).toEqual({
      acceptsDpop: false,
      resourceMetadata: "https://h/p",
      scope: "a b",
      error: "invalid_token",
    });
    expect(tokenChallenge('Basic scope="a"').scope).toBeUndefined();
    expect(tokenChallenge(undefined).scope).toBeUndefined();
  });

  test("with any text is parsed in bounded time, without an exception", () => {
    const unit = fc.constantFrom(...' ,="\\abé\u0000\n');
    fc.assert(fc.property(fc.string({ unit, maxLength: 200 }), (text) => void parseChallenges(text)));
    parseChallenges('a="'.repeat(10_000));
    parseChallenges("\\".repeat(20_000));
  });
});
