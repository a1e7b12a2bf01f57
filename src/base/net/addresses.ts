// Classes of IP addresses: loopback, and "special" ones that are not the public Internet. This is the only table of them.

import { BlockList, isIP } from "node:net";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/** IANA's special-purpose registries for IPv4 and IPv6, and addresses of cloud metadata services. */
const SPECIAL_IPV4 = [
  ["0.0.0.0", 8], // this network; connecting to 0.0.0.0 reaches this machine
  ["10.0.0.0", 8], // private
  ["100.64.0.0", 10], // carrier-grade NAT
  ["127.0.0.0", 8], // loopback
  ["168.63.129.16", 32], // Azure's metadata service, which looks like a public address
  ["169.254.0.0", 16], // link-local, with the metadata service of most clouds
  ["172.16.0.0", 12], // private
  ["192.0.0.0", 24], // protocol assignments
  ["192.0.2.0", 24], // documentation
  ["192.88.99.0", 24], // 6to4 relays, deprecated
  ["192.168.0.0", 16], // private
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4], // reserved, and broadcast
] as const;
const SPECIAL_IPV6 = [
  ["::", 96], // unspecified, loopback, and IPv4-compatible addresses, deprecated
  ["64:ff9b:1::", 48], // NAT64 inside of a network
  ["100::", 64], // discard
  ["100:0:0:1::", 64], // dummy prefix
  ["2001::", 23], // protocol assignments, with Teredo and ORCHID
  ["2001:db8::", 32], // documentation
  ["3fff::", 20], // documentation
  ["5f00::", 16], // segment routing
  ["fc00::", 7], // unique local
  ["fe80::", 10], // link-local
  ["fec0::", 10], // site-local, deprecated
  ["ff00::", 8], // multicast
] as const;

/** Made when it is needed: most starts compare no address. */
let special: BlockList | undefined;

function specialAddresses(): BlockList {
  if (special !== undefined) return special;
  special = new BlockList();
  for (const [network, prefix] of SPECIAL_IPV4) special.addSubnet(network, prefix, "ipv4");
  for (const [network, prefix] of SPECIAL_IPV6) special.addSubnet(network, prefix, "ipv6");
  return special;
}

/**
 * Returns true for an address that is not the public Internet: this machine, private and link-local networks, metadata services,
 * reserved ranges. The address may have brackets and a zone. Host names and other texts return false.
 */
export function isSpecialAddress(address: string): boolean {
  const final = finalAddress(address);
  return final !== undefined && specialAddresses().check(final, isIP(final) === 4 ? "ipv4" : "ipv6");
}

/**
 * Returns true for an address of the loopback interface: 127.0.0.0/8 and ::1, also as an IPv4-mapped address. Translated forms (NAT64,
 * 6to4) lead to a router, not to this machine, and return false, as do host names.
 */
export function isLoopbackAddress(address: string): boolean {
  const bare = bareAddress(address);
  if (isIP(bare) === 4) return LOOPBACK.check(bare, "ipv4");
  if (isIP(bare) !== 6) return false;
  const mapped = mappedIpv4(groupsOf(bare));
  return mapped === undefined ? LOOPBACK.check(bare, "ipv6") : LOOPBACK.check(mapped, "ipv4");
}

/**
 * Returns true for a host that always means this machine: `localhost` and loopback addresses. `http://` to it is as private as
 * `https://`. Names below `localhost` return false, because some systems look them up in DNS.
 */
export function isLoopbackHost(host: string): boolean {
  return /^localhost\.?$/i.test(host) || isLoopbackAddress(host);
}

/** Returns true for 0.0.0.0 and ::, at which a server listens at every address of the machine. The address may have brackets. */
export function isUnspecifiedAddress(address: string): boolean {
  return ["0.0.0.0", "::"].includes(finalAddress(address) ?? "");
}

/** Returns true for `localhost` and all names below it. They never belong to the public Internet. */
export function isLocalhostName(host: string): boolean {
  return /(?:^|\.)localhost\.?$/i.test(host);
}

/**
 * Returns the address that packets reach in the end, in one spelling: the IPv4 address inside of an IPv4-mapped, NAT64 or 6to4 address,
 * otherwise the address itself. Returns undefined for a text that is not an address.
 */
export function finalAddress(address: string): string | undefined {
  const bare = bareAddress(address);
  const family = isIP(bare);
  if (family === 0) return undefined;
  return family === 4 ? bare : (embeddedIpv4(bare) ?? canonicalIpv6(bare));
}

/** Returns the shortest spelling of an IPv6 address, in hexadecimal; an IPv4-mapped address becomes IPv4. */
export function canonicalAddress(address: string): string {
  if (isIP(address) !== 6) return address;
  return mappedIpv4(groupsOf(address)) ?? canonicalIpv6(address);
}

/** Returns a host as a URL writes it: an IPv6 address gets brackets. */
export function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

/** Returns `host:port`, with brackets around an IPv6 address. */
export function withPort(host: string, port: number | string): string {
  return `${bracketed(host)}:${port}`;
}

function bareAddress(address: string): string {
  return address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
}

function embeddedIpv4(address: string): string | undefined {
  const groups = groupsOf(address);
  const [a, b = 0, c = 0, d, e, f, g = 0, h = 0] = groups;
  const isNat64 = a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0;
  if (isNat64) return dotted(g, h);
  const is6to4 = a === 0x2002;
  return is6to4 ? dotted(b, c) : mappedIpv4(groups);
}

function mappedIpv4(groups: readonly number[]): string | undefined {
  const [, , , , , f, g = 0, h = 0] = groups;
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && f === 0xffff;
  return isMapped ? dotted(g, h) : undefined;
}

function groupsOf(address: string): number[] {
  const [head = "", tail] = canonicalIpv6(address).split("::");
  const numbers = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((group) => parseInt(group, 16));
  const [before, after] = [numbers(head), numbers(tail ?? "")];
  if (tail === undefined) return before;
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
}

/** The URL parser accepts every spelling and writes the shortest one, in hexadecimal only. */
function canonicalIpv6(address: string): string {
  return new URL(`http://[${address}]/`).hostname.slice(1, -1);
}

function dotted(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
