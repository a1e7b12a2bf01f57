// Calls as they end: who called what, how long it took, and one call as a waterfall over gateway, hub and servers.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import { href } from "../state/router.ts";
import type { CallRecord } from "../types.ts";
import { formatMs, formatTime } from "../ui/format.ts";
import { memo } from "../ui/memo.ts";
import { Facts, State, type Tone } from "../ui/parts.tsx";

const TONES: Readonly<Record<CallRecord["outcome"], Tone>> = {
  ok: "ok",
  tool_error: "bad",
  error: "bad",
  cancelled: "idle",
  input_required: "accent",
};

export function CallList({ calls }: { readonly calls: readonly CallRecord[] }): JSX.Element {
  const open = useSignal<string | undefined>(undefined);
  if (calls.length === 0) return <p class="muted">No calls to show.</p>;
  const toggle = useCallback((id: string) => (open.value = open.value === id ? undefined : id), [open]);
  return (
    <ol class="events calls">
      {calls.map((call) => (
        <CallRow key={call.id} call={call} isOpen={open.value === call.id} onToggle={toggle} />
      ))}
    </ol>
  );
}

const CallRow = memo(function CallRow(props: {
  readonly call: CallRecord;
  readonly isOpen: boolean;
  readonly onToggle: (id: string) => void;
}): JSX.Element {
  const { call, isOpen, onToggle } = props;
  return (
    <li>
      <time dateTime={call.time}>{formatTime(call.time)}</time>
      <State tone={TONES[call.outcome]}>{call.outcome.replace("_", " ")}</State>
      <span class="event-text">
        <button type="button" class="call-name" aria-expanded={isOpen} onClick={() => onToggle(call.id)}>
          {call.target ?? call.method}
        </button>{" "}
        <span class="muted">
          {formatMs(call.durationMs - (call.waitedMs ?? 0))}
          {call.waitedMs !== undefined && ` after ${formatMs(call.waitedMs)} of waiting for approval`} ·{" "}
          {call.caller}
          {call.client && ` · ${call.client.name}`} {call.code && ` · ${call.code}`}
        </span>
      </span>
      {isOpen && <Waterfall call={call} />}
    </li>
  );
});

interface Bar {
  readonly name: string;
  readonly detail: string;
  readonly startMs: number;
  readonly durationMs: number;
  readonly style: string;
}

export function Waterfall({ call }: { readonly call: CallRecord }): JSX.Element {
  const whole = Math.max(
    call.durationMs,
    ...call.phases.map(({ startMs, durationMs }) => startMs + durationMs),
    0.001,
  );
  const bars: readonly Bar[] = [
    {
      name: "gateway",
      detail: `${call.transport}, ${call.era}`,
      startMs: 0,
      durationMs: call.durationMs,
      style: "line-1",
    },
    ...call.phases
      .toSorted((a, b) => a.startMs - b.startMs)
      .map((phase) => ({
        name: phase.name === "hub" ? "hub" : (phase.driver ?? phase.server ?? "server"),
        detail: [phase.method, phase.transport, phase.era, phase.code].filter(Boolean).join(", "),
        startMs: phase.startMs,
        durationMs: phase.durationMs,
        style: phase.outcome === "error" ? "line-bad" : phase.name === "hub" ? "line-2" : "line-3",
      })),
  ];
  return (
    <div class="waterfall">
      <ul>
        {bars.map((bar, index) => (
          <li key={index}>
            <span class="waterfall-name">
              {bar.name} <span class="muted small">{bar.detail}</span>
            </span>
            <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
              <rect
                class={bar.style}
                x={(bar.startMs / whole) * 100}
                y="0"
                width={Math.max(0.5, (bar.durationMs / whole) * 100)}
                height="10"
              />
            </svg>
            <span class="small">
              {formatMs(bar.durationMs)}
              {bar.startMs >= 0.01 && <span class="muted"> after {formatMs(bar.startMs)}</span>}
            </span>
          </li>
        ))}
      </ul>
      <Facts
        items={[
          [
            "Route",
            call.server === undefined ? (
              "no server"
            ) : (
              <a href={href("servers", call.server)}>{`${call.server}.${call.tool ?? ""}`}</a>
            ),
          ],
          ["Decision", call.decision.kind],
          ...(call.waitedMs === undefined ? [] : [["Waited for approval", formatMs(call.waitedMs)] as const]),
          ["Call", <code>{call.id}</code>],
          ...(call.reason === undefined ? [] : [["Reason", call.reason] as const]),
        ]}
      />
    </div>
  );
}
