import { isIP } from "node:net";
import { describe, expect, test } from "vitest";
import {
  bracketed,
  canonicalAddress,
  finalAddress,
  isLocalhostName,
  isLoopbackAddress,
  isLoopbackHost,
  isSpecialAddress,
  withPort,
} from "./addresses.ts";

/** First and last address of every special range, and the public neighbours on both sides where there are any. */
const IPV4_RANGES: readonly (readonly [string, string, ...string[]])[] = [
  ["0.0.0.0", "0.255.255.255", "1.0.0.0"],
  ["10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"],
  ["100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"],
  ["127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"],
  ["168.63.129.16", "168.63.129.16", "168.63.129.15", "168.63.129.17"],
  ["169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"],
  ["172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"],
  ["192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"],
  ["192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"],
  ["192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"],
  ["192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"],
  ["198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"],
  ["198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"],
  ["203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"],
  ["224.0.0.0", "239.255.255.255", "223.255.255.255"],
  ["240.0.0.0", "255.255.255.255"],
];

const IPV6_RANGES: readonly (readonly [string, string, ...string[]])[] = [
  ["::", "::ffff:ffff"],
  ["::1", "::1"],
  ["64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "64:ff9b:2::"],
  ["100::", "100::ffff:ffff:ffff:ffff", "ff:ffff::", "100:0:0:2::"],
  ["100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff", "100:0:0:2::"],
  ["2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2000:ffff::", "2001:200::"],
  ["2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db7::", "2001:db9::"],
  ["3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3ffe::", "3fff:1000::"],
  ["5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "5eff::", "5f01::"],
  ["fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fbff::", "fe00::"],
  ["fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe7f::"],
  ["fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
];

/** An IPv4 address and all IPv6 forms that contain it. */
function formsOf(ipv4: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = ipv4.split(".").map(Number);
  const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  return [
    ipv4,
    `::ffff:${ipv4}`,
    `::ffff:${hex}`,
    `::FFFF:${hex}`,
    `0:0:0:0:0:ffff:${ipv4}`,
    `[::ffff:${ipv4}]`,
    `64:ff9b::${ipv4}`,
    `64:ff9b::${hex}`,
    `0064:ff9b:0:0:0:0:${hex}`,
    `2002:${hex}::`,
    `2002:${hex}:1::1`,
  ];
}

describe("isSpecialAddress", () => {
  test.each(IPV4_RANGES)(
    "returns true for %s to %s, also inside IPv6 addresses",
    (first, last, ...outside) => {
      for (const address of [first, last].flatMap(formsOf))
        expect([address, isSpecialAddress(address)]).toEqual([address, true]);
      for (const address of outside.flatMap(formsOf))
        expect([address, isSpecialAddress(address)]).toEqual([address, false]);
    },
  );

  test.each(IPV6_RANGES)("returns true for %s to %s", (first, last, ...outside) => {
    for (const address of [first, last]) {
      for (const form of [address, `[${address}]`, address.toUpperCase(), `${address}%eth0`])
        expect([form, isSpecialAddress(form)]).toEqual([form, true]);
    }
    for (const address of outside) expect([address, isSpecialAddress(address)]).toEqual([address, false]);
  });

  test.each([
    "1.1.1.1",
    "8.8.8.8",
    "2606:4700::1111",
    "2a00:1450:4001::1",
    "localhost",
    "example.com",
    "",
    "127.1",
    "[",
    "%",
  ])('returns false for "%s", which is public or not an address', (text) =>
    expect(isSpecialAddress(text)).toBe(false),
  );
});

describe("loopback addresses and names", () => {
  test.each([
    "127.0.0.1",
    "127.0.0.0",
    "127.255.255.255",
    "::1",
    "[::1]",
    "0:0:0:0:0:0:0:1",
    "::ffff:127.0.0.1",
    "[::ffff:7f00:1]",
    "::1%lo",
  ])("%s is a loopback address", (address) => {
    expect(isLoopbackAddress(address)).toBe(true);
    expect(isLoopbackHost(address)).toBe(true);
  });

  test.each([
    "126.255.255.255",
    "128.0.0.1",
    "0.0.0.0",
    "::",
    "::2",
    "10.0.0.1",
    "::127.0.0.1",
    "64:ff9b::127.0.0.1",
    "2002:7f00:1::",
    "127.1",
    "127.0.0.1.example.com",
    "127.0.0.256",
    "",
    "[]",
  ])('"%s" is not a loopback address', (text) => {
    expect(isLoopbackAddress(text)).toBe(false);
    expect(isLoopbackHost(text)).toBe(false);
  });

  test("only the name localhost itself is a loopback host, and subdomains of it are not", () => {
    for (const host of ["localhost", "LocalHost", "localhost."]) expect(isLoopbackHost(host)).toBe(true);
    for (const host of [
      "a.localhost",
      "localhost.example.com",
      "notlocalhost",
      "localhost..",
      "localhost:80",
    ])
      expect(isLoopbackHost(host)).toBe(false);
    expect(isLoopbackAddress("localhost")).toBe(false);
  });

  test("isLocalhostName returns true for localhost and its subdomains", () => {
    for (const host of ["localhost", "a.localhost", "A.b.LOCALHOST."])
      expect(isLocalhostName(host)).toBe(true);
    for (const host of ["notlocalhost", "localhost.example.com", "127.0.0.1"])
      expect(isLocalhostName(host)).toBe(false);
  });

  test("every loopback address is special", () => {
    for (const address of ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"])
      expect(isSpecialAddress(address)).toBe(true);
  });
});

describe("spelling of addresses", () => {
  test.each([
    ["8.8.8.8", "8.8.8.8"],
    ["::ffff:8.8.8.8", "8.8.8.8"],
    ["64:ff9b::808:808", "8.8.8.8"],
    ["2002:808:808::1", "8.8.8.8"],
    ["[2606:4700:0:0::1111%eth0]", "2606:4700::1111"],
    ["example.com", undefined],
  ])("the final address of %s is %s", (address, final) => {
    expect(finalAddress(address)).toBe(final);
  });

  test.each([
    ["8.8.8.8", "8.8.8.8"],
    ["::FFFF:8.8.8.8", "8.8.8.8"],
    ["64:ff9b::8.8.8.8", "64:ff9b::808:808"],
    ["2606:4700:0:0::1111", "2606:4700::1111"],
  ])("the canonical form of %s is %s", (address, canonical) => {
    expect(canonicalAddress(address)).toBe(canonical);
    expect(isIP(canonical)).not.toBe(0);
  });

  test("IPv6 addresses get brackets before a port", () => {
    expect(bracketed("::1")).toBe("[::1]");
    expect(bracketed("[::1]")).toBe("[::1]");
    expect(withPort("::1", 80)).toBe("[::1]:80");
    expect(withPort("example.com", 80)).toBe("example.com:80");
  });
});
