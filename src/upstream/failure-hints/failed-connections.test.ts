// Error texts of programs about failed connections, and texts without one.

import fc from "fast-check";
import { expect, test } from "vitest";
import { failedConnections } from "./failed-access.ts";

test.each([
  ["Error: connect ECONNREFUSED 127.0.0.1:5432", "localhost:5432"],
  ["connect ECONNREFUSED ::1:5432", "localhost:5432"],
  ["connect ENETUNREACH 10.0.0.5:80 - Local (0.0.0.0:0)", "10.0.0.5:80"],
  ["dial tcp [fd00::7]:6379: connect: connection refused", "fd00::7:6379"],
  ["[Connect call failed ('192.168.1.7', 8123)]", "192.168.1.7:8123"],
  [
    "HTTPConnectionPool(host='localhost', port=8080): Max retries exceeded with url: /api (Caused by NewConnectionError(': [Errno 111] Connection refused'))",
    "localhost:8080",
  ],
  [
    'connection to server at "localhost" (127.0.0.1), port 5432 failed: Connection refused\n\tIs it running?',
    "localhost:5432",
  ],
  ["Error 111 connecting to localhost:6379. Connection refused.", "localhost:6379"],
  ["curl: (7) Failed to connect to 127.0.0.1 port 9200 after 0 ms: Couldn't connect", "localhost:9200"],
])("failedConnections finds the address in: %s", (text, expected) => {
  expect(failedConnections(`before\n${text}\nafter`).map(({ host, port }) => `${host}:${port}`)).toEqual([
    expected,
  ]);
});

test("finds no address in a text without a host or with an invalid port", () => {
  for (const text of ["connect ECONNREFUSED /run/x.sock", "ECONNREFUSED 127.0.0.1:99999", "refused", ""])
    expect(failedConnections(text)).toEqual([]);
});

test("returns each address once, and at most eight addresses", () => {
  const text = Array.from({ length: 50 }, (_, n) => `connect ECONNREFUSED 10.0.0.${n % 20}:80`).join("\n");
  expect(failedConnections(text)).toHaveLength(8);
});

test("failedConnections is quick for any text", () => {
  const part = fc.constantFrom(
    ..."Connection(host='|', port=|Errno 111|dial tcp |connect ECONNREFUSED |:::::|127.0.0.1|a".split("|"),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 2000 }), (parts) => {
      expect(failedConnections(parts.join("")).length).toBeLessThanOrEqual(8);
    }),
    { numRuns: 50 },
  );
});
