// HTTP server of a gateway that listens at an address of its own: created from the settings, bound, and closed.

import { readFile } from "node:fs/promises";
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Server as TlsServer } from "node:tls";
import { cannotListen, PortolanError } from "../../errors/index.ts";
import { GATEWAY_DEFAULTS, type GatewaySettings, type GatewayTls } from "../../model/index.ts";
import type { HttpFront } from "./front.ts";
import { sendError } from "./responses.ts";

export interface HttpServer {
  readonly url: string;
  /** Reads the certificate and the key again; the old ones stay in use if that fails. */
  renewTls(): Promise<void>;
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
    sendError(response, 417, "EXPECTATION_FAILED", "The Expect header supports 100-continue only"),
  );
  // Without this listener, Node.js serves a request that offers an upgrade as a plain request.
  if (front.acceptsUpgrades) server.on("upgrade", front.upgrade);
  await bind(server, host, port);
  const scheme = settings.tls === undefined ? "http" : "https";
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `${scheme}://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    async renewTls() {
      if (settings.tls === undefined || !("setSecureContext" in server)) return;
      const [cert, key] = await readPems(settings.tls);
      try {
        (server as unknown as TlsServer).setSecureContext({ cert, key });
      } catch (cause) {
        throw badPems(cause);
      }
    },
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
  const [cert, key] = await readPems(settings.tls);
  try {
    return process.getBuiltinModule("node:https").createServer({ ...SERVER_OPTIONS, cert, key }, listener);
  } catch (cause) {
    throw badPems(cause);
  }
}

function readPems({ cert, key }: GatewayTls): Promise<[Buffer, Buffer]> {
  return Promise.all([readPem(cert, "certificate"), readPem(key, "key")]);
}

function badPems(cause: unknown): PortolanError {
  const message = `the TLS certificate and key cannot be used: ${(cause as Error).message}`;
  const hint =
    "Check gateway.tls in portolan.yaml, or --tls-cert and --tls-key: both must be PEM files, and the key must belong to the certificate.";
  return new PortolanError("CONFIG_INVALID", message, { cause, hint });
}

async function readPem(path: string, what: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new PortolanError(
      "FILE_FAILED",
      `the TLS ${what} of the gateway cannot be read: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
}

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    // The command `serve` checks the port before, so that a program reads this.
    const fail = (cause: Error): void => reject(cannotListen(host, port, cause, { inProgram: true }));
    server.once("error", fail);
    server.listen(port, host, resolve);
  });
}
