// The error of a cancelled request.

import { expect, test } from "vitest";
import { cancelledRequest } from "./waiting.ts";

test.each([
  [{ method: "tools/call", params: { name: "echo" } }, "files: the call of echo was cancelled"],
  [{ method: "prompts/get", params: { name: "review" } }, "files: prompts/get of review was cancelled"],
  [{ method: "resources/read", params: { uri: "a://b" } }, "files: resources/read of a://b was cancelled"],
  [{ method: "tools/list" }, "files: tools/list was cancelled"],
])("%j", (request, message) => {
  const reason = new Error("stop");
  expect(cancelledRequest("files", request, reason)).toMatchObject({
    code: "CANCELLED",
    message,
    server: "files",
    cause: reason,
  });
});
