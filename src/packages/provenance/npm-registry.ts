// Reads what an npm registry says about the origin of one version: signatures, and where its attestations are. A registry that
// cannot be reached is an error, so that it never looks like one without signatures.

import { boundedFetch, FetchError } from "../../base/net/bounded-fetch.ts";
import { parseUrl, publicPart } from "../../base/net/urls.ts";
import { PortolanError } from "../../errors/index.ts";
import { isObject, registryHint } from "../../model/index.ts";
import type { NpmSubject } from "./npm-signature.ts";
import type { NpmOrigin } from "./origin.ts";
import type { Trust } from "./trust.ts";

export interface NpmRegistry {
  /** The URL of the registry, as npm is configured. */
  readonly url: string;
  readonly token?: string;
  /** The spec of the package names the registry, so that npm's settings do not matter. */
  readonly isNamed?: boolean;
  readonly signal?: AbortSignal;
}

/** Documents of popular packages list thousands of versions. */
const MAX_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 60_000;

/** The registry's statements about a version, as `checkOrigin` needs them. */
export async function findNpmOrigin(
  { name, version, sha512 }: NpmSubject,
  registry: NpmRegistry,
  trust: Trust,
  now: Date = new Date(),
): Promise<NpmOrigin> {
  const named = { name, registry: registry.isNamed === true ? registry.url : undefined };
  const base = parseUrl(registry.url);
  if (base === undefined)
    throw new PortolanError(
      "CONFIG_INVALID",
      `${JSON.stringify(registry.url)} is not the URL of an npm registry.`,
      {
        hint: registryHint(named),
      },
    );
  const fetchJson = (path: string): Promise<unknown> =>
    readDocument(new URL(path, base.origin), registry, `Check the network. ${registryHint(named)}`);
  const document = `${base.pathname.replace(/\/+$/, "")}/${name.replace("/", "%2f")}`;
  const found = await fetchJson(`${document}/${encodeURIComponent(version)}`);
  // Some registries have only the document of all versions.
  const all = found === undefined ? await fetchJson(document) : undefined;
  const listed = isObject(all) && isObject(all.versions) ? all.versions[version] : undefined;
  const own = found ?? listed;
  if (!isObject(own))
    throw new PortolanError(
      "HTTP_ERROR",
      `The npm registry ${base.origin} does not show ${name}@${version}: it does not have this version, or you must log in first`,
      {
        hint: `If the registry requires a login: npm login --registry=${registry.url}`,
      },
    );
  const { dist } = own;
  // The large document with all dates is needed only for a signature by a key that is no longer in use.
  const signatures: unknown = isObject(dist) ? dist.signatures : undefined;
  const hasOldKey = trust.npmKeys.some(
    ({ id, validTo }) =>
      validTo !== undefined &&
      validTo <= now &&
      Array.isArray(signatures) &&
      signatures.some((one) => isObject(one) && one.keyid === id),
  );
  const whole = hasOldKey ? (all ?? (await fetchJson(document))) : undefined;
  const time = isObject(whole) && isObject(whole.time) ? whole.time[version] : undefined;
  return {
    ...{ kind: "npm", name, version, sha512, dist, fetchJson },
    publishedAt: typeof time === "string" ? time : undefined,
  };
}

/** Undefined if the registry says that there is no such document. */
async function readDocument(
  url: URL,
  { url: registry, token, signal }: NpmRegistry,
  hint: string,
): Promise<unknown> {
  const fail = (why: string, cause?: unknown, help = hint): PortolanError =>
    new PortolanError("HTTP_ERROR", `The request to the npm registry for ${publicPart(url)} failed: ${why}`, {
      cause,
      hint: help,
    });
  try {
    const response = await boundedFetch(url, {
      headers: {
        accept: "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...{ maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS, redirects: "same-host", addresses: "any", signal },
      ...{ decompress: true, allowPlaintext: token === undefined },
    });
    if (response.status === 404) {
      response.close();
      return undefined;
    }
    if (response.status !== 200) {
      response.close();
      const isDenied = response.status === 401 || response.status === 403;
      const login = `Log in with an account that can read the package: npm login --registry=${registry}`;
      throw fail(`status ${response.status}`, undefined, isDenied ? login : hint);
    }
    return JSON.parse((await response.bytes()).toString("utf8")) as unknown;
  } catch (error) {
    if (error instanceof FetchError) throw fail(error.message, error);
    if (error instanceof SyntaxError) throw fail("the answer is not JSON", error);
    throw error;
  }
}
