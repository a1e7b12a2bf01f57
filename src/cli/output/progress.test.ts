// Progress of a request beside the spinner.

import { expect, test } from "vitest";
import type { Spinner } from "../terminal/spinner.ts";
import { requestProgress } from "./progress.ts";

test("a message without a total is shown without the number, which only says that the server works", () => {
  const shown: string[] = [];
  const spinner = { start: () => {}, update: (text: string) => void shown.push(text) } as unknown as Spinner;
  const interrupt = { signal: new AbortController().signal } as never;
  const { onProgress } = requestProgress({ interrupt }, spinner)("calling");
  onProgress?.({ progress: 0.000001, message: "Waits for approval" });
  onProgress?.({ progress: 3, total: 10, message: "files" });
  onProgress?.({ progress: 3 });
  expect(shown).toEqual(["Waits for approval", "3 of 10, files", "3"]);
});
