// One tool: its form, its calls with their results, and the call in other forms to copy.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { appUriOf } from "../../../src/model/protocol/apps.ts";
import { asCode, asCommand, asCurl } from "../calls/copy-as.ts";
import { ToolCharts } from "../calls/call-charts.tsx";
import { RunView } from "../calls/run-view.tsx";
import { history, type Run, startRun } from "../calls/run.ts";
import { SchemaForm } from "../forms/schema-form.tsx";
import { initialValue, isMap, problemsOf } from "../forms/schema.ts";
import { type NamedTool, tools, watchTools } from "../state/lists.ts";
import { facts } from "../state/live.ts";
import { href } from "../state/router.ts";
import type { Json, JsonMap } from "../types.ts";
import { formatMs, formatTime } from "../ui/format.ts";
import { JsonTree } from "../ui/json-tree.tsx";
import { Button, CopyButton, Empty, Loading, Page, State, Tabs } from "../ui/parts.tsx";
import { Hints } from "./tools.tsx";

const BACK = { href: href("tools"), label: "Tools" };
const NO_PROBLEMS: ReadonlyMap<string, string> = new Map();

export function ToolPage({ name }: { readonly name: string }): JSX.Element {
  useEffect(watchTools, []);
  const tool = tools.value.items.find((one) => one.name === name);
  if (tool === undefined)
    return (
      <Page title={name} back={BACK}>
        {tools.value.isLoading ? <Loading /> : <Empty title="No server offers this tool now." />}
      </Page>
    );
  return <ToolView key={name} tool={tool} />;
}

function ToolView({ tool }: { readonly tool: NamedTool }): JSX.Element {
  const schema = tool.inputSchema ?? {};
  const value = useSignal<JsonMap>(initialValue(schema));
  const problems = useSignal(NO_PROBLEMS);
  const current = useSignal<Run | undefined>(undefined);
  const form = useRef<HTMLFormElement>(null);
  const copied = {
    ...{ name: tool.name, server: tool.server, own: tool.own, input: value.value },
    workspace: facts.value?.path,
  };
  const submit = (): void => {
    problems.value = problemsOf(schema, value.value);
    if (problems.value.size > 0)
      return void setTimeout(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
    current.value = startRun(tool.name, value.value);
  };
  return (
    <Page
      title={tool.title ?? tool.annotations?.title ?? tool.own}
      back={BACK}
      lead={
        <>
          <code>{tool.name}</code> of <a href={href("servers", tool.server)}>{tool.server}</a>{" "}
          <Hints tool={tool} />
        </>
      }
    >
      {tool.description && <p class="description">{tool.description}</p>}
      <div class={appUriOf(tool) === undefined ? "tool-columns" : "tool-columns has-app"}>
        <form
          ref={form}
          class="card"
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
        >
          <Arguments
            schema={schema}
            value={value.value}
            problems={problems.value}
            onChange={(next) => (value.value = next)}
          />
          <div class="actions">
            <button type="submit" class="button primary">
              Call
            </button>
            <span class="muted small copy-as">Copy as</span>
            <CopyButton text={() => asCommand(copied)}>Command</CopyButton>
            <CopyButton text={() => asCode(copied)}>Code</CopyButton>
            <CopyButton text={() => asCurl(copied, location.origin)}>curl</CopyButton>
          </div>
        </form>
        <div class="tool-results">
          {current.value ? (
            <RunView key={current.value.key} run={current.value} tool={tool} />
          ) : (
            <p class="muted hint">The result of the call appears here.</p>
          )}
          <History
            tool={tool.name}
            current={current.value}
            onShow={(run) => (current.value = run)}
            onAgain={(run) => {
              value.value = run.input;
              current.value = startRun(run.tool, run.input);
            }}
          />
        </div>
      </div>
      <ToolCharts server={tool.server} tool={tool.own} />
      <details class="card">
        <summary>Schemas</summary>
        <h3>Input</h3>
        <JsonTree value={schema as unknown as Json} />
        {tool.outputSchema && (
          <>
            <h3>Output</h3>
            <JsonTree value={tool.outputSchema as unknown as Json} />
          </>
        )}
      </details>
    </Page>
  );
}

interface ArgumentsProps {
  readonly schema: NonNullable<NamedTool["inputSchema"]>;
  readonly value: JsonMap;
  readonly problems: ReadonlyMap<string, string>;
  readonly onChange: (value: JsonMap) => void;
}

export function Arguments({ schema, value, problems, onChange }: ArgumentsProps): JSX.Element {
  const hasForm = Object.keys(schema.properties ?? {}).length > 0;
  const form = useSignal<"form" | "json">(hasForm ? "form" : "json");
  const text = useSignal("");
  const isBad = useSignal(false);
  const choose = (next: "form" | "json"): void => {
    text.value = JSON.stringify(value, null, 2);
    isBad.value = false;
    form.value = next;
  };
  const isClosed = (schema as { additionalProperties?: unknown }).additionalProperties === false;
  if (!hasForm && (isClosed || schema.properties !== undefined))
    return <p class="muted">This tool takes no arguments.</p>;
  return (
    <>
      <div class="form-head">
        <h2>Arguments</h2>
        <Tabs
          label="Format of the arguments"
          options={[
            { value: "form", label: "Form" },
            { value: "json", label: "JSON" },
          ]}
          value={form.value}
          onChange={choose}
        />
      </div>
      {form.value === "form" && hasForm ? (
        <SchemaForm schema={schema} value={value} problems={problems} onChange={onChange} />
      ) : (
        <label class="field">
          Arguments as JSON
          <textarea
            class="code"
            rows={8}
            spellcheck={false}
            value={text.value}
            aria-invalid={isBad.value ? "true" : undefined}
            onInput={(event) => {
              text.value = event.currentTarget.value;
              try {
                const parsed = text.value.trim() === "" ? {} : (JSON.parse(text.value) as Json);
                isBad.value = !isMap(parsed);
                if (isMap(parsed)) onChange(parsed);
              } catch {
                isBad.value = true;
              }
            }}
          />
          {isBad.value && <span class="problem">This is not a JSON object yet.</span>}
        </label>
      )}
    </>
  );
}

function History(props: {
  readonly tool: string;
  readonly current: Run | undefined;
  readonly onShow: (run: Run) => void;
  readonly onAgain: (run: Run) => void;
}): JSX.Element | null {
  const runs = history.value.filter((run) => run.tool === props.tool);
  if (runs.length === 0) return null;
  return (
    <section class="card">
      <h2>Calls from this tab</h2>
      <ul class="history">
        {runs.map((run) => {
          const state = run.state.value;
          const isOk = state.kind === "done" && state.result.isError !== true;
          const tone = state.kind === "running" ? "accent" : isOk ? "ok" : "bad";
          return (
            <li key={run.key} aria-current={run === props.current ? "true" : undefined}>
              <button type="button" class="history-item" onClick={() => props.onShow(run)}>
                <State tone={tone}>{state.kind === "done" && !isOk ? "tool error" : state.kind}</State>
                <span class="muted">
                  {formatTime(run.startedAt)}{" "}
                  {run.durationMs.value !== undefined && formatMs(run.durationMs.value)}
                </span>
                <code>{JSON.stringify(run.input)}</code>
              </button>
              <Button icon="restart" kind="quiet" label="Run again" onClick={() => props.onAgain(run)} />
            </li>
          );
        })}
      </ul>
    </section>
  );
}
