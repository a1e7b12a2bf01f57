// Name resolution as on this machine: from the hosts file and name servers, without blocking a shared thread.

import { createSocket, type Socket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { lookUp } from "./resolve-host.ts";

const folder = mkdtempSync(join(tmpdir(), "portolan-names-"));
const files = { hosts: join(folder, "hosts"), resolv: join(folder, "resolv.conf") };
const live = (): AbortSignal => new AbortController().signal;
let server: Socket;
let asked: string[] = [];

beforeAll(async () => {
  server = createSocket("udp4").on("message", (query, from) => {
    const reply = answer(query);
    if (reply !== undefined) server.send(reply, from.port, from.address);
  });
  await new Promise<void>((resolve) => server.bind(0, "127.0.0.1", resolve));
  const { port } = server.address();
  // The test server stands in for the name server of the machine.
  const real = Resolver.prototype.resolve4 as (this: Resolver, name: string) => Promise<string[]>;
  vi.spyOn(Resolver.prototype, "resolve4").mockImplementation(function (this: Resolver, name: string) {
    this.setServers([`127.0.0.1:${port}`]);
    return real.call(this, name);
  });
  writeFileSync(
    files.hosts,
    "127.0.0.1 localhost\n10.0.0.1\tOne.Test one # two.test\n::9 one\nnonsense three\n",
  );
  writeFileSync(
    files.resolv,
    "nameserver 192.0.2.9\nsearch corp.test. example.test\noptions ndots:2 timeout:1\n",
  );
});

afterEach(() => (asked = []));

afterAll(() => {
  vi.restoreAllMocks();
  server.close();
  rmSync(folder, { recursive: true });
});

test("reads the hosts file first, matches names in any case, and reads the file again when it changes", async () => {
  expect(await lookUp("one.test", live(), files)).toEqual(["10.0.0.1"]);
  expect(await lookUp("one", live(), files)).toEqual(["10.0.0.1", "::9"]);
  writeFileSync(files.hosts, "10.0.0.22 one.test\n");
  expect(await lookUp("one.test", live(), files)).toEqual(["10.0.0.22"]);
  expect(asked).toEqual([]);
});

test("localhost is always this machine", async () => {
  for (const name of ["localhost", "a.localhost"])
    expect(await lookUp(name, live(), files)).toEqual(["127.0.0.1", "::1"]);
});

test("asks name servers for IPv4 and IPv6 addresses", async () => {
  expect(await lookUp("www.both.test", live(), files)).toEqual(["10.1.1.1", "fd00::1"]);
  expect(await lookUp("www.four.test", live(), files)).toEqual(["10.1.1.1"]);
  await expect(lookUp("www.none.test", live(), files)).rejects.toThrow("no address");
});

test("completes a short name with the search domains of the machine", async () => {
  expect(await lookUp("db", live(), files)).toEqual(["10.1.1.1"]);
  expect([...new Set(asked)]).toEqual(["db.corp.test", "db.example.test"]);
});

test("a cancelled lookup does not wait for a silent name server, and keeps earlier answers", async () => {
  for (const [name, found] of [
    ["www.silent.test", undefined],
    ["www.half.test", ["10.1.1.1"]],
  ] as const) {
    const controller = new AbortController();
    const started = performance.now();
    setTimeout(() => controller.abort(), 100);
    expect(await lookUp(name, controller.signal, files).catch(() => undefined)).toEqual(found);
    expect(performance.now() - started).toBeLessThan(15_000);
  }
});

/** Does not answer for `silent`, and answers only one address family for `half`. */
function answer(query: Buffer): Buffer | undefined {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const [name, isFour] = [labels.join("."), query.readUInt16BE(at + 1) === 1];
  asked.push(name);
  if (name.includes("silent") || (name.includes("half") && !isFour)) return undefined;
  const isThere = /both|example/.test(name) || (isFour && /four|half/.test(name));
  const has = isThere && (isFour || name.includes("both"));
  const head = Buffer.from(query.subarray(0, at + 5));
  head.writeUInt16BE(has || isThere ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(has ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  if (!has) return head;
  const data = isFour ? [10, 1, 1, 1] : [0xfd, ...Array<number>(14).fill(0), 1];
  return Buffer.concat([
    head,
    Buffer.from([0xc0, 12, 0, isFour ? 1 : 28, 0, 1, 0, 0, 0, 9, 0, data.length, ...data]),
  ]);
}
