// Telemetry of a gateway: metrics for Prometheus and the export by OpenTelemetry, as the settings and the environment ask for them.

import type { Report } from "../errors/index.ts";
import type { TelemetrySettings } from "../model/index.ts";
import { type CallMetrics, createCallMetrics } from "./metrics/call-metrics.ts";
import type { CallObservers } from "./observers.ts";
import { planOtel } from "./otel/plan.ts";

export interface TelemetryOptions {
  readonly settings: TelemetrySettings | undefined;
  readonly calls: CallObservers;
  readonly version: string;
  readonly report: Report;
  readonly redact: <T>(value: T) => T;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface Telemetry extends AsyncDisposable {
  /** Undefined unless the settings ask for Prometheus. */
  readonly metrics: CallMetrics | undefined;
  /** Sends the spans and metrics that wait to be exported. Rejects if the receiver does not accept them. */
  flush(): Promise<void>;
  /** Exports the rest, for a limited time, and stops to observe. */
  close(): Promise<void>;
}

const CLOSE_MS = 2_000;

/** Loads OpenTelemetry only if something is to be exported. */
export async function openTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const { settings, calls, report, version, redact, env = process.env } = options;
  const metrics = settings?.prometheus === undefined ? undefined : createCallMetrics();
  const offs = metrics === undefined ? [] : [calls.add(metrics)];
  const plan = planOtel(settings, env, report);
  const otel =
    plan === undefined
      ? undefined
      : await (await import("./otel/open.ts")).openOtel(plan, { version, redact });
  if (otel !== undefined) offs.push(calls.add(otel.observer));
  const close = async (): Promise<void> => {
    for (const off of offs) off();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_MS);
    });
    await Promise.race([otel?.close(), late]);
    clearTimeout(timer);
  };
  return { metrics, flush: async () => otel?.flush(), close, [Symbol.asyncDispose]: close };
}
