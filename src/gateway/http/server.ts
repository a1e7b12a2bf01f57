// HTTP server of a gateway that listens at an address of its own: created from the settings, bound, and closed.

import { createPrivateKey, X509Certificate } from "node:crypto";
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
  /**
   * Reads the certificate and the key again; the old ones stay in use if that fails. The result is the end of a certificate that
   * replaced another one.
   */
  renewTls(): Promise<Date | undefined>;
  close(): void;
}

export async function listen(settings: GatewaySettings, front: HttpFront): Promise<HttpServer> {
  const { host = GATEWAY_DEFAULTS.host, port = GATEWAY_DEFAULTS.port } = settings;
  let pems = settings.tls && (await readPems(settings.tls));
  const server = createServer(pems, front.handle);
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
      if (settings.tls === undefined || !("setSecureContext" in server)) return undefined;
      const next = await readPems(settings.tls);
      (server as unknown as TlsServer).setSecureContext({ ...next });
      const isReplaced = pems?.cert.equals(next.cert) === false;
      pems = next;
      return isReplaced ? new Date(new X509Certificate(next.cert).validTo) : undefined;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** How often Node.js checks for requests that arrive too slowly. */
const SERVER_OPTIONS = { connectionsCheckingInterval: 5_000 };

function createServer(pems: Pems | undefined, listener: RequestListener): Server {
  // getBuiltinModule() does not load the HTTP client of node:http, which the gateway does not use.
  return pems === undefined
    ? process.getBuiltinModule("node:http").createServer(SERVER_OPTIONS, listener)
    : process.getBuiltinModule("node:https").createServer({ ...SERVER_OPTIONS, ...pems }, listener);
}

interface Pems {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Throws if the gateway cannot use the certificate and the key. */
export async function readPems(tls: GatewayTls): Promise<Pems> {
  const [cert, key] = await Promise.all([readPem(tls.cert, "certificate"), readPem(tls.key, "key")]);
  try {
    process.getBuiltinModule("node:tls").createSecureContext({ cert, key });
    // OpenSSL accepts a key of another algorithm than that of the certificate, and then refuses every connection.
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
      throw new Error("the key belongs to another certificate");
  } catch (cause) {
    throw badPems(cause);
  }
  return { cert, key };
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
      { cause, hint: "Check gateway.tls in portolan.yaml, or --tls-cert and --tls-key." },
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
