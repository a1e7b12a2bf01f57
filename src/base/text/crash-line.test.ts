import { expect, test } from "vitest";
import { lineBeside } from "./crash-line.ts";

const STDERR = `/srv/x.js:2


SyntaxError: Unexpected end of input
    at wrapSafe (node:internal/modules/cjs/loader:1464:18)

Node.js v20.20.2
`;

test("lineBeside() adds the line that the message lacks", () => {
  expect(lineBeside("x exited with code 1: SyntaxError: Unexpected end of input", STDERR)).toBe("");
  expect(lineBeside("x exited with code 1", STDERR)).toBe("SyntaxError: Unexpected end of input");
  expect(lineBeside("x exited with code 1", "no token\n")).toBe("no token");
  expect(lineBeside("x exited with code 1", "")).toBe("");
});
