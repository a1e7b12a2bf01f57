import { describe, expect, test } from "vitest";
import type { ServerConfig } from "../../model/index.ts";
import { checkFiles } from "./check-files.ts";

const server = { alias: "notes", origin: { file: "/w/portolan.yaml", line: 1, column: 1 } } as ServerConfig;
const caches = Array.from({ length: 60 }, (_, index) => ({
  path: `lib/__pycache__/part${index}.cpython-312.pyc`,
  state: "added" as const,
}));
const levels = (faults: Parameters<typeof checkFiles>[2]): string[] =>
  checkFiles(server, "notes@1.0.0", faults).map(({ severity }) => severity);

describe("findings that are counted, not listed", () => {
  test("are a warning if all added files are cache files of Python", () => {
    expect(new Set(levels({ faults: caches, isComplete: true }))).toEqual(new Set(["warning"]));
  });

  test("are an error if another file is among them", () => {
    const faults = [...caches, { path: "lib/main.py", state: "changed" as const }];
    expect(levels({ faults, isComplete: true }).at(-1)).toBe("error");
  });
});
