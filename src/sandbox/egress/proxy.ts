// Egress proxy: the only way out of a server's sandbox. It listens on a Unix socket outside of the sandbox and
// checks every connection before it dials.

import { createHash, timingSafeEqual } from "node:crypto";
import { connect, createServer, isIP, type Socket } from "node:net";
import { isLoopbackHost } from "../../base/net/addresses.ts";
import { canonicalHost, isObject, type Denied, type NetworkRule } from "../../model/index.ts";
import {
  decide,
  decideName,
  createKnownAddresses,
  createDenials,
  type Lookup,
  type Refusal,
} from "./allow-list.ts";
import { createLookups } from "./lookup-queue.ts";
import { lookUp } from "./resolve-host.ts";

export interface EgressProxyOptions {
  readonly path: string;
  /**
   * Secret of this server's relay. Connections without it are refused, because other programs may find the
   * socket's path.
   */
  readonly token: string;
  readonly server: string;
  readonly rules: readonly NetworkRule[];
  /** Called for refused connections, and for granted hosts that cannot be reached. */
  readonly onDenied: (denied: Denied) => void;
  /** Called when the relay has connected: the socket's path is then no longer needed. */
  readonly onRelay?: () => void;
  readonly lookup?: Lookup;
  readonly headerTimeoutMs?: number;
  /** Limit of simultaneous connections of one server. */
  readonly maxConnections?: number;
}

export interface EgressProxy {
  /** Open connections, whether the proxy has accepted them or not. */
  readonly connections: number;
  /** Closes all connections and accepts no more. */
  close(): void;
}

const [YES, NO] = ["+", "-"];
const DIAL_TIMEOUT_MS = 30_000;
/** How long a connection must have waited until a client that gives up is a sign of an unreachable host. */
const SILENT_MS = 3_000;
/** How long one side may stay silent after the other has ended: its peer may have gone without notice. */
const HALF_CLOSED_IDLE_MS = 300_000;

export async function openEgressProxy(options: EgressProxyOptions): Promise<EgressProxy> {
  const { rules, headerTimeoutMs = 5000, maxConnections = 256 } = options;
  const deny = createDenials(options.server, options.onDenied);
  const lookups = createLookups(options.lookup ?? lookUp);
  const known = createKnownAddresses();
  const token = digest(options.token);
  const sockets = new Set<Socket>();
  let carried = 0;
  let isRelayHere = false;
  let isStrangerReported = false;
  let isClosed = false;

  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    track(socket);
    void serve(socket).catch(() => socket.destroy());
  });
  // Lookups and new connections have room beside the established ones.
  server.maxConnections = maxConnections * 2;
  server.on("drop", () => deny("", 0, `more than ${maxConnections * 2} connections at once`));
  server.on("error", () => {});
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.path, () => {
      server.off("error", reject);
      resolve();
    });
  });
  server.unref();
  return {
    get connections() {
      return sockets.size;
    },
    close: () => {
      isClosed = true;
      server.close();
      lookups.close();
      for (const socket of sockets) socket.destroy();
    },
  };

  async function serve(socket: Socket): Promise<void> {
    const header = await readHeader(socket, headerTimeoutMs);
    if (header === "timeout" || header === "closed") return void socket.destroy();
    if (header === "malformed" || !timingSafeEqual(digest(header.token), token))
      return refuseStranger(socket);
    if (!isRelayHere) {
      isRelayHere = true;
      options.onRelay?.();
    }
    const refused = await admit(socket, header);
    if (refused === undefined) return;
    deny(refused.host, header.port, refused.denied, { grant: refused.grant });
    socket.end(NO, () => socket.destroy());
  }

  /** Reported once: another program may be the one that tries, and must not hide the attempts of this server. */
  function refuseStranger(socket: Socket): void {
    if (!isStrangerReported) deny("", 0, "an unknown program connected to the egress proxy");
    isStrangerReported = true;
    socket.end(NO, () => socket.destroy());
  }

  /** Returns the reason for a refusal, or undefined if the connection is taken care of. */
  async function admit(socket: Socket, { host, port }: Header): Promise<Refusal | undefined> {
    if (port === 0) return answerName(socket, host);
    if (carried >= maxConnections) return { denied: `more than ${maxConnections} connections at once`, host };
    carried += 1;
    socket.once("close", () => (carried -= 1));
    const verdict = await decide(rules, host, port, lookups.find, known);
    if ("denied" in verdict) return verdict;
    if ("unknown" in verdict) reportUnreachable(host, port, NOT_RESOLVED);
    if ("unknown" in verdict || socket.destroyed) socket.destroy();
    else carry(socket, verdict.addresses, host, port);
    return undefined;
  }

  /**
   * Answers with the addresses of a name; with none if it does not exist. An empty name is the relay's
   * announcement.
   */
  async function answerName(socket: Socket, name: string): Promise<Refusal | undefined> {
    const verdict = name === "" ? { addresses: [] } : await decideName(rules, name, lookups.find);
    if ("denied" in verdict) return verdict;
    if (name !== "" && verdict.addresses.length === 0) reportUnreachable(name, 0, NOT_RESOLVED);
    if (verdict.addresses.length > 0) known.add(canonicalHost(name) ?? name, verdict.addresses);
    socket.end(`${YES}${verdict.addresses.join(",")}`, () => socket.destroy());
    return undefined;
  }

  function carry(inner: Socket, addresses: readonly string[], host: string, port: number): void {
    const startedAt = performance.now();
    const outer = track(dial(addresses, port));
    const fail = (error: NodeJS.ErrnoException): void => reportUnreachable(host, port, reasonOf(error));
    const abandon = (): void => {
      if (performance.now() - startedAt >= SILENT_MS) reportUnreachable(host, port, NO_ANSWER);
      outer.off("error", fail).destroy();
    };
    inner.once("close", abandon);
    outer.once("error", fail);
    outer.setTimeout(DIAL_TIMEOUT_MS, abandon);
    outer.once("close", () => {
      inner.off("close", abandon);
      if (!inner.destroyed && !outer.readableEnded) inner.destroy();
    });
    outer.once("connect", () => {
      outer.setTimeout(0);
      outer.setKeepAlive(true, 60_000);
      outer.setNoDelay(true);
      inner.off("close", abandon);
      outer.off("error", fail);
      inner.write(YES);
      join(inner, outer);
    });
  }

  function reportUnreachable(host: string, port: number, why: string): void {
    if (isClosed) return;
    const name = canonicalHost(host) ?? host;
    const reason = `is granted, but it could not be reached from this machine: ${why}`;
    // Inside of the sandbox, `localhost` has become an address before a program connects.
    const shown = known.namesOf(name)[0] ?? (isLoopbackHost(name) ? "localhost" : name);
    deny(shown, port, reason, { kind: "unreachable" });
  }

  function track(socket: Socket): Socket {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
    return socket;
  }
}

