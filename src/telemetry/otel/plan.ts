// Plan of the export by OpenTelemetry: from the settings and the usual `OTEL_*` variables. Nothing of OpenTelemetry is loaded here.

import type { Diagnostic } from "../../errors/index.ts";
import type { TelemetrySettings } from "../../model/index.ts";

export type OtlpProtocol = "http/protobuf" | "http/json";

/** One signal (traces or metrics) that is exported by our own SDK. */
export interface SignalPlan {
  readonly protocol: OtlpProtocol;
  /** Undefined: the exporter reads it from the environment. */
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface OtelPlan {
  /** `program`: the program around us has an SDK of its own, which gets the spans. */
  readonly traces: SignalPlan | "program" | undefined;
  readonly metrics: SignalPlan | "program" | undefined;
  /** The share of new traces that are sampled; undefined: as the environment says, or all. */
  readonly sample?: number;
  readonly serviceName?: string;
  readonly arguments: boolean;
  readonly results: boolean;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Where the API package of OpenTelemetry keeps the SDK of the program. */
const PROGRAM = Symbol.for("opentelemetry.js.api.1");
const PROTOCOLS: readonly string[] = ["http/protobuf", "http/json"];

/** Undefined when nobody asked for an export. Wrong variables are reported; they never stop a gateway. */
export function planOtel(
  settings: TelemetrySettings = {},
  env: Env,
  report: (diagnostic: Diagnostic) => void,
): OtelPlan | undefined {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === "true") return undefined;
  const registered = registeredSignals();
  const plan = (signal: Signal): SignalPlan | "program" | undefined => {
    if (settings[signal] === false) return undefined;
    if (settings.endpoint === undefined && registered[signal]) return "program";
    return planSignal(signal, settings, env, report);
  };
  const [traces, metrics] = [plan("traces"), plan("metrics")];
  if (traces === undefined && metrics === undefined) return undefined;
  return {
    traces,
    metrics,
    sample: settings.sample,
    serviceName: settings.serviceName,
    arguments: settings.arguments === true,
    results: settings.results === true,
  };
}

type Signal = "traces" | "metrics";

function planSignal(
  signal: Signal,
  settings: TelemetrySettings,
  env: Env,
  report: (diagnostic: Diagnostic) => void,
): SignalPlan | undefined {
  const upper = signal.toUpperCase();
  const read = (name: string): string | undefined => env[name]?.trim() || undefined;
  const warn = (message: string, hint: string): undefined => {
    report({ code: "CONFIG_INVALID", severity: "warning", message, hint });
    return undefined;
  };
  const exporter = read(`OTEL_${upper}_EXPORTER`);
  const hasEndpoint =
    settings.endpoint !== undefined ||
    read("OTEL_EXPORTER_OTLP_ENDPOINT") !== undefined ||
    read(`OTEL_EXPORTER_OTLP_${upper}_ENDPOINT`) !== undefined;
  const isWanted = settings[signal] === true || exporter !== undefined || hasEndpoint;
  if (!isWanted || (exporter === "none" && settings[signal] !== true)) return undefined;
  if (exporter !== undefined && exporter !== "otlp" && exporter !== "none")
    return warn(
      `OTEL_${upper}_EXPORTER is ${JSON.stringify(exporter)}, which is not supported; ${signal} are not exported`,
      `Set OTEL_${upper}_EXPORTER to otlp or none. The gateway serves Prometheus itself: telemetry.prometheus in portolan.yaml.`,
    );
  const variable =
    [`OTEL_EXPORTER_OTLP_${upper}_PROTOCOL`, "OTEL_EXPORTER_OTLP_PROTOCOL"].find(
      (name) => read(name) !== undefined,
    ) ?? "OTEL_EXPORTER_OTLP_PROTOCOL";
  const protocol = settings.protocol ?? read(variable) ?? "http/protobuf";
  if (!PROTOCOLS.includes(protocol))
    return warn(
      `the OTLP protocol ${JSON.stringify(protocol)} is not supported; ${signal} are not exported`,
      `Set ${variable} to ${PROTOCOLS.join(" or ")}; collectors accept both at port 4318.`,
    );
  return {
    protocol: protocol as OtlpProtocol,
    url:
      settings.endpoint === undefined ? undefined : `${settings.endpoint.replace(/\/+$/, "")}/v1/${signal}`,
    headers: settings.headers,
  };
}

function registeredSignals(): Readonly<Record<Signal, boolean>> {
  const api = (globalThis as { [PROGRAM]?: { trace?: unknown; metrics?: unknown } })[PROGRAM];
  return { traces: api?.trace !== undefined, metrics: api?.metrics !== undefined };
}
