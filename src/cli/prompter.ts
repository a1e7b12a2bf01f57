// The prompter for a real terminal. Questions go to stderr, so that stdout stays for the result.

import type { Readable, Writable } from "node:stream";
import { isCancel, multiselect, note, select, text } from "@clack/prompts";
import type { Prompter } from "./elicit.ts";

/** A prompt never takes its listener off again, so each gets a signal of its own. */
const own = (signal: AbortSignal): AbortSignal => AbortSignal.any([signal]);

export function createClackPrompter(input: Readable, output: Writable): Prompter {
  const streams = { input, output };
  return {
    say: (message, title) => note(message, title, { output, format: (line) => line }),
    text: async ({ message, initial, check, signal }) =>
      chosen(
        await text({
          message,
          initialValue: initial,
          validate: (value) => check(value ?? ""),
          signal: own(signal),
          ...streams,
        }),
      ),
    select: async ({ message, options, initial, signal }) =>
      chosen(
        await select<string>({
          message,
          options,
          ...(initial === undefined ? {} : { initialValue: initial }),
          maxItems: 15,
          signal: own(signal),
          ...streams,
        }),
      ),
    multiselect: async ({ message, options, initial, required, signal }) =>
      chosen(
        await multiselect<string>({
          message,
          options,
          initialValues: initial,
          required,
          maxItems: 15,
          signal: own(signal),
          ...streams,
        }),
      ),
  };
}

function chosen<T>(value: T): Exclude<T, symbol> | undefined {
  return isCancel(value) ? undefined : (value as Exclude<T, symbol>);
}
