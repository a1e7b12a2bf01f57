// Prompts at the terminal. They go to stderr, so that stdout holds only the result.

import type { Readable, Writable } from "node:stream";
import { confirm, isCancel, multiselect, note, password, S_BAR, select, text } from "@clack/prompts";
import { cut, wrap } from "./layout.ts";

/** The kinds of prompts. An answer of undefined means that the user cancelled. */
export interface Prompter {
  say(message: string, title: string): void;
  text(question: {
    message: string;
    initial: string;
    check: (text: string) => string | undefined;
    signal: AbortSignal;
  }): Promise<string | undefined>;
  /** Like `text`, but without showing the typed characters. */
  password(question: {
    message: string;
    check: (text: string) => string | undefined;
    signal: AbortSignal;
  }): Promise<string | undefined>;
  /** If the values are `yes` and `no`, the letters y and n answer the question. */
  select(question: SelectQuestion): Promise<string | undefined>;
  multiselect(question: {
    message: string;
    options: { value: string; label: string }[];
    initial: string[];
    required: boolean;
    signal: AbortSignal;
  }): Promise<string[] | undefined>;
}

interface SelectQuestion {
  message: string;
  /** The hint is shown beside the option that is selected. */
  options: { value: string; label: string; hint?: string }[];
  initial: string | undefined;
  signal: AbortSignal;
}

const TYPED_AHEAD_MS = 1_000;

/**
 * Runs a prompt with a signal of its own, which nobody aborts after the answer: a prompt of the library never removes its abort
 * listener, and the listener of an answered prompt would end the prompt that is open then.
 */
async function answerTo<T>(
  signal: AbortSignal,
  prompt: (own: AbortSignal) => Promise<T>,
): Promise<Exclude<T, symbol> | undefined> {
  const own = new AbortController();
  const abort = (): void => own.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  try {
    const answer = await prompt(own.signal);
    return isCancel(answer) ? undefined : (answer as Exclude<T, symbol>);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

export function createClackPrompter(input: Readable, terminal: Terminal, color: boolean): Prompter {
  const output = color ? terminal : withoutColor(terminal);
  const streams = { input, output };
  const typedAhead = collectTypedAhead(input);
  return {
    say: (message, title) =>
      // A longer title would break the frame of the note, which takes 8 columns.
      note(message, cut(title, (terminal.columns || 80) - 8), { output, format: (line) => line }),
    text: ({ message, initial, check, signal }) =>
      answerTo(signal, (own) =>
        text({
          // Unlike the other prompts, this one does not wrap a long message itself.
          message: wrap(message, (terminal.columns || 80) - 4).replaceAll("\n", `\n${S_BAR}  `),
          initialValue: initial,
          validate: (value) => check(value ?? ""),
          signal: own,
          ...streams,
        }),
      ),
    password: ({ message, check, signal }) =>
      answerTo(signal, (own) => {
        const answer = password({
          message: wrap(message, (terminal.columns || 80) - 4).replaceAll("\n", `\n${S_BAR}  `),
          validate: (value) => check(value ?? ""),
          signal: own,
          ...streams,
        });
        typedAhead.replay();
        return answer;
      }),
    select: async (question) => {
      const { message, options, initial, signal } = question;
      const [first, second] = options.map(({ value }) => value).toSorted();
      if (options.length === 2 && first === "no" && second === "yes")
        return withoutLetters(input, () => askYesOrNo(question, streams));
      return withoutLetters(input, () =>
        answerTo(signal, (own) =>
          select<string>({
            message,
            options,
            initialValue: initial,
            maxItems: 15,
            signal: own,
            ...streams,
          }),
        ),
      );
    },
    multiselect: async ({ message, options, initial, required, signal }) =>
      withoutLetters(input, () =>
        answerTo(signal, (own) =>
          multiselect<string>({
            message,
            options,
            initialValues: initial,
            required,
            maxItems: 15,
            signal: own,
            ...streams,
          }),
        ),
      ),
  };
}

/**
 * Keeps the keys after the Enter that ended a prompt, if they came with it: a person may paste a new passphrase twice at once.
 * Only the next hidden input gets them; they must not answer a question that nobody has read.
 */
function collectTypedAhead(input: Readable): { readonly replay: () => void } {
  let keys: unknown[][] = [];
  // A prompt has listeners of its own until it ends.
  const isPrompting = (): boolean => input.listenerCount("keypress") > 1;
  input.on("keypress", (...key: unknown[]) => {
    if (isPrompting()) return;
    if (keys.length === 0) setTimeout(() => (keys = []), TYPED_AHEAD_MS).unref();
    keys.push(key);
  });
  return {
    replay: () => {
      while (isPrompting()) {
        const key = keys.shift();
        if (key === undefined) return;
        input.emit("keypress", ...key);
      }
    },
  };
}

async function askYesOrNo(
  { message, options, initial, signal }: SelectQuestion,
  streams: { input: Readable; output: Terminal },
): Promise<string | undefined> {
  // The library breaks long lines of this prompt in the middle of a word, or without the bar.
  const columns = (streams.output.columns || 80) - 6;
  const labelOf = (wanted: string): string =>
    wrap(options.find(({ value }) => value === wanted)?.label ?? wanted, columns).replaceAll(
      "\n",
      `\n${S_BAR}    `,
    );
  const answer = await answerTo(signal, (own) =>
    confirm({
      message: wrap(message, columns),
      active: labelOf("yes"),
      inactive: labelOf("no"),
      initialValue: initial === "yes",
      vertical: true,
      signal: own,
      ...streams,
    }),
  );
  return answer === undefined ? undefined : answer ? "yes" : "no";
}

/**
 * Runs a prompt for which letters do not move the selection: the library takes h, j, k and l for arrow keys, and letters that
 * a person typed ahead would change the answer.
 */
async function withoutLetters<T>(input: Readable, prompt: () => Promise<T>): Promise<T> {
  const onKey = (_text: string | undefined, key: { name?: string; ctrl?: boolean } | undefined): void => {
    // The library reads the same object after this listener.
    if (key?.ctrl !== true && /^[hjkl]$/.test(key?.name ?? "")) delete key?.name;
  };
  input.prependListener("keypress", onKey);
  try {
    return await prompt();
  } finally {
    input.off("keypress", onKey);
  }
}

type Terminal = Writable & { readonly columns?: number };

/** The same stream without colours: some versions of Node ignore NO_COLOR. */
function withoutColor(terminal: Terminal): Terminal {
  const write = (text: unknown, ...rest: unknown[]): boolean =>
    (terminal.write as (...args: unknown[]) => boolean).call(
      terminal,
      typeof text === "string" ? text.replace(/\u001b\[[\d;]*m/g, "") : text,
      ...rest,
    );
  return new Proxy(terminal, {
    get(target, name) {
      if (name === "write") return write;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
