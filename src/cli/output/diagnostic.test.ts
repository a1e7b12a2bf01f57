// Diagnostics as lines of text.

import { expect, test } from "vitest";
import { diagnosticLine } from "./diagnostic.ts";

test("a file has one spelling in a line", () => {
  const file = "/home/me/work/portolan.yaml";
  const line = diagnosticLine(
    { code: "FILE_INVALID", severity: "warning", file, message: `${file} is not valid now` },
    (text) => text,
  );
  expect(line).toBe("portolan.yaml warning portolan.yaml is not valid now [FILE_INVALID]");
});
