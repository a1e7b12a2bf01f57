// A refusal says what would grant it, and offers nothing that a server could have made up to get more.

import { expect, test } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import { connectionDenials, createDeniedReport, type Denied, deniedHint } from "./denied-connections.ts";

const denied = (host: string, port = 0): Denied => ({ server: "web", host, port, reason: "no" });

function hintOf(one: Denied, granted: readonly string[] = []): string | undefined {
  const told: Diagnostic[] = [];
  createDeniedReport((diagnostic) => told.push(diagnostic))(one, granted);
  return told[0]?.hint;
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
])("%s:%i beside %j", (host, port, granted, expected) => {
  expect(hintOf(denied(host, port), granted)).toContain(expected);
});

test.each(["", "*", "*.example.com", "a b", "a;reboot", "$(reboot)", "a\\u0020b", "10.0.0.0/8"])(
  "%j is not offered",
  (host) => {
    expect(hintOf(denied(host))).toBeUndefined();
    expect(deniedHint([denied(host)], [])).toBeUndefined();
  },
);

test("a granted host that cannot be reached is reported without a grant", () => {
  const one: Denied = { ...denied("example.org", 443), kind: "unreachable", reason: "is granted, but no" };
  const told: Diagnostic[] = [];
  const report = createDeniedReport((diagnostic) => told.push(diagnostic));
  report(one, ["example.org"]);
  report(one, ["example.org"]);
  const message = 'Server "web": example.org is granted, but no';
  expect(told).toEqual([{ code: "HOST_UNREACHABLE", severity: "warning", server: "web", message }]);
  expect(deniedHint([one], ["*"])).toBe(`${message}.`);
  expect(deniedHint([one, denied("other.test")], [], "portolan grant web")).toBe(
    "The server tried to reach other.test, which its sandbox does not allow. To allow it: portolan grant web --net other.test",
  );
  expect(connectionDenials("web", [one], ["*"], "portolan grant web")).toEqual([
    { host: "example.org", kind: "unreachable", message: `${message}.` },
  ]);
});

test("a name that leads inside is granted by its address", () => {
  const one = { ...denied("db.test", 5432), grant: "10.0.0.7:5432" };
  expect(hintOf(one, ["db.test:5432"])).toContain(
    "--allow-net 10.0.0.7:5432, or sandbox: { network: [db.test:5432, 10.0.0.7:5432] }",
  );
});

test("what is granted already is not offered again", () => {
  expect(hintOf(denied("a.test", 443), ["a.test"])).toBeUndefined();
});

test("each target is told once, and not without end", () => {
  const told: Diagnostic[] = [];
  const report = createDeniedReport((diagnostic) => told.push(diagnostic));
  for (const port of [0, 0, 443, 443, 80]) report(denied("a.test", port), []);
  expect(told.map(({ message }) => message)).toEqual([
    'The sandbox of server "web" denied a connection to a.test: no',
    'The sandbox of server "web" denied a connection to a.test:443: no',
    'The sandbox of server "web" denied a connection to a.test:80: no',
  ]);
  for (let index = 0; index < 1_000; index += 1) report(denied(`h${index}.test`), []);
  expect(told).toHaveLength(50);
});

test("several together name a few", () => {
  const hint = deniedHint(
    ["a.test", "b.test", "a.test", "c.test", "d.test"].map((host) => denied(host)),
    [],
  );
  expect(hint).toMatch(
    /^The server tried to reach a\.test, b\.test, c\.test, which its sandbox does not allow\. /,
  );
  expect(hint).toContain("To allow them: --allow-net a.test --allow-net b.test --allow-net c.test,");
});
