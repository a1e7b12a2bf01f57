import fc from "fast-check";
import { expect, test } from "vitest";
import type { GatewaySettings } from "../../model/index.ts";
import { createHostRules } from "./hosts.ts";

const status = (settings: GatewaySettings, bound: string, host?: string, origin?: string): number =>
  createHostRules(settings, bound).check(host, origin)?.status ?? 200;

const LISTED: GatewaySettings = {
  allowedHosts: ["tools.example.com", "*.example.org", "a.example.net:8443", "b.example.net:443"],
};

test.each<[GatewaySettings, string, string | undefined, number]>([
  // At loopback, only loopback names are accepted (protection against DNS rebinding).
  [{}, "127.0.0.1", "localhost:7420", 200],
  [{}, "127.0.0.1", "LOCALHOST.", 200],
  [{}, "localhost", "127.0.0.1:1", 200],
  [{}, "127.0.0.1", "127.1.2.3", 200],
  [{}, "::1", "[::1]:7420", 200],
  [{}, "127.0.0.1", "evil.example:7420", 403],
  [{}, "127.0.0.1", "localhost.evil.example", 403],
  [{}, "127.0.0.1", "127.0.0.1.evil.example", 403],
  [{}, "127.0.0.1", "127.0.0.1@evil.example", 403],
  [{}, "127.0.0.1", "", 403],
  [{}, "127.0.0.1", undefined, 403],
  [LISTED, "127.0.0.1", "tools.example.com", 200],
  [LISTED, "127.0.0.1", "tools.example.com:443", 200],
  [LISTED, "127.0.0.1", "localhost", 200],
  [LISTED, "127.0.0.1", "x.y.example.org", 200],
  [LISTED, "127.0.0.1", "example.org", 403],
  [LISTED, "127.0.0.1", ".example.org", 403],
  [LISTED, "127.0.0.1", "evilexample.org", 403],
  [LISTED, "127.0.0.1", "a.example.net:8443", 200],
  [LISTED, "127.0.0.1", "a.example.net", 403],
  [LISTED, "127.0.0.1", "b.example.net:443", 200],
  [LISTED, "127.0.0.1", "b.example.net", 200],
  [LISTED, "127.0.0.1", "b.example.net:80", 403],
  // At other addresses, every name is accepted, because a token is required, unless allowedHosts lists names.
  [{}, "0.0.0.0", "whatever.example", 200],
  [{}, "10.0.0.7", "10.0.0.7:7420", 200],
  [LISTED, "0.0.0.0", "tools.example.com", 200],
  [LISTED, "0.0.0.0", "localhost", 403],
  // Without a token, only an IP address is accepted, because DNS cannot change where it leads.
  [{ auth: "none" }, "10.0.0.7", "10.0.0.7:7420", 200],
  [{ auth: "none" }, "10.0.0.7", "10.0.0.8", 403],
  [{ auth: "none" }, "10.0.0.7", "evil.example", 403],
  [{ auth: "none" }, "0.0.0.0", "10.0.0.7", 200],
  [{ auth: "none" }, "::", "[fe80::1]:7420", 200],
  [{ auth: "none" }, "0.0.0.0", "evil.example", 403],
  [{ auth: "none", ...LISTED }, "0.0.0.0", "tools.example.com", 200],
  [{ auth: "none", ...LISTED }, "0.0.0.0", "10.0.0.7", 403],
])("with settings %j, bound to %s, Host %j gets status %i", (settings, bound, host, expected) => {
  expect(status(settings, bound, host)).toBe(expected);
});

const PAGES: GatewaySettings = { allowedOrigins: ["https://app.example.com", "vscode-webview://abc"] };

test.each<[GatewaySettings, string, string, string, number]>([
  [{}, "127.0.0.1", "localhost:7420", "http://localhost:3000", 200],
  [{}, "127.0.0.1", "localhost:7420", "https://127.0.0.1", 200],
  [{}, "127.0.0.1", "localhost:7420", "http://evil.example", 403],
  [{}, "127.0.0.1", "localhost:7420", "http://localhost.evil.example", 403],
  [{}, "127.0.0.1", "localhost:7420", "null", 403],
  [{}, "127.0.0.1", "localhost:7420", "", 403],
  [{}, "127.0.0.1", "localhost:7420", "file://", 403],
  [{}, "127.0.0.1", "localhost:7420", "chrome-extension://localhost", 403],
  [PAGES, "127.0.0.1", "localhost", "https://app.example.com", 200],
  [PAGES, "127.0.0.1", "localhost", "HTTPS://APP.example.com", 200],
  [PAGES, "127.0.0.1", "localhost", "http://app.example.com", 403],
  [PAGES, "127.0.0.1", "localhost", "https://app.example.com:444", 403],
  [PAGES, "127.0.0.1", "localhost", "vscode-webview://abc", 200],
  [{}, "0.0.0.0", "tools.example.com", "https://tools.example.com", 200],
  [{}, "0.0.0.0", "tools.example.com:443", "https://tools.example.com", 200],
  [{}, "0.0.0.0", "tools.example.com:8443", "https://tools.example.com", 403],
  [{}, "0.0.0.0", "tools.example.com", "https://other.example.com", 403],
  [{}, "0.0.0.0", "tools.example.com", "http://localhost:3000", 403],
])(
  "with settings %j, bound to %s, Host %s and Origin %j get status %i",
  (settings, bound, host, origin, expected) => {
    expect(status(settings, bound, host, origin)).toBe(expected);
  },
);

test("only a Host header with a loopback name is accepted at a loopback address", () => {
  const host = fc.oneof(fc.domain(), fc.webAuthority(), fc.string());
  fc.assert(
    fc.property(host, (host) => {
      const mine = /^(localhost\.?|127(\.\d{1,3}){3}\.?|\[::1\])(:\d{1,5})?$/i.test(host);
      expect(status({}, "127.0.0.1", host)).toBe(mine ? 200 : 403);
    }),
    { numRuns: 1_000 },
  );
});

test.each(["127.0.0.1", "10.0.0.7"])("the hint of a refused Host at %s names both lists", (bound) => {
  const refusal = createHostRules({ auth: "none" }, bound).check("evil.example", undefined);
  expect(JSON.stringify(refusal)).toContain(
    "gateway.allowed_hosts in portolan.yaml (in a program: settings.allowedHosts of openGateway())",
  );
});
