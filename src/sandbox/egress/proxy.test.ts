// The egress proxy passes allowed connections, reports all others at once, and survives any input.

import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import os, { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import fc from "fast-check";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { type Denied, type NetworkRule, parseNetworkRule } from "../../model/index.ts";
import { type EgressProxy, type EgressProxyOptions, openEgressProxy } from "./proxy.ts";
import { createSocketFolder, type SocketFolder } from "./socket-folder.ts";

let folder: SocketFolder;
let proxy: EgressProxy | undefined;
let target: Server;
let port = 0;
let denied: Denied[] = [];
/** The target's reaction to a connection. */
let serve: (socket: Socket) => void;

beforeEach(async () => {
  denied = [];
  serve = (socket) => socket.pipe(socket);
  folder = createSocketFolder();
  target = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    serve(socket);
  }).listen(0, "127.0.0.1");
  await once(target, "listening");
  port = (target.address() as AddressInfo).port;
});

afterEach(() => {
  proxy?.close();
  proxy = undefined;
  folder.remove();
  target.close();
});

async function open(rules: string[], options: Partial<EgressProxyOptions> = {}): Promise<void> {
  proxy = await openEgressProxy({
    path: folder.socket,
    token: "right",
    server: "tested",
    rules: rules.map(ruleOf),
    onDenied: (one) => denied.push(one),
    lookup: async () => ["127.0.0.1"],
    ...options,
  });
}

function ruleOf(text: string): NetworkRule {
  const parsed = parseNetworkRule(text);
  if (!parsed.ok) expect.fail(parsed.problem);
  return parsed.rule;
}

/** Writes, half-closes, and returns everything that arrives until the end. */
async function talk(text: string | Buffer, { end = true } = {}): Promise<string> {
  const socket = connect({ path: folder.socket, allowHalfOpen: true });
  let received = "";
  socket.on("data", (data: Buffer) => (received += data.toString("latin1")));
  socket.on("error", () => {});
  socket.write(text);
  if (end) socket.end();
  const closed = once(socket, "close");
  socket.on("end", () => socket.destroy());
  await closed;
  return received;
}

/** The reports without those of granted hosts that could not be reached. */
function refused(): Denied[] {
  return denied.filter(({ kind }) => kind === undefined);
}

function header(host: string, to: number = port, token = "right"): string {
  return `${JSON.stringify({ token, host, port: to })}\n`;
}

test("passes data in both directions, also the data after the header, and lets each side end on its own", async () => {
  await open([`allowed.test:${port}`, `127.0.0.1:${port}`]);
  serve = (socket) => {
    let seen = "";
    socket.on("data", (data: Buffer) => (seen += data.toString()));
    // This answers only after the other side has ended: the connection must still be open in this direction.
    socket.on("end", () => socket.end(`heard ${seen}`));
  };
  expect(await talk(`${header("allowed.test")}hello`)).toBe("+heard hello");
  expect(denied).toEqual([]);
});

test("passes a large answer completely to a slow reader", async () => {
  await open([`allowed.test:${port}`, `127.0.0.1:${port}`]);
  // This is more than the kernel buffers.
  const size = 64 * 1024 * 1024;
  let written = 0;
  serve = (socket) => {
    socket.resume();
    const chunk = Buffer.alloc(64 * 1024, "x");
    const more = (): void => {
      while (written < size) {
        written += chunk.length;
        if (!socket.write(chunk)) return void socket.once("drain", more);
      }
      socket.end();
    };
    more();
  };
  const socket = connect({ path: folder.socket, allowHalfOpen: true });
  socket.write(header("allowed.test"));
  await once(socket, "readable");
  // The client does not read, so the proxy must stop reading from the target: the answer must not pile up in memory.
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(written).toBeLessThan(size);
  let length = 0;
  for await (const chunk of socket) length += (chunk as Buffer).length;
  expect(length).toBe(size + 1);
});

