// HTTP server of a registry on node:http: bounds on headers, bodies, time, connections and rate.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import { bracketed } from "../../base/net/addresses.ts";
import { parseUrl } from "../../base/net/urls.ts";
import { cannotListen, isPortolanError, PortolanError, toPortolanError } from "../../errors/index.ts";
import type { RegistryStore } from "../store/store.ts";
import type { TokenEntry } from "../store/tokens.ts";
import { createRateLimiter, type RateLimit } from "./rate-limit.ts";
import { sendError, statusOf } from "./reply.ts";
import { route } from "./routes.ts";

export interface RegistryServerOptions {
  readonly store: RegistryStore;
  readonly host?: string;
  /** 0 is any free port. */
  readonly port?: number;
  readonly maxFileBytes?: number;
  readonly rate?: RateLimit;
  /** Reading needs a token too. */
  readonly isPrivate?: boolean;
  /** A reverse proxy is in front, so that callers are known by the last address of X-Forwarded-For. */
  readonly isBehindProxy?: boolean;
  /** Called for each request that failed through a fault of the registry. */
  readonly report?: (
    error: PortolanError,
    request: { readonly method: string; readonly path: string },
  ) => void;
}

export interface RegistryServer {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export const REGISTRY_DEFAULTS = {
  host: "127.0.0.1",
  port: 7430,
  maxFileBytes: 256 * 1024 * 1024,
  rate: { perSecond: 100, burst: 1_000 },
} as const;

/** Wrong tokens per address: one a second, ten at once. */
const WRONG_TOKENS: RateLimit = { perSecond: 1, burst: 10 };
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_URL = 4_096;
const MAX_CONNECTIONS = 1_000;
const HEADERS_TIMEOUT_MS = 20_000;
const REQUEST_TIMEOUT_MS = 10 * 60_000;
const CLOSE_MS = 3_000;

export async function startRegistryServer(options: RegistryServerOptions): Promise<RegistryServer> {
  const { store, host = REGISTRY_DEFAULTS.host, port = REGISTRY_DEFAULTS.port, report = () => {} } = options;
  const { maxFileBytes = REGISTRY_DEFAULTS.maxFileBytes, rate = REGISTRY_DEFAULTS.rate } = options;
  const clock = (): number => performance.now();
  const requests = createRateLimiter(rate, clock);
  const wrongTokens = createRateLimiter(WRONG_TOKENS, clock);

  const { isPrivate = false, isBehindProxy = false } = options;
  const addressOf = (request: IncomingMessage): string => {
    // A client can write the earlier addresses of the header itself; the proxy adds the last one.
    const forwarded = isBehindProxy ? request.headers["x-forwarded-for"] : undefined;
    const last = (Array.isArray(forwarded) ? forwarded.at(-1) : forwarded)?.split(",").at(-1)?.trim();
    return last !== undefined && isIP(last) !== 0 ? last : (request.socket.remoteAddress ?? "");
  };

  const authenticate = async (request: IncomingMessage): Promise<TokenEntry> => {
    const [, token = ""] = /^Bearer +([\w.~+/-]+=*)$/i.exec(request.headers.authorization ?? "") ?? [];
    const found = token === "" ? undefined : await store.tokens.find(token);
    if (found !== undefined) return found;
    if (token !== "") checkRate(wrongTokens.take(addressOf(request)));
    throw new PortolanError(
      "AUTH_REQUIRED",
      token === "" ? "This request needs a token." : "The registry does not know this token.",
      {
        hint:
          token === ""
            ? "Set PORTOLAN_REGISTRY_TOKEN: commands send it to the first registry of --registry or PORTOLAN_REGISTRY; portolan install, portolan audit and starts of servers send it only to the first one of PORTOLAN_REGISTRY. If another registry needs a token, list it in portolan.yaml, with its field token."
            : "The token is wrong, is for another registry, or was removed. Ask the operator for a new one, and replace it where you set it: --token, PORTOLAN_REGISTRY_TOKEN, or token in portolan.yaml.",
      },
    );
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const written = request.url ?? "/";
    const isOfficial = /^\/v0(\.1)?(\/|\?|$)/.test(written);
    try {
      checkRate(requests.take(addressOf(request)));
      const url = written.length > MAX_URL ? undefined : parseUrl(`http://registry${written}`);
      if (url === undefined || !written.startsWith("/"))
        throw new PortolanError("INPUT_INVALID", "The URL of the request is not valid.", {
          hint: "",
          data: { status: 400 },
        });
      await route({ store, maxFileBytes, isPrivate, authenticate }, request, response, url);
    } catch (thrown) {
      // The caller went away; there is nobody to answer.
      if (request.destroyed && !request.complete) return void response.destroy();
      const error = isPortolanError(thrown) ? thrown : toPortolanError(thrown);
      if (statusOf(error) >= 500)
        report(error, { method: request.method ?? "", path: written.slice(0, 200) });
      sendError(request, response, error, isOfficial);
    }
  };

  /** Requests that are being answered, also those whose client is gone. */
  const pending = new Set<Promise<void>>();
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: 10_000,
      connectionsCheckingInterval: 5_000,
    },
    (request, response) => {
      const answered = handle(request, response).finally(() => pending.delete(answered));
      pending.add(answered);
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  }).catch((error: NodeJS.ErrnoException) => {
    throw cannotListen(host, port, error);
  });
  const { port: actual } = server.address() as AddressInfo;

  const close = async (): Promise<void> => {
    const timer = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
    server.closeIdleConnections();
    await new Promise<void>((resolve) => void server.close(() => resolve()));
    clearTimeout(timer);
    // An upload that was cut off removes its file.
    await Promise.allSettled(pending);
  };
  return { url: `http://${bracketed(host)}:${actual}`, port: actual, close, [Symbol.asyncDispose]: close };
}

function checkRate(retryAfter: number): void {
  if (retryAfter > 0)
    throw new PortolanError("RATE_LIMITED", "Too many requests.", { data: { retryAfter, status: 429 } });
}
