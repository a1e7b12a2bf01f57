// Handlers of server requests: the form in which they get a request.

import { expect, test } from "vitest";
import type { Diagnostic } from "../errors/index.ts";
import type { ElicitRequest, ElicitResult } from "../model/index.ts";
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

test.each([
  [{ action: "accept", content: { age: "old" } }, "/age: must be an integer"],
  [{ action: "accept", content: { age: 3, size: 4 } }, "size"],
  [{ action: "accept" }, "age"],
  [{ action: "yes" }, "has no valid action"],
  [undefined, "has no valid action"],
])(
  "the answer %j is not sent to the server, and the diagnostic names the server and the field",
  async (answer, problem) => {
    const reports: Diagnostic[] = [];
    const handler = toServerRequestHandler({ elicit: () => answer as ElicitResult }, (one) =>
      reports.push(one),
    );
    const requestedSchema = {
      type: "object",
      properties: { age: { type: "integer" } },
      required: ["age"],
      additionalProperties: false,
    };
    const params = { message: "How old?", requestedSchema };
    const { signal } = new AbortController();
    const request = { id: 1, method: "elicitation/create", params, signal, server: "forms" };
    await expect(handler(request)).rejects.toMatchObject({ code: "CALLBACK_FAILED", server: "forms" });
    expect(reports).toEqual([
      {
        code: "CALLBACK_FAILED",
        severity: "error",
        server: "forms",
        message: expect.stringContaining(problem) as string,
        hint: expect.stringContaining('The server got "cancel"') as string,
      },
    ]);
    expect(reports[0]?.message).toContain('The answer of the function "handlers.elicit" to server "forms"');
  },
);

test("a form whose schema cannot be used accepts every content", async () => {
  const handler = toServerRequestHandler({ elicit: () => ({ action: "accept", content: { a: 1 } }) });
  const params = {
    message: "?",
    requestedSchema: { type: "object", properties: { a: { $ref: "#/nowhere" } } },
  };
  const { signal } = new AbortController();
  expect(await handler({ id: 1, method: "elicitation/create", params, signal })).toMatchObject({
    content: { a: 1 },
  });
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
