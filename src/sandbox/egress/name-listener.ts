// Hears which names a server without a network looks up. In its box a socket of ours lies where glibc asks before it looks by itself, so
// that nothing has to run inside. It says no to every name but the box's own, and the attempt is told of.

import { existsSync, unlink } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { canonicalHost, type Denied } from "../../model/index.ts";
import { reasonAgainstName } from "./allow-list.ts";
import { createDenials } from "./denials.ts";
import { type Family, MAX_REQUEST_BYTES, type NameRequest, readNameRequest, writeNameAnswer } from "./nscd-protocol.ts";
import { createSocketFolder, type SocketFolder } from "./socket-folder.ts";

export interface NameListenerOptions {
  readonly server: string;
  /** How the box calls itself. */
  readonly hostname: string;
  readonly onDenied: (denied: Denied) => void;
  readonly requestTimeoutMs?: number | undefined;
  /** Of the requests at once, and those that follow in a second, before nothing more is heard. */
  readonly budget?: { readonly atOnce: number; readonly perSecond: number } | undefined;
}

export interface NameListener {
  /** To be laid into the box where programs look for it. */
  readonly socket: string;
  /** The box is being made: soon nobody needs to find the socket by its path any more. */
  spawned(): void;
  close(): void;
}

const MAX_CONNECTIONS = 64;
/** Until a box is made, however busy the machine is. One that takes longer is not heard. */
const BOX_MADE_MS = 5_000;
/** A program that asks for both families of a name, one after the other, makes one attempt. */
const SAME_ATTEMPT_MS = 500;
const MUSL = ["/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1"];
const BUDGET = { atOnce: 2_000, perSecond: 200 };

/** Nothing where nobody would ask, or where it cannot be had: then the server is only not heard. */
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
    // Each costs this program a little. Once nobody listens, those that follow cost nothing.
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
      timer ??= setTimeout(() => place?.hide(), BOX_MADE_MS).unref();
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
  // Not of silence: whoever writes a byte now and then is late as well.
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

/** What is answered, and told of on the way. Undefined: nothing. */
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

/** The root of all names is nowhere, and what is below `localhost` is here. */
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
  /** Whoever has it keeps it; nobody else finds it. */
  hide(): void;
  release(): void;
}

/** One folder for all: another server's box that is given the folder around it has this one covered, whatever comes into it later. */
let shared: { readonly folder: SocketFolder; readonly users: Set<string> } | undefined;
let count = 0;

function takePlace(): Place {
  shared ??= { folder: createSocketFolder(), users: new Set() };
  const { folder, users } = shared;
  const socket = join(folder.path, `n${(count += 1)}`);
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

/** The other C library, musl, asks there only for accounts that it does not find, and takes silence for a fault. */
function asksForNames(): boolean {
  return existsSync("/etc/ld.so.cache") || !MUSL.some((loader) => existsSync(loader));
}
