// Requests that time out: when a server counts as unresponsive.

import { beforeEach, expect, test, vi } from "vitest";
import type { JsonObject, RpcMessage } from "../../model/index.ts";
import type { Transport } from "../transports/transport.ts";
import { Peer } from "./peer.ts";

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

/** A peer whose server answers only the methods in `answers`. */
async function silentPeer(): Promise<{ peer: Peer; answers: Set<string>; counts: number[] }> {
  const answers = new Set<string>();
  const counts: number[] = [];
  let receive: (message: RpcMessage, origin: undefined) => void = () => {};
  const transport = {
    counters: { noise: 0 },
    open: async (events: { message: typeof receive }) => {
      receive = events.message;
    },
    send: (message: JsonObject) => {
      const { id, method } = message as { id?: number; method: string };
      if (id !== undefined && answers.has(method)) receive({ jsonrpc: "2.0", id, result: {} }, undefined);
    },
    close: async () => {},
  } as unknown as Transport;
  const peer = new Peer(transport, "fake", {
    ...{ notification: () => {}, request: () => {}, closed: () => {}, abandoned: () => {} },
    ...{ answeredLate: () => {}, unresponsive: (count) => void counts.push(count) },
  });
  await peer.open(new AbortController().signal);
  return { peer, answers, counts };
}

async function timesOut(peer: Peer, method: string): Promise<void> {
  const failed = expect(peer.request({ method, timeoutMs: 5_000, maxTimeoutMs: 0 })).rejects.toThrow(
    "5000 ms",
  );
  await vi.advanceTimersByTimeAsync(5_000);
  await failed;
}

test("calls that time out count, also if the server answers pings", async () => {
  const { peer, answers, counts } = await silentPeer();
  answers.add("ping");
  for (let call = 0; call < 3; call += 1) {
    await timesOut(peer, "tools/call");
    await peer.request({ method: "ping", timeoutMs: 5_000, maxTimeoutMs: 0 });
  }
  expect(counts).toEqual([1, 2, 3]);
});

test("pings that time out count only when the server has been silent for a minute", async () => {
  const { peer, counts } = await silentPeer();
  await timesOut(peer, "tools/call");
  for (let ping = 0; ping < 11; ping += 1) await timesOut(peer, "ping");
  expect(counts).toEqual([1]);
  await timesOut(peer, "ping");
  await timesOut(peer, "ping");
  expect(counts).toEqual([1, 2, 3]);
});

test("an answer ends the silence", async () => {
  const { peer, answers, counts } = await silentPeer();
  await timesOut(peer, "tools/call");
  await vi.advanceTimersByTimeAsync(60_000);
  answers.add("tools/call");
  await peer.request({ method: "tools/call", timeoutMs: 5_000, maxTimeoutMs: 0 });
  await timesOut(peer, "ping");
  expect(counts).toEqual([1]);
});
