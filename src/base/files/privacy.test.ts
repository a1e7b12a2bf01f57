import { tmpdir } from "node:os";
import { expect, test, vi } from "vitest";
import { privacyHint, privacyProblem } from "./privacy.ts";

test("the hint says how to make an own folder private, and what to do about the folder of another user", () => {
  expect(privacyHint("/home/ann/my data", "other users can access it", "set X.")).toMatch(
    /chmod 700 '\/home\/ann\/my data'$/,
  );
  expect(privacyHint("/tmp/portolan-1000", "it belongs to another user", "set X.")).toBe(
    "Ask an administrator to remove the folder, or use another folder: set X.",
  );
});

test("the folder of another user is not private", async () => {
  const own = process.getuid?.() ?? 0;
  vi.spyOn(process, "getuid").mockReturnValue(own + 100_000);
  try {
    expect(await privacyProblem(tmpdir())).toBe("it belongs to another user");
  } finally {
    vi.restoreAllMocks();
  }
});