test.each([
  ["denied.test", "denied.test:{port} is not in the server's network list"],
  ["x.allowed.test", "x.allowed.test:{port} is not in the server's network list"],
  ["127.0.0.1", "localhost:{port} is not in the server's network list"],
  ["0x7f.1", "localhost:{port} is not in the server's network list"],
  ["169.254.169.254", "169.254.169.254:{port} is not in the server's network list"],
  ["allowed.test\0.denied.test", "it is not a host name"],
  ["allowed.test\r\nHost: x", "it is not a host name"],
  ["", "it is not a host name"],
])("denies %j", async (host, reason) => {
  await open([`allowed.test:${port}`]);
  expect(await talk(header(host), { end: false })).toBe("-");
  expect(denied).toMatchObject([{ server: "tested", port, reason: reason.replace("{port}", String(port)) }]);
  // Text of a server must not contain control characters for a terminal.
  expect(denied[0]?.host).toMatch(/^[\x21-\x7e]*$/);
});

test("reports an allowed host that cannot be reached with the reason, and not as denied", async () => {
  const closed = createServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const { port: nobody } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  const find = vi.fn(async (host: string) => {
    if (host === "gone.test") throw new Error("no address");
    return ["127.0.0.1"];
  });
  await open([`here.test:${nobody}`, `127.0.0.1:${nobody}`, "gone.test"], { lookup: find });
  expect(await talk(header("here.test", nobody))).toBe("");
  expect(await talk(header("127.0.0.1", nobody))).toBe("");
  expect(await talk(header("gone.test", 443))).toBe("");
  expect(await talk(header("gone.test", 0))).toBe("+");
  const text = "is granted, but it could not be reached from this machine:";
  expect(denied.map(({ kind, host, port: to, reason, grant }) => [kind, host, to, reason, grant])).toEqual([
    ["unreachable", "here.test", nobody, `${text} it refused the connection`, undefined],
    ["unreachable", "localhost", nobody, `${text} it refused the connection`, undefined],
    ["unreachable", "gone.test", 443, `${text} its name could not be resolved`, undefined],
    ["unreachable", "gone.test", 0, `${text} its name could not be resolved`, undefined],
  ]);
});

test("does not report a lookup that is cancelled because the server ends", async () => {
  await open(["slow.test"], { lookup: () => new Promise(() => {}) });
  const answer = talk(header("slow.test", 443));
  await expect.poll(() => proxy?.connections).toBe(1);
  proxy?.close();
  expect(await answer).toBe("");
  await new Promise((resolve) => setImmediate(resolve));
  expect(denied).toEqual([]);
});

test("denies another port of an allowed host", async () => {
  await open([`allowed.test:${port}`, "127.0.0.1:1"]);
  expect(await talk(header("allowed.test", 22))).toBe("-");
  expect(denied).toMatchObject([{ host: "allowed.test", port: 22 }]);
});

test("denies a name with a private address unless the address is listed with its port", async () => {
  await open([`allowed.test:${port}`, "127.0.0.1:9"]);
  expect(await talk(header("allowed.test"))).toBe("-");
  expect(denied[0]?.reason).toBe(
    `allowed.test resolves to 127.0.0.1, which is not a public address; to allow the connection, also list 127.0.0.1:${port}`,
  );
});

test("denies a name if one of its addresses is private", async () => {
  await open(["*"], { lookup: async () => ["93.184.215.14", "::ffff:10.0.0.7"] });
  expect(await talk(header("any.example", 443))).toBe("-");
  expect(denied[0]?.reason).toContain("10.0.0.7");
});

test("looks a name up once, so a changed address is never used", async () => {
  let lookups = 0;
  let reached = false;
  serve = (socket) => {
    reached = true;
    socket.destroy();
  };
  await open([`rebind.test:${port}`, `127.0.0.9:${port}`], {
    // The first address is allowed, but nothing listens there; the second answer would be the target.
    lookup: async () => (++lookups === 1 ? ["127.0.0.9"] : ["127.0.0.1"]),
  });
  expect(await talk(header("rebind.test"))).toBe("");
  expect([lookups, refused().length]).toEqual([1, 0]);
  expect(await talk(header("rebind.test"))).toBe("-");
  expect([lookups, refused().length]).toEqual([2, 1]);
  expect(reached).toBe(false);
});

