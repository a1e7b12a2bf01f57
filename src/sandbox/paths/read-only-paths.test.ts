import { expect, test } from "vitest";
import type { SandboxPolicy } from "../types.ts";
import { readOnlyPaths } from "./read-only-paths.ts";

test("names the content of a protected file: sandbox rules or secrets", () => {
  const protectedFile = (path: string): object => ({ path, access: "read", reason: "config file" });
  const mounts = [
    { path: "/w", access: "write", reason: "declared" },
    protectedFile("/w/portolan.yaml"),
    protectedFile("/w/.env"),
  ];
  const policy = { mounts, home: "/home" } as unknown as SandboxPolicy;
  const found = readOnlyPaths(["/w/portolan.yaml", "/w/.env", "/w/notes"], policy);
  expect(found.map(({ path, protectedAs }) => [path, protectedAs])).toEqual([
    ["/w/portolan.yaml", "a config file that can contain sandbox rules"],
    ["/w/.env", "a file with secrets"],
  ]);
});

test("a config file in the project of the program cannot be granted; another file of the project can", () => {
  const policy = { mounts: [{ path: "/w", access: "read", reason: "own" }], home: "/home" };
  const configFiles = new Set(["/w/portolan.yaml", "/w/.drivers"]);
  const words = ["/w/portolan.yaml", "/w/.drivers/DRIVER.md", "/w/notes.txt"];
  const found = readOnlyPaths(words, policy as unknown as SandboxPolicy, true, configFiles);
  expect(found.map(({ path, protectedAs, grant }) => [path, protectedAs, grant])).toEqual([
    ["/w/portolan.yaml", "a config file that can contain sandbox rules", undefined],
    ["/w/.drivers/DRIVER.md", "a config file that can contain sandbox rules", undefined],
    ["/w/notes.txt", undefined, "/w/notes.txt"],
  ]);
});
