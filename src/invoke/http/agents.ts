// HTTP agents of one server: one refuses private addresses, the other does not. They share no connection.
// Addresses are checked when the connection is made, so that a DNS name cannot change after the check (SSRF).

import { readdir, readFile } from "node:fs/promises";
import { isIP, type LookupFunction } from "node:net";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import type { Agent } from "undici";
import { PortolanError } from "../../errors/index.ts";
import type { ClientTls, HttpInvocation } from "../../model/index.ts";
import { guardLookup } from "../../base/net/guarded-lookup.ts";

const CONNECT_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 64;
const CERTIFICATE = /\.(?:pem|crt|cer)$/i;

export interface Agents {
  readonly dispatch: typeof import("undici").request;
  /** The two kinds of requests never share a connection. */
  get(mayBePrivate: boolean): Agent;
  close(): Promise<void>;
}

export async function createAgents(
  tls: ClientTls | undefined,
  lookup: LookupFunction | undefined,
): Promise<Agents> {
  const { Agent, request: dispatch } = await import("undici");
  const trust = await readTrust(tls);
  const create = (own: { lookup?: LookupFunction }): Agent =>
    new Agent({
      connect: { timeout: CONNECT_TIMEOUT_MS, ...trust, ...own },
      connections: MAX_CONNECTIONS,
      allowH2: false,
      // Each call has a time limit of its own.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  const guarded = create({
    lookup: guardLookup((host, address) => new PrivateAddress(host, address), lookup),
  });
  const open = create(lookup === undefined ? {} : { lookup });
  return {
    dispatch,
    get: (mayBePrivate) => (mayBePrivate ? open : guarded),
    async close() {
      await Promise.all([guarded.destroy(), open.destroy()]);
    },
  };
}

async function readTrust(
  tls: ClientTls | undefined,
): Promise<{ ca?: string[]; rejectUnauthorized?: boolean }> {
  if (tls === undefined) return {};
  const { caCertDir: folder, caCertFiles } = tls;
  try {
    const names =
      folder === undefined ? [] : (await readdir(folder)).filter((name) => CERTIFICATE.test(name));
    const files = [...caCertFiles, ...names.sort().map((name) => join(folder ?? "", name))];
    const own = await Promise.all(files.map((file) => readFile(file, "utf8")));
    return {
      ...(own.length === 0 ? {} : { ca: [...rootCertificates, ...own] }),
      ...(tls.insecureSkipVerify ? { rejectUnauthorized: false } : {}),
    };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PortolanError("FILE_FAILED", `cannot read the certificates of clientTlsConfig: ${reason}`, {
      cause,
    });
  }
}

/** A DNS name resolved to a private address, which is allowed only if the URL spells the address out. */
export class PrivateAddress extends Error {
  readonly code = "PORTOLAN_PRIVATE_ADDRESS";

  constructor(host: string, address: string) {
    super(
      `${host} resolves to the private address ${address}. To allow it, set "allowPrivate: true" on the http invocation.`,
    );
  }
}

/** True if the mcpfile spells the address out, or allows private addresses for the name. */
export function mayBePrivate(invocation: Pick<HttpInvocation, "allowPrivate">, hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  return invocation.allowPrivate === true || host === "localhost" || isIP(host) !== 0;
}
