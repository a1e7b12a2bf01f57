// Decides whether a server may connect to a host: by the rules of its allow-list, then by every address that the
// name resolves to. Refused and failed connections are reported.

import { isIP } from "node:net";
import os from "node:os";
import { finalAddress, isLoopbackAddress, isSpecialAddress, withPort } from "../../base/net/addresses.ts";
import { canonicalHost, matchesRule, type NetworkRule, type Denied } from "../../model/index.ts";
import { TooManyLookups } from "./lookup-queue.ts";

/** Returns all addresses of a name, or throws if there are none. The signal cancels it. */
export type Lookup = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

/** A refused host. `host` is the name by which the server knows the address, if it has one. */
export interface Refusal {
  readonly denied: string;
  readonly host: string;
  /** The rule that would allow it, if that is not the host itself. */
  readonly grant?: string;
}

export type Verdict =
  | { readonly addresses: readonly string[] }
  | Refusal
  /** The allow-list permits the host, but it does not exist. */
  | { readonly unknown: string };

type Find = (host: string) => Promise<readonly string[]>;
type Known = Pick<KnownAddresses, "namesOf" | "addressesOf">;

const NOTHING_KNOWN: Known = { namesOf: () => [], addressesOf: () => [] };

/** Answers a lookup: all addresses of a name in the allow-list, for any port. The connection is checked again. */
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

/** Why the allow-list does not contain this host for any port; undefined if it does. */
export function reasonAgainstName(rules: readonly NetworkRule[], asked: string): string | undefined {
  const host = canonicalHost(asked);
  if (host === undefined) return MALFORMED;
  if (rules.length === 0) return "the server's sandbox grants no host";
  return rules.some((rule) => rule.ports.some((port) => matchesRule(rule, host, port)))
    ? undefined
    : notListed(host);
}

/** Decides about a connection. The egress proxy dials only the addresses that are checked here. */
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

/** An address is allowed by a rule for it, or by a rule for a name that the server resolved to it. */
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
  // The relay accepts the connection at once, so that the program cannot try the next address of the name itself.
  // If several names share the address, only an address that all of them have can replace it.
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

/** Inside of the sandbox, `localhost` has become an address before a program connects. */
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

/** Returns the reason as a text if the name is not looked up. */
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
  if (host === "localhost" && isLoopbackAddress(address)) return true;
  return rules.some((rule) => rule.kind === "address" && matchesRule(rule, address, port));
}

/** A public address of this machine counts as private: programs that listen there expect callers from nearby. */
function isOwnAddress(address: string): boolean {
  const final = finalAddress(address);
  // Read each time, because interfaces come and go.
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
  const which = host === address ? `${address} ${what}` : `${host} resolves to ${address}, which ${what}`;
  const grant = withPort(address, port);
  return { denied: `${which}; to allow the connection, also list ${grant}`, host, grant };
}

const MAX_ADDRESSES = 20_000;
/** Names kept per address, newest first: many names share an address of a CDN. */
const MAX_NAMES = 16;

/**
 * The names that a server resolved to each address: programs connect to addresses, but the allow-list contains
 * names.
 */
interface KnownAddresses {
  /** Keeps each address until there are too many, because programs use addresses long after the lookup. */
  add(name: string, addresses: readonly string[]): void;
  /** Latest first. */
  namesOf(address: string): readonly string[];
  /** All addresses of the name's latest lookup. */
  addressesOf(name: string): readonly string[];
}

export function createKnownAddresses(maxAddresses: number = MAX_ADDRESSES): KnownAddresses {
  const names = new Map<string, readonly string[]>();
  const latest = new Map<string, readonly string[]>();
  return {
    add(name, addresses) {
      latest.delete(name);
      latest.set(name, addresses);
      for (const address of addresses) {
        const others = (names.get(address) ?? []).filter((other) => other !== name);
        names.delete(address);
        names.set(address, [name, ...others].slice(0, MAX_NAMES));
      }
      for (const map of [names, latest])
        for (const oldest of map.keys()) {
          if (map.size <= maxAddresses) break;
          map.delete(oldest);
        }
    },
    namesOf: (address) => names.get(address) ?? [],
    addressesOf: (name) => latest.get(name) ?? [],
  };
}

const PER_SECOND = 200;

/** Reports refused and failed connections as they happen, as printable text and at a bounded rate. */
export function createDenials(
  server: string,
  onDenied: (denied: Denied) => void,
): (host: string, port: number, reason: string, more?: Pick<Denied, "grant" | "kind">) => void {
  let [second, reported, omitted] = [0, 0, 0];
  return (host, port, reason, about) => {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) [second, reported] = [now, 0];
    if (reported >= PER_SECOND) {
      omitted += 1;
      return;
    }
    reported += 1;
    const more = omitted === 0 ? "" : ` (${omitted} earlier attempts were not reported)`;
    omitted = 0;
    onDenied({ server, host: printable(host), port, reason: `${reason}${more}`, ...about });
  };
}

/** The server chooses the host name, which may contain control characters for a terminal. */
function printable(host: string): string {
  return host
    .slice(0, 255)
    .replace(/[^\x21-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
