import { expect, test } from "vitest";
import { finalAddress, isSpecialAddress } from "./address.ts";

test.each([
  "0.0.0.0",
  "10.1.2.3",
  "100.64.0.1",
  "127.0.0.1",
  "127.255.255.255",
  "168.63.129.16",
  "::ffff:168.63.129.16",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "198.18.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "[::1]",
  "0:0:0:0:0:0:0:1",
  "::ffff:127.0.0.1",
  "::ffff:a9fe:a9fe",
  "0:0:0:0:0:ffff:10.0.0.1",
  "64:ff9b::127.0.0.1",
  "64:ff9b::a00:1",
  "2002:7f00:1::",
  "2001:db8::1",
  "fc00::1",
  "fdff::1",
  "fe80::1",
  "fe80::1%eth0",
  "ff02::1",
])("%s is not the public Internet", (address) => {
  expect(isSpecialAddress(address)).toBe(true);
});

test.each([
  "1.1.1.1",
  "8.8.8.8",
  "100.128.0.1",
  "172.32.0.1",
  "168.63.129.17",
  "169.253.0.1",
  "2606:4700::1111",
  "2a00:1450:4001::1",
  "64:ff9b::808:808",
  "::ffff:8.8.8.8",
  "2002:808:808::1",
  "localhost",
  "example.com",
  "",
])("%s is, or is no address", (address) => {
  expect(isSpecialAddress(address)).toBe(false);
});

test.each([
  ["8.8.8.8", "8.8.8.8"],
  ["::ffff:8.8.8.8", "8.8.8.8"],
  ["64:ff9b::808:808", "8.8.8.8"],
  ["2002:808:808::1", "8.8.8.8"],
  ["[2606:4700:0:0::1111%eth0]", "2606:4700::1111"],
  ["example.com", undefined],
])("%s leads to %s", (address, final) => {
  expect(finalAddress(address)).toBe(final);
});
