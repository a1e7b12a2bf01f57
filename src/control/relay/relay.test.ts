// Relay: it forwards lines unchanged, and hides the change to a new gateway from the client where possible.

import { Duplex, PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { LineSplitter } from "./lines.ts";
import { relay } from "./relay.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- messages of any shape
type Loose = any;

/** One end of a connection: the received messages, and functions that send messages. */
function end(readable: PassThrough, writable: PassThrough) {
  const got: Loose[] = [];
  let raw = "";
  let rest = "";
  let wake = (): void => {};
  readable.setEncoding("utf8").on("data", (chunk: string) => {
    raw += chunk;
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) got.push(line.startsWith("{") ? JSON.parse(line) : line);
    wake();
  });
  return {
    got,
    raw: () => raw,
    send: (message: object) => void writable.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`),
    write: (text: string) => void writable.write(text),
    async until(isThere: (message: Loose) => boolean): Promise<Loose> {
      for (;;) {
        const found = got.find(isThere);
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

/** A client and a relay; each call of `gateway()` starts the next gateway. */
function setUp() {
  const [toRelay, fromRelay] = [new PassThrough(), new PassThrough()];
  const stopped = new AbortController();
  onTestFinished(() => stopped.abort());
  const waiting: ((link: Duplex) => void)[] = [];
  const ready: Duplex[] = [];
  const done = relay({
    ...{ input: toRelay, output: fromRelay, signal: stopped.signal },
    connect: (signal) =>
      new Promise<Duplex>((resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
        const link = ready.shift();
        if (link === undefined) waiting.push(resolve);
        else resolve(link);
      }),
  });
  const gateway = () => {
    const [there, back] = [new PassThrough(), new PassThrough()];
    const link = Duplex.from({ writable: there, readable: back });
    const next = waiting.shift();
    if (next === undefined) ready.push(link);
    else next(link);
    return { ...end(there, back), stop: () => void back.end() };
  };
  return { client: end(fromRelay, toRelay), gateway, done, leave: () => void toRelay.end() };
}

const isId =
  (id: unknown) =>
  (message: Loose): boolean =>
    message.id === id;
const isMethod =
  (method: string) =>
  (message: Loose): boolean =>
    message.method === method;
const CAPABILITIES = { tools: { listChanged: true }, prompts: { listChanged: true }, resources: {} };

async function handshake({ client, gateway }: ReturnType<typeof setUp>) {
  const first = gateway();
  client.send({ id: 0, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {} } });
  await first.until(isId(0));
  first.send({ id: 0, result: { capabilities: CAPABILITIES } });
  await client.until(isId(0));
  client.send({ method: "notifications/initialized" });
  await first.until(isMethod("notifications/initialized"));
  return first;
}

test("forwards lines byte for byte in both directions, also lines that are not messages", async () => {
  const place = setUp();
  const first = place.gateway();
  const lines = ['{"jsonrpc": "2.0",  "id":1, "method":"x", "params":{"a":"\\u00e9é"}}\n', "no JSON\n", "\n"];
  for (const line of lines) place.client.write(line);
  await first.until((message) => message === "");
  expect(first.raw()).toBe(lines.join(""));
  first.write('{"jsonrpc":"2.0","id":1,  "result":{}}\n');
  await place.client.until(isId(1));
  expect(place.client.raw()).toBe('{"jsonrpc":"2.0","id":1,  "result":{}}\n');
  place.leave();
  first.stop();
  await place.done;
});

test("sends handshake, log level and subscriptions to a new gateway, and hides its responses from the client", async () => {
  const place = setUp();
  const first = await handshake(place);
  const { client } = place;
  client.send({ id: 1, method: "logging/setLevel", params: { level: "debug" } });
  client.send({ id: 2, method: "resources/subscribe", params: { uri: "test://a" } });
  client.send({ id: 3, method: "resources/subscribe", params: { uri: "test://b" } });
  client.send({ id: 4, method: "resources/unsubscribe", params: { uri: "test://b" } });
  await first.until(isId(4));
  for (const id of [1, 2, 3, 4]) first.send({ id, result: {} });
  await client.until(isId(4));
  const before = client.got.length;
  first.stop();
  const second = place.gateway();
  for (const method of ["initialize", "logging/setLevel", "resources/subscribe"]) {
    const { id } = await second.until(isMethod(method));
    second.send({ id, result: { capabilities: {} } });
  }
  await client.until(isMethod("notifications/prompts/list_changed"));
  expect(second.got.map(({ method }) => method)).toEqual([
    "initialize",
    "notifications/initialized",
    "logging/setLevel",
    "resources/subscribe",
  ]);
  expect(second.got.at(-1)?.params).toEqual({ uri: "test://a" });
  // The client gets a notification only for the lists with the capability listChanged.
  expect(client.got.slice(before).map(({ method }) => method)).toEqual([
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
  ]);
});

test("after the gateway stops, a call in flight fails, a list request is sent again, and later requests wait", async () => {
  const place = setUp();
  const first = await handshake(place);
  const { client } = place;
  client.send({ id: "call", method: "tools/call", params: { name: "x" } });
  client.send({ id: "list", method: "tools/list" });
  client.send({ id: "left", method: "tools/call", params: { name: "y" } });
  client.send({ method: "notifications/cancelled", params: { requestId: "left" } });
  await first.until(isMethod("notifications/cancelled"));
  first.stop();
  const { error } = await client.until(isId("call"));
  expect(error).toMatchObject({
    message: "the gateway stopped before it returned a response to this request",
    data: {
      code: "CONNECTION_LOST",
      hint: "The call may or may not have taken effect; check this before you repeat the call.",
    },
  });
  client.send({ id: "later", method: "tools/call", params: { name: "x" } });
  const second = place.gateway();
  const { id } = await second.until(isMethod("initialize"));
  second.send({ id, result: { capabilities: {} } });
  await second.until(isId("later"));
  for (const own of ["list", "later"]) second.send({ id: own, result: { own } });
  await client.until(isId("later"));
  expect(await client.until(isId("list"))).toMatchObject({ result: { own: "list" } });
  expect(client.got.filter((message) => message.id === "left")).toEqual([]);
  expect(second.got.filter((message) => message.id === "call")).toEqual([]);
});

test("cancels server requests of the old gateway, and does not confuse them with the same ids of a new one", async () => {
  const place = setUp();
  const first = await handshake(place);
  const { client } = place;
  first.send({ id: "portolan-1", method: "elicitation/create", params: {} });
  await client.until(isMethod("elicitation/create"));
  first.stop();
  const { params } = await client.until(isMethod("notifications/cancelled"));
  expect(params.requestId).toBe("portolan-1");
  const second = place.gateway();
  const { id } = await second.until(isMethod("initialize"));
  second.send({ id, result: { capabilities: {} } });
  second.send({ id: "portolan-1", method: "roots/list" });
  const asked = await client.until(isMethod("roots/list"));
  expect(asked.id).not.toBe("portolan-1");
  // The late answer to the old request must not answer the new one.
  client.send({ id: "portolan-1", result: { action: "accept" } });
  client.send({ id: asked.id, result: { roots: [] } });
  expect(await second.until(isId("portolan-1"))).toEqual({
    ...{ jsonrpc: "2.0", id: "portolan-1", result: { roots: [] } },
  });
  second.send({ id: "portolan-2", method: "roots/list" });
  const last = await client.until((one) => one.method === "roots/list" && one.id !== asked.id);
  second.send({ method: "notifications/cancelled", params: { requestId: "portolan-2" } });
  await client.until((one) => one.method === "notifications/cancelled" && one.params.requestId === last.id);
});

test("modern era: opens a stream again, sends list_changed to the client, and hides the second acknowledgement", async () => {
  const place = setUp();
  const { client } = place;
  const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
  const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
  const notifications = { toolsListChanged: true };
  const acknowledge = (to: ReturnType<typeof place.gateway>): void =>
    to.send({
      method: "notifications/subscriptions/acknowledged",
      params: { _meta: { [SUBSCRIPTION]: 7 }, notifications },
    });
  const first = place.gateway();
  client.send({ id: 7, method: "subscriptions/listen", params: { _meta: meta, notifications } });
  await first.until(isId(7));
  acknowledge(first);
  await client.until(isMethod("notifications/subscriptions/acknowledged"));
  first.stop();
  const second = place.gateway();
  expect(await second.until(isId(7))).toMatchObject({ method: "subscriptions/listen" });
  acknowledge(second);
  const changed = await client.until(isMethod("notifications/tools/list_changed"));
  expect(changed.params._meta[SUBSCRIPTION]).toBe(7);
  expect(client.got.filter(isMethod("notifications/subscriptions/acknowledged"))).toHaveLength(1);
  expect(second.got.filter(isMethod("initialize"))).toEqual([]);
});

test("without a new gateway, every request fails with the reason", async () => {
  const [toRelay, fromRelay] = [new PassThrough(), new PassThrough()];
  const client = end(fromRelay, toRelay);
  let link: Duplex | undefined = Duplex.from({ writable: new PassThrough(), readable: new PassThrough() });
  const opened = link;
  const done = relay({
    ...{ input: toRelay, output: fromRelay, signal: new AbortController().signal },
    connect: async () => {
      const now = link;
      link = undefined;
      if (now === undefined) throw new Error("there is no gateway");
      return now;
    },
  });
  client.send({ id: 1, method: "tools/list" });
  setImmediate(() => opened.destroy());
  await expect(done).rejects.toThrow("there is no gateway");
  expect(client.got).toMatchObject([{ id: 1, error: { message: "there is no gateway" } }]);
});

test("without a new gateway, waiting requests fail, and cancelled requests get no response", async () => {
  const [toRelay, fromRelay] = [new PassThrough(), new PassThrough()];
  const client = end(fromRelay, toRelay);
  const links = [Duplex.from({ writable: new PassThrough(), readable: new PassThrough() })];
  const [first] = links;
  let give = (): void => {};
  const waiting = new Promise<void>((resolve) => (give = resolve));
  let isWaiting = (): void => {};
  const lost = new Promise<void>((resolve) => (isWaiting = resolve));
  const done = relay({
    ...{ input: toRelay, output: fromRelay, signal: new AbortController().signal },
    connect: async () => {
      const link = links.shift();
      if (link !== undefined) return link;
      isWaiting();
      await waiting;
      throw new Error("there is no gateway");
    },
  });
  setImmediate(() => first?.destroy());
  await lost;
  client.send({ id: 1, method: "tools/call", params: { name: "x" } });
  client.send({ id: 2, method: "tools/call", params: { name: "x" } });
  client.send({ method: "notifications/cancelled", params: { requestId: 2 } });
  // The lines have arrived before the relay learns that there is no gateway.
  setImmediate(give);
  await expect(done).rejects.toThrow("there is no gateway");
  expect(client.got).toMatchObject([{ id: 1, error: { message: "there is no gateway" } }]);
});

test("LineSplitter returns whole lines from any chunks, and a line over the limit in parts", () => {
  const chunks = fc.array(fc.string({ unit: fc.constantFrom("a", "é", "\n"), maxLength: 12 }), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(chunks, fc.integer({ min: 1, max: 10 }), (texts, max) => {
      const passed: Buffer[] = [];
      const lines: string[] = [];
      const splitter = new LineSplitter(max, {
        line: (bytes) => {
          lines.push(bytes.toString("utf8"));
          passed.push(Buffer.concat([bytes, Buffer.from("\n")]));
        },
        part: (bytes) => void passed.push(bytes),
      });
      for (const text of texts) splitter.push(Buffer.from(text));
      const all = Buffer.from(texts.join(""));
      const out = Buffer.concat(passed);
      // All but the unfinished last line has passed, unchanged.
      expect(all.subarray(0, out.length).equals(out)).toBe(true);
      expect(all.length - out.length).toBeLessThanOrEqual(max);
      expect(lines.every((line) => !line.includes("\n"))).toBe(true);
    }),
  );
});
