// Diagnostics as lines of text.

import { expect, test } from "vitest";
import { createColors } from "../terminal/colors.ts";
import { diagnosticLine, excerpt } from "./diagnostic.ts";

test("a line shows a file by the same name in its position and its message", () => {
  const file = "/home/me/work/portolan.yaml";
  const line = diagnosticLine(
    { code: "FILE_INVALID", severity: "warning", file, message: `${file} is not valid now` },
    (text) => text,
  );
  expect(line).toBe("portolan.yaml warning portolan.yaml is not valid now [FILE_INVALID]");
});

test("an excerpt of a file shows no value that looks like a secret", () => {
  const colors = createColors(false);
  const text = '{\n  "API_KEY": "BSA-my-secret",\n  "args": ["a",\n    "BSA-my-secret"]\n}';
  const view = { colors, width: 100, textOf: () => text };
  const literalSecret = "API_KEY";
  expect(excerpt({ file: "a.json", line: 2, column: 14, literalSecret }, view)).toEqual([
    '  2 │   "API_KEY": "********",',
    "    │              ^",
  ]);
  expect(excerpt({ file: "a.json", line: 4, column: 5, literalSecret }, view)[0]).toBe(
    '  4 │     "********"]',
  );
  expect(excerpt({ file: "a.json", line: 2 }, view).join()).not.toContain("BSA");
});
