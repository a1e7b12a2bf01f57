import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createColors } from "./colors.ts";
import { displayWidth } from "./layout.ts";
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

test("the spinner writes nothing for quick work", () => {
  const spinner = create();
  spinner.start("connecting");
  vi.advanceTimersByTime(290);
  spinner.stop();
  expect(written).toEqual([]);
});

test("the spinner shows label, progress and time, and clears its line", () => {
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

test("a new label keeps the clock of the work", () => {
  const spinner = create();
  spinner.start("waiting");
  spinner.update("half");
  vi.advanceTimersByTime(1_000);
  spinner.rename("x is slow");
  vi.advanceTimersByTime(400);
  expect(written.at(-1)).toMatch(/ x is slow 1\.\ds$/);
  spinner.stop();
});

test("the spinner writes nothing while it is paused", async () => {
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

test("the spinner fits the terminal, also with wide characters and with an unknown width", () => {
  for (const columns of [30, 0]) {
    const stream = { isTTY: true, columns, write: (text: string) => written.push(text) > 0 };
    const spinner = createSpinner({
      stream,
      colors: createColors(false),
      enabled: true,
      now: () => Date.now(),
    });
    spinner.start("漢字".repeat(50));
    vi.advanceTimersByTime(400);
    spinner.stop();
  }
  const widths = written
    .map((text) => displayWidth(text.replace("\r\u001b[K", "")))
    .filter((width) => width > 0);
  expect(widths.length).toBeGreaterThan(1);
  expect(widths[0]).toBeLessThan(30);
  expect(widths.at(-1)).toBeGreaterThan(60);
});

test("a disabled spinner writes nothing", () => {
  const spinner = create(false);
  spinner.start("calling");
  spinner.update("x");
  vi.advanceTimersByTime(5_000);
  spinner.stop();
  expect(written).toEqual([]);
});
