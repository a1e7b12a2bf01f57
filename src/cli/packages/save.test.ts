// The message of an interrupted add or update.

import { expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import { orUnchanged } from "./save.ts";

const run = (isAborted: boolean, error: unknown): Promise<unknown> => {
  const controller = new AbortController();
  if (isAborted) controller.abort(error);
  const interrupt = { signal: controller.signal, exitCode: undefined, dispose: () => {} };
  return orUnchanged({ interrupt }, "Nothing", () => Promise.reject(error as Error));
};

test("the error of an interrupt says that nothing was changed; other errors stay unchanged", async () => {
  const cancelled = new PortolanError("CANCELLED", "Interrupted by SIGINT.");
  await expect(run(true, cancelled)).rejects.toThrow("Interrupted. Nothing was changed.");
  await expect(run(true, new Error("aborted"))).rejects.toThrow("Nothing was changed");
  await expect(run(false, cancelled)).rejects.toBe(cancelled);
  const denied = new PortolanError("FORBIDDEN", "No.");
  await expect(run(true, denied)).rejects.toBe(denied);
});
