import { expect, onTestFinished, test, vi } from "vitest";
import type { Workspace } from "../../hub/index.ts";
import { createColors } from "../terminal/colors.ts";
import { createSpinner } from "../terminal/spinner.ts";
import { waitFor } from "./open.ts";

test("the time of a passphrase prompt does not count as waiting time for the servers", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const stream = { write: () => true } as unknown as NodeJS.WriteStream;
  const spinner = createSpinner({ stream, colors: createColors(false), enabled: false });
  const workspace = { health: () => [], settled: () => new Promise(() => {}) } as unknown as Workspace;
  let isOver = false;
  const waiting = waitFor(workspace, 1_000, new AbortController().signal, spinner).then(
    () => (isOver = true),
  );
  let answer = (): void => {};
  const typed = spinner.pausedFor(() => new Promise<void>((resolve) => (answer = resolve)));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(isOver).toBe(false);
  answer();
  await typed;
  await vi.advanceTimersByTimeAsync(999);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await waiting;
});
