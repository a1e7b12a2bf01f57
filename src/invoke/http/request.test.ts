import { expect, test } from "vitest";
import { followRedirect, type HttpRequest } from "./request.ts";

const request = (url: string, more: Partial<HttpRequest> = {}): HttpRequest => ({
  method: "POST",
  url: new URL(url),
  headers: { authorization: "Bearer t", cookie: "c", "content-type": "application/json", "x-own": "1" },
  body: "{}",
  ...more,
});

test.each([
  ["https://a.test/x", "http://a.test/x", "from https to http"],
  ["https://a.test/x", "https://b.test/x", "another host, b.test"],
  ["https://a.test/x", "https://a.test:8443/x", "another host, a.test:8443"],
  ["http://a.test:8080/x", "https://a.test/x", "another host"],
  ["https://a.test/x", "//b.test/x", "another host"],
  ["https://a.test/x", "https://a.test@b.test/", "another host"],
  ["https://a.test/x", "javascript:alert(1)", "not HTTP"],
])("a redirect from %s to %s is not followed", (from, to, why) => {
  expect(followRedirect(request(from), 307, to)).toContain(why);
});

test("a redirect to another scheme of the same host has no credentials", () => {
  const next = followRedirect(request("http://a.test/x"), 308, "https://u:p@a.test/y#z");
  expect(next).toMatchObject({ method: "POST", body: "{}" });
  expect((next as HttpRequest).url.href).toBe("https://a.test/y");
  expect((next as HttpRequest).headers).toEqual({ "content-type": "application/json", "x-own": "1" });
});

test("a redirect to the same origin keeps credentials, and turns POST into GET for 301 to 303", () => {
  for (const status of [301, 302, 303]) {
    const next = followRedirect(request("https://a.test/x"), status, "/y");
    expect(next).toMatchObject({ method: "GET", body: undefined, headers: { authorization: "Bearer t" } });
  }
  expect(followRedirect(request("https://a.test/x", { method: "PUT" }), 302, "/y")).toMatchObject({
    method: "PUT",
  });
  expect(followRedirect(request("https://a.test/x", { method: "HEAD" }), 303, "/y")).toMatchObject({
    method: "HEAD",
  });
  expect(followRedirect(request("https://a.test/x"), 200, "/y")).toBeUndefined();
  expect(followRedirect(request("https://a.test/x"), 302, undefined)).toBeUndefined();
});
