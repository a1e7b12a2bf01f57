import { expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import { sandboxDenials, withDenials, withoutDenialText } from "./result-denials.ts";

const failed = { isError: true, content: [{ type: "text", text: "ENOENT" }] };
const denials = [
  { message: "The sandbox hides /a.", hint: "Grant it with: portolan grant x --read /a" },
  { message: "The sandbox hides /b." },
];

test("withoutDenialText removes the text about denials, and no other text", () => {
  const result = withDenials(failed, denials);
  expect(result.content).toHaveLength(2);
  expect(withoutDenialText(result).content).toEqual(failed.content);
  expect(withoutDenialText(failed)).toBe(failed);
  const own = { ...result, content: [...(result.content as object[]), { type: "text", text: "mine" }] };
  expect(withoutDenialText(own)).toBe(own);
});

test("sandboxDenials() reads results and errors, and ignores denials that a server invents", () => {
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

test("denials with the same hint share one line of the text, and _meta contains all denials", () => {
  const hint = "Grant it with: portolan grant files --read /data";
  const result = withDenials({ content: [], isError: true }, [
    { message: "The sandbox hides /data/a.", hint },
    { message: "The sandbox hides /data.", hint },
    { message: "The sandbox hides /etc/x." },
  ]);
  expect(result.content).toEqual([
    { type: "text", text: `The sandbox hides /data/a. ${hint}\nThe sandbox hides /etc/x.` },
  ]);
  expect(result._meta).toMatchObject({ "portolan/sandbox": { denied: [{}, {}, {}] } });
  expect(withoutDenialText(result).content).toEqual([]);
});
