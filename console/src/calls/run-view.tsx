// A running or finished call: progress, log lines, questions, result.

import type { JSX } from "preact";
import { appUriOf } from "../../../src/model/protocol/apps.ts";
import type { NamedTool } from "../state/lists.ts";
import { formatMs } from "../ui/format.ts";
import { lazy } from "../ui/lazy.tsx";
import { Button, ErrorMessage, State } from "../ui/parts.tsx";
import { QuestionView } from "./question.tsx";
import { ResultView } from "./result.tsx";
import type { Run } from "./run.ts";

const AppView = lazy(async () => (await import("../apps/app-view.tsx")).AppView);

export function RunView({ run, tool }: { readonly run: Run; readonly tool: NamedTool }): JSX.Element {
  const state = run.state.value;
  const progress = run.progress.value;
  const isRunning = state.kind === "running";
  return (
    <section class="card run" aria-label={`Call of ${run.tool}`} aria-busy={isRunning}>
      <div class="run-head">
        <span role="status">
          {isRunning ? (
            <State tone="accent">
              {run.questions.value.length > 0 ? "waiting for your answer" : "running"}
            </State>
          ) : state.kind === "failed" ? (
            <State tone="bad">failed</State>
          ) : state.result.isError === true ? (
            <State tone="bad">tool error</State>
          ) : (
            <State tone="ok">done</State>
          )}
        </span>
        {run.durationMs.value !== undefined && <span class="muted">{formatMs(run.durationMs.value)}</span>}
        {isRunning && (
          <Button icon="close" onClick={run.cancel}>
            Cancel
          </Button>
        )}
      </div>
      {isRunning && progress && (
        <div class="progress-row">
          <progress value={progress.progress} max={progress.total} aria-label="Progress" />
          <span class="small muted">
            {progress.message ??
              `${progress.progress}${progress.total === undefined ? "" : ` of ${progress.total}`}`}
          </span>
        </div>
      )}
      {run.questions.value.map((question) => (
        <QuestionView key={question.id} run={run} question={question} />
      ))}
      {run.logs.value.length > 0 && (
        <details>
          <summary>Log lines of the server ({run.logs.value.length})</summary>
          <pre tabIndex={0}>{run.logs.value.join("\n")}</pre>
        </details>
      )}
      {appUriOf(tool) !== undefined && <AppView run={run} tool={tool} />}
      {state.kind === "failed" && <ErrorMessage error={state.error} />}
      {state.kind === "done" && <ResultView result={state.result} />}
    </section>
  );
}
