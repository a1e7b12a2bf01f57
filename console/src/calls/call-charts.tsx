// Charts of calls over time: calls, errors and latency, of all servers, one server or one tool.

import { type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { call } from "../api.ts";
import type { Series } from "../state/live.ts";
import type { SeriesPoint } from "../types.ts";
import { type Line, LineChart } from "../ui/chart.tsx";
import { formatMs } from "../ui/format.ts";

const REFRESH_MS = 5_000;
const WINDOW_MS = 30 * 60_000;

/** The series of these calls, kept current while the page is shown. */
export function useSeries(of: {
  readonly server?: string;
  readonly tool?: string;
}): Signal<Series | undefined> {
  const series = useSignal<Series | undefined>(undefined);
  const { server, tool } = of;
  useEffect(() => {
    const load = (): void => {
      call<Series>("series", { server, tool }).then(
        (value) => (series.value = value),
        () => {},
      );
    };
    load();
    const timer = setInterval(load, REFRESH_MS);
    return () => clearInterval(timer);
  }, [server, tool]);
  return series;
}

export function CallCharts({ series }: { readonly series: Series | undefined }): JSX.Element {
  const to = Date.now();
  const points = (series?.points ?? []).filter(({ time }) => time >= to - WINDOW_MS);
  const range = { from: Math.min(points[0]?.time ?? to, to - 5 * 60_000), to };
  const line = (name: string, style: string, pick: (point: SeriesPoint) => number | undefined): Line => ({
    name,
    style,
    points: points.flatMap((point) => {
      const value = pick(point);
      return value === undefined ? [] : [[point.time, value] as const];
    }),
  });
  return (
    <>
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
    </>
  );
}

/** The charts of one tool; nothing while it has no calls. */
export function ToolCharts({
  server,
  tool,
}: {
  readonly server: string;
  readonly tool: string;
}): JSX.Element | null {
  const series = useSeries({ server, tool });
  if ((series.value?.points.length ?? 0) === 0) return null;
  return (
    <div class="charts">
      <CallCharts series={series.value} />
    </div>
  );
}
