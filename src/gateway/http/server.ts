// HTTP server of a gateway that listens at an address of its own: created from the settings, bound, and closed.

import { readFile } from "node:fs/promises";
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PortolanError } from "../../errors/index.ts";
import { GATEWAY_DEFAULTS, type GatewaySettings } from "../../model/index.ts";
import type { HttpFront } from "./front.ts";
import { sendError } from "./responses.ts";

export interface HttpServer {
  readonly url: string;
  close(): void;
}

export async function listen(settings: GatewaySettings, front: HttpFront): Promise<HttpServer> {
  const { host = GATEWAY_DEFAULTS.host, port = GATEWAY_DEFAULTS.port } = settings;
  const server = await createServer(settings, front.handle);
  server.headersTimeout = 10_000;
  server.requestTimeout = 60_000;
  server.keepAliveTimeout = 65_000;
  // Without these listeners, Node.js requests or reads the body of a request that may be refused.
  server.on("checkContinue", front.handle);
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) =>
    sendError(response, 417, "EXPECTATION_FAILED", "Expect can only be 100-continue"),
  );
  // Without this listener, Node.js serves a request that offers an upgrade as a plain request.
  if (front.acceptsUpgrades) server.on("upgrade", front.upgrade);
  await bind(server, host, port);
  const scheme = settings.tls === undefined ? "http" : "https";
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `${scheme}://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** How often Node.js checks for requests that arrive too slowly. */
const SERVER_OPTIONS = { connectionsCheckingInterval: 5_000 };

async function createServer(settings: GatewaySettings, listener: RequestListener): Promise<Server> {
  // getBuiltinModule() does not load the HTTP client of node:http, which the gateway does not use.
  if (settings.tls === undefined)
    return process.getBuiltinModule("node:http").createServer(SERVER_OPTIONS, listener);
  const [cert, key] = await Promise.all([
    readPem(settings.tls.cert, "cert"),
    readPem(settings.tls.key, "key"),
  ]);
  try {
    return process.getBuiltinModule("node:https").createServer({ ...SERVER_OPTIONS, cert, key }, listener);
  } catch (cause) {
    throw new PortolanError(
      "CONFIG_INVALID",
      `the TLS certificate and key cannot be used: ${(cause as Error).message}`,
      { cause },
    );
  }
}

async function readPem(path: string, what: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new PortolanError("FILE_FAILED", `the TLS ${what} cannot be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const taken = cause.code === "EADDRINUSE";
      const message = `cannot listen at ${host}:${port}: ${taken ? "the port is in use" : cause.message}`;
      const hint = taken
        ? "Stop the program that uses it, or choose another port with --port (0 for any free one)."
        : "Check the host and the port.";
      reject(new PortolanError("CONFIG_INVALID", message, { hint, cause }));
    });
    server.listen(port, host, resolve);
  });
}
