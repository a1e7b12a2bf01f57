import { resolve } from "node:path";
import { expect, test } from "vitest";
import type { SandboxConfig } from "../model/index.ts";
import { validateSandbox } from "./validate-config.ts";

test("accepts every sandbox setting", () => {
  const whole: SandboxConfig = {
    mode: "enforce",
    backend: "bubblewrap",
    network: ["example.com", "*.example.com:8443"],
    fs: { read: ["/data"], write: ["~/notes"], deny: ["/data/private"] },
    env: { pass: ["LANG"], set: { A: "b" } },
    exec: { allow: ["git"], spawn: false },
    home: "kept",
    limits: { memoryBytes: 1e9, niceness: 5 },
    pathArguments: { "*": ["path"] },
  };
  expect(() => validateSandbox(whole, "it")).not.toThrow();
  expect(() => validateSandbox(undefined, "it")).not.toThrow();
});

test.each([
  [{ backend: "none" }, "backend must be"],
  [{ backend: "foo" }, "backend must be"],
  [{ fs: { deny: ["etc/shadow"] } }, "absolute path"],
  [{ fs: { write: ["./notes"] } }, `not "./notes": write ${JSON.stringify(resolve("notes"))}`],
  [{ fs: { read: ["${HOME}/a"] } }, /begin with ~\/, not "\$\{HOME\}\/a"$/],
  [{ fs: { raed: [] } }, "fs has no setting raed"],
  [{ limits: { memory: "1GB" } }, "limits has no setting memory"],
  [{ limits: { memoryBytes: -1 } }, "at least 0"],
  [{ exec: { spwan: false } }, "exec has no setting spwan"],
  [{ home: "keep" }, "home must be"],
  [{ env: { pass: "PATH" } }, "pass must be a list"],
  [{ network: ["http://x.test/"] }, "network[0]: It is a URL. Write x.test."],
  [{ nework: [] }, "sandbox has no setting nework"],
  ["enforce", 'sandbox must be "enforce", "warn", "off" or an object'],
])("refuses %j", (sandbox, message) => {
  const check = (): void => validateSandbox(sandbox as SandboxConfig, "it");
  expect(check).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  expect(check).toThrow(message);
});
