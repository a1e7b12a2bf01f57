import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { EventWriter } from "./event-writer.ts";

/** Two clients of a real server, each with its socket and the writer of its response. */
async function setUp(maxWaitingBytes: number) {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const open = async () => {
    const socket: Socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    const asked = once(server, "request") as Promise<[unknown, ServerResponse]>;
    socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const [, response] = await asked;
    return { socket, response, writer: new EventWriter(response, {}, maxWaitingBytes) };
  };
  return { reading: await open(), stalled: await open() };
}

it("disconnects a client that stops reading at the limit, and no other client", async () => {
  const limit = 256 * 1024;
  const { reading, stalled } = await setUp(limit);
  stalled.socket.pause();
  let read = 0;
  reading.socket.on("data", (chunk: Buffer) => (read += chunk.length));
  const text = "x".repeat(16 * 1024);
  let sent = 0;
  let most = 0;
  while (!stalled.writer.closed) {
    stalled.writer.event(text);
    most = Math.max(most, stalled.response.writableLength);
    reading.writer.event(text);
    sent += text.length;
    await new Promise((resolve) => setImmediate(resolve));
    if (sent > 500_000_000) throw new Error("it is never dropped");
  }
  expect(most).toBeLessThan(limit + 2 * text.length);
  reading.writer.event("the last");
  reading.writer.end();
  await once(reading.socket, "end").catch(() => {});
  expect(read).toBeGreaterThan(sent);
  expect(stalled.response.destroyed).toBe(true);
});

it("writes events with ids and names, and no event after the end", async () => {
  const { reading } = await setUp(1_000_000);
  let text = "";
  reading.socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  reading.writer.event('{"a":1}', "7_1", "message");
  reading.writer.event("{}");
  reading.writer.end();
  reading.writer.event("late");
  while (!text.includes("0\r\n\r\n")) await once(reading.socket, "data");
  expect(text).toContain('event: message\nid: 7_1\ndata: {"a":1}\n\n');
  expect(text).toContain("text/event-stream");
  expect(text).not.toContain("late");
});
