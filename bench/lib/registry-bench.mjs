// `run.mjs registry`: searches in a registry of 10,000 packages, and what a client needs to read its index.

import { spawn } from "node:child_process";
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "./stats.mjs";
import { formatNumber, formatTable } from "./table.mjs";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const PACKAGES = 10_000;
const GOAL_MS = 10;
const WORDS = ["github", "issue", "file", "search", "mail", "calendar", "weather", "data", "query", "notes"];
const QUERIES = ["github", "file search", "weather", "user77/mail", "calendar notes", "zzz", ""];

export async function runRegistryBench({ rounds = 100, quick, json }) {
  const loadBefore = loadavg()[0];
  const folder = mkdtempSync(join(tmpdir(), "portolan-bench-registry-"));
  const report = { packages: PACKAGES, loadBefore, searches: [] };
  try {
    await (await startServer(folder)).close();
    report.indexBytes = fill(folder);
    const server = await startServer(folder);
    // The server's rate limit lets a thousand requests pass at once.
    const count = quick ? 20 : Math.min(rounds, 120);
    for (const query of QUERIES) report.searches.push(await measureSearch(server.url, query, count));
    report.index = await measureIndex(server.url, quick ? 3 : 15);
    await server.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  report.worstP50 = Math.max(...report.searches.map(({ serverMs }) => serverMs));
  console.log(json ? JSON.stringify(report, undefined, 2) : describe(report));
  if (report.worstP50 > GOAL_MS) process.exitCode = 1;
}

/** `portolan registry serve`, as a process of its own. */
async function startServer(folder) {
  const child = spawn(process.execPath, [MAIN, "registry", "serve", folder, "--port", "0", "--json"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  let out = "";
  for await (const text of child.stdout.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    out += text;
    if (out.includes("}")) break;
  }
  child.stdout.resume();
  const close = async () => {
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  };
  return { url: JSON.parse(out).url, close };
}

/** Writes one signed index: publishing one package after the other would write it 10,000 times. */
function fill(folder) {
  const file = join(folder, "public", "index.jsonl");
  const index = JSON.parse(readFileSync(file, "utf8").split("\n")[1]);
  const packages = {};
  for (let at = 0; at < PACKAGES; at += 1) {
    const [a, b, c] = [at, at / 10, at / 100].map((number) => WORDS[Math.floor(number) % WORDS.length]);
    const entry = {
      integrity: `sha256-${Buffer.alloc(32, at % 256).toString("base64")}`,
      status: "active",
      publishedAt: new Date(1.7e12 + at * 1_000).toISOString(),
    };
    packages[`@user${at % 500}/${a}-${b}-${at}-mcp`] = {
      description: `A server for ${a} and ${b}, with ${c} and number ${at}`,
      keywords: [a, b, c],
      author: `User ${at % 500}`,
      license: "MIT",
      tags: { latest: "1.0.0" },
      versions: { "1.0.0": entry },
    };
  }
  const payload = Buffer.from(JSON.stringify({ ...index, sequence: index.sequence + 1, packages }));
  const privateKey = createPrivateKey(readFileSync(join(folder, "private", "key.pem"), "utf8"));
  const { x } = createPublicKey(privateKey).export({ format: "jwk" });
  const signed = Buffer.concat([Buffer.from("portolan registry index 1\n"), payload]);
  const head = {
    algorithm: "ed25519",
    key: Buffer.from(x, "base64url").toString("base64"),
    signature: sign(null, signed, privateKey).toString("base64"),
  };
  writeFileSync(file, `${JSON.stringify(head)}\n${payload.toString("utf8")}\n`);
  return payload.length;
}

async function measureSearch(url, query, count) {
  const [server, client] = [[], []];
  let total = 0;
  for (let at = 0; at < count + 5; at += 1) {
    const started = performance.now();
    const answer = await fetch(`${url}/api/search?q=${encodeURIComponent(query)}`);
    const { total: found } = await answer.json();
    total = found;
    // The first answers contain the preparation of the index and of the code.
    if (at < 5) continue;
    client.push(performance.now() - started);
    server.push(Number(/dur=([\d.]+)/.exec(answer.headers.get("server-timing"))[1]));
  }
  const p95 = server.toSorted((a, b) => a - b)[Math.floor(server.length * 0.95)];
  return { query, total, serverMs: median(server), serverP95Ms: p95, clientMs: median(client) };
}

async function measureIndex(url, rounds) {
  const [first, unchanged] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    let started = performance.now();
    const answer = await fetch(`${url}/index.jsonl`);
    await answer.arrayBuffer();
    first.push(performance.now() - started);
    started = performance.now();
    const again = await fetch(`${url}/index.jsonl`, {
      headers: { "if-none-match": answer.headers.get("etag") },
    });
    await again.arrayBuffer();
    if (again.status !== 304) throw new Error(`the index was sent again: ${again.status}`);
    unchanged.push(performance.now() - started);
  }
  return { firstMs: median(first), unchangedMs: median(unchanged) };
}

function describe({ indexBytes, searches, index, worstP50, loadBefore }) {
  const rows = searches.map(({ query, total, serverMs, serverP95Ms, clientMs }) => [
    query === "" ? "(everything)" : query,
    ...[String(total), serverMs.toFixed(2), serverP95Ms.toFixed(2), clientMs.toFixed(2)],
  ]);
  return [
    `${PACKAGES} packages, index of ${formatNumber(indexBytes / 1e6)} MB, load before ${loadBefore.toFixed(1)}`,
    "",
    formatTable(["search", "found", "server p50 ms", "server p95 ms", "with HTTP p50 ms"], rows),
    "",
    `index: ${formatNumber(index.firstMs)} ms to read it, ${formatNumber(index.unchangedMs)} ms when nothing changed`,
    `goal: p50 under ${GOAL_MS} ms of server time: ${worstP50 <= GOAL_MS ? "met" : "missed"} (${worstP50.toFixed(2)} ms)`,
  ].join("\n");
}
