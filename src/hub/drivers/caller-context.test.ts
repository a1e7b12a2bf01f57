// Context of contract calls: the verified identity of a caller, and the options that a client may set.

import { expect, test } from "vitest";
import { contract } from "../../../test/helpers/contracts.ts";
import type { JsonObject } from "../../model/index.ts";
import type { Caller } from "../../upstream/index.ts";
import { contextFor } from "./caller-context.ts";

const contextOf = contextFor([
  contract(),
  contract({ id: "with-context", contextSchema: { type: "object", properties: { tenant: {} } } }),
]);
const by = (more: Partial<Caller>): Caller => ({
  clientInfo: { name: "c", version: "1" },
  capabilities: {},
  ...more,
});
const call = (caller?: Caller, meta?: JsonObject, name = "fs-read") =>
  contextOf({
    method: "tools/call",
    params: { name, ...(meta === undefined ? {} : { _meta: meta }) },
    caller,
  });

test('the account of the caller is the user id, and the user of the gateway is "local"', () => {
  expect(call(by({ account: "ann" }))).toEqual({ userId: "ann" });
  expect(call(by({ account: "local" }))).toEqual({ userId: "local" });
  expect(call(by({ account: "stdio" }))).toEqual({ userId: "local" });
  expect(call(by({ account: "anyone" }))).toEqual({ userId: "anyone" });
  expect(call()).toEqual({});
  expect(call(by({ account: "ann" }))).toBe(call(by({ account: "ann" })));
});

test('scopes with the prefix "role:" are roles, and scopes with the prefix "cap://" are capabilities', () => {
  const scopes = ["role:admin", "cap://billing/read", "tools:call", "role:", "cap://", "xrole:a"];
  expect(call(by({ account: "ann", scopes }))).toEqual({
    userId: "ann",
    roles: ["admin"],
    capabilities: ["cap://billing/read"],
  });
  expect(call(by({ account: "ann", scopes: ["tools:call"] }))).toEqual({ userId: "ann" });
});

test("a client may pin a driver, a region and context values, but not set its user or roles", () => {
  const meta = {
    "portolan/pinnedProvider": "a-mcp",
    "portolan/regionConstraint": "eu",
    "portolan/context": { tenant: "t", userId: "bob" },
    userId: "bob",
    roles: ["admin"],
    interactive: true,
    "portolan/workflow": "w",
  };
  const asked = { userId: "ann", pinnedProvider: "a-mcp", regionConstraint: "eu" };
  expect(call(by({ account: "ann" }), meta)).toEqual(asked);
  expect(call(by({ account: "ann" }), meta, "with-context")).toEqual({
    ...asked,
    values: { tenant: "t", userId: "bob" },
  });
  expect(
    call(by({ account: "ann" }), { "portolan/pinnedProvider": 1, "portolan/context": [] }, "with-context"),
  ).toEqual({ userId: "ann" });
});
