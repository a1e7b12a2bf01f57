// Reports of denied connections: the hint grants the denied host, and never a rule that a server made up.

import { expect, test } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import { connectionDenials, createDeniedReport, type Denied, deniedHint } from "./denied-connections.ts";

const denied = (host: string, port = 0): Denied => ({ server: "web", host, port, reason: "no" });

function hintOf(one: Denied, granted: readonly string[] = []): string | undefined {
  const reported: Diagnostic[] = [];
  createDeniedReport((diagnostic) => reported.push(diagnostic))(one, granted);
  return reported[0]?.hint;
}

test.each([
  ["api.example.com", 0, [], "--allow-net api.example.com, or sandbox: { network: [api.example.com] }"],
  [
    "api.example.com",
    443,
    ["a.com"],
    "--allow-net api.example.com, or sandbox: { network: [a.com, api.example.com] }",
  ],
  ["db.test", 5432, ["*.x"], '--allow-net db.test:5432, or sandbox: { network: ["*.x", db.test:5432] }'],
  ["2001:db8::7", 443, [], '--allow-net "[2001:db8::7]", or sandbox: { network: ["[2001:db8::7]"] }'],
  ["e.test", 0, ["a.test", "b.test", "c.test", "d.test"], "sandbox: { network: […, e.test] }"],
])("the hint for %s:%i with the granted rules %j contains the grant", (host, port, granted, expected) => {
  expect(hintOf(denied(host, port), granted)).toContain(expected);
});

test.each(["", "*", "*.example.com", "a b", "a;reboot", "$(reboot)", "a\\u0020b", "10.0.0.0/8"])(
  "no hint offers a grant of the host %j",
  (host) => {
    expect(hintOf(denied(host))).toBeUndefined();
    expect(deniedHint([denied(host)], [])).toBeUndefined();
  },
);

test("a granted host that cannot be reached is reported without a grant", () => {
  const one: Denied = { ...denied("example.org", 443), kind: "unreachable", reason: "is granted, but no" };
  const reported: Diagnostic[] = [];
  const report = createDeniedReport((diagnostic) => reported.push(diagnostic));
  report(one, ["example.org"]);
  report(one, ["example.org"]);
  const message = 'Server "web": example.org is granted, but no';
  expect(reported).toEqual([{ code: "HOST_UNREACHABLE", severity: "warning", server: "web", message }]);
  expect(deniedHint([one], ["*"])).toBe(`${message}.`);
  expect(deniedHint([one, denied("other.test")], [], "portolan grant web")).toBe(
    "The server tried to reach other.test, which its sandbox does not allow. To allow it: portolan grant web --net other.test",
  );
  expect(connectionDenials("web", [one], ["*"], "portolan grant web")).toEqual([
    { host: "example.org", kind: "unreachable", message: `${message}.` },
  ]);
});

test("the hint for a name with a private address grants the address", () => {
  const one = { ...denied("db.test", 5432), grant: "10.0.0.7:5432" };
  expect(hintOf(one, ["db.test:5432"])).toContain(
    "--allow-net 10.0.0.7:5432, or sandbox: { network: [db.test:5432, 10.0.0.7:5432] }",
  );
});

test("no hint offers a grant that exists already", () => {
  expect(hintOf(denied("a.test", 443), ["a.test"])).toBeUndefined();
});

test("each target is reported once, and at most 50 are reported", () => {
  const reported: Diagnostic[] = [];
  const report = createDeniedReport((diagnostic) => reported.push(diagnostic));
  for (const port of [0, 0, 443, 443, 80]) report(denied("a.test", port), []);
  expect(reported.map(({ message }) => message)).toEqual([
    'The sandbox of server "web" denied a connection to a.test: no',
    'The sandbox of server "web" denied a connection to a.test:443: no',
    'The sandbox of server "web" denied a connection to a.test:80: no',
  ]);
  for (let index = 0; index < 1_000; index += 1) report(denied(`h${index}.test`), []);
  expect(reported).toHaveLength(50);
});

test("the hint for several hosts names at most three", () => {
  const hint = deniedHint(
    ["a.test", "b.test", "a.test", "c.test", "d.test"].map((host) => denied(host)),
    [],
  );
  expect(hint).toMatch(
    /^The server tried to reach a\.test, b\.test, c\.test, which its sandbox does not allow\. /,
  );
  expect(hint).toContain("To allow them: --allow-net a.test --allow-net b.test --allow-net c.test,");
});
