// Apps of the console without a browser: hosts that the policy allows, and consoles that cannot show apps.

import { describe, expect, it } from "vitest";
import type { Hub } from "../../hub/index.ts";
import { appPolicy, readAppHosts } from "./app-policy.ts";
import { Apps } from "./apps.ts";
import { frameHostOf } from "./frame-host.ts";

describe("the content security policy of an app", () => {
  it.each([
    "https://api.example.com",
    "https://*.example.com",
    "wss://live.example.com:8443",
    "https://a.b-c.io",
  ])("allows the declared host %s", (host) => {
    const hosts = readAppHosts({ connectDomains: [host], resourceDomains: [host] });
    expect(hosts).toMatchObject({ connect: [host], resources: [host], refused: [] });
    const policy = appPolicy(hosts, "http://127.0.0.1:7420");
    expect(policy).toContain(`connect-src ${host};`);
    expect(policy).toContain(`script-src 'self' 'unsafe-inline' ${host};`);
  });

  it.each([
    ...["*", "https:", "https://*", "http://example.com", "data:", "'unsafe-eval'", "'self'"],
    ...[
      "https://example.com; script-src *",
      "https://a.com https://b.com",
      "https://a.com/path",
      "https://a.com,b",
    ],
    ...[
      "https://localhost",
      "https://127.0.0.1",
      "https://[::1]",
      "https://user@example.com",
      "https://a.com\n*",
    ],
    ...["https://example", "https://.example.com", "https://-a.com", 7, null, {}],
  ])("does not allow the declared value %j", (host) => {
    const declared = {
      ...{ connectDomains: [host], resourceDomains: [host], frameDomains: [host], baseUriDomains: [host] },
    };
    const hosts = readAppHosts(declared);
    expect(hosts).toMatchObject({ connect: [], resources: [], frames: [], base: [] });
    expect(hosts.refused).toHaveLength(4);
  });

  it("allows no hosts for an app that declares none", () => {
    for (const csp of [undefined, null, [], "x", { connectDomains: "https://a.com" }]) {
      const policy = appPolicy(readAppHosts(csp), "http://127.0.0.1:7420");
      expect(policy).toContain("connect-src 'none'; frame-src 'none'; base-uri 'none'; form-action 'none'");
      expect(policy).toContain("frame-ancestors http://127.0.0.1:7420");
    }
  });
});

describe("the host name of apps", () => {
  it("differs from the host name of the console; other consoles do not show apps", async () => {
    expect(frameHostOf("127.0.0.1")).toBe("localhost");
    expect(frameHostOf("[::1]")).toBe("localhost");
    expect(frameHostOf("localhost")).toBe("127.0.0.1");
    const apps = new Apps({
      hub: { member: () => ({}) as ReturnType<Hub["member"]> },
      read: () => Promise.resolve({}),
    });
    for (const host of ["tools.example", "192.168.1.5:7420", "localhost.evil.example", undefined])
      expect(await apps.frameOrigin(host)).toBeUndefined();
    await expect(apps.open("a", "b", "https://tools.example")).rejects.toThrow(
      "the console shows apps of tools only at the host names 127.0.0.1 and localhost",
    );
  });
});
