// Looked-up names are reported and refused, and no request can crash the listener.

import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { dirname } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { Denied } from "../../model/index.ts";
import { type NameListener, type NameListenerOptions, openNameListener } from "./name-listener.ts";

let listener: NameListener | undefined;
let denied: Denied[] = [];

afterEach(() => {
  listener?.close();
  listener = undefined;
  denied = [];
});

async function open(options: Partial<NameListenerOptions> = {}): Promise<NameListener> {
  const onDenied = (one: Denied): unknown => denied.push(one);
  const opened = await openNameListener({ server: "tested", hostname: "box", onDenied, ...options });
  if (opened === undefined) expect.fail("nothing listens");
  listener = opened;
  return opened;
}

function request(type: number, key: string): Buffer {
  const header = Buffer.alloc(12);
  for (const [index, value] of [2, type, key.length].entries()) header.writeInt32LE(value, index * 4);
  return Buffer.concat([header, Buffer.from(key, "latin1")]);
}

/** Connects by a path that still works after the socket file is removed, as in a sandbox. */
function dial(path: string): Socket {
  return connect({ path }).on("error", () => {});
}

async function talk(socket: Socket, ...chunks: readonly Buffer[]): Promise<Buffer> {
  const received: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => received.push(chunk));
  for (const chunk of chunks) socket.write(chunk);
  await once(socket, "close");
  return Buffer.concat(received);
}

const found = (answer: Buffer): number | undefined => (answer.length < 8 ? undefined : answer.readInt32LE(4));

test.skipIf(process.platform !== "linux")(
  "refuses and reports a lookup, but not for names of the sandbox itself",
  async () => {
    const { socket } = await open();
    // All connections at once: the path is removed after the first one.
    const names = ["Api.Example.com\0", "localhost\0", "BOX\0", "deep.localhost\0", "\0", "a b\u001b[2J\0"];
    const sockets = names.map(() => dial(socket));
    await Promise.all(sockets.map((one) => once(one, "connect")));
    const answers: (number | undefined)[] = [];
    for (const [index, name] of names.entries())
      answers.push(found(await talk(sockets[index] as Socket, request(14, name))));
    expect(answers).toEqual([0, 1, 1, 0, 0, 0]);
    expect(denied).toEqual([
      {
        ...{ server: "tested", host: "api.example.com", port: 0 },
        reason: "the server's sandbox grants no host",
      },
      { server: "tested", host: "a\\u0020b\\u001b[2J", port: 0, reason: "it is not a host name" },
    ]);
  },
);

test.skipIf(process.platform !== "linux")(
  "IPv4 and IPv6 lookups of one name count as one attempt, and a repeated lookup as another",
  async () => {
    const { socket } = await open();
    const asked: [number, string][] = [
      ...[[5, "a.test\0"] as [number, string], [4, "a.test\0"] as [number, string]],
      ...[[4, "a.test\0"] as [number, string], [14, "b.test\0"] as [number, string]],
    ];
    const sockets = asked.map(() => dial(socket));
    await Promise.all(sockets.map((one) => once(one, "connect")));
    for (const [index, [type, key]] of asked.entries())
      expect(found(await talk(sockets[index] as Socket, request(type, key)))).toBe(0);
    expect(denied.map(({ host }) => host)).toEqual(["a.test", "a.test", "b.test"]);
  },
);

test.skipIf(process.platform !== "linux")(
  "does not answer lookups of accounts, invalid requests and slow clients",
  async () => {
    const { socket } = await open({ requestTimeoutMs: 100 });
    const wholes = [
      [request(1, "0\0")],
      [request(13, "hosts\0")],
      [Buffer.alloc(4_000, 255)],
      [Buffer.from("GET / HTTP/1.1\r\n\r\n")],
      [request(14, "a.test\0").subarray(0, 15)],
      [],
    ];
    const sockets = wholes.map(() => dial(socket));
    await Promise.all(sockets.map((one) => once(one, "connect")));
    const answers = await Promise.all(
      wholes.map((chunks, index) => talk(sockets[index] as Socket, ...chunks)),
    );
    expect(answers.map(({ length }) => length)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(denied).toEqual([]);
  },
);

test.skipIf(process.platform !== "linux")(
  "only this user can find the socket, and nobody can after the first connection",
  async () => {
    const { socket, close } = await open();
    const folder = dirname(socket);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const second = await openNameListener({ server: "other", hostname: "box", onDenied: () => {} });
    expect(dirname(second?.socket ?? "")).toBe(folder);
    await talk(dial(socket), request(14, "a.test\0"));
    await expect.poll(() => existsSync(socket)).toBe(false);
    close();
    expect(existsSync(second?.socket ?? "")).toBe(true);
    second?.close();
    second?.close();
    await expect.poll(() => existsSync(folder)).toBe(false);
  },
);

test.skipIf(process.platform !== "linux")(
  "stops listening to a client that sends too many requests",
  async () => {
    const { socket } = await open({ budget: { atOnce: 10, perSecond: 0 } });
    const sockets = Array.from({ length: 30 }, () => dial(socket));
    const answers = await Promise.all(
      sockets.map((one, index) => talk(one, request(14, `n${index}.test\0`)).catch(() => Buffer.alloc(0))),
    );
    expect(answers.filter((answer) => found(answer) === 0).length).toBeLessThanOrEqual(10);
    expect(denied.length).toBeLessThanOrEqual(10);
    const late = dial(socket);
    await new Promise((resolve) => late.once("close", resolve));
    expect(late.bytesRead).toBe(0);
    await expect.poll(() => existsSync(dirname(socket))).toBe(false);
  },
);
