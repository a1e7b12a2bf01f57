// Network rule: one entry of an allow-list, such as `*.example.com:8443`, and the hosts and ports that it matches.

import { isIP } from "node:net";
import { domainToASCII } from "node:url";
import { bracketed, canonicalAddress, isLocalhostName, isSpecialAddress } from "../../base/net/addresses.ts";

export interface NetworkRule {
  /** Canonical spelling of the rule. */
  readonly text: string;
  /** `name`: exactly this name. `names below`: all names below it, but not the name itself. `public`: every host of the Internet. */
  readonly kind: "name" | "names below" | "address" | "public";
  /** Canonical host without brackets; empty for `public`. */
  readonly host: string;
  readonly ports: readonly number[];
}

export type ParsedNetworkRule =
  | { readonly ok: true; readonly rule: NetworkRule }
  | { readonly ok: false; readonly problem: string; readonly hint: string };

/** Ports of a rule that names no port. */
const DEFAULT_PORTS: readonly number[] = [443, 80];
const FORMS =
  "Write a host (api.example.com), its subdomains (*.example.com), an address, or * for every public host; each may end in a port, as in db.example.com:5432. Without a port, the rule is for ports 80 and 443.";

export function parseNetworkRule(text: string): ParsedNetworkRule {
  if (text === "") return refuse("It is empty.");
  if (text.length > 300) return refuse("It is longer than a host name can be.");
  if (/[\p{Cc}\p{Cf}\p{Z}]/u.test(text)) return refuse("It contains a space or an invisible character.");
  if (text.includes("://")) return refuse("It is a URL.", hostOfUrl(text));
  if (/^\[?[\da-f.:]+\]?\/\d+$/i.test(text))
    return refuse("It is a range of addresses.", "Ranges are not supported: list each address by itself.");
  if (/[/\\?#@]/.test(text)) return refuse("It contains more than a host and a port.");
  const split = splitPort(text);
  if (split === undefined)
    return refuse("Its port is not valid.", "A port is a number from 1 to 65535, without leading zeros.");
  const { host, port } = split;
  if (host === "*") return accept("public", "", port);
  if (host.startsWith("*.")) return namesBelow(host.slice(2), port);
  if (host.includes("*"))
    return refuse("A * is allowed only at the beginning, for all subdomains: *.example.com.");
  return nameOrAddress(host, port);
}

/** Returns true if the rule allows this host and port. The addresses that a name resolves to must be checked when connecting. */
export function matchesRule(rule: NetworkRule, host: string, port: number): boolean {
  if (!rule.ports.includes(port)) return false;
  const asked = canonicalHost(host);
  if (asked === undefined) return false;
  if (rule.kind === "names below") return isIP(asked) === 0 && asked.endsWith(`.${rule.host}`);
  if (rule.kind === "public") return !isSpecialAddress(asked) && !isLocalhostName(asked);
  return asked === rule.host;
}

/**
 * Returns the canonical spelling of a host name or address (IPv6 without brackets),
 * or undefined for a text that is neither.
 */
export function canonicalHost(text: string): string | undefined {
  if (text.length > 300 || /[\s\p{Cc}%/\\?#@*]/u.test(text)) return undefined;
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text;
  if (isIP(bare) === 6) return canonicalAddress(bare);
  if (/[:[\]]/.test(text)) return undefined;
  // The result is lower case and punycode, and numbers such as 0x7f.1 become IPv4 addresses.
  const ascii = domainToASCII(text);
  const name = ascii.endsWith(".") ? ascii.slice(0, -1) : ascii;
  if (isIP(name) === 4) return name;
  // Some programs read a name that ends in a number as an address, others as a name.
  if (name.length > 253 || /(^|\.)(\d+|0x[\da-f]*)$/.test(name)) return undefined;
  return name.split(".").every((label) => /^[\da-z_]([\da-z_-]{0,61}[\da-z_])?$/.test(label))
    ? name
    : undefined;
}

function namesBelow(parent: string, port: number | undefined): ParsedNetworkRule {
  if (parent.includes("*"))
    return refuse("A * is allowed only at the beginning, for all subdomains: *.example.com.");
  const host = canonicalHost(parent);
  if (host === undefined) return refuse(`${JSON.stringify(parent)} is not a host name.`);
  if (isIP(host) !== 0) return refuse("An IP address has no subdomains.");
  return accept("names below", host, port);
}

function nameOrAddress(written: string, port: number | undefined): ParsedNetworkRule {
  const host = canonicalHost(written);
  if (host === undefined) return refuse(`${JSON.stringify(written)} is not a host name.`);
  if (isIP(host) === 0) return accept("name", host, port);
  // A reader of the config file must recognise the address that it allows.
  if (isIP(host) === 4 && written !== host)
    return refuse("It is an address in an unusual spelling.", `Write ${host}.`);
  return accept("address", host, port);
}

function accept(kind: NetworkRule["kind"], host: string, port: number | undefined): ParsedNetworkRule {
  const shown = { name: host, "names below": `*.${host}`, address: bracketed(host), public: "*" }[kind];
  const text = port === undefined ? shown : `${shown}:${port}`;
  return { ok: true, rule: { text, kind, host, ports: port === undefined ? DEFAULT_PORTS : [port] } };
}

function refuse(problem: string, hint: string = FORMS): ParsedNetworkRule {
  return { ok: false, problem, hint };
}

function splitPort(text: string): { host: string; port: number | undefined } | undefined {
  if (isIP(text) === 6) return { host: text, port: undefined };
  const [, host = "", digits] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(text) ?? ["", text];
  if (digits === undefined) return { host, port: undefined };
  return /^[1-9]\d{0,4}$/.test(digits) && Number(digits) < 65_536
    ? { host, port: Number(digits) }
    : undefined;
}

function hostOfUrl(text: string): string {
  try {
    const { hostname, port } = new URL(text);
    return hostname === "" ? FORMS : `Write ${port === "" ? hostname : `${hostname}:${port}`}.`;
  } catch {
    return FORMS;
  }
}
