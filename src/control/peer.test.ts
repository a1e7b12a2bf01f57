// Two peers on a real socket: requests, notes, questions to the client, cancellation, and the end of the connection.

import { createServer, connect, type Server, type Socket } from "node:net";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { PortolanError } from "../errors/index.ts";
import { type IncomingRequest, Peer } from "./peer.ts";

async function pair(answer: (request: IncomingRequest) => Promise<unknown>) {
  const folder = await mkdtemp(join(tmpdir(), "ptl-peer-"));
  const path = process.platform === "win32" ? `\\\\.\\pipe\\${folder.slice(-10)}` : join(folder, "s");
  const server: Server = createServer();
  const accepted = new Promise<Socket>((resolve) => void server.once("connection", resolve));
  await new Promise<void>((resolve) => void server.listen(path, resolve));
  const raw = connect(path);
  const served = new Peer(await accepted, answer);
  const client = new Peer(raw, async () => undefined);
  onTestFinished(async () => {
    client.close();
    served.close();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { client, served, raw };
}

test("a client receives notes, answers questions and receives the result of its request", async () => {
  const { client } = await pair(async ({ params, note, ask }) => {
    note("progress", 1);
    note("progress", 2);
    return { name: await ask("name", "Who?"), params };
  });
  const notes: unknown[] = [];
  const result = await client.request(
    "greet",
    { a: 1 },
    {
      onNote: (name, value) => notes.push([name, value]),
      onAsk: async (name, value) => `${name}: ${String(value)} Ann`,
    },
  );
  expect(result).toEqual({ name: "name: Who? Ann", params: { a: 1 } });
  expect(notes).toEqual([
    ["progress", 1],
    ["progress", 2],
  ]);
});

test("an error keeps its code, server, hint and data", async () => {
  const { client } = await pair(async () => {
    throw new PortolanError("TOOL_NOT_FOUND", "no such tool", { server: "a", hint: "b", data: { c: 1 } });
  });
  const error = await client.request("known").catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "TOOL_NOT_FOUND", server: "a", hint: "b", data: { c: 1 } });
});

test("a cancelled request rejects at once, and its signal aborts on the other side", async () => {
  let aborted: () => void = () => {};
  const wasAborted = new Promise<void>((resolve) => (aborted = resolve));
  const { client } = await pair(
    ({ signal }) => new Promise(() => signal.addEventListener("abort", () => aborted())),
  );
  const abort = new AbortController();
  const request = client.request("wait", {}, { signal: abort.signal });
  abort.abort();
  await expect(request).rejects.toMatchObject({ code: "CANCELLED" });
  await wasAborted;
});

test("the end of the connection rejects open requests and aborts running ones", async () => {
  let signal: AbortSignal | undefined;
  const { client, served } = await pair((request) => {
    signal = request.signal;
    served.close();
    return new Promise(() => {});
  });
  await expect(client.request("wait")).rejects.toMatchObject({ code: "CONNECTION_LOST" });
  await expect(client.request("later")).rejects.toMatchObject({ code: "CONNECTION_LOST" });
  await expect.poll(() => signal?.aborted).toBe(true);
});

test("a peer that sends something other than JSON-RPC is disconnected", async () => {
  const { client, raw } = await pair(async () => undefined);
  raw.write("GET / HTTP/1.1\r\n\r\n");
  await expect.poll(() => client.closed).toBe(true);
});

/** JSON.parse accepts this depth, but JSON.stringify cannot write it. */
const tooDeep = (): unknown => JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);

test("a result, note, question or error that is nested too deeply does not close the connection", async () => {
  const { client } = await pair(async ({ method, note, ask }) => {
    if (method === "result") return tooDeep();
    if (method === "note") return note("deep", tooDeep());
    if (method === "ask") return ask("deep", tooDeep());
    if (method === "error") throw new PortolanError("TIMEOUT", "late", { data: { deep: tooDeep() } });
    return "fine";
  });
  const notes: string[] = [];
  const request = (method: string): Promise<unknown> =>
    client.request(method, {}, { onNote: (name) => notes.push(name) });
  await expect(request("result")).rejects.toThrow("nested too deeply");
  await expect(request("note")).resolves.toBeNull();
  await expect(request("ask")).rejects.toThrow("nested too deeply");
  await expect(request("error")).rejects.toMatchObject({ code: "TIMEOUT", message: "late" });
  expect(notes).toEqual([]);
  await expect(request("another")).resolves.toBe("fine");
});
