// A workspace with a server from a package: its metadata in the store, its lock file, and a web server for its files.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { LockedPackage } from "../../src/packages/index.ts";
import { keepDocument, renderLock } from "../../src/packages/index.ts";
import { type Loose, packageDocument } from "./registry.ts";

export const sri = (bytes: string | Buffer, algorithm = "sha256"): string =>
  `${algorithm}-${createHash(algorithm).update(bytes).digest("base64")}`;

/** A small MCP server in one file: it has one tool, which returns its arguments and some variables. */
export const SERVER_SCRIPT = `
const lines = require("node:readline").createInterface({ input: process.stdin });
const send = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
lines.on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const reply = (result) => send({ jsonrpc: "2.0", id, result });
  if (method === "initialize")
    return reply({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "tiny", version: "1.0.0" } });
  if (method === "tools/list")
    return reply({ tools: [{ name: "echo", description: "Returns its facts.", inputSchema: { type: "object" } }] });
  if (method === "tools/call")
    return reply({ content: [{ type: "text", text: JSON.stringify({ args: process.argv.slice(2), url: process.env.API_URL }) }] });
  send({ jsonrpc: "2.0", id, error: { code: -32601, message: "no such method" } });
});
`;

export interface FileServer {
  readonly url: string;
  /** Replaces the answer of a path. */
  serve(
    path: string,
    answer: Buffer | string | ((request: IncomingMessage, response: ServerResponse) => void),
  ): string;
  readonly requests: string[];
}

export async function startFileServer(): Promise<FileServer> {
  const answers = new Map<string, Buffer | string | ((q: IncomingMessage, r: ServerResponse) => void)>();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers.range ?? ""}`.trim());
    const answer = answers.get(request.url ?? "");
    if (answer === undefined) response.writeHead(404).end();
    else if (typeof answer === "function") answer(request, response);
    else response.end(answer);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    requests,
    serve: (path, answer) => {
      answers.set(path, answer);
      return `${url}${path}`;
    },
  };
}

export function packageFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-packages-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The metadata of a package whose program is one file. */
export function filePackage(
  url: string,
  bytes: string | Buffer,
  change: (document: Loose) => void = () => {},
): Loose {
  return packageDocument((document) => {
    document["mcp"].executable = "server.js";
    document["mcp"].args = ["--from", "package"];
    document["mcp"].configuration = {
      schema: {
        type: "object",
        properties: { api_url: { type: "string", default: "https://api.example.com" } },
      },
    };
    document["source"] = { type: "binary", url, hash: sri(bytes), size: Buffer.byteLength(bytes) };
    change(document);
  });
}

export interface PackageWorkspace {
  readonly folder: string;
  readonly root: string;
  readonly lock: string;
  readonly locked: LockedPackage;
}

/** Writes portolan.yaml and portolan.lock, and keeps the document in the store. */
export async function writePackageWorkspace(
  document: Loose,
  {
    folder = packageFolder(),
    locked: change = {},
    reference = `${document["name"]}@^1.0.0`,
    keep = true,
  }: { folder?: string; locked?: Partial<LockedPackage>; reference?: string; keep?: boolean } = {},
): Promise<PackageWorkspace> {
  const root = join(folder, "data", "portolan", "store");
  mkdirSync(root, { recursive: true });
  const bytes = Buffer.from(JSON.stringify(document, null, 2));
  if (keep) await keepDocument(bytes, { root });
  const locked: LockedPackage = {
    name: document["name"],
    version: document["version"],
    source: document["source"].url,
    integrity: document["source"].hash,
    metadata: sri(bytes),
    permissions: document["security"].permissions,
    lockedAt: "2026-01-15T10:00:00Z",
    ...change,
  };
  const lock = join(folder, "portolan.lock");
  writeFileSync(lock, renderLock({ lockfileVersion: 1, servers: { tiny: { package: locked } } }));
  writeFileSync(
    join(folder, "portolan.yaml"),
    `servers:\n  tiny:\n    package: "${reference}"\n    args: [--own]\n`,
  );
  return { folder, root, lock, locked };
}
