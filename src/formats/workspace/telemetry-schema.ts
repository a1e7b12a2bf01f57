// Schemas of the `telemetry` and `audit` sections of portolan.yaml.

import { isHttpUrl, parseUrl } from "../../base/net/urls.ts";
import type { AuditSettings, PrometheusSettings } from "../../model/index.ts";
import { nodeAt, type TextNode, toLabel } from "../document/index.ts";
import {
  flag,
  integer,
  list,
  map,
  number,
  object,
  oneOf,
  type ReadContext,
  size,
  text,
  union,
} from "../schema-builder/index.ts";
import { callerNames, reportUnknownCallers } from "./approval-schema.ts";

const PROMETHEUS = union(
  "Metrics for Prometheus at /metrics of the gateway: true, or an object with access rules. Default: false.",
  [
    flag().transform((wanted): PrometheusSettings | undefined => (wanted ? {} : undefined)),
    object("", {
      auth: oneOf(
        "Authentication of readers. token (default): the gateway's own token, or the token of a caller in callers. none: everyone can read the metrics.",
        ["token", "none"],
      ),
      callers: list(
        "Names of callers in gateway.callers that can read the metrics with their token.",
        text(),
      ),
    }),
  ],
);

export const TELEMETRY = object(
  "Traces and metrics of the gateway for OpenTelemetry and Prometheus. The environment variables OTEL_* work without this section.",
  {
    endpoint: text(
      "Base URL of an OTLP receiver, such as http://localhost:4318. Default: OTEL_EXPORTER_OTLP_ENDPOINT.",
    ).transform((url, node, { diagnostics }) => {
      const parsed = parseUrl(url);
      if (parsed === undefined || !isHttpUrl(parsed) || parsed.search !== "" || parsed.hash !== "")
        diagnostics.add(
          node,
          `${toLabel(node.path)} is not the URL of a receiver`,
          "Write an address such as http://localhost:4318, without /v1/traces.",
        );
      return url;
    }),
    protocol: oneOf("OTLP protocol. Default: OTEL_EXPORTER_OTLP_PROTOCOL, otherwise http/protobuf.", [
      "http/protobuf",
      "http/json",
    ]),
    headers: map("HTTP headers for the OTLP receiver. Use ${NAME} references for tokens.", text()),
    traces: flag(
      "If true, send traces. Default: true if endpoint or an OTEL_* variable for the export is set.",
    ),
    metrics: flag(
      "If true, send metrics. Default: true if endpoint or an OTEL_* variable for the export is set.",
    ),
    sample: number(
      "Fraction of new traces to send, from 0 to 1. Default: OTEL_TRACES_SAMPLER, otherwise 1.",
      {
        minimum: 0,
        maximum: 1,
      },
    ),
    serviceName: text("Service name of this gateway. Default: OTEL_SERVICE_NAME, otherwise portolan."),
    arguments: flag(
      "If true, spans contain the arguments of tool calls, which may be private. Default: false.",
    ),
    results: flag("If true, spans contain the results of tool calls, which may be private. Default: false."),
    prometheus: PROMETHEUS,
  },
);

export const AUDIT = union(
  "Tamper-evident audit log of all calls: true, or an object with settings. Default: false.",
  [
    flag().transform((wanted): AuditSettings | undefined => (wanted ? {} : undefined)),
    object("", {
      folder: text(
        "Folder of the audit log, relative to the folder of this file. Default: a folder in your data folder.",
      ),
      anchors: text(
        "Folder of the anchors of the audit log, preferably on another disk. Default: a folder in your config folder.",
      ),
      maxBytes: size("Size at which a new log file begins. Default: 64MiB.").key("max_size"),
      keep: integer("Number of full log files to keep. Default: all.", { minimum: 1 }),
    }),
  ],
);

/** Reports names in `telemetry.prometheus.callers` that no caller of the gateway has: the gateway would refuse Prometheus. */
export function checkMetricsCallers(root: TextNode, context: ReadContext): void {
  const telemetry = nodeAt(root, "telemetry");
  const prometheus = telemetry && nodeAt(telemetry, "prometheus");
  const known = new Set(callerNames(nodeAt(root, "gateway")));
  reportUnknownCallers(prometheus && nodeAt(prometheus, "callers"), known, context);
}
