import { expect, test } from "vitest";
import { findNamed, type OtherNames, toolNotFound } from "./find-named.ts";

const others: Readonly<Record<string, OtherNames>> = {
  full_a: { also: ["a.x"], own: { server: "a", name: "x" } },
  full_b: { also: ["b.x"], own: { server: "b", name: "x" } },
  full_c: { also: ["c.y"], own: { server: "c", name: "y" } },
  y: { also: ["d.z"], own: { server: "d", name: "z" } },
};
const items = Object.keys(others).map((name) => ({ name }));
const find = (word: string): string | undefined =>
  findNamed(word, "tool", items, (_kind, listed) => others[listed] ?? {})?.name;

test("a listed name has priority over the server's own name of another tool", () => {
  expect(find("full_a")).toBe("full_a");
  expect(find("b.x")).toBe("full_b");
  expect(find("z")).toBe("y");
  expect(find("y")).toBe("y");
  expect(find("c.y")).toBe("full_c");
  expect(find("nothing")).toBeUndefined();
});

test("a tool name that two servers have is an error that names both servers", () => {
  expect(() => find("x")).toThrow('2 servers have a tool "x": a, b.');
});

test("the hint about an unknown tool lists each tool once, in the form that the user typed", () => {
  const tools = [{ name: "mcp_remote_echo" }];
  const others = () => ({ own: { server: "remote", name: "echo" }, also: ["remote.echo"] });
  const hint = (typed: string): string => toolNotFound(typed, "remote", tools, () => undefined, others).hint;
  expect(hint("remote.zzzzzzzzz")).toBe("There is: remote.echo.");
  expect(hint("zzzzzzzzz")).toBe("There is: echo.");
});
