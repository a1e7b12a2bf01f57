// Hosts that the requests of a package's mcpfile may reach: the network rules of the sandbox that a person approved.

import { bracketed, withPort } from "../../base/net/addresses.ts";
import { portOf } from "../../base/net/urls.ts";
import { PortolanError } from "../../errors/index.ts";
import { type HttpInvocation, matchesRule, parseNetworkRule } from "../../model/index.ts";
import { parseUrlTemplate } from "./url.ts";

/**
 * Throws if no rule allows the host. Returns the invocation for which a private address is allowed only if a rule names the
 * host: a rule for every public host is none for the network of this machine.
 */
export function checkAllowedHost(invocation: HttpInvocation): HttpInvocation {
  const { allowedHosts, allowPrivate } = invocation;
  if (allowedHosts === undefined) return invocation;
  const url = new URL(parseUrlTemplate(invocation.url).origin);
  const port = portOf(url);
  const matching = allowedHosts.flatMap((text) => {
    const parsed = parseNetworkRule(text);
    return parsed.ok && matchesRule(parsed.rule, url.hostname, port) ? [parsed.rule] : [];
  });
  if (matching.length === 0) throw refused(url, port, allowedHosts);
  const isNamed = matching.some(({ kind }) => kind === "name");
  return { ...invocation, allowPrivate: isNamed ? allowPrivate : undefined };
}

function refused(url: URL, port: number, allowedHosts: readonly string[]): PortolanError {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const rule = port === 443 || port === 80 ? bracketed(host) : withPort(host, port);
  const list = [...allowedHosts, rule].map((text) => JSON.stringify(text)).join(", ");
  return new PortolanError(
    "SANDBOX_DENIED",
    `The package sends requests to ${url.host}, which the sandbox of the server does not allow.`,
    {
      hint: `If you trust the package with this host, change the config of the server: sandbox: { network: [${list}] }`,
      data: { reason: "HOST_DENIED", host, port, rule },
    },
  );
}
