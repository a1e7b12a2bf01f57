// Which addresses are not the public Internet: one's own machine, private networks, link-local ones with their metadata services.

import { BlockList, isIP } from "node:net";

const SPECIAL = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  // Azure's wire server: what a machine is told and given there is its own, though the address looks like any other.
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const)
  SPECIAL.addSubnet(network, prefix, "ipv4");
for (const [network, prefix] of [
  ["::", 96],
  ["64:ff9b:1::", 48],
  ["100::", 64],
  ["2001::", 23],
  ["2001:db8::", 32],
  ["3fff::", 20],
  ["5f00::", 16],
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8],
] as const)
  SPECIAL.addSubnet(network, prefix, "ipv6");

/** Takes an address, with or without brackets or a zone; anything that is not one is not special. */
export function isSpecialAddress(address: string): boolean {
  const final = finalAddress(address);
  if (final === undefined) return false;
  return SPECIAL.check(final, isIP(final) === 4 ? "ipv4" : "ipv6");
}

/** Where an address leads in the end, in one spelling: IPv4 also where IPv6 is only the way there. Undefined for what is none. */
export function finalAddress(address: string): string | undefined {
  const bare = address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  const family = isIP(bare);
  if (family === 0) return undefined;
  return family === 4 ? bare : (innerIpv4(bare) ?? shortest(bare));
}

/** The IPv4 address that an IPv6 address leads to: mapped, translated (NAT64) or tunnelled (6to4). */
function innerIpv4(address: string): string | undefined {
  const groups = groupsOf(address);
  const [a, b, c, d, e, f, g = 0, h = 0] = groups;
  const zeros = c === 0 && d === 0 && e === 0;
  if (a === 0 && b === 0 && zeros && f === 0xffff) return dotted(g, h);
  if (a === 0x64 && b === 0xff9b && zeros && f === 0) return dotted(g, h);
  if (a === 0x2002) return dotted(b ?? 0, c ?? 0);
  return undefined;
}

function groupsOf(address: string): number[] {
  const [head = "", tail] = shortest(address).split("::");
  const numbers = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((group) => parseInt(group, 16));
  const [before, after] = [numbers(head), numbers(tail ?? "")];
  if (tail === undefined) return before;
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
}

/** The URL parser knows every spelling and gives the shortest one, in hexadecimal only. */
function shortest(address: string): string {
  return new URL(`http://[${address}]/`).hostname.slice(1, -1);
}

function dotted(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
