// The limit of a one-shot command, and of many servers at once: spawn, initialize, list, and one call, with nothing around them.
// `node raw-native-process.mjs '{"servers": [{"command", "args"}], "call": true}'`.

import { spawn } from "node:child_process";

const { servers, call } = JSON.parse(process.argv[2]);
const lists = await Promise.all(servers.map(use));
process.stdout.write(`${lists.flat().length}\n`, () => process.exit());

async function use({ command, args }) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], detached: true });
  const waiting = new Map();
  let partial = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    const lines = (partial + chunk).split("\n");
    partial = lines.pop();
    for (const message of lines.map((line) => JSON.parse(line))) waiting.get(message.id)(message.result);
  });
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const request = (id, method, params) =>
    new Promise((resolve) => {
      waiting.set(id, resolve);
      send({ id, method, params });
    });
  const clientInfo = { name: "bare", version: "1.0.0" };
  await request(1, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  send({ method: "notifications/initialized" });
  const { tools } = await request(2, "tools/list", {});
  if (call) await request(3, "tools/call", { name: "echo", arguments: { text: "once" } });
  child.stdin.end();
  return tools;
}
