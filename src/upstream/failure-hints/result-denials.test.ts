import { expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import { sandboxDenials, withDenials, withoutDenialText } from "./result-denials.ts";

const failed = { isError: true, content: [{ type: "text", text: "ENOENT" }] };
const denials = [
  { message: "The sandbox hides /a.", hint: "Grant it with: portolan grant x --read /a" },
  { message: "The sandbox hides /b." },
];

test("the text about denials can be left out again, and no other text", () => {
  const result = withDenials(failed, denials);
  expect(result.content).toHaveLength(2);
  expect(withoutDenialText(result).content).toEqual(failed.content);
  expect(withoutDenialText(failed)).toBe(failed);
  const own = { ...result, content: [...(result.content as object[]), { type: "text", text: "mine" }] };
  expect(withoutDenialText(own)).toBe(own);
});

test("sandboxDenials() reads results and errors, and leaves out what a server made up", () => {
  const denied = { path: "/a", access: "write" as const, message: "The sandbox hides /a.", grant: "x" };
  const result = withDenials(failed, [
    denied,
    { host: "a.test", message: "denied" } as unknown as typeof denied,
    { host: "b.test", kind: "unreachable", message: "down" } as unknown as typeof denied,
  ]);
  const all = [
    denied,
    { host: "a.test", message: "denied" },
    { host: "b.test", kind: "unreachable", message: "down" },
  ];
  expect(sandboxDenials(result)).toEqual(all);
  expect(sandboxDenials(new PortolanError("TOOL_FAILED", "no", { data: { result } }))).toEqual(all);
  const data = { argument: "path", path: "/b", access: "read" };
  expect(sandboxDenials(new PortolanError("SANDBOX_DENIED", "outside", { data }))).toEqual([
    { path: "/b", access: "read", message: "outside" },
  ]);
  expect(sandboxDenials(new PortolanError("TIMEOUT", "late"))).toEqual([]);
  const forged = {
    _meta: { "portolan/sandbox": { denied: [5, { path: 1, message: "m" }, { path: "/c" }] } },
  };
  expect(sandboxDenials(forged)).toEqual([]);
});
