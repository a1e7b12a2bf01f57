// A remote server must be among the hosts that its driver says it reaches: without a list it reaches none.

import { portOf } from "../../../base/net/urls.ts";
import { type DriverServer, matchesRule, parseNetworkRule } from "../../../model/index.ts";
import { type Diagnostics, quoted, type TextNode } from "../../document/index.ts";

/** The rule that a remote server's own address needs in `network.egress`. */
export function hostRule(url: string): string {
  return new URL(url).host;
}

/** `place` is the list, or the driver where there is none. An address of this machine needs to be named like any other. */
export function checkEgress(
  server: DriverServer | undefined,
  rules: readonly string[] | undefined,
  place: TextNode,
  diagnostics: Diagnostics,
): void {
  if (server?.kind !== "remote") return;
  const url = new URL(server.url);
  const reached = rules?.some((text) => {
    const parsed = parseNetworkRule(text);
    return parsed.ok && matchesRule(parsed.rule, url.hostname, portOf(url));
  });
  if (reached === true) return;
  const host = hostRule(server.url);
  const line = `network: { egress: [${/^[\w.-]+$/.test(host) ? host : JSON.stringify(host)}] }`;
  if (rules === undefined)
    diagnostics.add(
      place,
      `the driver says nothing about the network, so that it reaches no host, and its server is at ${quoted(host)}`,
      `Add the line ${line}`,
    );
  else
    diagnostics.add(
      place,
      `network.egress leaves out ${quoted(host)}, where the server is`,
      `Add ${host} to network.egress.`,
    );
}
