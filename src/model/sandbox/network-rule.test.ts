// Egress rules: valid and invalid rules, and the hosts that a rule matches in any spelling.

import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalHost, matchesRule, type NetworkRule, parseNetworkRule } from "./network-rule.ts";

function rule(text: string): NetworkRule {
  const parsed = parseNetworkRule(text);
  if (!parsed.ok) expect.fail(`${text}: ${parsed.problem}`);
  return parsed.rule;
}

test.each([
  ["api.example.com", { text: "api.example.com", kind: "name", host: "api.example.com", ports: [443, 80] }],
  ["API.Example.COM.", { text: "api.example.com", kind: "name", host: "api.example.com", ports: [443, 80] }],
  ["*.example.com", { text: "*.example.com", kind: "names below", host: "example.com", ports: [443, 80] }],
  ["*.example.com:8443", { text: "*.example.com:8443", kind: "names below", ports: [8443] }],
  ["db.example.com:5432", { text: "db.example.com:5432", kind: "name", ports: [5432] }],
  ["bücher.example", { text: "xn--bcher-kva.example", host: "xn--bcher-kva.example" }],
  ["localhost", { text: "localhost", kind: "name" }],
  ["localhost:3000", { text: "localhost:3000", kind: "name", ports: [3000] }],
  ["10.0.0.7:22", { text: "10.0.0.7:22", kind: "address", host: "10.0.0.7", ports: [22] }],
  ["[::1]:5432", { text: "[::1]:5432", kind: "address", host: "::1", ports: [5432] }],
  ["2001:DB8:0::7", { text: "[2001:db8::7]", kind: "address", host: "2001:db8::7", ports: [443, 80] }],
  ["*", { text: "*", kind: "public", host: "", ports: [443, 80] }],
  ["*:22", { text: "*:22", kind: "public", host: "", ports: [22] }],
  ["_srv.my_host", { host: "_srv.my_host" }],
])("parses the rule %s", (text, expected) => {
  expect(rule(text)).toMatchObject(expected);
  expect(rule(rule(text).text)).toEqual(rule(text));
});

test.each([
  ["", /empty/],
  ["https://api.example.com/v1", /URL/],
  ["api.example.com/v1", /more than a host/],
  ["user@example.com", /more than a host/],
  ["10.0.0.0/8", /range/],
  ["[fc00::]/7", /range/],
  ["a b.example.com", /space/],
  ["a\0.example.com", /invisible/],
  ["a\u200b.example.com", /invisible/],
  ["a..b", /not a host name/],
  [".example.com", /not a host name/],
  ["example.com..", /not a host name/],
  ["a.*.b", /\*/],
  ["*.*.b", /\*/],
  ["*example.com", /\*/],
  ["**", /\*/],
  ["*.", /not a host name/],
  ["*.10.0.0.1", /no subdomains/],
  ["example.com:", /port/],
  ["example.com:0", /port/],
  ["example.com:080", /port/],
  ["example.com:65536", /port/],
  ["example.com:https", /port/],
  ["example.com:1:2", /port/],
  ["[::1", /port/],
  ["fe80::1%eth0", /not a host name/],
  ["-a.example.com", /not a host name/],
  [`${"a".repeat(64)}.com`, /not a host name/],
  [`${"a.".repeat(150)}com`, /longer/],
  ["127.1", /unusual/],
  ["0x7f000001:80", /unusual/],
  ["example.123", /not a host name/],
])('rejects the rule "%s"', (text, problem) => {
  const parsed = parseNetworkRule(text);
  if (parsed.ok) expect.fail(parsed.rule.text);
  expect(parsed.problem).toMatch(problem);
  expect(parsed.hint).not.toBe("");
});

test("the hint for a URL names its host and port", () => {
  expect(parseNetworkRule("https://api.example.com:8443/v1")).toMatchObject({
    hint: "Write api.example.com:8443.",
  });
});

test.each([
  ["api.example.com", "API.example.com.", 443, true],
  ["api.example.com", "api.example.com", 22, false],
  ["api.example.com", "x.api.example.com", 443, false],
  ["api.example.com", "api.example.com\0.evil.test", 443, false],
  ["*.example.com", "a.b.example.com", 80, true],
  ["*.example.com", "example.com", 443, false],
  ["*.example.com", "evilexample.com", 443, false],
  ["*", "anything.test", 443, true],
  ["*", "93.184.215.14", 443, true],
  ["*", "169.254.169.254", 80, false],
  ["*", "[::ffff:169.254.169.254]", 80, false],
  ["*", "0x7f.1", 80, false],
  ["*", "localhost", 80, false],
  ["*", "a.localhost", 80, false],
  ["*:22", "anything.test", 443, false],
  ["127.0.0.1:80", "2130706433", 80, true],
  ["127.0.0.1:80", "::ffff:127.0.0.1", 80, true],
  ["[::1]:80", "[0:0::1]", 80, true],
  ["localhost:80", "127.0.0.1", 80, false],
])("the rule %s matches %s:%i: %s", (text, host, port, expected) => {
  expect(matchesRule(rule(text), host, port)).toBe(expected);
});

const label = fc.stringMatching(/^[a-zA-Z0-9]([a-zA-Z0-9-]{0,10}[a-zA-Z0-9])?$/);
const host = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join("."));

test("canonicalHost returns one spelling of a host", () => {
  fc.assert(
    fc.property(fc.oneof(host, fc.string({ unit: "binary" }), fc.ipV4(), fc.ipV6()), (text) => {
      const one = canonicalHost(text);
      if (one === undefined) return;
      expect(canonicalHost(one)).toBe(one);
      expect(canonicalHost(one.toUpperCase())).toBe(one);
      expect(one).toMatch(/^[\da-z_.:-]+$/);
    }),
    { numRuns: 2000 },
  );
});

test("parseNetworkRule never throws, and parses the text of its own rule to the same rule", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom(..."*.:[]/%a1-0x".split("")) }),
    fc.tuple(host, fc.integer({ min: 0, max: 70_000 })).map(([name, port]) => `${name}:${port}`),
  );
  fc.assert(
    fc.property(text, (text) => {
      const parsed = parseNetworkRule(text);
      if (parsed.ok) expect(parseNetworkRule(parsed.rule.text)).toEqual(parsed);
      else expect(parsed.problem).not.toBe("");
    }),
    { numRuns: 5000 },
  );
});

test("a rule such as *.example.com matches only the subdomains of the name", () => {
  fc.assert(
    fc.property(host, host, (parent, asked) => {
      const parsed = parseNetworkRule(`*.${parent}`);
      if (!parsed.ok) return;
      const ends = canonicalHost(asked)?.endsWith(`.${parsed.rule.host}`) ?? false;
      expect(matchesRule(parsed.rule, asked, 443)).toBe(ends);
      if (canonicalHost(`${asked}.${parent}`) === undefined) return;
      expect(matchesRule(parsed.rule, `${asked}.${parent}`, 443)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});
