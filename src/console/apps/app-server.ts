// HTTP server of the frames in which the console shows apps. It has a port of its own, and knows no session and no cookie.

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { appPolicy, type AppHosts } from "./app-policy.ts";
import { PROXY_SCRIPT, proxyPage } from "./proxy-page.ts";

/** Frames that a browser may still load; the oldest are forgotten. */
const MAX_FRAMES = 200;
const MAX_TRIES = 5;

interface Frame {
  readonly policy: string;
  readonly consoleOrigin: string;
}

const HEADERS = {
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-dns-prefetch-control": "off",
} as const;

export class AppServer {
  readonly port: number;
  readonly #servers: readonly Server[];
  readonly #frames: Map<string, Frame>;

  private constructor(port: number, servers: readonly Server[], frames: Map<string, Frame>) {
    this.port = port;
    this.#servers = servers;
    this.#frames = frames;
  }

  /** Listens at both loopback addresses, because `localhost` means both. The port is the wanted one if it is free. */
  static async open(wanted: number): Promise<AppServer> {
    const frames = new Map<string, Frame>();
    const create = (): Server =>
      createServer((request, response) => respond(frames, request, response)).unref();
    for (let tries = 0; ; tries += 1) {
      const first = create();
      const second = create();
      try {
        await listen(first, "127.0.0.1", tries === 0 ? wanted : 0);
        const { port } = first.address() as { readonly port: number };
        const servers = (await listensIfThere(second, "::1", port)) ? [first, second] : [first];
        return new AppServer(port, servers, frames);
      } catch (error) {
        first.close();
        if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE" || tries >= MAX_TRIES) throw error;
      }
    }
  }

  /** The path of a new frame for one app. Only the console at this origin can show it. */
  addFrame(hosts: AppHosts, consoleOrigin: string): string {
    const id = randomUUID();
    this.#frames.set(id, { policy: appPolicy(hosts, consoleOrigin), consoleOrigin });
    const [oldest] = this.#frames.keys();
    if (this.#frames.size > MAX_FRAMES && oldest !== undefined) this.#frames.delete(oldest);
    return `/${id}`;
  }

  close(): void {
    for (const server of this.#servers) {
      server.close();
      server.closeAllConnections();
    }
  }
}

function respond(
  frames: ReadonlyMap<string, Frame>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { method, url = "/", headers, socket } = request;
  const hosts = ["127.0.0.1", "localhost"].map((name) => `${name}:${socket.localPort ?? 0}`);
  // A name that another site lets point to this computer.
  if (!hosts.includes(headers.host ?? "")) return send(response, 403, {}, "This host is not allowed.\n");
  if (method !== "GET") return send(response, 405, {}, "Only GET is supported.\n");
  if (url === "/proxy.js")
    return send(response, 200, { "content-type": "text/javascript; charset=utf-8" }, PROXY_SCRIPT);
  const frame = frames.get(url.slice(1));
  if (frame === undefined) return send(response, 404, {}, "There is no such app.\n");
  const type = { "content-type": "text/html; charset=utf-8", "content-security-policy": frame.policy };
  send(response, 200, type, proxyPage(frame.consoleOrigin));
}

function send(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): void {
  response.writeHead(status, { ...HEADERS, "content-type": "text/plain; charset=utf-8", ...headers });
  response.end(body);
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, exclusive: true }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** False on a computer without IPv6. Another program at the port is an error: a browser could load its page instead. */
async function listensIfThere(server: Server, host: string, port: number): Promise<boolean> {
  try {
    await listen(server, host, port);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") throw error;
    return false;
  }
}
