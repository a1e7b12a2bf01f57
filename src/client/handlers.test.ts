// Handlers of server requests: the form in which they get a request.

import { expect, test } from "vitest";
import type { ElicitRequest } from "../model/index.ts";
import { toServerRequestHandler } from "./handlers.ts";

test("a form of an earlier revision, which has no mode, gets the mode and the defaults of its fields", async () => {
  const requests: ElicitRequest[] = [];
  const answer = toServerRequestHandler({
    elicit: (request) => {
      requests.push(request);
      return { action: "accept" };
    },
  });
  const requestedSchema = { type: "object", properties: { city: { type: "string", default: "Oslo" } } };
  const params = { message: "Where?", requestedSchema };
  const { signal } = new AbortController();
  expect(await answer({ id: 1, method: "elicitation/create", params, signal })).toEqual({
    action: "accept",
    content: { city: "Oslo" },
  });
  expect(requests).toEqual([{ mode: "form", ...params }]);
});
