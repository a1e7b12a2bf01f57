// Elicitation at the terminal: asks for a form field by field, or opens a web page after consent.

import { isHttpUrl, isSecureUrl, parseUrl } from "../../base/net/urls.ts";
import type {
  ElicitFormRequest,
  ElicitRequest,
  ElicitResult,
  ElicitUrlRequest,
  JsonObject,
} from "../../model/index.ts";
import { setOwn } from "../arguments/json-schema.ts";
import type { Prompter } from "../terminal/prompter.ts";
import { plainLine, plainText } from "../terminal/safe-text.ts";
import { type Field, MAX_FIELDS, toFields } from "./elicitation-form.ts";

export interface ElicitContext {
  /** The name that the user gave the server, never the one it gives itself. */
  readonly server: string;
  /** Undefined without a terminal: then every request is declined. */
  readonly prompter: (() => Promise<Prompter>) | undefined;
  readonly note: (text: string) => void;
  readonly openBrowser: (url: string) => Promise<boolean>;
  /** Pauses the spinner while a prompt uses the terminal. */
  readonly withTerminal: <T>(work: () => Promise<T>) => Promise<T>;
}

export type Elicit = (request: ElicitRequest, context: { signal: AbortSignal }) => Promise<ElicitResult>;

class Cancelled extends Error {}

/** Answers one request after the other, even when a server sends several at once. */
export function createElicit(context: ElicitContext): Elicit {
  let last: Promise<unknown> = Promise.resolve();
  const decline = createDecline(context);
  return (request, { signal }) => {
    const answer = last.then(() => {
      if (signal.aborted) return { action: "cancel" as const };
      const { prompter } = context;
      if (prompter === undefined) return decline(request);
      return context.withTerminal(async () => elicit(request, signal, await prompter(), context));
    });
    last = answer.catch(() => {});
    return answer;
  };
}

/** Without a terminal, shows and declines every request; the reason is shown once. */
function createDecline({ server, note }: ElicitContext): (request: ElicitRequest) => ElicitResult {
  let isExplained = false;
  return (request) => {
    note(`${plainLine(server, 100)} requests input: ${plainLine(request.message, 300)}`);
    if (!isExplained)
      note(
        "Portolan declined the request, because it cannot ask you here. To answer such requests, run the command at a terminal, without --no-input. Stdin and stderr must be the terminal, so redirect neither of them.",
      );
    isExplained = true;
    return { action: "decline" };
  };
}

async function elicit(
  request: ElicitRequest,
  signal: AbortSignal,
  prompter: Prompter,
  context: ElicitContext,
): Promise<ElicitResult> {
  try {
    return request.mode === "url"
      ? await askForPage(request, signal, prompter, context)
      : await askForForm(request, signal, prompter, context);
  } catch (thrown) {
    if (thrown instanceof Cancelled) return { action: "cancel" };
    throw thrown;
  }
}

async function askForForm(
  request: ElicitFormRequest,
  signal: AbortSignal,
  prompter: Prompter,
  context: ElicitContext,
): Promise<ElicitResult> {
  const fields = toFields(request.requestedSchema);
  if (fields === undefined) {
    context.note(
      `${context.server} sent a form with more than ${MAX_FIELDS} fields. Portolan declined the request.`,
    );
    return { action: "decline" };
  }
  prompter.say(plainText(request.message), `A request from ${plainLine(context.server, 100)}`);
  const choose = (message: string, options: [string, string][]): Promise<string> =>
    answered(
      prompter.select({
        message,
        options: options.map(([value, label]) => ({ value, label })),
        initial: undefined,
        signal,
      }),
    );
  if (
    fields.length > 0 &&
    (await choose("Answer?", [
      ["answer", "Answer"],
      ["decline", "Decline"],
    ])) === "decline"
  )
    return { action: "decline" };
  let previous: JsonObject = {};
  for (;;) {
    const content: JsonObject = {};
    for (const field of fields) {
      const value = await ask(field, previous[field.key], prompter, signal);
      if (value !== undefined) setOwn(content, field.key, value);
    }
    if (fields.length === 1) return { action: "accept", content };
    const options: [string, string][] =
      fields.length === 0
        ? [
            ["send", "Accept"],
            ["decline", "Decline"],
          ]
        : [
            ["send", "Send"],
            ["change", "Change"],
            ["decline", "Decline"],
          ];
    const choice = await choose(fields.length === 0 ? "Accept?" : "Send these answers?", options);
    if (choice === "send") return { action: "accept", content };
    if (choice === "decline") return { action: "decline" };
    previous = content;
  }
}

