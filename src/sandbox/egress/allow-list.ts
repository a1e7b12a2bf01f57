// Decides where a server may connect to: the host by its rules, then every address that its name leads to.

import { isIP } from "node:net";
import os from "node:os";
import { canonicalHost, finalAddress, isSpecialAddress, matchesRule, type NetworkRule } from "../../model/index.ts";
import type { KnownAddresses } from "./known-addresses.ts";
import { TooManyLookups } from "./lookup-queue.ts";

/** All addresses of a name. Throws when there are none. The signal calls it off. */
export type Lookup = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

/** Why not; `host` is the name by which the server knows the address, where it has one. */
export interface Refusal {
  readonly denied: string;
  readonly host: string;
  /** The rule that would grant it, where that is not the host itself. */
  readonly grant?: string;
}

export type Verdict =
  | { readonly addresses: readonly string[] }
  | Refusal
  /** Allowed, but there is no such host. */
  | { readonly unknown: string };

type Find = (host: string) => Promise<readonly string[]>;
type Known = Pick<KnownAddresses, "namesOf" | "addressesOf">;

const NOTHING_KNOWN: Known = { namesOf: () => [], addressesOf: () => [] };
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1)$/;

/** Answers a look-up: every address of a name that the rules mention, whichever the port. Connections are checked again. */
export async function decideName(
  rules: readonly NetworkRule[],
  asked: string,
  find: Find,
): Promise<Refusal | { readonly addresses: readonly string[] }> {
  const reason = reasonAgainstName(rules, asked);
  const host = canonicalHost(asked) ?? asked;
  if (reason !== undefined) return { denied: reason, host };
  const addresses = await resolve(host, find);
  return typeof addresses === "string" ? { denied: addresses, host } : { addresses };
}

/** Whether the rules name this host at all, whichever the port; otherwise the reason why not. */
export function reasonAgainstName(rules: readonly NetworkRule[], asked: string): string | undefined {
  const host = canonicalHost(asked);
  if (host === undefined) return MALFORMED;
  if (rules.length === 0) return "the server's sandbox grants no host";
  return rules.some((rule) => rule.ports.some((port) => matchesRule(rule, host, port)))
    ? undefined
    : notListed(host);
}

/** Decides about a connection. The gate dials only the addresses that were checked here. */
export async function decide(
  rules: readonly NetworkRule[],
  asked: string,
  port: number,
  find: Find,
  known: Known = NOTHING_KNOWN,
): Promise<Verdict> {
  const canonical = canonicalHost(asked);
  if (canonical === undefined) return { denied: MALFORMED, host: asked };
  const host = listedAs(rules, canonical, port);
  if (isIP(host) !== 0) return decideAddress(rules, host, port, known);
  if (!isListed(rules, host, port)) return { denied: notListed(host, port), host };
  const addresses = await resolve(host, find);
  if (typeof addresses === "string") return { denied: addresses, host };
  if (addresses.length === 0) return { unknown: host };
  for (const address of addresses)
    if (!isPermitted(rules, host, address, port)) return leadsInside(host, address, port);
  return { addresses };
}

/** An address is granted by a rule for it, or by a rule for a name that led this server to it. */
function decideAddress(
  rules: readonly NetworkRule[],
  address: string,
  port: number,
  { namesOf, addressesOf }: Known,
): Verdict {
  const names = namesOf(address);
  const shown = names[0] ?? address;
  const listed = [address, ...names].filter((host) => isListed(rules, host, port));
  if (listed.length === 0) {
    const meant = names[0] ?? (isOwnLoopback(address) ? "localhost" : address);
    return { denied: notListed(meant, port), host: shown };
  }
  const permitted = listed.filter((host) => isPermitted(rules, host, address, port));
  if (permitted.length === 0) return leadsInside(shown, address, port);
  // The program in the sandbox is connected at once, so that it cannot try the next address of the name itself. Which of several
  // names it means is not known: only an address that all of them have is as good as the one it chose.
  const meant = permitted.filter((host) => names.includes(host));
  const [first, ...others] = meant.map((name) => addressesOf(name));
  const shared = (first ?? []).filter(
    (one) =>
      one !== address &&
      others.every((list) => list.includes(one)) &&
      meant.every((name) => isPermitted(rules, name, one, port)),
  );
  return { addresses: [address, ...shared] };
}

/** Inside of the sandbox `localhost` is an address by the time that something connects to it. */
function listedAs(rules: readonly NetworkRule[], host: string, port: number): string {
  if (!isOwnLoopback(host) || isListed(rules, host, port)) return host;
  return isListed(rules, "localhost", port) ? "localhost" : host;
}

function isOwnLoopback(host: string): boolean {
  return host === "127.0.0.1" || host === "::1";
}

function isListed(rules: readonly NetworkRule[], host: string, port: number): boolean {
  return rules.some((rule) => matchesRule(rule, host, port));
}

/** A text says why it is not even tried. */
async function resolve(host: string, find: Find): Promise<readonly string[] | string> {
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

/** A public address of this machine is as private as 127.0.0.1: programs that listen there expect callers from nearby. */
function isOwnAddress(address: string): boolean {
  const final = finalAddress(address);
  // Asked each time: they come and go with networks.
  return Object.values(os.networkInterfaces()).some((list) =>
    list?.some((own) => finalAddress(own.address) === final),
  );
}

const MALFORMED = "it is not a host name";

function notListed(host: string, port?: number): string {
  if (port === undefined) return `${host} is not in the server's network list`;
  return `${withPort(host, port)} is not in the server's network list`;
}

function leadsInside(host: string, address: string, port: number): Refusal {
  const what = isSpecialAddress(address) ? "is not a public address" : "is an address of this machine";
  const which = host === address ? `${address} ${what}` : `${host} leads to ${address}, which ${what}`;
  const grant = withPort(address, port);
  return { denied: `${which}; to allow it, list ${grant}, too`, host, grant };
}

function withPort(host: string, port: number): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}
