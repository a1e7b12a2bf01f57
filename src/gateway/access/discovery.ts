// Where an issuer keeps its keys: asked of its metadata, as RFC 8414 and OpenID Connect place it.

import { isSecureUrl, parseUrl } from "../../base/net/urls.ts";
import { PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";

const TIMEOUT_MS = 5_000;

/** The URL of the issuer's JWKS. Throws HTTP_ERROR with what was tried. */
export async function discoverKeys(issuer: string, fetch: typeof globalThis.fetch): Promise<URL> {
  const reasons: string[] = [];
  for (const url of metadataUrls(issuer)) {
    const found = await readMetadata(url, issuer, fetch);
    if (typeof found !== "string") return found;
    reasons.push(`${url}: ${found}`);
  }
  throw new PortolanError("HTTP_ERROR", `no usable metadata of ${issuer} (${reasons.join("; ")})`, {
    hint: "Check gateway.oauth.issuer, or write gateway.oauth.jwks_url.",
  });
}

/** In the order in which they are tried. */
export function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const urls = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
  ];
  return path === "" ? urls : [...urls, `${origin}${path}/.well-known/openid-configuration`];
}

/** The URL, or why there is none. */
async function readMetadata(
  url: string,
  issuer: string,
  fetch: typeof globalThis.fetch,
): Promise<URL | string> {
  let metadata: unknown;
  try {
    const headers = { accept: "application/json" };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(url, { headers, signal, redirect: "manual" });
    if (response.status !== 200) {
      await response.body?.cancel();
      return `status ${response.status}`;
    }
    metadata = await response.json();
  } catch (error) {
    return toReason(error);
  }
  if (!isObject(metadata)) return "it is not an object";
  // Metadata of someone else would bring someone else's keys.
  if (metadata.issuer !== issuer) return `it is that of ${JSON.stringify(metadata.issuer)}`;
  const { jwks_uri: keys } = metadata;
  const keysUrl = typeof keys === "string" ? parseUrl(keys) : undefined;
  if (keysUrl === undefined) return "it has no jwks_uri";
  return isSecureUrl(keysUrl) ? keysUrl : "its jwks_uri is not https";
}

/** What went wrong on the network, which `fetch` hides in the cause. */
export function toReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  // A host with several addresses fails with several errors, whose own message is empty.
  const cause = message === "" ? code : message;
  return cause === undefined ? error.message : `${error.message}: ${cause}`;
}
