// Hint about services that end with the session.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { lingerHint } from "./manager.ts";

test("the command that keeps services without a session is named only while lingering is off", () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-linger-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "ann"), "");
  expect(lingerHint("ann", folder)).toEqual([]);
  expect(lingerHint("bob", folder)).toEqual([expect.stringContaining("loginctl enable-linger")]);
});
