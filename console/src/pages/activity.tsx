// Activity: charts of calls, and all events as they happen, with filters.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { call } from "../api.ts";
import {
  calls,
  events,
  gatewayMemory,
  type LiveEvent,
  samples,
  type Series,
  servers,
} from "../state/live.ts";
import type { CallRecord } from "../types.ts";
import { type Line, LineChart } from "../ui/chart.tsx";
import { formatBytes, formatMs } from "../ui/format.ts";
import { Button, Page, SearchBox, Tabs } from "../ui/parts.tsx";
import { CallList } from "./call-list.tsx";
import { detailOf, EventList, toneOf } from "./event-list.tsx";

type Kind = "calls" | "events" | "problems" | "servers" | "security";

const KINDS: readonly { readonly value: Kind; readonly label: string }[] = [
  { value: "calls", label: "Calls" },
  { value: "events", label: "Events" },
  { value: "problems", label: "Problems" },
  { value: "servers", label: "Servers" },
  { value: "security", label: "Security" },
];

const SHOWN = 100;
const REFRESH_MS = 5_000;
const WINDOW_MS = 30 * 60_000;

export function ActivityPage(): JSX.Element {
  const kind = useSignal<Kind>("calls");
  const server = useSignal("");
  const text = useSignal("");
  const frozen = useSignal<Frozen | undefined>(undefined);
  const now = frozen.value ?? { calls: calls.value, events: events.value };
  const isOfServer = (one: { readonly server?: string }): boolean =>
    server.value === "" || one.server === server.value;
  return (
    <Page title="Activity" lead="What happens in this gateway, as it happens.">
      <Charts server={server.value} />
      <section class="card" aria-label="Calls and events">
        <div class="filters">
          <Tabs
            label="Kind of entries"
            options={KINDS}
            value={kind.value}
            onChange={(value) => (kind.value = value)}
          />
          <ServerChoice value={server.value} onChange={(value) => (server.value = value)} />
          <SearchBox label="Find" value={text.value} onInput={(value) => (text.value = value)} />
          <Button
            icon={frozen.value === undefined ? "stop" : "play"}
            onClick={() => (frozen.value = frozen.value === undefined ? now : undefined)}
          >
            {frozen.value === undefined ? "Pause" : "Continue"}
          </Button>
        </div>
        {kind.value === "calls" ? (
          <CallList
            calls={now.calls
              .filter((one) => isOfServer(one) && hasText(callText(one), text.value))
              .slice(0, SHOWN)}
          />
        ) : (
          <EventList
            events={now.events
              .filter(
                (one) => isOf(kind.value, one) && isOfServer(one) && hasText(eventText(one), text.value),
              )
              .slice(0, SHOWN)}
          />
        )}
      </section>
    </Page>
  );
}

interface Frozen {
  readonly calls: readonly CallRecord[];
  readonly events: readonly LiveEvent[];
}

export function ServerChoice({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (value: string) => void;
}): JSX.Element {
  return (
    <label>
      <span class="hidden-label">Server</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">all servers</option>
        {(servers.value ?? []).map(({ alias }) => (
          <option key={alias} value={alias}>
            {alias}
          </option>
        ))}
      </select>
    </label>
  );
}

function isOf(kind: Kind, event: LiveEvent): boolean {
  switch (kind) {
    case "problems":
      return toneOf(event) === "bad";
    case "servers":
      return (
        event.type.startsWith("mcp.server_") ||
        event.type === "mcp.config_reloaded" ||
        event.type === "mcp.tools_changed"
      );
    case "security":
      return /sandbox|refused|pins|secret/.test(event.type);
    default:
      return true;
  }
}

function callText({ target, method, caller, code, server, outcome, client }: CallRecord): string {
  return [target, method, caller, code, server, outcome, client?.name].join(" ");
}

function eventText(event: LiveEvent): string {
  return `${event.type} ${event.server} ${detailOf(event)}`;
}

function hasText(where: string, text: string): boolean {
  return text === "" || where.toLowerCase().includes(text.toLowerCase());
}

function Charts({ server }: { readonly server: string }): JSX.Element {
  const series = useSignal<Series | undefined>(undefined);
  useEffect(() => {
    const load = (): void => {
      call<Series>("series", server === "" ? {} : { server }).then(
        (value) => (series.value = value),
        () => {},
      );
    };
    load();
    const timer = setInterval(load, REFRESH_MS);
    return () => clearInterval(timer);
  }, [server]);
  const to = Date.now();
  const points = (series.value?.points ?? []).filter(({ time }) => time >= to - WINDOW_MS);
  const from = Math.min(points[0]?.time ?? to, to - 5 * 60_000);
  const line = (
    name: string,
    style: string,
    pick: (point: (typeof points)[number]) => number | undefined,
  ): Line => ({
    name,
    style,
    points: points.flatMap((point) => {
      const value = pick(point);
      return value === undefined ? [] : [[point.time, value] as const];
    }),
  });
  const range = { from, to };
  return (
    <div class="charts">
      <LineChart
        title="Calls in 10 seconds"
        lines={[
          line("calls", "line-1", ({ calls }) => calls),
          line("errors", "line-bad", ({ errors }) => errors),
        ]}
        format={(value) => value.toLocaleString("en")}
        {...range}
      />
      <LineChart
        title="Latency"
        lines={[
          line("p50", "line-1", ({ p50 }) => p50),
          line("p95", "line-2", ({ p95 }) => p95),
          line("p99", "line-3", ({ p99 }) => p99),
        ]}
        format={formatMs}
        {...range}
      />
      <MemoryChart server={server} />
    </div>
  );
}

const STYLES = ["line-1", "line-2", "line-3", "line-4"] as const;

/** The gateway and the largest servers, or one server. */
function MemoryChart({ server }: { readonly server: string }): JSX.Element | null {
  const all = [...samples.value].filter(([alias]) => server === "" || alias === server);
  const measured = all.flatMap(([alias, list]) => {
    const points = list.flatMap(({ time, memory }) =>
      memory === undefined ? [] : [[time, memory] as const],
    );
    return points.length < 2 ? [] : [{ name: alias, points }];
  });
  const times = [...samples.value.values()][0]?.map(({ time }) => time) ?? [];
  const own =
    server === ""
      ? gatewayMemory.value.slice(-times.length).map((value, index) => [times[index] ?? 0, value] as const)
      : [];
  const largest = measured
    .toSorted((a, b) => (b.points.at(-1)?.[1] ?? 0) - (a.points.at(-1)?.[1] ?? 0))
    .slice(0, 3);
  const lines = [...(own.length > 1 ? [{ name: "gateway", points: own }] : []), ...largest].map(
    (one, index) => ({
      ...one,
      style: STYLES[index] ?? "line-4",
    }),
  );
  if (lines.length === 0) return null;
  return (
    <LineChart
      title="Memory"
      lines={lines}
      format={formatBytes}
      from={times[0] ?? 0}
      to={times.at(-1) ?? 1}
    />
  );
}