test("localhost allows this machine, by name and by address", async () => {
  await open([`localhost:${port}`]);
  expect(await talk(`${header("localhost")}a`)).toBe("+a");
  expect(await talk(`${header("127.0.0.1")}b`)).toBe("+b");
  expect(await talk(`${header("::1")}c`)).toBe("+c");
  expect(await talk(header("127.0.0.2"))).toBe("-");
});

test("tries the next address of a name if one does not answer", async () => {
  await open([`two.test:${port}`, `127.0.0.1:${port}`, `127.0.0.9:${port}`], {
    lookup: async () => ["127.0.0.9", "127.0.0.1"],
  });
  expect(await talk(`${header("two.test")}hello`)).toBe("+hello");
});

test("answers a lookup without a connection", async () => {
  await open(["allowed.test:5432", "*.wild.test"], {
    lookup: async (host) =>
      host === "allowed.test" ? ["93.184.215.14", "2606:4700:0::1"] : Promise.reject(new Error("ENOTFOUND")),
  });
  expect(await talk(header("ALLOWED.test.", 0))).toBe("+93.184.215.14,2606:4700::1");
  expect(await talk(header("gone.wild.test", 0))).toBe("+");
  expect(refused()).toEqual([]);
  expect(await talk(header("denied.test", 0))).toBe("-");
  expect(refused()).toEqual([
    {
      server: "tested",
      host: "denied.test",
      port: 0,
      reason: "denied.test is not in the server's network list",
    },
  ]);
});

test("a lookup allows the addresses of the name, at the ports of its rule", async () => {
  await open([`allowed.test:${port}`, `127.0.0.1:${port}`, "private.test"], {
    lookup: async (host) => (host === "private.test" ? ["10.0.0.7"] : ["127.0.0.2"]),
  });
  const listed = `allowed.test resolves to 127.0.0.2, which is not a public address; to allow the connection, also list 127.0.0.2:${port}`;
  expect(await talk(header("127.0.0.2"))).toBe("-");
  expect(await talk(header("allowed.test", 0))).toBe("+127.0.0.2");
  expect(await talk(header("127.0.0.2"))).toBe("-");
  expect(await talk(header("private.test", 0))).toBe("+10.0.0.7");
  expect(await talk(header("10.0.0.7", 22))).toBe("-");
  expect(denied.map(({ host, reason }) => [host, reason])).toEqual([
    ["127.0.0.2", `127.0.0.2:${port} is not in the server's network list`],
    ["allowed.test", listed],
    ["private.test", "private.test:22 is not in the server's network list"],
  ]);
});

test("connects to the address that the program chose, and then to the other addresses of its name", async () => {
  // Rules for the addresses are necessary only because the addresses are not public.
  const own = ["127.0.0.1", "127.0.0.9", "127.0.0.8"].map((address) => `${address}:${port}`);
  await open([`one.test:${port}`, `two.test:${port}`, ...own], {
    lookup: async (host) => (host === "one.test" ? ["127.0.0.9", "127.0.0.1"] : ["127.0.0.9", "127.0.0.8"]),
  });
  expect(await talk(header("one.test", 0))).toBe("+127.0.0.9,127.0.0.1");
  expect(await talk(`${header("127.0.0.9")}hello`)).toBe("+hello");
  // The address belongs to two names now, so an address of only one of the names is not used.
  expect(await talk(header("two.test", 0))).toBe("+127.0.0.9,127.0.0.8");
  expect(await talk(header("127.0.0.9"))).toBe("");
  expect(refused()).toEqual([]);
});

test("denies a header that is too long", async () => {
  await open([`allowed.test:${port}`]);
  expect(await talk("x".repeat(5000), { end: false })).toBe("-");
  expect(denied).toMatchObject([{ host: "", reason: "an unknown program connected to the egress proxy" }]);
});

