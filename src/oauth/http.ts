// HTTP requests to authorization servers: https, limits, and redirects within the host only. A host that the operator wrote may have any
// address. A host that only metadata names must be public, unless the MCP server is on this machine or written as a private address:
// metadata comes from strangers, and could otherwise lead requests into the private network.

import { isLoopbackHost, isSpecialAddress } from "../base/net/addresses.ts";
import { boundedFetch, FetchError } from "../base/net/bounded-fetch.ts";
import { parseUrl } from "../base/net/urls.ts";
import { isObject } from "../model/index.ts";

const MAX_BYTES = 512 * 1024;
const TIMEOUT_MS = 20_000;
const PRIVATE_HINT =
  "If this authorization server in your network is the right one, set it as issuer under auth in the config of the server.";

export interface OAuthResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The parsed body without members that are null; undefined if it is not JSON. */
  readonly json: unknown;
}

export interface OAuthHttp {
  /** Reads a JSON document. */
  get(url: URL): Promise<OAuthResponse>;
  /** The `fetch` for oauth4webapi. */
  readonly fetch: typeof fetch;
}

/** A request failed before there was a response. */
export class OAuthHttpError extends Error {
  /** True if a later attempt may succeed. */
  readonly isTemporary: boolean;
  /** The next step, if it is a special one. */
  readonly hint: string | undefined;

  constructor(message: string, isTemporary: boolean, more: { cause?: unknown; hint?: string } = {}) {
    super(message, { cause: more.cause });
    this.isTemporary = isTemporary;
    this.hint = more.hint;
  }
}

export interface OAuthHttpOptions {
  /** Further URLs that the operator wrote. */
  readonly named?: readonly (string | undefined)[];
  readonly signal?: AbortSignal;
}

/** `server` is the URL that the operator wrote for the server or for the issuer. */
export function createOAuthHttp(server: URL, { named = [], signal }: OAuthHttpOptions = {}): OAuthHttp {
  const isPrivate = ({ hostname }: URL): boolean => isLoopbackHost(hostname) || isSpecialAddress(hostname);
  const isLocal = isPrivate(server);
  const trusted = new Set(
    [server, ...named.map((text) => parseUrl(text ?? ""))].flatMap((url) => url?.hostname ?? []),
  );

  async function send(
    url: URL,
    init: { method?: string; headers?: Record<string, string>; body?: string; signal?: AbortSignal | null },
  ): Promise<OAuthResponse> {
    const isTrusted = isLocal || trusted.has(url.hostname);
    if (isPrivate(url) && !isTrusted)
      throw new OAuthHttpError(
        `${url.origin} is a private address, but ${server.origin} is a public server`,
        false,
        { hint: PRIVATE_HINT },
      );
    const signals = [signal, init.signal ?? undefined].filter((one) => one !== undefined);
    try {
      const response = await boundedFetch(url, {
        method: init.method === "POST" ? "POST" : "GET",
        headers: { accept: "application/json", ...init.headers },
        body: init.body,
        maxBytes: MAX_BYTES,
        timeoutMs: TIMEOUT_MS,
        redirects: init.method === "POST" ? "none" : "same-host",
        addresses: isTrusted ? "any" : "public",
        signal: signals.length === 0 ? undefined : AbortSignal.any(signals),
      });
      const text = (await response.bytes()).toString("utf8");
      return { status: response.status, headers: response.headers, json: parseWithoutNulls(text) };
    } catch (error) {
      if (!(error instanceof FetchError)) throw error;
      const isTemporary = ["timeout", "silence", "incomplete", "network"].includes(error.kind);
      const hint = error.kind === "private-address" ? PRIVATE_HINT : undefined;
      throw new OAuthHttpError(`${url.origin}: ${error.message}`, isTemporary, { cause: error, hint });
    }
  }

  return {
    get: (url) => send(url, {}),
    fetch: async (input, init) => {
      const url = parseUrl(input instanceof Request ? input.url : String(input));
      if (url === undefined) throw new OAuthHttpError("an address in the OAuth metadata is not a URL", false);
      const headers = Object.fromEntries(new Headers(init?.headers));
      const body =
        init?.body instanceof URLSearchParams ? init.body.toString() : (init?.body as string | undefined);
      const {
        status,
        headers: received,
        json,
      } = await send(url, {
        ...{ method: init?.method, headers, body, signal: init?.signal },
      });
      const kept = Object.entries(received).filter((pair): pair is [string, string] => {
        return pair[1] !== undefined && /^(?:content-type|dpop-nonce|www-authenticate)$/.test(pair[0]);
      });
      const text = json === undefined || status === 204 ? null : JSON.stringify(json);
      return new Response(text, { status: status < 200 ? 502 : status, headers: Object.fromEntries(kept) });
    },
  };
}

/** Some authorization servers write null for a member that they mean to leave out. */
function parseWithoutNulls(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
  } catch {
    return undefined;
  }
}