async function ask(
  field: Field,
  previous: unknown,
  prompter: Prompter,
  signal: AbortSignal,
): Promise<unknown> {
  const message = field.label;
  switch (field.kind) {
    case "text": {
      const initial =
        previous === undefined
          ? field.initial
          : typeof previous === "string"
            ? previous
            : JSON.stringify(previous);
      return field.read(await answered(prompter.text({ message, initial, check: field.check, signal })));
    }
    case "boolean": {
      const options = [
        { value: "true", label: "Yes" },
        { value: "false", label: "No" },
        ...(field.required ? [] : [SKIP]),
      ];
      const before = typeof previous === "boolean" ? previous : field.initial;
      const initial = before === undefined ? (field.required ? "false" : SKIP.value) : String(before);
      const value = await answered(prompter.select({ message, options, initial, signal }));
      return value === SKIP.value ? undefined : value === "true";
    }
    case "choice": {
      const options = [
        ...field.choices.map((choice, index) => ({ value: String(index), label: choice.label })),
        ...(field.required ? [] : [SKIP]),
      ];
      const before = field.choices.findIndex((choice) => choice.value === (previous ?? field.initial));
      const initial = before >= 0 ? String(before) : field.required ? undefined : SKIP.value;
      const value = await answered(prompter.select({ message, options, initial, signal }));
      return value === SKIP.value ? undefined : field.choices[Number(value)]?.value;
    }
    case "choices":
      return askForSeveral(field, previous, prompter, signal);
  }
}

async function askForSeveral(
  field: Field & { kind: "choices" },
  previous: unknown,
  prompter: Prompter,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  const options = field.choices.map((choice, index) => ({ value: String(index), label: choice.label }));
  let chosen: readonly unknown[] = Array.isArray(previous) ? previous : field.initial;
  let message = field.label;
  for (;;) {
    const initial = options
      .filter((_, index) => chosen.includes(field.choices[index]?.value))
      .map((option) => option.value);
    const indexes = await answered(
      prompter.multiselect({ message, options, initial, required: field.required && field.min > 0, signal }),
    );
    const values = indexes.flatMap((index) => field.choices[Number(index)]?.value ?? []);
    if (values.length === 0 && !field.required) return undefined;
    if (values.length >= field.min && values.length <= field.max) return values;
    chosen = values;
    message = `${field.label} - ${choiceRule(field)}`;
  }
}

function choiceRule({ min, max, required }: Field & { kind: "choices" }): string {
  const count = min === max ? `exactly ${min}` : `${min} to ${max} of these`;
  return `choose ${count}${required || min === 0 ? "" : ", or none"}`;
}

async function askForPage(
  request: ElicitUrlRequest,
  signal: AbortSignal,
  prompter: Prompter,
  context: ElicitContext,
): Promise<ElicitResult> {
  const url = parsePage(request.url);
  if (url === undefined) {
    context.note(
      `${context.server} requested to open an address that is not a web page (${plainLine(request.url, 200)}). Portolan declined the request.`,
    );
    return { action: "decline" };
  }
  const warning = isSecureUrl(url) ? "" : "\nThe page is not encrypted (http).";
  prompter.say(
    `${plainText(request.message)}\n\nhost  ${url.host}\nURL   ${url.href}${warning}`,
    `A web page to open, from ${plainLine(context.server, 100)}`,
  );
  const choice = await answered(
    prompter.select({
      message: `Open ${url.host}?`,
      options: [
        { value: "decline", label: "No, decline" },
        { value: "open", label: "Yes, open it in the browser" },
        { value: "self", label: "Yes, I open it myself" },
      ],
      initial: "decline",
      signal,
    }),
  );
  if (choice === "decline") return { action: "decline" };
  if (choice === "self" || !(await context.openBrowser(url.href)))
    context.note(`Open this page: ${url.href}`);
  return { action: "accept" };
}

/** Opens only web pages, by the URL as the parser spells it. */
function parsePage(text: unknown): URL | undefined {
  const url = typeof text === "string" ? parseUrl(text) : undefined;
  return url !== undefined && isHttpUrl(url) ? url : undefined;
}

const SKIP = { value: "skip", label: "(no answer)" };

async function answered<T>(answer: Promise<T | undefined>): Promise<T> {
  const value = await answer;
  if (value === undefined) throw new Cancelled();
  return value;
}
