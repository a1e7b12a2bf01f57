// The page `/metrics`: who may read it, and the values that are read at the time of a scrape.

import { VERSION } from "../../client/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import { healthOf, isFirstStart, type OpenedWorkspace, type ServerHealth } from "../../hub/index.ts";
import { BUILT_IN_CALLERS, type PrometheusSettings } from "../../model/index.ts";
import type { CallMetrics, Gauge } from "../../telemetry/index.ts";
import type { AuthenticatedCaller } from "../access/types.ts";
import type { Approvals } from "../approval/approvals.ts";
import type { ConfigState } from "./config-state.ts";

export interface MetricsPage {
  /** True if no token is needed. */
  readonly isOpen: boolean;
  admits(caller: AuthenticatedCaller): boolean;
  text(): string;
}

/** Values of the gateway that are read at the time of a scrape. */
export interface GatewayValues {
  readonly approvals: Approvals["counts"];
  readonly config: ConfigState;
}

export interface MetricsPageOptions {
  readonly settings: PrometheusSettings;
  readonly metrics: CallMetrics;
  readonly workspace: OpenedWorkspace;
  /** Number of refused requests, by error code. */
  readonly refusals: ReadonlyMap<string, number>;
  readonly values: () => GatewayValues;
}

export function createMetricsPage({
  settings,
  metrics,
  workspace,
  refusals,
  values,
}: MetricsPageOptions): MetricsPage {
  const { callers = [] } = settings;
  return {
    isOpen: settings.auth === "none",
    // Callers that are found by OAuth claims are named `<caller>|<subject>`.
    admits: ({ name }) =>
      BUILT_IN_CALLERS.has(name) ||
      callers.some((caller) => name === caller || name.startsWith(`${caller}|`)),
    text: () => metrics.text(gaugesOf(workspace, refusals, values())),
  };
}

function gaugesOf(
  { hub, diagnostics }: OpenedWorkspace,
  refusals: ReadonlyMap<string, number>,
  { approvals, config }: GatewayValues,
): Gauge[] {
  const servers = hub.members.filter(({ config }) => config.enabled);
  const health = servers.map(healthOf);
  const ofServers = (value: (member: (typeof servers)[number]) => number): Gauge["samples"] =>
    servers.map((member) => ({ labels: { server: member.alias }, value: value(member) }));
  // The same numbers as in `portolan status`.
  const ofHealth = (value: (one: ServerHealth) => number): Gauge["samples"] =>
    health.map((one) => ({ labels: { server: one.alias }, value: value(one) }));
  const { user, system } = process.cpuUsage();
  return [
    {
      name: "portolan_server_up",
      help: "1 if a server can be used, 0 if its first start has not ended, its last start failed, it does not answer, or it was stopped.",
      type: "gauge",
      samples: ofServers((member) => (member.isDown || isFirstStart(member) ? 0 : 1)),
    },
    {
      name: "portolan_server_outdated",
      help: "1 if a server runs with an earlier configuration or process, because the new one did not start, or with secrets that cannot be read again.",
      type: "gauge",
      samples: ofServers(({ failedReplacement }) => (failedReplacement === undefined ? 0 : 1)),
    },
    {
      name: "portolan_server_restarts_total",
      help: "Restarts of a server after it crashed or its connection broke.",
      type: "counter",
      samples: ofHealth(({ restarts }) => restarts),
    },
    {
      name: "portolan_server_tools",
      help: "Tools that a server has.",
      type: "gauge",
      samples: ofServers(({ inventory }) => inventory.tools.length),
    },
    {
      name: "portolan_server_tools_withheld",
      help: "Tools of a server that the gateway withholds, because their present definition is not approved or could not be checked.",
      type: "gauge",
      samples: ofHealth(({ withheld = 0 }) => withheld),
    },
    {
      name: "portolan_refused_requests_total",
      help: "Requests that access control or a limit refused.",
      type: "counter",
      samples: [...refusals].map(([code, value]) => ({ labels: { code }, value })),
    },
    {
      name: "portolan_approvals_waiting",
      help: "Calls that wait for approval.",
      type: "gauge",
      samples: [{ value: approvals.waiting }],
    },
    {
      name: "portolan_approvals_decided_total",
      help: "Calls that waited for approval and were granted, denied, expired or withdrawn.",
      type: "counter",
      samples: Object.entries(approvals.decided).map(([outcome, value]) => ({ labels: { outcome }, value })),
    },
    {
      name: "portolan_config_last_reload_successful",
      help: "1 if the gateway uses the config files as they are, 0 if they have an error and the earlier config is in use.",
      type: "gauge",
      samples: [{ value: config.isValid ? 1 : 0 }],
    },
    {
      name: "portolan_config_last_reload_success_timestamp_seconds",
      help: "When a valid config was last applied.",
      type: "gauge",
      samples: [{ value: Math.round(config.appliedAt / 1_000) }],
    },
    {
      name: "portolan_errors",
      help: "Errors that portolan status shows, by code, such as AUDIT_DAMAGED.",
      type: "gauge",
      samples: countErrors(diagnostics),
    },
    {
      name: "process_cpu_seconds_total",
      help: "Processor time of the gateway, without its servers.",
      type: "counter",
      samples: [{ value: (user + system) / 1e6 }],
    },
    {
      name: "process_resident_memory_bytes",
      help: "Memory of the gateway, without its servers.",
      type: "gauge",
      samples: [{ value: process.memoryUsage.rss() }],
    },
    {
      name: "process_start_time_seconds",
      help: "When the gateway was started.",
      type: "gauge",
      samples: [{ value: Math.round((Date.now() - performance.now()) / 1_000) }],
    },
    {
      name: "portolan_build_info",
      help: "The version of Portolan.",
      type: "gauge",
      samples: [{ labels: { version: VERSION }, value: 1 }],
    },
  ];
}

function countErrors(diagnostics: readonly Diagnostic[]): Gauge["samples"] {
  const counts = new Map<string, number>();
  for (const { severity, code } of diagnostics)
    if (severity === "error") counts.set(code, (counts.get(code) ?? 0) + 1);
  return [...counts].map(([code, value]) => ({ labels: { code }, value }));
}
