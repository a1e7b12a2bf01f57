// Relay inside of a sandbox with a network allow-list. It starts the server, answers its DNS lookups, and
// forwards its connections to the egress proxy outside, which alone decides. A program that replaces the relay
// gains nothing. It is small because it delays every start.
"use strict";

const { spawn } = require("node:child_process");
const { createSocket } = require("node:dgram");
const { closeSync, readFileSync } = require("node:fs");
const { connect, createServer, isIP } = require("node:net");

/**
 * `token` identifies the relay to the proxy, `ports` are those of the allow-list, `setup` routes all addresses
 * here, `drop` gives up the capabilities for that. `isRouted`: the sandbox has done both.
 */
const { socket: proxy, token, ports, isRouted, setup, drop } = readSettings(Number(process.argv[2]));
const KEPT = "PORTOLAN_KEPT_";

const MAX_NAMES = 65_000;
/** Lifetime of a DNS answer. The proxy remembers the addresses as long as the server runs. */
const ANSWER_SECONDS = 30;
/** The limit keeps every answer within one packet. */
const MAX_ADDRESSES = 8;
/** By address family: whether all addresses lead to the relay, so that real addresses can be used. */
const leadsHere = { 4: false, 6: false };
/** Names by their substitute address, where real addresses cannot be used. @type {Map<string, string>} */
const names = new Map();
/**
 * Addresses by name, or the reason why there are none; promises, because several programs may look up a name at
 * once.
 */
const answers = new Map([["localhost", Promise.resolve(["127.0.0.1"])]]);

/** The query types that a refusal has answered, by name. */
const refused = new Map();

main().catch((error) => fail(error, 1));

async function main() {
  // Once the relay has announced itself, the proxy removes the socket's path. Without a proxy, the server starts
  // without network.
  await Promise.all([ask(""), serveUdp(), serveDnsOverTcp(), reachAllAddresses(), ...ports.map(carry)]);
  run(process.argv.slice(3));
}

function readSettings(fd) {
  const text = readFileSync(fd, "utf8");
  closeSync(fd);
  return JSON.parse(text);
}

function run(command) {
  const env = {};
  // Variables that would have affected the relay get their names back.
  for (const [name, value] of Object.entries(process.env))
    env[name.startsWith(KEPT) ? name.slice(KEPT.length) : name] = value;
  const [file, ...args] = [...drop, ...command];
  const child = spawn(file, args, { stdio: "inherit", env });
  child.on("error", (error) => fail(error, error.code === "ENOENT" ? 127 : 126));
  const signals = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"];
  // The signal reaches the whole group, and so the server. Many programs treat a second signal as "exit at once".
  for (const signal of signals) process.on(signal, () => {});
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    for (const name of signals) process.removeAllListeners(name);
    process.kill(process.pid, signal);
    setTimeout(() => process.exit(1), 100);
  });
}

async function reachAllAddresses() {
  if (setup === undefined && !isRouted) return;
  if (setup !== undefined) await runSetup();
  for (const [family, address] of [
    [4, "192.0.2.1"],
    [6, "2001:db8::1"],
  ])
    leadsHere[family] = await hasRoute(family, address);
}

/** Connecting a datagram socket sends nothing, and fails if there is no route to the address. */
function hasRoute(family, address) {
  return new Promise((resolve) => {
    const socket = createSocket(`udp${family}`);
    const settle = (found) => {
      resolve(found);
      socket.close();
    };
    socket.once("error", () => settle(false));
    // The callback receives failures as well.
    socket.connect(53, address, (error) => settle(error == null));
  });
}

function runSetup() {
  return new Promise((resolve) => {
    const child = spawn(setup.file, setup.args, { stdio: ["pipe", "ignore", "ignore"] });
    // Without the setup, addresses without a name cannot be reached, and attempts are not reported.
    child.on("error", resolve);
    child.on("close", resolve);
    child.stdin.on("error", () => {});
    child.stdin.end(setup.input);
  });
}

function carry(port) {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (inner) => {
    const local = (inner.localAddress ?? "").replace(/^::ffff:/, "");
    inner.on("error", () => {});
    const outer = connect({ path: proxy, allowHalfOpen: true });
    outer.write(`${JSON.stringify({ token, host: names.get(local) ?? local, port })}\n`);
    const giveUp = () => {
      outer.destroy();
      inner.resetAndDestroy();
    };
    inner.once("close", () => outer.destroyed || isDone(inner) || outer.destroy());
    outer.on("error", giveUp);
    outer.once("end", giveUp);
    outer.once("data", (data) => {
      if (data[0] !== 0x2b) return giveUp();
      outer.off("end", giveUp);
      outer.once("close", () => isDone(outer) || inner.resetAndDestroy());
      outer.pause();
      if (data.length > 1) outer.unshift(data.subarray(1));
      outer.pipe(inner);
    });
    inner.pipe(outer);
    inner.resume();
  });
  return listen(server, { port, host: "::" }).catch(() => listen(server, { port, host: "0.0.0.0" }));
}

function isDone(stream) {
  return stream.readableEnded && stream.writableFinished;
}

function listen(server, where) {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ ...where, backlog: 511 }, () => {
      server.off("error", reject);
      server.on("error", () => {});
      resolve(undefined);
    });
  });
}

function serveUdp() {
  return new Promise((resolve, reject) => {
    const socket = createSocket("udp4");
    socket.once("error", reject);
    socket.on("message", (query, from) => {
      void answer(query).then((reply) => reply && socket.send(reply, from.port, from.address, () => {}));
    });
    socket.bind(53, "127.0.0.1", () => {
      socket.off("error", reject);
      socket.on("error", () => {});
      resolve(undefined);
    });
  });
}

