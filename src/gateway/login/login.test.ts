// Parts of the login pages: signed cookies, expiring links, authorizations of one browser, escaped pages.

import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { LoginCookies } from "./cookies.ts";
import { proofOf } from "./front.ts";
import { LoginLinks } from "./login-links.ts";
import { failedPage, startPage } from "./pages.ts";
import { PendingAuthorizations } from "./pending-authorizations.ts";

afterEach(() => vi.useRealTimers());

describe("login cookies", () => {
  const key = Buffer.alloc(32, 1);
  const site = new URL("https://tools.example.com/gateway");
  const sent = (header: string): string => header.split(";", 1)[0] ?? "";

  test("identify the caller for eight hours, only to the gateway that signed them", () => {
    let now = 1_000;
    const cookies = new LoginCookies(key, site, () => now);
    const header = cookies.forCaller("oauth:https://id.example.com|ann; x");
    expect(header).toMatch(
      /^__Host-portolan-login-caller=\S+; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=28800$/,
    );
    const cookie = `other=1; ${sent(header)}`;
    expect(cookies.callerOf(cookie)).toBe("oauth:https://id.example.com|ann; x");
    expect(new LoginCookies(Buffer.alloc(32, 2), site, () => now).callerOf(cookie)).toBeUndefined();
    now += 8 * 60 * 60_000;
    expect(cookies.callerOf(cookie)).toBeUndefined();
  });

  test("are limited to the login pages without https", () => {
    const cookies = new LoginCookies(key, new URL("http://127.0.0.1:7420"));
    expect(cookies.forAuthorization().header).toMatch(
      /^portolan-login-authorization=\S+; Path=\/login; HttpOnly; SameSite=Lax; Max-Age=600$/,
    );
  });

  test("are not valid with any other text", () => {
    const cookies = new LoginCookies(key, site);
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(cookies.callerOf(`__Host-portolan-login-caller=${text}`)).toBeUndefined();
        expect(cookies.callerOf(text)).toBeUndefined();
      }),
    );
  });
});

describe("login links", () => {
  const wanted = (server: string) => ({ server, logIn: async () => {} });
  const toUrl = (id: string): string => `https://x/login/${id}`;

  test("are one per caller and server", () => {
    const links = new LoginLinks();
    const first = links.make("alice", wanted("notes"), toUrl);
    expect(links.make("alice", wanted("notes"), toUrl).url).toBe(first.url);
    const others = [links.make("alice", wanted("mail"), toUrl), links.make("bob", wanted("notes"), toUrl)];
    expect(new Set([first, ...others].map(({ url }) => url)).size).toBe(3);
    links.close();
  });

  test("expire after their time, or if a caller has too many", async () => {
    vi.useFakeTimers();
    const links = new LoginLinks(1_000);
    const { id, done } = links.make("alice", wanted("notes"), toUrl);
    vi.advanceTimersByTime(1_001);
    await expect(done).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(links.find(id)).toBeUndefined();
    const many = Array.from({ length: 60 }, (_, index) => links.make("alice", wanted(`s${index}`), toUrl));
    expect(many.filter((link) => links.find(link.id) !== undefined)).toHaveLength(50);
    await expect(many[0]?.done).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    links.close();
  });
});

test("an authorization can be completed once, only by the browser that started it", async () => {
  const links = new LoginLinks();
  const { id } = links.make("alice", { server: "notes", logIn: async () => {} }, String);
  const link = links.find(id);
  if (link === undefined) throw new Error("there is no link");
  const pending = new PendingAuthorizations();
  let answered: URL | undefined;
  const address = await pending.begin(
    { kind: "login", binding: "secret", link },
    "https://x/back",
    async (open) => {
      const page = await open({ server: "notes", redirectUri: undefined });
      answered = await page.show(new URL("https://as/authorize"), "state");
    },
  );
  expect(address?.href).toBe("https://as/authorize");
  expect(pending.take("state", undefined)).toBeUndefined();
  expect(pending.take("state", "another")).toBeUndefined();
  expect(pending.take("other", "secret")).toBeUndefined();
  const authorization = pending.take("state", "secret");
  expect(pending.take("state", "secret")).toBeUndefined();
  authorization?.answer(new URL("https://x/back?code=1"));
  await authorization?.finished;
  expect(answered?.search).toBe("?code=1");
  links.close();
});

test("names in pages are escaped", () => {
  const evil = '"><script>alert(1)</script>';
  const options = { server: evil, caller: evil, action: evil, issuer: evil, problem: evil };
  const pages = (["proved", "token", "issuer", "both"] as const).map((proof) =>
    startPage({ ...options, proof }),
  );
  for (const { html } of [...pages, failedPage(evil, evil)]) expect(html).not.toContain("<script");
});

test.each([
  ["local", "token"],
  ["fixed", "token"],
  ["group", "token"],
  ["ann", "both"],
  ["bob", "issuer"],
  ["oauth:https://id.example.com|carl", "issuer"],
  ["group|oauth:https://id.example.com|dora", "issuer"],
])("the caller %s proves its identity by: %s", (caller, proof) => {
  const callers = [
    { name: "fixed", token: "t1" },
    { name: "group", token: "t2", oauth: { scope: "tools" } },
    { name: "ann", tokenSha256: "0".repeat(64), oauth: { subject: "ann" } },
    { name: "bob", oauth: { subject: "bob" } },
  ];
  expect(proofOf(caller, { oauth: { issuer: "https://id.example.com" }, callers })).toBe(proof);
  expect(proofOf(caller, { callers })).toBe("token");
});
