// Errors of waits that end early: a cancelled request, and a call that was or was not sent.

import { expect, test } from "vitest";
import { isPortolanError } from "../errors/index.ts";
import { cancelledRequest, within } from "./waiting.ts";

test.each([
  [{ method: "tools/call", params: { name: "echo" } }, "files: the call of echo was cancelled"],
  [{ method: "prompts/get", params: { name: "review" } }, "files: prompts/get of review was cancelled"],
  [{ method: "resources/read", params: { uri: "a://b" } }, "files: resources/read of a://b was cancelled"],
  [{ method: "tools/list" }, "files: tools/list was cancelled"],
])("the error of the cancelled request %j names the request", (request, message) => {
  const reason = new Error("stop");
  expect(cancelledRequest("files", request, reason)).toMatchObject({
    code: "CANCELLED",
    message,
    server: "files",
    cause: reason,
  });
});

test.each([true, false])(
  "the error of a timeout says whether the call may have run, if sent is %j",
  async (isSent) => {
    const limit = { server: "files", what: "starting", ms: 1, signal: undefined, isSent };
    const late: unknown = await within(new Promise(() => {}), limit).catch((error: unknown) => error);
    expect(late).toMatchObject({ code: "TIMEOUT", data: { timeoutMs: 1 } });
    if (!isPortolanError(late)) throw late;
    expect(late.data.neverRan).toBe(isSent ? undefined : true);
    expect(late.hint.includes("may or may not have taken effect")).toBe(isSent);
  },
);

test("the error of a wait that is cancelled before the call says that the call was not sent", async () => {
  const limit = { server: "files", what: "starting", ms: 0, signal: AbortSignal.abort() };
  await expect(within(new Promise(() => {}), limit)).rejects.toMatchObject({
    code: "CANCELLED",
    data: { neverRan: true },
    hint: "The call was not sent to the server.",
  });
});
