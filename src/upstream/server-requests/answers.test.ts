// The hint for a call that fails because no handler can answer the input that a server requires.

import { expect, test } from "vitest";
import { ERROR_CODES } from "../../errors/index.ts";
import { answerInputRequests } from "./answers.ts";

const place = { server: "math", signal: new AbortController().signal };

test.each([
  ["sampling/createMessage", undefined, ERROR_CODES.CAPABILITY_MISSING.hint],
  [
    "sampling/createMessage",
    () => Promise.reject(new Error("no quota")),
    "The handler of this server request failed",
  ],
  ["tea/make", undefined, "Report this to the author of the server"],
])("the error for %s with the handler %s has a hint", async (method, handler, hint) => {
  await expect(answerInputRequests(handler, { one: { method } }, place, () => {})).rejects.toMatchObject({
    code: "CAPABILITY_MISSING",
    hint: expect.stringContaining(hint) as string,
  });
});
