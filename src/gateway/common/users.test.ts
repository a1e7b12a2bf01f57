// Callers as users: which callers have their own logins, and which connections end first.

import { expect, test } from "vitest";
import { Secret } from "../../secrets/index.ts";
import { NO_LIMITS } from "../access/caller-limits.ts";
import type { AuthenticatedCaller } from "../access/types.ts";
import { GatewayUsers } from "./users.ts";

const caller = (name: string, more: Partial<AuthenticatedCaller> = {}): AuthenticatedCaller => ({
  ...{ name, toolFilter: undefined, limits: NO_LIMITS, fingerprint: "" },
  ...more,
});

test("the owner and callers without an identity have no logins of their own", () => {
  const users = new GatewayUsers(10);
  expect(users.of(caller("local"), true)).toEqual({ kind: "owner" });
  expect(users.of(caller("stdio"), true)).toEqual({ kind: "owner" });
  expect(users.of(caller("anyone"), true)).toEqual({ kind: "nobody" });
  expect(users.of(caller("alice"), false)).toEqual({ kind: "nobody" });
  expect(users.of(caller("alice"), true)).toMatchObject({ kind: "user", user: { id: "alice" } });
});

test("tokens with other scopes give the same user another key, and the latest token is used", () => {
  const users = new GatewayUsers(10);
  const of = (scopes: string[], token: string) => {
    const found = users.of(caller("ann", { scopes, subject: new Secret(token) }), true);
    if (found.kind !== "user") throw new Error("the caller is not a user");
    return found.user;
  };
  const [narrow, wide] = [of(["read"], "1"), of(["write", "read"], "2")];
  expect(narrow.id).toBe(wide.id);
  expect(narrow.key).not.toBe(wide.key);
  expect(of(["read", "write"], "3")).toBe(wide);
  expect(wide.subjectToken()?.reveal()).toBe("3");
  expect(narrow.subjectToken()?.reveal()).toBe("1");
});

test("takeOld removes the users that were inactive longest, except users with a listening client", () => {
  const users = new GatewayUsers(2);
  for (const name of ["a", "b", "c", "d"]) users.of(caller(name), true);
  users.of(caller("a"), true);
  expect(users.takeOld((id) => id === "b")).toEqual(["c", "d"]);
  expect(users.takeOld(() => false)).toEqual([]);
});
