// Schemas of the `telemetry` and `audit` sections of portolan.yaml.

import { isHttpUrl, parseUrl } from "../../base/net/urls.ts";
import type { AuditSettings, PrometheusSettings } from "../../model/index.ts";
import { toLabel } from "../document/index.ts";
import {
  flag,
  integer,
  list,
  map,
  number,
  object,
  oneOf,
  size,
  text,
  union,
} from "../schema-builder/index.ts";

const PROMETHEUS = union("Serve /metrics for Prometheus: true, or who may read it (default false).", [
  flag().transform((wanted): PrometheusSettings | undefined => (wanted ? {} : undefined)),
  object("", {
    auth: oneOf("token: the token of the gateway or of one of callers (the default); none: everyone.", [
      "token",
      "none",
    ]),
    callers: list("Callers of gateway.callers that may read it too, by name.", text()),
  }),
]);

export const TELEMETRY = object(
  "What the gateway reports to OpenTelemetry and Prometheus. OTEL_* variables work too, without this section.",
  {
    endpoint: text("The URL of an OTLP receiver, such as http://localhost:4318.").transform(
      (url, node, { diagnostics }) => {
        const parsed = parseUrl(url);
        if (parsed === undefined || !isHttpUrl(parsed) || parsed.search !== "" || parsed.hash !== "")
          diagnostics.add(
            node,
            `${toLabel(node.path)} is not the URL of a receiver`,
            "Write an address such as http://localhost:4318, without /v1/traces.",
          );
        return url;
      },
    ),
    protocol: oneOf("How it is sent (default http/protobuf).", ["http/protobuf", "http/json"]),
    headers: map("Headers for the receiver; ${NAME} references keep tokens elsewhere.", text()),
    traces: flag("Send spans (default true if there is an endpoint)."),
    metrics: flag("Send metrics (default true if there is an endpoint)."),
    sample: number("The share of new traces that are sent (default 1, or OTEL_TRACES_SAMPLER).", {
      minimum: 0,
      maximum: 1,
    }),
    serviceName: text("The name of this gateway (default portolan, or OTEL_SERVICE_NAME)."),
    arguments: flag("Put the arguments of calls on spans; they may be private (default false)."),
    results: flag("Put the results of tool calls on spans; they may be private (default false)."),
    prometheus: PROMETHEUS,
  },
);

export const AUDIT = union("Write every call to a tamper-evident log: true, or how (default false).", [
  flag().transform((wanted): AuditSettings | undefined => (wanted ? {} : undefined)),
  object("", {
    folder: text("The folder of the log, relative to this one (default: in your data folder)."),
    anchors: text("The folder of its anchors, better on another disk (default: in your config folder)."),
    maxBytes: size("A new file begins at this size (default 64MiB).").key("max_size"),
    keep: integer("How many full files are kept (default: all).", { minimum: 1 }),
  }),
]);
