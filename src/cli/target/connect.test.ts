import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { probeCommand } from "./connect.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portolan-probe-"));
  writeFileSync(join(folder, "tool"), "#!/bin/sh\n");
  chmodSync(join(folder, "tool"), 0o755);
  writeFileSync(join(folder, "server.js"), "");
  mkdirSync(join(folder, "sub"));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const probe = (command: string, path = folder): string =>
  probeCommand(command, { cwd: folder, path, windows: false });

test("probeCommand finds programs on PATH and by path", () => {
  expect(probe("tool")).toBe("found");
  expect(probe("./tool")).toBe("found");
  expect(probe(join(folder, "tool"))).toBe("found");
  expect(probe("sub/../tool", "/nowhere")).toBe("found");
});

test("probeCommand returns the reason why a command cannot be started", () => {
  expect(probe("tool", "/nowhere")).toBe("missing");
  expect(probe("./nope")).toBe("missing");
  expect(probe("./sub")).toBe("directory");
  expect(probe("sub", "/nowhere")).toBe("directory");
  expect(probe("./server.js")).toBe("not-executable");
  expect(probe("server.js", "/nowhere")).toBe("not-executable");
});
