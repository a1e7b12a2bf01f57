// Handlers of server requests: a secret that a server repeats is not shown.

import { expect, test } from "vitest";
import type { ElicitRequest } from "../../model/index.ts";
import { createRedactor, Secret } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import type { Spinner } from "../terminal/spinner.ts";
import { createHandlers } from "./handlers.ts";

test("a known secret in the text of an elicitation is redacted", async () => {
  const notes: string[] = [];
  const cli = {
    io: { stdin: {}, stderr: {}, openBrowser: async () => false },
    output: { note: (text: string) => notes.push(text), noteColors: { enabled: false } },
    options: { input: false },
  } as unknown as Cli;
  const spinner = { pausedFor: (work: () => unknown) => work() } as unknown as Spinner;
  const redactor = createRedactor();
  redactor.add(new Secret("typed-secret-value"));
  const request: ElicitRequest = {
    mode: "form",
    message: "Is typed-secret-value right?",
    requestedSchema: { type: "object", properties: {} },
  };
  const context = { signal: new AbortController().signal } as never;
  const { elicit } = createHandlers(cli, "x", spinner, false, redactor);
  expect(await elicit?.(request, context)).toEqual({ action: "decline" });
  expect(notes.join("\n")).toContain("Is [redacted] right?");
  await createHandlers(cli, "x", spinner, false).elicit?.(request, context);
  expect(notes.join("\n")).toContain("Is typed-secret-value right?");
});
