// Server request during a call: an elicitation by form or by address, or a request for a model's answer. The person answers it here.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { SchemaForm } from "../forms/schema-form.tsx";
import { initialValue, problemsOf } from "../forms/schema.ts";
import type { Json, JsonMap } from "../types.ts";
import { JsonTree } from "../ui/json-tree.tsx";
import { Button } from "../ui/parts.tsx";
import { type Question, reply, type Run } from "./run.ts";

const NO_PROBLEMS: ReadonlyMap<string, string> = new Map();

export function QuestionView({
  run,
  question,
}: {
  readonly run: Run;
  readonly question: Question;
}): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const { method, params } = question;
  const server = run.tool;
  return (
    <section class="question" aria-labelledby={`q-${question.id}`}>
      <h3 id={`q-${question.id}`} tabIndex={-1} ref={heading}>
        {method === "sampling/createMessage"
          ? "The server requests a response from a model"
          : "This call needs input from you"}
      </h3>
      <p class="muted small">During the call of the tool {server}</p>
      {params.message && <p class="question-text">{params.message}</p>}
      {method === "sampling/createMessage" ? (
        <SamplingAnswer run={run} question={question} />
      ) : params.mode === "url" || params.url !== undefined ? (
        <UrlAnswer run={run} question={question} />
      ) : method === "elicitation/create" ? (
        <FormAnswer run={run} question={question} />
      ) : (
        <>
          <JsonTree value={params as unknown as Json} />
          <Button onClick={() => reply(run, question, undefined)}>Decline</Button>
        </>
      )}
    </section>
  );
}

interface AnswerProps {
  readonly run: Run;
  readonly question: Question;
}

function FormAnswer({ run, question }: AnswerProps): JSX.Element {
  const schema = question.params.requestedSchema ?? {};
  const value = useSignal<JsonMap>(initialValue(schema));
  const problems = useSignal(NO_PROBLEMS);
  const accept = (): void => {
    problems.value = problemsOf(schema, value.value);
    if (problems.value.size === 0) void reply(run, question, { action: "accept", content: value.value });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        accept();
      }}
    >
      <SchemaForm
        schema={schema}
        value={value.value}
        problems={problems.value}
        onChange={(next) => (value.value = next)}
      />
      <p class="help">Portolan can send your answer to the server. Do not enter passwords or tokens here.</p>
      <div class="actions">
        <button type="submit" class="button primary">
          Answer
        </button>
        <Button onClick={() => reply(run, question, { action: "decline" })}>Decline</Button>
        <Button kind="quiet" onClick={() => reply(run, question, { action: "cancel" })}>
          Dismiss
        </Button>
      </div>
    </form>
  );
}

function UrlAnswer({ run, question }: AnswerProps): JSX.Element {
  const url = question.params.url ?? "";
  const isWeb = /^https?:\/\//i.test(url);
  return (
    <>
      <p>
        To continue the call, open this address: <code class="break">{url}</code>
      </p>
      <div class="actions">
        {isWeb && (
          <a
            class="button primary"
            href={url}
            target="_blank"
            rel="noreferrer noopener"
            onClick={() => void reply(run, question, { action: "accept" })}
          >
            Open in a new tab
          </a>
        )}
        <Button onClick={() => reply(run, question, { action: "decline" })}>Decline</Button>
      </div>
    </>
  );
}

function SamplingAnswer({ run, question }: AnswerProps): JSX.Element {
  const text = useSignal("");
  const { messages = [], systemPrompt } = question.params;
  return (
    <>
      <JsonTree value={{ systemPrompt: systemPrompt ?? null, messages } as unknown as Json} />
      <label class="field">
        Your response in place of the model
        <textarea rows={3} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
      </label>
      <div class="actions">
        <Button
          kind="primary"
          onClick={() =>
            reply(run, question, {
              role: "assistant",
              model: "a person at the console",
              stopReason: "endTurn",
              content: { type: "text", text: text.value },
            })
          }
        >
          Answer
        </Button>
        <Button onClick={() => reply(run, question, undefined)}>Decline</Button>
      </div>
    </>
  );
}
