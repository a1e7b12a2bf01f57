// One HTTP request of a driver's login or health check: to a public host over TLS, or to a host that its sandbox grants.

import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { lookup as lookUp } from "node:dns/promises";
import { isIP } from "node:net";
import { isHttpUrl, parseUrl, portOf, publicPart } from "../../base/net/urls.ts";
import { isLoopbackAddress, isLoopbackHost, isSpecialAddress } from "../../base/net/addresses.ts";
import { PortolanError } from "../../errors/index.ts";
import type { Driver, HttpExpectation, NetworkRule } from "../../model/index.ts";
import { parseNetworkRule } from "../../model/index.ts";

const LIMIT_MS = 10_000;

/** The status of the response. Redirects are not followed. */
export async function sendOnce(
  { method, url: written }: HttpExpectation,
  signal: AbortSignal,
  driver: Driver,
): Promise<{ readonly status: number }> {
  const url = new URL(written);
  const addresses = await allowedAddresses(url, driver);
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
  return new Promise((resolve, reject) => {
    const sent = send(url, {
      method,
      agent: false,
      signal: limit,
      headers: {
        accept: "*/*",
        "user-agent": "portolan",
        ...(method === "POST" ? { "content-length": "0" } : {}),
      },
      // The checked addresses are used, so that a second DNS lookup cannot change them.
      lookup: (_host, options, done) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first] = found;
        if (options.all === true) done(null, found);
        else done(null, first?.address ?? "", first?.family);
      },
    });
    sent.once("error", (cause) => reject(failed(driver, url, cause.message, cause)));
    sent.once("response", (response) => {
      response.on("error", () => {}).destroy();
      resolve({ status: response.statusCode ?? 0 });
    });
    sent.end();
  });
}

async function allowedAddresses(url: URL, driver: Driver): Promise<readonly string[]> {
  const { protocol, hostname, username, password } = url;
  if (!isHttpUrl(url)) throw refused(driver, url, "it is not https");
  if (username !== "" || password !== "") throw refused(driver, url, "it holds a user name or a password");
  const port = portOf(url);
  const { decideHost } = await import("../../sandbox/index.ts");
  const lookup = async (host: string): Promise<string[]> =>
    (await lookUp(host, { all: true })).map(({ address }) => address);
  const verdict = await decideHost(rulesFor(driver, port), hostname, port, lookup);
  if ("denied" in verdict) throw refused(driver, url, verdict.denied);
  if ("unknown" in verdict) throw failed(driver, url, `there is no host ${verdict.unknown}`);
  if (protocol === "http:" && !verdict.addresses.every(isLoopbackAddress))
    throw refused(driver, url, "http is allowed for this computer only");
  return verdict.addresses;
}

/** All public hosts, the hosts of the driver's network list, and its own server if that is a local address. */
function rulesFor({ launch, endpoint }: Driver, port: number): NetworkRule[] {
  const own = endpoint.transport === "stdio" ? [] : ownRule(endpoint.url);
  return [`*:${port}`, ...(launch.sandbox?.network ?? []), ...own].flatMap((text) => {
    const parsed = parseNetworkRule(text);
    return parsed.ok ? [parsed.rule] : [];
  });
}

function ownRule(address: string): string[] {
  const url = parseUrl(address);
  if (url === undefined) return [];
  const isNear = isLoopbackHost(url.hostname) || isSpecialAddress(url.hostname);
  return isNear ? [`${url.hostname}:${portOf(url)}`] : [];
}

function refused(driver: Driver, url: URL, reason: string): PortolanError {
  return new PortolanError(
    "SANDBOX_DENIED",
    `${driver.id}: the request to ${publicPart(url)} is not allowed: ${reason}`,
    {
      server: driver.id,
      hint: `Use an https address, or list the host in network.egress of ${driver.origin.file}.`,
    },
  );
}

function failed(driver: Driver, url: URL, reason: string, cause?: unknown): PortolanError {
  return new PortolanError(
    "HTTP_ERROR",
    `${driver.id}: the request to ${publicPart(url)} failed: ${reason}`,
    {
      server: driver.id,
      cause,
    },
  );
}
