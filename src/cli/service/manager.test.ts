// Hints about services that end with the session, and about machines without a service manager.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { CliIo } from "../context.ts";
import { lingerHint, runAll } from "./manager.ts";

test("the hint names loginctl enable-linger only while lingering is off", () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-linger-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "ann"), "");
  expect(lingerHint("ann", folder)).toEqual([]);
  expect(lingerHint("bob", folder)).toEqual([expect.stringContaining("loginctl enable-linger")]);
});

test("the error of a failed service manager names ways without a service manager", async () => {
  const io = { platform: "linux", env: { PATH: process.env["PATH"] } } as unknown as CliIo;
  const hint = expect.stringMatching(
    /portolan serve --daemon\..*docs\/guides\/operation\.md#without-systemd/,
  ) as string;
  await expect(runAll(io, [["sh", "-c", "echo no bus >&2; exit 1"]])).rejects.toMatchObject({
    message: expect.stringContaining("no bus") as string,
    hint,
  });
  // In a container, there is often no such program.
  await expect(runAll(io, [["no-such-systemctl", "--user"]])).rejects.toMatchObject({
    message: 'no-such-systemctl --user failed: cannot start "no-such-systemctl": no such program',
    hint,
  });
  const section = readFileSync(new URL("../../../docs/guides/operation.md", import.meta.url), "utf8");
  expect(section).toContain("\n## Without systemd\n");
});
