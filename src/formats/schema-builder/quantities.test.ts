// Reading sizes such as "512MB".

import { expect, test } from "vitest";
import { SIZE_PATTERN, parseSize } from "./quantities.ts";

test.each<[string | number, number | undefined]>([
  [4096, 4_096],
  ["4096", 4_096],
  ["4096B", 4_096],
  ["1KB", 1_000],
  ["1 KiB", 1_024],
  ["1.5MB", 1_500_000],
  ["512MiB", 536_870_912],
  ["512mb", 512_000_000],
  ["2G", 2_000_000_000],
  ["1GiB", 1_073_741_824],
  ["0", undefined],
  ["0.4B", undefined],
  ["-1MB", undefined],
  ["1TB", undefined],
  ["much", undefined],
  ["", undefined],
  ["99999999999GB", undefined],
])("parseSize reads %j as %j bytes", (written, bytes) => {
  expect(parseSize(written)).toBe(bytes);
  if (bytes !== undefined) expect(String(written)).toMatch(new RegExp(SIZE_PATTERN));
});
