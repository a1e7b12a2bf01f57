// Progress of a request beside the spinner, and of slow work without a terminal.

import { expect, onTestFinished, test, vi } from "vitest";
import type { Spinner } from "../terminal/spinner.ts";
import { requestProgress, withSlowNote } from "./progress.ts";

test("progress with a message and no total is shown as the message alone", () => {
  const shown: string[] = [];
  const spinner = { start: () => {}, update: (text: string) => void shown.push(text) } as unknown as Spinner;
  const interrupt = { signal: new AbortController().signal } as never;
  const { onProgress } = requestProgress({ interrupt }, spinner)("calling");
  onProgress?.({ progress: 0.000001, message: "Waits for approval" });
  onProgress?.({ progress: 3, total: 10, message: "files" });
  onProgress?.({ progress: 3 });
  expect(shown).toEqual(["Waits for approval", "3 of 10, files", "3"]);
});

test.each([
  [
    "without a terminal, slow work prints a note",
    { isTTY: false },
    1_500,
    ["Please wait: installing hello@1.0.0"],
  ],
  ["without a terminal, quick work prints no note", { isTTY: false }, 500, []],
  ["at a terminal, which has a spinner, slow work prints no note", { isTTY: true }, 1_500, []],
])("%s", async (_name, stderr, ms, expected) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const notes: string[] = [];
  const cli = { io: { stderr, env: {} }, output: { note: (text: string) => notes.push(text) } } as never;
  let doing = "starting hello";
  const done = withSlowNote(
    cli,
    () => doing,
    () => new Promise((resolve) => setTimeout(() => resolve("done"), ms)),
  );
  doing = "installing hello@1.0.0";
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await done).toBe("done");
  expect(notes).toEqual(expected);
});
