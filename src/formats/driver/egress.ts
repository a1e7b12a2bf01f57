// A remote server must be among the hosts that its driver says it reaches.

import { type DriverServer, matchesRule, parseNetworkRule } from "../../model/index.ts";
import { type Problems, quoted, type TextNode } from "../text/index.ts";
import { isLoopback } from "./server.ts";

/** `rules` is nothing where the driver says nothing about the network: then its address says it. */
export function checkEgress(
  server: DriverServer | undefined,
  rules: readonly string[] | undefined,
  place: TextNode | undefined,
  problems: Problems,
): void {
  if (server?.kind !== "remote" || rules === undefined || place === undefined) return;
  const { hostname, port, protocol } = new URL(server.url);
  if (isLoopback(hostname)) return;
  const number = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
  const reached = rules.some((text) => {
    const parsed = parseNetworkRule(text);
    return parsed.ok && matchesRule(parsed.rule, hostname, number);
  });
  if (reached) return;
  const host = port === "" ? hostname : `${hostname}:${port}`;
  problems.add(
    place,
    `network.egress leaves out ${quoted(host)}, where the server is`,
    `Add ${host} to network.egress.`,
  );
}
