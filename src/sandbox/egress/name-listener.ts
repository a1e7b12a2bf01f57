// Reports which host names a server without network access looks up. A socket of Portolan is mounted where glibc
// expects its name service cache (nscd), so that no helper runs inside of the sandbox. It answers every name
// except the sandbox's own with "not found".

import { existsSync, unlink } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { canonicalHost, type Denied } from "../../model/index.ts";
import { reasonAgainstName, createDenials } from "./allow-list.ts";
import {
  type Family,
  MAX_REQUEST_BYTES,
  type NameRequest,
  readNameRequest,
  writeNameAnswer,
} from "./nscd-protocol.ts";
import { createSocketFolder, type SocketFolder } from "./socket-folder.ts";

export interface NameListenerOptions {
  readonly server: string;
  /** The host name of the sandbox. */
  readonly hostname: string;
  readonly onDenied: (denied: Denied) => void;
  readonly requestTimeoutMs?: number;
  /** The burst and the rate of requests; the listener closes when a server exceeds them. */
  readonly budget?: { readonly atOnce: number; readonly perSecond: number };
}

export interface NameListener {
  /** The socket to mount where programs look for it. */
  readonly socket: string;
  /** The sandbox is being created: soon the socket needs no path any more. */
  spawned(): void;
  close(): void;
}

const MAX_CONNECTIONS = 64;
/** Time to create a sandbox on a busy machine. A slower one cannot report lookups. */
const SANDBOX_CREATED_MS = 5_000;
/** A program that asks for both address families of a name makes one attempt. */
const SAME_ATTEMPT_MS = 500;
const MUSL = ["/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1"];
const BUDGET = { atOnce: 2_000, perSecond: 200 };

/**
 * Undefined where the C library does not use nscd, or where the socket cannot be created: lookups are then not
 * reported.
 */
export async function openNameListener(options: NameListenerOptions): Promise<NameListener | undefined> {
  if (!asksForNames()) return undefined;
  const { requestTimeoutMs = 2_000 } = options;
  const answer = createAnswers(options);
  const spend = createBudget(options.budget ?? BUDGET);
  const open = new Set<Socket>();
  let place: Place | undefined;
  let timer: NodeJS.Timeout | undefined;

  const server = createServer((socket) => {
    place?.hide();
    open.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => open.delete(socket));
    // Each request costs this process time. Once the listener is closed, further requests cost nothing.
    if (spend()) serve(socket, answer, requestTimeoutMs);
    else close();
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.on("drop", () => spend() || close());
  const close = (): void => {
    clearTimeout(timer);
    server.close();
    for (const socket of open) socket.destroy();
    place?.release();
  };
  try {
    place = takePlace();
    await listen(server, place.socket);
  } catch {
    place?.release();
    shared = undefined;
    return undefined;
  }
  return {
    socket: place.socket,
    spawned: () => {
      timer ??= setTimeout(() => place?.hide(), SANDBOX_CREATED_MS).unref();
    },
    close,
  };
}

function serve(
  socket: Socket,
  answer: (request: NameRequest) => Buffer | undefined,
  timeoutMs: number,
): void {
  let bytes = Buffer.alloc(0);
  // A limit for the whole request, because a client may send one byte at a time.
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  socket.once("close", () => clearTimeout(timer));
  const onData = (chunk: Buffer): void => {
    bytes = Buffer.concat([bytes, chunk.subarray(0, MAX_REQUEST_BYTES - bytes.length)]);
    const request = readNameRequest(bytes);
    if (request === "more") return;
    socket.off("data", onData);
    const reply = request === "malformed" ? undefined : answer(request);
    if (reply === undefined) socket.destroy();
    else socket.end(reply, () => socket.destroy());
  };
  socket.on("data", onData);
}

/** Answers requests and reports refused names. Undefined: no answer. */
function createAnswers({
  server,
  hostname,
  onDenied,
}: NameListenerOptions): (request: NameRequest) => Buffer | undefined {
  const deny = createDenials(server, onDenied);
  const own = new Map<string, readonly Family[]>([
    ["localhost", [6, 4]],
    [hostname, [4]],
  ]);
  let last = { host: "", family: "", at: 0 };
  return (request) => {
    if (request.asks === "else") return undefined;
    if (request.asks === "address")
      return writeNameAnswer(request.family, request.isLoopback ? [request.family] : []);
    const { family } = request;
    const host = canonicalHost(request.name) ?? request.name;
    const found = own.get(host) ?? [];
    if (found.length === 0 && isElsewhere(host)) {
      const isSame = host === last.host && `${family}` !== last.family;
      if (!isSame || performance.now() - last.at > SAME_ATTEMPT_MS)
        deny(host, 0, reasonAgainstName([], request.name) ?? "");
      last = { host, family: `${family}`, at: performance.now() };
    }
    return writeNameAnswer(family, found);
  };
}

/** The root name is no host, and names below `localhost` are local. */
function isElsewhere(host: string): boolean {
  return host !== "" && host !== "." && !host.endsWith(".localhost");
}

function createBudget({ atOnce, perSecond }: { atOnce: number; perSecond: number }): () => boolean {
  let [left, since] = [atOnce, performance.now()];
  return () => {
    const now = performance.now();
    left = Math.min(atOnce, left + ((now - since) / 1000) * perSecond) - 1;
    since = now;
    return left >= 0;
  };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path, exclusive: true }, () => {
      server.off("error", reject).on("error", () => {});
      resolve();
    });
    server.unref();
  });
}

interface Place {
  readonly socket: string;
  /** Removes the path; the sandbox keeps the socket. */
  hide(): void;
  release(): void;
}

/**
 * All listeners share one folder. A sandbox that is granted the folder around it has this one covered, including
 * sockets that are created later.
 */
let shared: { readonly folder: SocketFolder; readonly users: Set<string>; count: number } | undefined;

function takePlace(): Place {
  shared ??= { folder: createSocketFolder(), users: new Set(), count: 0 };
  const { folder, users } = shared;
  const socket = join(folder.path, `n${(shared.count += 1)}`);
  let isHidden = false;
  const hide = (): void => {
    if (!isHidden) unlink(socket, () => {});
    isHidden = true;
  };
  users.add(socket);
  return {
    socket,
    hide,
    release: () => {
      if (!users.delete(socket) || users.size > 0) return;
      folder.removeSoon();
      if (shared?.folder === folder) shared = undefined;
    },
  };
}

/** musl uses the socket only for unknown accounts, and treats silence as an error. */
function asksForNames(): boolean {
  return existsSync("/etc/ld.so.cache") || !MUSL.some((loader) => existsSync(loader));
}