const NOT_RESOLVED = "its name could not be resolved";
const NO_ANSWER = "it did not answer";
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "it refused the connection",
  ECONNRESET: "it closed the connection",
  ENETUNREACH: "this machine has no route to it",
  EHOSTUNREACH: "this machine has no route to it",
  ETIMEDOUT: NO_ANSWER,
};

function reasonOf({ code = "", message }: NodeJS.ErrnoException): string {
  return REASONS[code] ?? (code || message);
}

/** Dials the checked addresses, never the name: a second lookup could return others. */
function dial(addresses: readonly string[], port: number): Socket {
  const checked = addresses.map((address) => ({ address, family: isIP(address) }));
  if (checked.length === 1) return connect({ host: checked[0]?.address ?? "", port, allowHalfOpen: true });
  return connect({
    host: "checked.invalid",
    port,
    allowHalfOpen: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 500,
    lookup: (_host, _options, callback) => callback(null, checked),
  });
}

/**
 * Joins two sockets: bytes, backpressure and half-closes pass both ways. Both sockets must allow half-open
 * connections.
 */
function join(one: Socket, other: Socket): void {
  tie(one, other);
  tie(other, one);
  one.pipe(other);
  other.pipe(one);
}

function tie(from: Socket, to: Socket): void {
  from.on("error", () => to.destroy());
  from.on("end", () => to.setTimeout(HALF_CLOSED_IDLE_MS, () => to.destroy()));
  // A socket that ended cleanly has delivered everything; the other may still be writing it.
  from.on("close", () => {
    if (!from.readableEnded || !from.writableFinished) to.destroy();
  });
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

interface Header {
  /** The secret that only the relay of this proxy knows. */
  readonly token: string;
  /** Empty with port 0: the relay announces itself. */
  readonly host: string;
  /** 0: only looks the name up. */
  readonly port: number;
}

/** Enough for the longest name with every character escaped. */
const MAX_BYTES = 2048;

/**
 * Reads the first line of a connection, which says who connects and where to. Its size and time are bounded,
 * because any program may write it. Leaves the socket paused, with the bytes after the line unread. `timeout` and
 * `closed` need no answer.
 */
function readHeader(socket: Socket, timeoutMs: number): Promise<Header | "malformed" | "timeout" | "closed"> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const timer = setTimeout(() => settle("timeout"), timeoutMs);
    const onData = (chunk: Buffer): void => {
      const end = chunk.indexOf(0x0a);
      length += end === -1 ? chunk.length : end;
      if (length > MAX_BYTES) return settle("malformed");
      if (end === -1) {
        chunks.push(chunk);
        return undefined;
      }
      chunks.push(chunk.subarray(0, end));
      settle(parseHeader(Buffer.concat(chunks)));
      if (end + 1 < chunk.length) socket.unshift(chunk.subarray(end + 1));
      return undefined;
    };
    const onClose = (): void => settle("closed");
    const settle = (result: Header | "malformed" | "timeout" | "closed"): void => {
      clearTimeout(timer);
      socket.pause();
      socket.off("data", onData).off("end", onClose).off("close", onClose);
      resolve(result);
    };
    socket.on("data", onData).on("end", onClose).on("close", onClose).resume();
  });
}

function parseHeader(line: Buffer): Header | "malformed" {
  try {
    const value: unknown = JSON.parse(line.toString("utf8"));
    if (!isObject(value)) return "malformed";
    const { token, host, port } = value;
    if (typeof token !== "string" || typeof host !== "string" || typeof port !== "number") return "malformed";
    return Number.isInteger(port) && port >= 0 && port < 65_536 ? { token, host, port } : "malformed";
  } catch {
    return "malformed";
  }
}
