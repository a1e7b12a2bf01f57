import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createColors } from "./colors.ts";
import { createSpinner, type Spinner } from "./spinner.ts";

let written: string[];

beforeEach(() => {
  written = [];
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

const create = (enabled = true): Spinner =>
  createSpinner({
    stream: { columns: 60, write: (text) => written.push(text) > 0 },
    colors: createColors(false),
    enabled,
    now: () => Date.now(),
  });

test("says nothing for quick things", () => {
  const spinner = create();
  spinner.start("connecting");
  vi.advanceTimersByTime(290);
  spinner.stop();
  expect(written).toEqual([]);
});

test("shows label, news and time, and clears its line", () => {
  const spinner = create();
  spinner.start("calling echo");
  vi.advanceTimersByTime(400);
  spinner.update("3 of 10\u001b[2J\nfiles");
  vi.advanceTimersByTime(1_000);
  expect(written.at(-1)).toMatch(/calling echo: 3 of 10 files 1\.\ds$/);
  spinner.stop();
  expect(written.at(-1)).toBe("\r\u001b[K");
  const count = written.length;
  vi.advanceTimersByTime(1_000);
  expect(written).toHaveLength(count);
});

test("leaves the terminal alone while something else has it", async () => {
  const spinner = create();
  spinner.start("calling");
  vi.advanceTimersByTime(400);
  await spinner.pausedFor(async () => {
    const count = written.length;
    vi.advanceTimersByTime(1_000);
    expect(written).toHaveLength(count);
  });
  vi.advanceTimersByTime(100);
  expect(written.at(-1)).toMatch(/calling/);
  spinner.stop();
});

test("switched off, it writes nothing", () => {
  const spinner = create(false);
  spinner.start("calling");
  spinner.update("x");
  vi.advanceTimersByTime(5_000);
  spinner.stop();
  expect(written).toEqual([]);
});
