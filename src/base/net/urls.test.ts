import { expect, test } from "vitest";
import { isHttpUrl, isSecureUrl, isWebSocketUrl, parseUrl, portOf, publicPart } from "./urls.ts";

test("parseUrl returns undefined for a text that is not a URL", () => {
  expect(parseUrl("no url")).toBeUndefined();
  expect(parseUrl("/x", new URL("https://example.com/a"))?.href).toBe("https://example.com/x");
});

test("isHttpUrl and isWebSocketUrl compare the scheme only", () => {
  for (const url of ["http://a", "HTTPS://a", "https://{host}/", new URL("https://a")])
    expect(isHttpUrl(url)).toBe(true);
  for (const url of ["ws://a", "ftp://a", "http", "httpx://a", new URL("file:///a")])
    expect(isHttpUrl(url)).toBe(false);
  expect(isWebSocketUrl("WSS://a")).toBe(true);
  expect(isWebSocketUrl("https://a")).toBe(false);
});

test("isSecureUrl accepts http only for loopback hosts", () => {
  for (const url of [
    "https://example.com",
    "http://localhost:80",
    "http://127.9.9.9",
    "http://[::1]:1",
    "http://[::ffff:127.0.0.1]",
  ])
    expect([url, isSecureUrl(new URL(url))]).toEqual([url, true]);
  for (const url of [
    "http://example.com",
    "http://10.0.0.1",
    "http://a.localhost",
    "ws://localhost",
    "http://127.0.0.1.example.com",
  ])
    expect([url, isSecureUrl(new URL(url))]).toEqual([url, false]);
});

test("portOf returns the default port of the scheme if the URL has none", () => {
  const ports = ["http://a", "https://a", "ws://a", "wss://a", "https://a:81", "http://a:80"].map((url) =>
    portOf(new URL(url)),
  );
  expect(ports).toEqual([80, 443, 80, 443, 81, 80]);
});

test("publicPart removes credentials, query and fragment", () => {
  expect(publicPart(new URL("https://user:pass@example.com:81/a/b?token=1#c"))).toBe(
    "https://example.com:81/a/b",
  );
});