test("refuses a client without the token with one report, and still reports the denials of the server", async () => {
  let relays = 0;
  await open([`localhost:${port}`], { onRelay: () => (relays += 1) });
  const guesses = ["", "wrong", "righ", "right\0", "rightright"];
  for (const guess of guesses) expect(await talk(header("localhost", port, guess))).toBe("-");
  expect(await talk(`${JSON.stringify({ host: "localhost", port })}\n`)).toBe("-");
  for (let sent = 0; sent < 300; sent += 1) await talk(header("forged.example", port, "wrong"));
  expect(denied).toMatchObject([{ host: "", reason: "an unknown program connected to the egress proxy" }]);
  expect(relays).toBe(0);
  expect(await talk(header("", 0))).toBe("+");
  expect(await talk(header("denied.test"))).toBe("-");
  expect(await talk(`${header("localhost")}x`)).toBe("+x");
  expect(denied.map(({ host }) => host)).toEqual(["", "denied.test"]);
  expect(relays).toBe(1);
});

test("* does not allow the addresses of this machine", async () => {
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const outer = own.find(({ internal, family }) => !internal && family === "IPv4")?.address;
  const found = vi.spyOn(os, "networkInterfaces").mockReturnValue({
    eth0: [{ address: "8.8.8.10", family: "IPv4" } as NetworkInterfaceInfo],
    eth1: [{ address: "2606:4700:0::10", family: "IPv6" } as NetworkInterfaceInfo],
  });
  onTestFinished(() => found.mockRestore());
  await open(["*", `*:${port}`], { lookup: async () => ["93.184.215.14", "64:ff9b::808:80a"] });
  for (const host of ["8.8.8.10", "2606:4700::10", "64:ff9b::808:80a", "2002:808:80a::1", "named.example"])
    expect([host, await talk(header(host, 443))]).toEqual([host, "-"]);
  expect(denied.map(({ reason }) => reason)).toEqual([
    "8.8.8.10 is an address of this machine; to allow the connection, also list 8.8.8.10:443",
    "2606:4700::10 is an address of this machine; to allow the connection, also list [2606:4700::10]:443",
    expect.stringContaining("64:ff9b::808:80a is an address of this machine"),
    expect.stringContaining("2002:808:80a::1 is an address of this machine"),
    expect.stringContaining(
      "named.example resolves to 64:ff9b::808:80a, which is an address of this machine",
    ),
  ]);
  expect(await talk(header("168.63.129.16", 80))).toBe("-");
  found.mockRestore();
  if (outer !== undefined) expect(await talk(header(outer, port))).toBe("-");
});

test("an address of this machine is reachable if it is listed", async () => {
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const address = own.find(({ internal, family }) => !internal && family === "IPv4")?.address;
  if (address === undefined) return;
  const other = createServer((socket) => socket.end("own")).listen(0, address);
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const to = (other.address() as AddressInfo).port;
  await open(["*", `${address}:${to}`]);
  expect(await talk(header(address, to))).toBe("+own");
});

test("a server with too many lookups only delays its own lookups, and gets an error above the limit", async () => {
  let [now, most] = [0, 0];
  const answers: (() => void)[] = [];
  await open(["*.many.test"], {
    maxConnections: 1000,
    lookup: () => {
      most = Math.max(most, ++now);
      return new Promise((resolve) => answers.push(() => resolve((now -= 1) < 0 ? [] : ["127.0.0.1"])));
    },
  });
  const asked = Array.from({ length: 300 }, (_, number) => talk(header(`n${number}.many.test`, 443)));
  await expect.poll(() => denied.length).toBe(40);
  expect(denied[0]?.reason).toBe("more than 260 names are being looked up at once");
  expect(most).toBe(4);
  proxy?.close();
  await Promise.all(asked);
  expect(most).toBe(4);
});

test("closes a connection whose header never arrives", async () => {
  await open([`allowed.test:${port}`], { headerTimeoutMs: 50 });
  expect(await talk('{"host":', { end: false })).toBe("");
  expect(await talk("")).toBe("");
  expect(denied).toEqual([]);
});

