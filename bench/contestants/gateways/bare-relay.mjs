// The limit of a gateway: node:http in front, a pipe or undici behind. Every message is parsed once, gets another id, and
// is sent on; nothing else happens. `node bare-relay.mjs '{"port", "upstreams"}'`; all calls go to the first upstream.

import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { Agent, request } from "undici";

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

const { port, upstreams } = JSON.parse(process.argv[2]);
const [forward] = upstreams.map(({ url, command, args }) => (url ? toHttp(url) : toStdio(command, args)));

createServer((incoming, response) => {
  if (incoming.method !== "POST") return response.writeHead(405).end();
  const chunks = [];
  incoming
    .on("data", (chunk) => chunks.push(chunk))
    .on("end", () => forward(JSON.parse(Buffer.concat(chunks).toString()), response));
}).listen(port, "127.0.0.1");

function toStdio(command, args) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map();
  let nextId = 1;
  let partial = "";

  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    let from = 0;
    for (let newline; (newline = chunk.indexOf("\n", from)) !== -1; from = newline + 1) {
      const message = JSON.parse(partial + chunk.slice(from, newline));
      partial = "";
      const { id, response } = waiting.get(message.id);
      waiting.delete(message.id);
      answer(response, message, id);
    }
    partial += chunk.slice(from);
  });

  return (message, response) => {
    if (message.id === undefined) {
      response.writeHead(202).end();
    } else {
      waiting.set(nextId, { id: message.id, response });
      message.id = nextId++;
    }
    child.stdin.write(JSON.stringify(message) + "\n");
  };
}

function toHttp(url) {
  const dispatcher = new Agent();
  let nextId = 1;
  return async (message, response) => {
    const { id } = message;
    if (id !== undefined) message.id = nextId++;
    const body = JSON.stringify(message);
    const reply = await request(url, { method: "POST", headers: HEADERS, body, dispatcher });
    const text = await reply.body.text();
    if (id === undefined) response.writeHead(202).end();
    else answer(response, JSON.parse(text), id);
  };
}

function answer(response, message, id) {
  message.id = id;
  const body = JSON.stringify(message);
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
}
