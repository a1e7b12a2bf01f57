// One tool call of the page: its progress, its questions, its end. A history of calls stays in this tab.

import { signal, type Signal } from "@preact/signals";
import { answer, ApiError, mcp } from "../api.ts";
import type { JsonMap, Schema, ToolResult } from "../types.ts";

/** A server request that waits for the person at the page. */
export interface Question {
  readonly id: string;
  readonly method: string;
  readonly params: {
    readonly message?: string;
    readonly mode?: string;
    readonly url?: string;
    readonly requestedSchema?: Schema;
    readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
    readonly systemPrompt?: string;
  };
}

export type RunState =
  | { readonly kind: "running" }
  | { readonly kind: "done"; readonly result: ToolResult }
  | { readonly kind: "failed"; readonly error: ApiError };

export interface Run {
  readonly key: number;
  readonly tool: string;
  readonly input: JsonMap;
  readonly startedAt: number;
  readonly state: Signal<RunState>;
  readonly durationMs: Signal<number | undefined>;
  readonly progress: Signal<{ progress: number; total?: number; message?: string } | undefined>;
  readonly logs: Signal<readonly string[]>;
  readonly questions: Signal<readonly Question[]>;
  readonly cancel: () => void;
}

/** The newest first. */
export const history = signal<readonly Run[]>([]);

const MAX_HISTORY = 50;
const MAX_LOGS = 200;
let count = 0;

export function startRun(tool: string, input: JsonMap): Run {
  const aborted = new AbortController();
  const run: Run = {
    key: (count += 1),
    tool,
    input,
    startedAt: Date.now(),
    state: signal<RunState>({ kind: "running" }),
    durationMs: signal(undefined),
    progress: signal(undefined),
    logs: signal([]),
    questions: signal([]),
    cancel: () => aborted.abort(),
  };
  history.value = [run, ...history.value].slice(0, MAX_HISTORY);
  const began = performance.now();
  const end = (state: RunState): void => {
    run.durationMs.value = performance.now() - began;
    run.questions.value = [];
    run.state.value = state;
  };
  mcp<ToolResult>(
    "tools/call",
    { name: tool, arguments: input },
    {
      signal: aborted.signal,
      onNote: (name, value) => {
        if (name === "progress") run.progress.value = value as { progress: number };
        if (name === "log") run.logs.value = [...run.logs.value, toText(value)].slice(-MAX_LOGS);
      },
      onAsk: (id, _name, value) => {
        run.questions.value = [...run.questions.value, { ...(value as Question), id }];
      },
    },
  ).then(
    (result) => end({ kind: "done", result }),
    (thrown: unknown) =>
      end({
        kind: "failed",
        error:
          thrown instanceof ApiError ? thrown : new ApiError({ code: "FAILED", message: String(thrown) }),
      }),
  );
  return run;
}

export async function reply(run: Run, question: Question, result: object | undefined): Promise<void> {
  run.questions.value = run.questions.value.filter(({ id }) => id !== question.id);
  await answer(question.id, result).catch(() => {});
}

function toText(value: unknown): string {
  const { level, data } = value as { level?: string; data?: unknown };
  return `${level ?? "info"}: ${typeof data === "string" ? data : JSON.stringify(data)}`;
}
