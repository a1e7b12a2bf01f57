// Events in words: who, what, and the detail that matters.

import type { JSX } from "preact";
import type { LiveEvent } from "../state/live.ts";
import { href } from "../state/router.ts";
import { formatMs, formatTime } from "../ui/format.ts";
import { memo } from "../ui/memo.ts";
import { CopyButton, State, type Tone } from "../ui/parts.tsx";

export function EventList(props: {
  readonly events: readonly LiveEvent[];
  /** True on the page of the server. */
  readonly hidesServer?: boolean;
}): JSX.Element {
  const { events, hidesServer = false } = props;
  if (events.length === 0) return <p class="muted">No events to show.</p>;
  return (
    <ol class="events">
      {events.map((event) => (
        <EventRow key={event.key} event={event} hidesServer={hidesServer} />
      ))}
    </ol>
  );
}

const EventRow = memo(function EventRow(props: {
  readonly event: LiveEvent;
  readonly hidesServer: boolean;
}): JSX.Element {
  const { event, hidesServer } = props;
  const { time, server } = event;
  const grant = "grant" in event ? event.grant : undefined;
  const isServer = server !== "gateway" && server !== "workspace";
  return (
    <li>
      <time dateTime={time}>{formatTime(time)}</time>
      <State tone={toneOf(event)}>{wordOf(event)}</State>
      <span class="event-text">
        {!hidesServer && (isServer ? <a href={href("servers", server)}>{server}</a> : <span>{server}</span>)}{" "}
        {detailOf(event)}
        {grant !== undefined && <CopyButton text={grant}>Copy the grant</CopyButton>}
      </span>
    </li>
  );
});

export function toneOf({ type }: LiveEvent): Tone {
  if (/failed$|denied$|refused$|exceeded$|loop_stopped$/.test(type)) return "bad";
  if (/relaxed$|pins_compared$|withheld|approval_(?:requested|expired)$/.test(type)) return "warn";
  return /ready$|restarted$|called$|granted$/.test(type) ? "ok" : "accent";
}

export function wordOf(event: LiveEvent): string {
  if (event.type === "mcp.sandbox_denied" && event.kind === "unreachable") return "host unreachable";
  return event.type.replace(/^(?:mcp\.(?:server_)?|gateway\.)/, "").replaceAll(/[._]/g, " ");
}

export function detailOf(event: LiveEvent): string {
  switch (event.type) {
    case "mcp.tool_called":
    case "mcp.tool_failed": {
      const { tool, durationMs, caller, reason, code } = event;
      return [tool, formatMs(durationMs), caller && `by ${caller}`, reason, code].filter(Boolean).join(" · ");
    }
    case "mcp.tools_changed":
    case "mcp.config_reloaded":
      return changes(event);
    case "mcp.sandbox_denied":
      return `${event.host}${event.port === undefined ? "" : `:${event.port}`} ${event.reason}`;
    case "mcp.sandbox_path_denied":
      return `${event.path} ${event.reason}`;
    case "mcp.sandbox_relaxed":
      return `to ${event.mode} (${event.by})`;
    case "mcp.pins_compared":
      return event.reason ?? (changes(event) || "all tools match their pins");
    case "gateway.refused":
      return [event.path, event.caller && `of ${event.caller}`, event.reason].filter(Boolean).join(" ");
    case "gateway.call_refused":
      return `${event.tool} · by ${event.caller} · ${event.rule}`;
    case "gateway.reloaded":
      return [...event.changed, ...event.problems].join(", ");
    case "gateway.approval_requested":
    case "gateway.approval_granted":
    case "gateway.approval_denied":
    case "gateway.approval_expired":
    case "gateway.approval_withdrawn":
      return [event.tool, `by ${event.caller}`, event.by && `in the ${event.by}`, event.reason]
        .filter(Boolean)
        .join(" · ");
    case "gateway.budget_exceeded":
      return `${event.budget}: ${event.used} of ${event.amount} ${event.kind === "calls" ? "calls" : "cost units"} used by ${event.caller}; the period ends at ${formatTime(event.until)}`;
    case "gateway.loop_stopped":
      return `${event.tool} · ${event.calls} identical calls by ${event.caller}; refused until ${formatTime(event.until)}`;
    case "driver.resolved":
      return `${event.tool} → ${event.selected ?? "no driver"}`;
    case "driver.invoked":
      return `${event.tool_id} by ${event.mcp_tool_name} · ${formatMs(event.duration_ms)}${event.code ? ` · ${event.code}` : ""}`;
    default:
      return "reason" in event ? (event.reason ?? "") : "";
  }
}

function changes({
  added,
  changed,
  removed,
}: {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}): string {
  const part = (word: string, names: readonly string[]): string =>
    names.length === 0
      ? ""
      : `${word} ${names.slice(0, 5).join(", ")}${names.length > 5 ? ` and ${names.length - 5} more` : ""}`;
  return [part("added", added), part("changed", changed), part("removed", removed)]
    .filter(Boolean)
    .join("; ");
}
