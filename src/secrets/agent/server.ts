// Vault agent: a process that keeps the keys of unlocked vaults in memory for a limited time, so that a passphrase is typed once.

import { chmod, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { withFileLock } from "../../base/files/file-lock.ts";
import type { Environment } from "../sources/environment.ts";
import { haveSameParameters, type VaultKey } from "../vault/vault-key.ts";
import { createVaultAgent } from "./client.ts";
import { type AgentRequest, MAX_LINE_BYTES, parseRequest, type UnlockedVault } from "./messages.ts";
import { agentSocket, createSocketFolder, isAgentSupported } from "./socket.ts";

const MAX_CONNECTIONS = 50;
const MAX_VAULTS = 16;
/** A connection has this long to send its request. */
const REQUEST_MS = 5_000;
/** An agent without any key ends after this time. */
const EMPTY_MS = 10_000;
/** A timer stands still while the machine sleeps, so the clock is compared at least this often. */
const CHECK_MS = 60_000;
/** The longest time that a key is kept. */
const MAX_MS = 2 ** 31 - 1;

export interface RunningAgent extends AsyncDisposable {
  /** Resolves when the last key is forgotten, or after `lock` or `close()`. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

interface Kept extends VaultKey {
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** Undefined if another agent runs already, or this system supports none. */
export async function serveVaultAgent(
  env: Environment,
  { emptyMs = EMPTY_MS, platform }: { readonly emptyMs?: number; readonly platform?: NodeJS.Platform } = {},
): Promise<RunningAgent | undefined> {
  if (!isAgentSupported(platform)) return undefined;
  const path = await agentSocket(env);
  await createSocketFolder(path);
  const kept = new Map<string, Kept>();
  const server = createServer((socket) => receive(socket, answer));
  server.maxConnections = MAX_CONNECTIONS;
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  let empty: NodeJS.Timeout | undefined;
  let check: NodeJS.Timeout | undefined;

  const forget = (vault: string): void => {
    const found = kept.get(vault);
    if (found === undefined) return;
    found.key.fill(0);
    kept.delete(vault);
  };
  const close = async (): Promise<void> => {
    clearTimeout(empty);
    clearTimeout(check);
    for (const vault of [...kept.keys()]) forget(vault);
    server.close();
    await rm(path, { force: true }).catch(() => {});
    end();
  };
  const keep = (vault: string, { parameters, key }: VaultKey, asked: number): void => {
    forget(vault);
    if (kept.size >= MAX_VAULTS) forget(kept.keys().next().value as string);
    kept.set(vault, { parameters, key, until: Date.now() + Math.min(asked, MAX_MS) });
    clearTimeout(empty);
    forgetExpired();
  };
  /** Forgets keys whose time is over by the clock, ends with the last one, and waits for the next one. */
  const forgetExpired = (): void => {
    clearTimeout(check);
    for (const [vault, { until }] of [...kept]) if (until <= Date.now()) forget(vault);
    if (kept.size === 0) return void close();
    const next = Math.min(...[...kept.values()].map(({ until }) => until - Date.now()));
    check = setTimeout(forgetExpired, Math.min(next, CHECK_MS));
  };
  const answer = (request: AgentRequest): object => {
    if (kept.size > 0) forgetExpired();
    switch (request.op) {
      case "put":
        keep(request.vault, request.key, request.ms);
        return { ok: true };
      case "get": {
        const found = kept.get(request.vault);
        const isSame = found !== undefined && haveSameParameters(found.parameters, request.parameters);
        return isSame ? { bytes: found.key.toString("base64") } : {};
      }
      case "lock":
        // The answer is written first.
        setImmediate(() => void close());
        return { ok: true };
      case "status":
        return { vaults: [...kept].map(([vault, { until }]) => toStatus(vault, until)) };
    }
  };

  if (!(await listenOnce(server, path, env))) return undefined;
  if (kept.size === 0) empty = setTimeout(() => void close(), emptyMs);
  return { ended, close, [Symbol.asyncDispose]: close };
}

/** False if another agent listens. The socket of an agent that has ended is replaced. */
async function listenOnce(server: Server, path: string, env: Environment): Promise<boolean> {
  return withFileLock(path, async () => {
    if ((await createVaultAgent(env).status()) !== undefined) return false;
    await rm(path, { force: true });
    await listen(server, path);
    await chmod(path, 0o600);
    return true;
  });
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      // An error of a single connection must not end the agent.
      server.on("error", () => {});
      resolve();
    });
  });
}

function receive(socket: Socket, answer: (request: AgentRequest) => object): void {
  let text = "";
  socket.setTimeout(REQUEST_MS, () => socket.destroy());
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
    const at = text.indexOf("\n");
    if (at < 0) {
      if (text.length > MAX_LINE_BYTES) socket.destroy();
      return;
    }
    const request = parseRequest(text.slice(0, at));
    text = "";
    if (request === undefined) socket.destroy();
    else socket.end(`${JSON.stringify(answer(request))}\n`);
  });
}

function toStatus(vault: string, until: number): UnlockedVault {
  return { vault, until: new Date(until).toISOString() };
}
