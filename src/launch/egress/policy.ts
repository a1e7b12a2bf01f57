// Decides where a server may connect to: the host by its rules, then every address that its name leads to.

import { isIP } from "node:net";
import { canonicalHost, isSpecialAddress, matchesRule, type NetworkRule } from "../../model/index.ts";
import { TooManyLookups } from "./lookups.ts";
import { isOwnAddress } from "./own-addresses.ts";

/** All addresses of a name. Throws when there are none. The signal calls it off. */
export type Lookup = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

export type Verdict =
  | { readonly addresses: readonly string[] }
  /** Not allowed, and why. */
  | { readonly denied: string }
  /** Allowed, but there is no such host. */
  | { readonly unknown: string };

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1)$/;

/** Whether the rules name this host at all, whichever the port; otherwise the reason why not. */
export function reasonAgainstName(rules: readonly NetworkRule[], asked: string): string | undefined {
  const host = canonicalHost(asked);
  if (host === undefined) return MALFORMED;
  if (rules.length === 0) return "the server's sandbox grants no host";
  return rules.some((rule) => rule.ports.some((port) => matchesRule(rule, host, port)))
    ? undefined
    : notListed(host);
}

/** Looks the name up once: what is dialled must be among the addresses that were checked here. */
export async function decide(
  rules: readonly NetworkRule[],
  asked: string,
  port: number,
  find: (host: string) => Promise<readonly string[]>,
): Promise<Verdict> {
  const canonical = canonicalHost(asked);
  if (canonical === undefined) return { denied: MALFORMED };
  const host = listedAs(rules, canonical, port);
  if (!rules.some((rule) => matchesRule(rule, host, port))) return { denied: notListed(host, port) };
  const addresses = isIP(host) === 0 ? await resolve(host, find) : [host];
  if (typeof addresses === "string") return { denied: addresses };
  if (addresses.length === 0) return { unknown: host };
  for (const address of addresses)
    if (!isPermitted(rules, host, address, port)) return { denied: leadsInside(host, address, port) };
  return { addresses };
}

/** Inside of the box `localhost` is an address by the time that something connects to it. */
function listedAs(rules: readonly NetworkRule[], host: string, port: number): string {
  if (host !== "127.0.0.1" && host !== "::1") return host;
  return rules.some((rule) => matchesRule(rule, host, port)) ? host : "localhost";
}

/** A text says why it is not even tried. */
async function resolve(
  host: string,
  find: (host: string) => Promise<readonly string[]>,
): Promise<readonly string[] | string> {
  try {
    const found = await find(host);
    return found.map((address) => canonicalHost(address) ?? "").filter((address) => isIP(address) !== 0);
  } catch (error) {
    return error instanceof TooManyLookups ? error.message : [];
  }
}

function isPermitted(rules: readonly NetworkRule[], host: string, address: string, port: number): boolean {
  if (!isSpecialAddress(address) && !isOwnAddress(address)) return true;
  if (host === "localhost" && LOOPBACK.test(address)) return true;
  return rules.some((rule) => rule.kind === "address" && matchesRule(rule, address, port));
}

const MALFORMED = "it is not a host name";

function notListed(host: string, port?: number): string {
  if (port === undefined) return `${host} is not in the server's network list`;
  return `${withPort(host, port)} is not in the server's network list`;
}

function leadsInside(host: string, address: string, port: number): string {
  const what = isSpecialAddress(address) ? "is not a public address" : "is an address of this machine";
  const which = host === address ? `${address} ${what}` : `${host} leads to ${address}, which ${what}`;
  return `${which}; to allow it, list ${withPort(address, port)}, too`;
}

function withPort(host: string, port: number): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}
