// Activity: charts of calls, and all events as they happen, with filters.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { CallCharts, useSeries } from "../calls/call-charts.tsx";
import {
  calls,
  events,
  gatewayMemory,
  type LiveEvent,
  samples,
  type Series,
  servers,
} from "../state/live.ts";
import { tools, watchTools } from "../state/lists.ts";
import { memoryLines } from "../state/memory-lines.ts";
import { href } from "../state/router.ts";
import type { CallRecord } from "../types.ts";
import { LineChart } from "../ui/chart.tsx";
import { formatBytes, formatMs } from "../ui/format.ts";
import { Button, Page, SearchBox, Tabs } from "../ui/parts.tsx";
import { BudgetUses } from "./budget-uses.tsx";
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

export function ActivityPage(): JSX.Element {
  const kind = useSignal<Kind>("calls");
  const server = useSignal("");
  const text = useSignal("");
  const frozen = useSignal<Frozen | undefined>(undefined);
  const series = useSeries(server.value === "" ? {} : { server: server.value });
  const now = frozen.value ?? { calls: calls.value, events: events.value };
  const isOfServer = (one: { readonly server?: string }): boolean =>
    server.value === "" || one.server === server.value;
  return (
    <Page title="Activity" lead="Calls and events of this gateway, live.">
      <div class="charts">
        <CallCharts series={series.value} />
        <MemoryChart server={server.value} />
      </div>
      <ToolTable series={series.value} />
      <BudgetUses />
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

/** With more rows, the calls below would be far away. */
const SHOWN_TOOLS = 8;

function ToolTable({ series }: { readonly series: Series | undefined }): JSX.Element | null {
  const isWhole = useSignal(false);
  const all = series?.tools ?? [];
  if (all.length === 0) return null;
  const shown = isWhole.value ? all : all.slice(0, SHOWN_TOOLS);
  const ms = (value: number | undefined): string => (value === undefined ? "" : formatMs(value));
  return (
    <section class="card">
      <h2>Tools</h2>
      <div class="table-scroll" tabIndex={0} role="region" aria-label="Calls of each tool">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col">Server</th>
              {["Calls", "Errors", "p50", "p95", "p99"].map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map(({ server, tool, calls: count, errors, p50, p95, p99 }) => (
              <tr key={`${server} ${tool}`}>
                <td>
                  <ToolLink server={server} own={tool} />
                </td>
                <td class="muted">{server}</td>
                <td class="number">{count.toLocaleString("en")}</td>
                <td class={errors > 0 ? "number bad" : "number"}>{errors.toLocaleString("en")}</td>
                <td class="number">{ms(p50)}</td>
                <td class="number">{ms(p95)}</td>
                <td class="number">{ms(p99)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {all.length > shown.length && (
        <Button kind="quiet" onClick={() => (isWhole.value = true)}>
          {all.length - shown.length} more
        </Button>
      )}
    </section>
  );
}

/** The page of the tool, which has its charts. */
function ToolLink({ server, own }: { readonly server: string; readonly own: string }): JSX.Element {
  useEffect(watchTools, []);
  const tool = tools.value.items.find((one) => one.server === server && one.own === own);
  return tool === undefined ? <>{own}</> : <a href={href("tools", tool.name)}>{own}</a>;
}

const STYLES = ["line-1", "line-2", "line-3", "line-4"] as const;

/** The gateway and its servers, or one server. */
function MemoryChart({ server }: { readonly server: string }): JSX.Element | null {
  const lines = memoryLines(samples.value, gatewayMemory.value, server).map((one, index) => ({
    ...one,
    style: STYLES[index] ?? "line-4",
  }));
  if (lines.length === 0) return null;
  return (
    <LineChart
      title="Memory"
      lines={lines}
      format={formatBytes}
      from={gatewayMemory.value[0]?.[0] ?? 0}
      to={gatewayMemory.value.at(-1)?.[0] ?? 1}
    />
  );
}