test("property: only a valid header opens a connection", async () => {
  let reached = 0;
  serve = (socket) => {
    reached += 1;
    socket.end();
    socket.resume();
  };
  await open([`allowed.test:${port}`, `127.0.0.1:${port}`]);
  const host = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.ipV4(), fc.ipV6(), fc.domain());
  const line = fc.oneof(
    fc.json(),
    fc.string({ unit: "binary" }),
    fc
      .record({
        token: fc.constant("right"),
        host,
        port: fc.oneof(fc.constant(port), fc.nat(70_000), fc.double()),
      })
      .map((value) => JSON.stringify(value)),
  );
  await fc.assert(
    fc.asyncProperty(line, async (text) => {
      expect((await talk(`${text}\n`)).startsWith("+")).toBe(false);
    }),
    { numRuns: 300 },
  );
  expect(reached).toBe(0);
});

test("denies connections above the limit, and allows new ones after some close", async () => {
  await open([`localhost:${port}`], { maxConnections: 3 });
  const silent = await Promise.all(
    [1, 2, 3].map(async () => {
      const socket = connect(folder.socket);
      socket.write(header("localhost"));
      await once(socket, "data");
      return socket;
    }),
  );
  expect(await talk(header("localhost"))).toBe("-");
  expect(denied[0]?.reason).toBe("more than 3 connections at once");
  for (const socket of silent) socket.destroy();
  await idle();
  expect(await talk(`${header("localhost")}x`)).toBe("+x");
});

test("reports only a part of a flood of denials", async () => {
  await open([]);
  for (let sent = 0; sent < 300; sent += 1) await talk(header("denied.test"));
  expect(denied.length).toBeLessThanOrEqual(300);
  expect(denied.length).toBeGreaterThanOrEqual(200);
});

test("leaves nothing open after a thousand connections", async () => {
  await open([`localhost:${port}`]);
  for (let round = 0; round < 20; round += 1) {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        index % 5 === 0 ? talk(header("denied.test")) : talk(`${header("localhost")}x`),
      ),
    );
    expect(answers.filter((answer) => answer === "+x")).toHaveLength(40);
  }
  await idle();
  expect(proxy?.connections).toBe(0);
  await new Promise<void>((resolve) => {
    const look = (): void =>
      void target.getConnections((_error, count) => (count === 0 ? resolve() : setTimeout(look, 10)));
    look();
  });
});

test("closes one side when the other side breaks", async () => {
  await open([`localhost:${port}`]);
  const [inside, outside] = await pair();
  outside.resetAndDestroy();
  await once(inside, "close");
  const [nextInside, nextOutside] = await pair();
  nextOutside.on("error", () => {}).resume();
  // On a Unix socket, a peer that ended and one that broke look the same until something is written.
  const ended = once(nextOutside, "end");
  nextInside.destroy();
  await ended;
  const writing = setInterval(() => nextOutside.write("x"), 5);
  await new Promise((resolve) => nextOutside.once("close", resolve));
  clearInterval(writing);
});

async function pair(): Promise<[Socket, Socket]> {
  const inside = connect(folder.socket);
  inside.on("error", () => {}).resume();
  inside.write(header("localhost"));
  return new Promise((resolve) => {
    serve = (outside) => resolve([inside, outside]);
  });
}

test("breaks open connections and accepts no new ones when it closes", async () => {
  await open([`localhost:${port}`]);
  const socket = connect(folder.socket);
  socket.on("error", () => {});
  socket.write(header("localhost"));
  await once(socket, "data");
  proxy?.close();
  await once(socket, "close");
  const late = connect(folder.socket);
  const [error] = (await once(late, "error")) as [NodeJS.ErrnoException];
  expect(error.code).toMatch(/ENOENT|ECONNREFUSED/);
  folder.remove();
  expect(existsSync(folder.path)).toBe(false);
});

async function idle(): Promise<void> {
  while ((proxy?.connections ?? 0) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
}
