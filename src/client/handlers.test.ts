// Handlers of server requests: the form in which they get a request.

import { expect, test } from "vitest";
import type { Diagnostic } from "../errors/index.ts";
import type { ElicitRequest, ElicitResult, Root, SampleResult } from "../model/index.ts";
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

const { signal: never } = new AbortController();
const TEXT = { type: "text", text: "hi" };
const SAMPLE = { role: "assistant" as const, content: TEXT, model: "m" };

test.each([
  ["hi", "is a text, not an object"],
  [undefined, "is of the type undefined, not an object"],
  [{ text: "hi" }, "/role: is required; /content: is required; /model: is required"],
  [{ ...SAMPLE, role: "system" }, "/role"],
  [{ ...SAMPLE, content: "hi" }, "/content: must be an object"],
  [{ ...SAMPLE, content: { type: "text" } }, "/content/text: is required"],
  [{ ...SAMPLE, content: [TEXT, { type: "image", data: "aGk=" }] }, "/content/1/mimeType: is required"],
  [{ ...SAMPLE, model: 5 }, "/model: must be a string"],
])("the completion %j is not sent to the server", async (answer, problem) => {
  const reports: Diagnostic[] = [];
  const handler = toServerRequestHandler({ sample: () => answer as SampleResult }, (one) =>
    reports.push(one),
  );
  const request = { id: 1, method: "sampling/createMessage", params: {}, signal: never, server: "poet" };
  await expect(handler(request)).rejects.toMatchObject({ code: "CALLBACK_FAILED", server: "poet" });
  expect(reports).toMatchObject([{ code: "CALLBACK_FAILED", server: "poet" }]);
  expect(reports[0]?.message).toContain('The answer of the function "handlers.sample" to server "poet"');
  expect(reports[0]?.message).toContain(problem);
});

test.each([
  SAMPLE,
  { ...SAMPLE, content: [TEXT, { type: "tool_use", id: "1" }], stopReason: undefined },
  { ...SAMPLE, content: [], stopReason: "endTurn" },
])("the completion %j is sent as it is", async (answer) => {
  const handler = toServerRequestHandler({ sample: () => answer as SampleResult });
  const request = { id: 1, method: "sampling/createMessage", params: {}, signal: never };
  expect(await handler(request)).toBe(answer);
});

test.each([
  [undefined, "roots must be a list, not undefined"],
  [["file:///a"], 'roots[0] must be an object, not "file:///a"'],
  [[{ uri: "/a b" }], 'roots[0].uri must be a URI such as "file:///workspace"'],
])("the roots %j of a function are an error, before a start and in an answer", async (roots, problem) => {
  const handlers = { roots: () => roots as Root[] };
  const error = { code: "CALLBACK_FAILED", message: expect.stringContaining(problem) as string };
  await expect(rootFolders(handlers)).rejects.toMatchObject(error);
  const request = { id: 1, method: "roots/list", params: {}, signal: never };
  await expect(toServerRequestHandler(handlers)(request)).rejects.toMatchObject(error);
});

test("a form whose schema cannot be used accepts any content", async () => {
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

test("an exception of handlers.roots, and a wrong URI, become a PortolanError", async () => {
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
