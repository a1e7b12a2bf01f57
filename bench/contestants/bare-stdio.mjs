// The limit on stdio: spawn, split at newlines, JSON.parse. No deadlines, no cancellation, no checks.
// With `batch`, all requests of one turn of the event loop leave in one write.

import { spawn } from "node:child_process";
import { once } from "node:events";

export async function connect({ command, args, era, batch }) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map();
  let nextId = 1;
  let partial = "";

  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    let from = 0;
    for (let newline; (newline = chunk.indexOf("\n", from)) !== -1; from = newline + 1) {
      const message = JSON.parse(partial + chunk.slice(from, newline));
      partial = "";
      waiting.get(message.id)(message.result);
      waiting.delete(message.id);
    }
    partial += chunk.slice(from);
  });

  const write = (line) => child.stdin.write(line);
  const send = batch ? createBatcher(write) : write;
  const request = (method, params) =>
    new Promise((resolve) => {
      const id = nextId++;
      waiting.set(id, resolve);
      send(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
    });

  if (era === "legacy") {
    const clientInfo = { name: "bare", version: "1.0.0" };
    await request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
    send('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }
  await request("tools/list", {});

  return {
    async call(text) {
      const result = await request("tools/call", { name: "echo", arguments: { text } });
      return result.content[0].text;
    },
    async close() {
      child.stdin.end();
      await once(child, "close");
    },
  };
}

function createBatcher(write) {
  let batch = "";
  const flush = () => {
    write(batch);
    batch = "";
  };
  return (line) => {
    if (batch === "") process.nextTick(flush);
    batch += line;
  };
}