function serveDnsOverTcp() {
  const server = createServer((socket) => {
    let waiting = Buffer.alloc(0);
    socket.on("error", () => {});
    socket.setTimeout(10_000, () => socket.destroy());
    socket.on("data", (data) => {
      waiting = Buffer.concat([waiting, data]);
      while (waiting.length > 1 && waiting.length >= waiting.readUInt16BE(0) + 2) {
        const end = waiting.readUInt16BE(0) + 2;
        const query = waiting.subarray(2, end);
        waiting = waiting.subarray(end);
        void answer(query).then((reply) => {
          if (reply === undefined) return socket.destroy();
          return socket.write(Buffer.concat([Buffer.from([reply.length >> 8, reply.length & 255]), reply]));
        });
      }
    });
  });
  return listen(server, { port: 53, host: "127.0.0.1" });
}

const CODES = { ok: 0, malformed: 1, failed: 2, unknown: 3, unsupported: 4 };

async function answer(query) {
  if (query.length < 12 || (query[2] & 0x80) !== 0) return undefined;
  const question = readQuestion(query);
  if ((query[2] & 0x78) !== 0) return reply(query, 12, CODES.unsupported);
  if (question === undefined) return reply(query, 12, CODES.malformed);
  const { name, type, end } = question;
  // Reverse lookups and the root name have no answer here.
  if (type === 12 || name === "") return reply(query, end, CODES.unknown);
  const found = await addressesOf(name, type);
  if (typeof found === "number") return reply(query, end, found);
  const family = { 1: 4, 28: 6 }[type];
  return reply(
    query,
    end,
    CODES.ok,
    found.filter((address) => isIP(address) === family),
  );
}

function readQuestion(query) {
  const labels = [];
  let at = 12;
  if (query.readUInt16BE(4) !== 1) return undefined;
  for (;;) {
    const length = query[at];
    if (length === undefined || length > 63 || at + length + 5 > query.length) return undefined;
    at += 1;
    if (length === 0) break;
    labels.push(query.toString("latin1", at, at + length));
    at += length;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at), end: at + 4 };
}

function reply(query, end, code, found = []) {
  const head = Buffer.from(query.subarray(0, end));
  const shown = found.slice(0, MAX_ADDRESSES);
  head[2] = 0x80 | (query[2] & 0x79);
  head[3] = 0x80 | code;
  head.writeUInt16BE(end > 12 ? 1 : 0, 4);
  head.writeUInt16BE(shown.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...shown.map(record)]);
}

function record(address) {
  const isIPv4 = isIP(address) === 4;
  const bytes = isIPv4 ? address.split(".").map(Number) : bytesOfIPv6(address);
  const head = [0xc0, 12, 0, isIPv4 ? 1 : 28, 0, 1, 0, 0, 0, ANSWER_SECONDS, 0, bytes.length];
  return Buffer.from([...head, ...bytes]);
}

function bytesOfIPv6(address) {
  const [before, after] = address.split("::").map((part) => (part === "" ? [] : part.split(":")));
  const zeros = after === undefined ? [] : Array(8 - before.length - after.length).fill("0");
  return [...before, ...zeros, ...(after ?? [])].flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 255];
  });
}

/** The addresses that programs in the sandbox may use for a name, or a DNS error code. */
function addressesOf(name, type) {
  let answer = answers.get(name);
  // Programs query IPv4 and IPv6 at once, which is one attempt. The same query again is another attempt.
  if (answer !== undefined && !(refused.get(name)?.has(type) ?? false)) {
    refused.get(name)?.add(type);
    return answer;
  }
  const keep = (ms) => {
    const forget = () => {
      if (answers.get(name) !== answer) return;
      answers.delete(name);
      refused.delete(name);
    };
    setTimeout(forget, ms).unref();
  };
  answer = ask(name).then((said) => {
    // Without an answer of the proxy there is nothing to cache.
    if (said === undefined) return (keep(0), CODES.failed);
    if (said === "-") refused.set(name, new Set([type]));
    if (said === "-" || said === "+") return (keep(500), CODES.unknown);
    const usable = said
      .slice(1)
      .split(",")
      .filter((address) => leadsHere[isIP(address)]);
    if (usable.length > 0) return (keep(ANSWER_SECONDS * 1000), usable);
    const invented = invent(name);
    return invented === undefined ? (keep(0), CODES.failed) : [invented];
  });
  answers.set(name, answer);
  return answer;
}

/** A loopback address that stands for the name. It is kept, because programs may use it at any time. */
function invent(name) {
  const number = names.size + 1;
  if (number > MAX_NAMES) return undefined;
  const address = `127.64.${number >> 8}.${number & 255}`;
  names.set(address, name);
  return address;
}

/** Resolves to the egress proxy's answer: `-`, or `+` and the addresses of the name. Undefined without an answer. */
function ask(host) {
  return new Promise((resolve) => {
    const socket = connect({ path: proxy });
    let said = "";
    socket.write(`${JSON.stringify({ token, host, port: 0 })}\n`);
    socket.on("data", (data) => (said += data.toString("latin1")));
    socket.on("error", () => resolve(undefined));
    socket.on("close", () => resolve(said || undefined));
  });
}

function fail(error, code) {
  process.stderr.write(`portolan: ${error.message}\n`, () => process.exit(code));
}
