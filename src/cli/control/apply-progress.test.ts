import { expect, test } from "vitest";
import { progressText } from "./apply-progress.ts";

const server = { alias: "hang", state: "starting", transport: "stdio", program: "/usr/bin/node" } as const;

test("progressText() names the server, its state and its last line", () => {
  expect(progressText(server, " loading\u001b[2J models ")).toBe(
    "hang has not answered yet; its last line: loading models",
  );
  expect(progressText(server, undefined)).toBe("hang has not answered yet");
  expect(progressText({ ...server, program: undefined }, undefined)).toMatch(/^hang is starting$/);
  expect(progressText({ ...server, state: "ready" }, undefined)).toMatch(
    /^hang does not use the change yet$/,
  );
  expect(progressText({ ...server, transport: "http", program: undefined }, undefined)).toMatch(
    /^hang has not answered yet$/,
  );
});
