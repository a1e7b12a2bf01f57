import { describe, expect, test } from "vitest";
import type { Mount, SandboxPolicy } from "../types.ts";
import { sandboxLayout } from "./layout.ts";

const system: Mount = { path: "/etc/group", access: "read", reason: "system" };
const extra = { mounts: [], files: [{ path: "/etc/resolv.conf", content: "" }] };

function layoutWith(...mounts: Mount[]) {
  const policy = { home: "/tmp/home", mounts: [system, ...mounts], limits: {} };
  return sandboxLayout({ policy: policy as unknown as SandboxPolicy, extra });
}

describe.runIf(process.platform === "linux")("sandboxLayout()", () => {
  test("a file of the system may be copied to the root of the sandbox", async () => {
    const steps = await layoutWith();
    expect(steps).toContainEqual(expect.objectContaining({ path: system.path, mayBeCopied: true }));
    expect(steps).toContainEqual({ kind: "file", path: "/etc/resolv.conf", content: "" });
  });

  test.for(["/etc", "/"])(
    "nothing is copied into a granted %s: that would change the machine",
    async (path) => {
      const steps = await layoutWith({ path, access: "write", reason: "declared" });
      expect(steps.filter((step) => "mayBeCopied" in step)).toEqual([]);
      expect(steps).toContainEqual({ kind: "file", path: "/etc/resolv.conf", content: "", isCover: true });
    },
  );
});
