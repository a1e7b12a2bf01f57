import { afterEach, expect, test } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import type { TelemetrySettings } from "../../model/index.ts";
import { type OtelPlan, planOtel } from "./plan.ts";

const PROGRAM = Symbol.for("opentelemetry.js.api.1");
const API = globalThis as { [PROGRAM]?: object };

afterEach(() => {
  delete API[PROGRAM];
});

function plan(
  env: Record<string, string>,
  settings?: TelemetrySettings,
): { plan: OtelPlan | undefined; reported: Diagnostic[] } {
  const reported: Diagnostic[] = [];
  return { plan: planOtel(settings, env, (one) => reported.push(one)), reported };
}

const OWN = { protocol: "http/protobuf" };

test.each<[string, Record<string, string>, TelemetrySettings | undefined, object | undefined]>([
  ["without variables and settings, there is no OTLP export", {}, undefined, undefined],
  ["with Prometheus only, there is no OTLP export", {}, { prometheus: {} }, undefined],
  [
    "an endpoint exports traces and metrics",
    { OTEL_EXPORTER_OTLP_ENDPOINT: "http://a" },
    undefined,
    { traces: OWN, metrics: OWN },
  ],
  [
    "an endpoint for traces exports traces only",
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://a" },
    undefined,
    { traces: OWN, metrics: undefined },
  ],
  [
    "an exporter for metrics exports metrics only",
    { OTEL_METRICS_EXPORTER: "otlp" },
    undefined,
    { traces: undefined, metrics: OWN },
  ],
  [
    'the exporter "none" disables one signal',
    { OTEL_EXPORTER_OTLP_ENDPOINT: "http://a", OTEL_METRICS_EXPORTER: "none" },
    undefined,
    { traces: OWN, metrics: undefined },
  ],
  [
    "OTEL_SDK_DISABLED disables both signals",
    { OTEL_EXPORTER_OTLP_ENDPOINT: "http://a", OTEL_SDK_DISABLED: "true" },
    { endpoint: "http://b" },
    undefined,
  ],
  [
    "settings override environment variables",
    { OTEL_EXPORTER_OTLP_ENDPOINT: "http://a", OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf" },
    { endpoint: "http://b:4318/", protocol: "http/json", metrics: false, sample: 0.5 },
    { traces: { protocol: "http/json", url: "http://b:4318/v1/traces" }, metrics: undefined, sample: 0.5 },
  ],
  ["an empty variable has no effect", { OTEL_EXPORTER_OTLP_ENDPOINT: " " }, undefined, undefined],
])("planOtel: %s", (_name, env, settings, expected) => {
  const made = plan(env, settings);
  expect(made.reported).toEqual([]);
  if (expected === undefined) expect(made.plan).toBeUndefined();
  else expect(made.plan).toMatchObject(expected);
});

test("planOtel reports an unknown exporter or protocol as a warning, and does not fail", () => {
  const made = plan({ OTEL_TRACES_EXPORTER: "zipkin", OTEL_METRICS_EXPORTER: "prometheus" });
  expect(made.plan).toBeUndefined();
  expect(made.reported.map(({ severity, message }) => `${severity} ${message}`)).toEqual([
    'warning OTEL_TRACES_EXPORTER is "zipkin", which is not supported; traces are not exported',
    'warning OTEL_METRICS_EXPORTER is "prometheus", which is not supported; metrics are not exported',
  ]);
  const grpc = plan({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://a", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" });
  expect(grpc.plan).toBeUndefined();
  expect(grpc.reported).toHaveLength(2);
});

test("planOtel exports through the SDK of the program, unless the settings name an endpoint", () => {
  API[PROGRAM] = { trace: {}, metrics: {} };
  expect(plan({}).plan).toMatchObject({ traces: "program", metrics: "program" });
  expect(plan({}, { traces: false }).plan).toMatchObject({ traces: undefined, metrics: "program" });
  expect(plan({}, { endpoint: "http://b" }).plan).toMatchObject({ traces: OWN, metrics: OWN });
});
