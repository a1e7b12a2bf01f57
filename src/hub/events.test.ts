import { expect, test } from "vitest";
import { createRedactor, Secret } from "../secrets/index.ts";
import { toLaunchEvent } from "./events.ts";

test("the event for a refused lookup of a name has no port", () => {
  const news = { type: "denied", server: "one", host: "a.test", port: 0, reason: "no" } as const;
  const event = toLaunchEvent("one", news, createRedactor());
  expect(JSON.parse(JSON.stringify(event))).toEqual({
    ...{ type: "mcp.sandbox_denied", server: "one", host: "a.test", reason: "no" },
  });
});

test("a secret in a denied host name is redacted, in upper and lower case", () => {
  const redactor = createRedactor();
  redactor.add(new Secret("SekretCanary1234567890"));
  const host = "sekretcanary1234567890.evil.example";
  const reason = `${host} is not in the server's network list`;
  const news = { type: "denied", server: "one", host, port: 443, reason } as const;
  const event = toLaunchEvent("one", news, redactor);
  expect(event).toEqual({
    type: "mcp.sandbox_denied",
    server: "one",
    host: "[redacted].evil.example",
    port: 443,
    reason: "[redacted].evil.example is not in the server's network list",
  });
});
