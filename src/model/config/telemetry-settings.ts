// Settings of telemetry and of the audit log, as plain data. Both are off by default.

export interface TelemetrySettings {
  /** The URL of an OTLP receiver, without `/v1/traces`. The default is `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly endpoint?: string;
  readonly protocol?: "http/protobuf" | "http/json";
  /** Headers for the receiver. The texts may contain references such as `${NAME}`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly traces?: boolean;
  readonly metrics?: boolean;
  /** The share of new traces that are sampled, from 0 to 1. */
  readonly sample?: number;
  readonly serviceName?: string;
  /** Put the arguments of calls on spans. */
  readonly arguments?: boolean;
  /** Put the results of tool calls on spans. */
  readonly results?: boolean;
  /** Serve `/metrics`; absent: do not. */
  readonly prometheus?: PrometheusSettings;
}

/** Callers that may read `/metrics`, beside the holder of the gateway's own token. */
export interface PrometheusSettings {
  /** `none` lets everyone read it who can reach the gateway. */
  readonly auth?: "token" | "none";
  /** Callers of `gateway.callers`. */
  readonly callers?: readonly string[];
}

export interface AuditSettings {
  /** The folder of the log. The default is in the data folder of the user. It is absolute in a catalog. */
  readonly folder?: string;
  /** The folder of the anchors, which should be elsewhere. */
  readonly anchors?: string;
  /** The size at which a new file begins. */
  readonly maxBytes?: number;
  /** The number of full files that are kept; absent: all. */
  readonly keep?: number;
}
