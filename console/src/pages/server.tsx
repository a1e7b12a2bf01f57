// One server: why it does not work and how to fix it, its facts, its tools, its stderr, its last events.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { call } from "../api.ts";
import { prompts, tools, watchPrompts, watchTools } from "../state/lists.ts";
import { useAccounts } from "../state/accounts.ts";
import { type Sample, samples, servers } from "../state/live.ts";
import { href } from "../state/router.ts";
import type { Account, ServerHealth } from "../types.ts";
import { AccountFacts, loginCommandOf } from "../ui/account.tsx";
import { type Line, LineChart } from "../ui/chart.tsx";
import { firstLine, formatAge, formatBytes, formatMs } from "../ui/format.ts";
import {
  Badge,
  Button,
  Command,
  Empty,
  ErrorMessage,
  Facts,
  Loading,
  Message,
  Page,
  State,
} from "../ui/parts.tsx";
import { stateLabel, toneOf } from "../ui/server-state.ts";
import { EventList } from "./event-list.tsx";
import { eventsOf } from "./servers.tsx";

export function ServerPage({ alias }: { readonly alias: string }): JSX.Element {
  const server = servers.value?.find((one) => one.alias === alias);
  const busy = useSignal<string | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const accounts = useAccounts();
  useEffect(watchTools, []);
  useEffect(watchPrompts, []);
  const act = async (method: "restart" | "stopServer"): Promise<void> => {
    busy.value = method;
    error.value = undefined;
    await call(method, { server: alias }).catch((thrown: unknown) => (error.value = thrown));
    busy.value = undefined;
  };
  const back = { href: href("servers"), label: "Servers" };
  if (servers.value === undefined)
    return (
      <Page title={alias} back={back}>
        <Loading />
      </Page>
    );
  if (server === undefined)
    return (
      <Page title={alias} back={back}>
        <Empty title="The gateway has no server with this name." />
      </Page>
    );
  const account = accounts.get(alias);
  const isStopped = server.state === "stopped";
  return (
    <Page
      title={alias}
      back={back}
      lead={<State tone={toneOf(server)}>{stateLabel(server)}</State>}
      actions={
        server.state !== "disabled" && (
          <>
            <Button
              icon={isStopped ? "play" : "restart"}
              disabled={busy.value !== undefined}
              onClick={() => act("restart")}
            >
              {busy.value === "restart" ? "Starting …" : isStopped ? "Start" : "Restart"}
            </Button>
            {!isStopped && (
              <Button
                icon="stop"
                kind="danger"
                disabled={busy.value !== undefined}
                onClick={() => act("stopServer")}
              >
                {busy.value === "stopServer" ? "Stopping …" : "Stop"}
              </Button>
            )}
          </>
        )
      }
    >
      {error.value !== undefined && <ErrorMessage error={error.value} />}
      <Failure server={server} account={account} />
      {server.error && <Stderr server={server} />}
      <section class="card">
        <h2>Facts</h2>
        <Facts items={factsOf(server, account)} />
      </section>
      <ServerCharts alias={alias} />
      <ToolsOf alias={alias} />
      {!server.error && <Stderr server={server} />}
      <section class="card">
        <h2>Last events</h2>
        <EventList events={eventsOf(alias).slice(0, 30)} hidesServer />
      </section>
    </Page>
  );
}

function Failure({
  server,
  account,
}: {
  readonly server: ServerHealth;
  readonly account: Account | undefined;
}): JSX.Element | null {
  const { error, alias, failedReplacement } = server;
  if (error === undefined && failedReplacement !== undefined)
    return (
      <Message tone="warn" title={failedReplacement.message}>
        <p>{failedReplacement.hint}</p>
      </Message>
    );
  if (error === undefined) return null;
  return (
    <Message tone="bad" title={error.message}>
      <p>{error.hint}</p>
      <p class="small">
        <code>{error.code}</code>
      </p>
      <Command text={loginCommandOf(server, account) ?? `portolan why ${alias}`} />
    </Message>
  );
}

