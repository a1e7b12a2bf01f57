// Handlers of server requests: the form in which they get a request.

import { expect, test } from "vitest";
import type { ElicitRequest } from "../model/index.ts";
import { rootFolders, toServerRequestHandler } from "./handlers.ts";

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

test("an exception of roots, and a wrong URI, are errors of Portolan", async () => {
  const thrown = new Error("no folder is open");
  const failing = [
    () => {
      throw thrown;
    },
    () => Promise.reject(thrown),
  ];
  for (const roots of failing)
    await expect(rootFolders({ roots })).rejects.toMatchObject({
      name: "PortolanError",
      code: "CALLBACK_FAILED",
      message: 'The function "handlers.roots" of your program failed: no folder is open',
      cause: thrown,
    });
  const wrong = [{ uri: "file:///a%2Fb" }];
  await expect(rootFolders({ roots: () => wrong })).rejects.toMatchObject({ code: "CALLBACK_FAILED" });
  await expect(rootFolders({ roots: wrong })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  expect(await rootFolders({ roots: () => [{ uri: "file:///a" }, { uri: "https://example.com" }] })).toEqual([
    "/a",
  ]);
  expect(await rootFolders({})).toEqual([]);
});
