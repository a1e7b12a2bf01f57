// Control socket of a gateway: a Unix socket in a private folder, and the state file by which other commands find it.

import { randomBytes } from "node:crypto";
import { chmod, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { describeThisProcess } from "../../base/files/process-identity.ts";
import type { HubEvent } from "../../hub/index.ts";
import type { GatewayFacts } from "../messages.ts";
import { Peer } from "../peer.ts";
import { forgetEnded } from "../state/find.ts";
import { createPrivateFolder, createSocketPath, removeSocket, stateFolder } from "../state/folders.ts";
import type { GatewayState } from "../state/state-file.ts";
import { ControlSession, type SessionOptions } from "./session.ts";

/** The parts of a gateway that other processes control. */
export interface GatewayControls extends Pick<
  SessionOptions,
  "workspace" | "reload" | "stop" | "consoleLink" | "approvals"
> {
  /** Changes of the config files that are not in use, and why. */
  problems(): readonly string[];
  ignoredFiles(): GatewayFacts["ignoredFiles"];
  budgets(): GatewayFacts["budgets"];
  callers(): GatewayFacts["callers"];
  /** Serves one MCP client on these streams, as on stdio. Resolves when it has disconnected. */
  serveClient(input: Readable, output: Writable): Promise<void>;
}

export interface ControlServerOptions extends GatewayControls {
  /** The folder or config file that the gateway serves. */
  readonly path: string;
  readonly kind: GatewayState["kind"];
  readonly url?: string;
  /** The version of Portolan. */
  readonly version: string;
  readonly log?: string;
  /** True if only some servers of the workspace are served. */
  readonly isPartial?: boolean;
}

export interface ControlServer extends AsyncDisposable {
  /** Removes the state file and the socket, and ends all connections. Running requests of MCP clients have two seconds to finish. */
  close(): Promise<void>;
}

/** Each connected client may have one. */
const MAX_CONNECTIONS = 200;
const MAX_EVENTS = 200;
const MAX_BUDGETS = 200;
/** A connection without a valid first request is ended after this time. */
const HELLO_MS = 5_000;

export async function serveControl(options: ControlServerOptions): Promise<ControlServer> {
  const { path, kind, url, version, log, workspace, isPartial } = options;
  const events: HubEvent[] = [];
  const startedAt = new Date().toISOString();
  const token = randomBytes(32).toString("base64url");
  const peers = new Set<Peer>();
  const clients = new Map<Socket, { readonly input: PassThrough; readonly done: Promise<void> }>();
  let connections = 0;
  const sessionOptions: Omit<SessionOptions, "id"> = {
    ...options,
    token,
    serveClient: (socket) => {
      const input = new PassThrough();
      socket.on("error", () => socket.destroy());
      socket.once("close", () => void input.end());
      const done = options.serveClient(input, socket).finally(() => {
        clients.delete(socket);
        socket.end();
      });
      clients.set(socket, { input, done });
      socket.pipe(input);
    },
    ...{ transport: "stdio", way: "terminal" },
    recentEvents: () => events,
    facts: () => ({
      ...{ pid: process.pid, version, kind, url, path, startedAt, log, isPartial },
      servers: workspace.hub.members.map(({ alias }) => alias),
      files: [...new Set(workspace.hub.members.map(({ config }) => config.origin.file))],
      problems: options.problems(),
      ignoredFiles: options.ignoredFiles(),
      budgets: options.budgets()?.slice(0, MAX_BUDGETS),
      callers: options.callers(),
    }),
  };
  const accept = (socket: Socket): void => {
    const session = new ControlSession({ ...sessionOptions, id: `control ${(connections += 1)}` });
    const peer = new Peer(socket, (request) => session.answer(request));
    peers.add(peer);
    const late = setTimeout(() => {
      if (!session.isAuthenticated) peer.close();
    }, HELLO_MS).unref();
    peer.onClose(() => {
      clearTimeout(late);
      peers.delete(peer);
      session.close();
    });
  };
  const socket = await createSocketPath();
  // A client that has sent everything still reads its responses.
  const server = createServer({ allowHalfOpen: true }, accept);
  server.maxConnections = MAX_CONNECTIONS;
  const file = join(await stateFolder(path), `${randomBytes(8).toString("hex")}.json`);
  const off = workspace.events.on(
    (event) => {
      events.push(event);
      if (events.length > MAX_EVENTS) events.shift();
    },
    { calls: false },
  );
  const close = async (): Promise<void> => {
    off();
    await rm(file, { force: true }).catch(() => {});
    server.close();
    for (const peer of peers) peer.finish();
    for (const [client, { input }] of clients) {
      client.unpipe(input);
      input.end();
    }
    await Promise.all([...clients.values()].map(({ done }) => done));
    await removeSocket(socket);
  };
  try {
    await listen(server, socket);
    const state: GatewayState = {
      ...{ version: 1, kind, path, url, socket, token, startedAt, portolan: version, log },
      process: await describeThisProcess(),
    };
    await createPrivateFolder(join(file, ".."));
    // This gateway replaces those that crashed.
    if (kind === "http") await forgetEnded(path);
    await writeAtomic(file, Buffer.from(`${JSON.stringify(state, null, 2)}\n`), { mode: 0o600 });
  } catch (error) {
    await close();
    throw error;
  }
  return { close, [Symbol.asyncDispose]: close };
}

async function listen(server: Server, path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      resolve();
    });
  });
  // An error of a single connection must not end the gateway.
  server.on("error", () => {});
  if (process.platform !== "win32") await chmod(path, 0o600);
}