function factsOf(
  server: ServerHealth,
  account: Account | undefined,
): (readonly [string, JSX.Element | string])[] {
  const { origin, transport, era, revision, since, latencyMs, restarts, dedicatedProcesses, sandbox, alias } =
    server;
  const measured = samples.value.get(alias)?.at(-1);
  const items: (readonly [string, JSX.Element | string])[] = [
    ["Config", <code class="break">{origin.file}</code>],
    ["Transport", transport],
    ["Protocol", era === undefined ? "not known before the first start" : `${era}, ${revision ?? ""}`],
    ["In this state for", formatAge(Date.now() - Date.parse(since))],
    ["Latency", latencyMs === undefined ? "no calls yet" : formatMs(latencyMs)],
    ["Restarts", String(restarts)],
  ];
  if (account !== undefined) items.push(["Account", <AccountFacts account={account} />]);
  if (measured?.memory !== undefined) items.push(["Memory", describeMemory(measured)]);
  if (measured !== undefined && measured.inFlight > 0)
    items.push(["Running calls", String(measured.inFlight)]);
  if (dedicatedProcesses !== undefined) items.push(["Dedicated processes", String(dedicatedProcesses)]);
  if (sandbox !== undefined)
    items.push([
      "Sandbox",
      <>
        <Badge tone={sandbox.mode === "enforce" ? "ok" : "warn"}>{sandbox.mode}</Badge> {sandbox.backend}{" "}
        <a href={href("sandbox", alias)}>details</a>
      </>,
    ]);
  return items;
}

/** `90 MB` of one process, or with the process ids of several. */
function describeMemory({ memory = 0, processes }: Sample): string {
  if (processes.length < 2) return formatBytes(memory);
  const each = processes.map(({ pid, memory: bytes }) => `process ${pid}: ${formatBytes(bytes)}`);
  return `${formatBytes(memory)} (${each.join(", ")})`;
}

/** One line for each process, the largest first; one line for a server with one process. */
function memoryLines(measured: readonly Sample[]): Line[] {
  const last = measured.at(-1)?.processes ?? [];
  const largest = last.toSorted((a, b) => b.memory - a.memory).slice(0, 4);
  return largest.map(({ pid }, index) => ({
    name: last.length < 2 ? "resident" : `process ${pid}`,
    style: `line-${last.length < 2 ? 2 : index + 1}`,
    points: measured.flatMap(({ time, processes }) => {
      const found = processes.find((one) => one.pid === pid);
      return found === undefined ? [] : [[time, found.memory] as const];
    }),
  }));
}

function ServerCharts({ alias }: { readonly alias: string }): JSX.Element | null {
  const measured = samples.value.get(alias) ?? [];
  const first = measured[0];
  const last = measured.at(-1);
  if (first === undefined || last === undefined || measured.length < 3) return null;
  const memory = memoryLines(measured);
  const latency = measured.flatMap(({ time, latencyMs }) =>
    latencyMs === undefined ? [] : [[time, latencyMs] as const],
  );
  if (latency.length < 2 && memory.length === 0) return null;
  const range = { from: first.time, to: last.time };
  return (
    <div class="charts">
      {latency.length > 1 && (
        <LineChart
          title="Latency"
          lines={[{ name: "average", style: "line-1", points: latency }]}
          format={formatMs}
          {...range}
        />
      )}
      {memory.length > 0 && <LineChart title="Memory" lines={memory} format={formatBytes} {...range} />}
    </div>
  );
}

function ToolsOf({ alias }: { readonly alias: string }): JSX.Element {
  const own = tools.value.items.filter(({ server }) => server === alias);
  const ownPrompts = prompts.value.items.filter(({ server }) => server === alias);
  return (
    <section class="card">
      <h2>Tools</h2>
      {own.length === 0 && <p class="muted">This server offers no tools now.</p>}
      <ul class="plain-list">
        {own.map((tool) => (
          <li key={tool.name}>
            <a href={href("tools", tool.name)}>{tool.own}</a>{" "}
            <span class="muted">{firstLine(tool.description, 100)}</span>
          </li>
        ))}
      </ul>
      {ownPrompts.length > 0 && (
        <>
          <h3>Prompts</h3>
          <ul class="plain-list">
            {ownPrompts.map((prompt) => (
              <li key={prompt.name}>
                <a href={href("prompts", prompt.name)}>{prompt.own}</a>{" "}
                <span class="muted">{firstLine(prompt.description, 100)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

interface LogLine {
  readonly time: string;
  readonly text: string;
}

function Stderr({ server }: { readonly server: ServerHealth }): JSX.Element | null {
  const lines = useSignal<readonly LogLine[]>([]);
  const { alias, state } = server;
  useEffect(() => {
    const ended = new AbortController();
    lines.value = [];
    const follow = { server: alias, lines: 200, follow: true };
    const onNote = (_name: string, value: unknown): void => {
      lines.value = [...lines.value, value as LogLine].slice(-200);
    };
    call("logs", follow, { signal: ended.signal, onNote }).catch(() => {});
    return () => ended.abort();
    // A restarted gateway has a new log.
  }, [alias, state === "ready"]);
  if (lines.value.length === 0) return null;
  return (
    <section class="card">
      <h2>Stderr</h2>
      <pre class="log" tabIndex={0}>
        {lines.value.map(({ time, text }) => `${time.slice(11, 19)} ${text}`).join("\n")}
      </pre>
    </section>
  );
}
