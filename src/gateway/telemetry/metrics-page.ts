// The page `/metrics`: who may read it, and the values that are read at the time of a scrape.

import { VERSION } from "../../client/index.ts";
import { healthOf, type OpenedWorkspace, type ServerHealth } from "../../hub/index.ts";
import type { PrometheusSettings } from "../../model/index.ts";
import type { CallMetrics, Gauge } from "../../telemetry/index.ts";
import type { AuthenticatedCaller } from "../access/types.ts";
import type { Budgets } from "../budgets/budgets.ts";

export interface MetricsPage {
  /** True if no token is needed. */
  readonly isOpen: boolean;
  admits(caller: AuthenticatedCaller): boolean;
  text(): string;
}

export interface MetricsPageOptions {
  readonly settings: PrometheusSettings;
  readonly metrics: CallMetrics;
  readonly workspace: OpenedWorkspace;
  /** Number of refused requests, by error code. */
  readonly refusals: ReadonlyMap<string, number>;
  /** Number of calls that budgets and the loop breaker refused. */
  readonly refusedCalls: () => Budgets["refusals"];
}

/** The callers of the gateway's own token, of stdio, and of a gateway without tokens. */
const OWNERS: ReadonlySet<string> = new Set(["local", "stdio", "anyone"]);

export function createMetricsPage({
  settings,
  metrics,
  workspace,
  refusals,
  refusedCalls,
}: MetricsPageOptions): MetricsPage {
  const { callers = [] } = settings;
  return {
    isOpen: settings.auth === "none",
    // Callers that are found by OAuth claims are named `<caller>|<subject>`.
    admits: ({ name }) =>
      OWNERS.has(name) || callers.some((caller) => name === caller || name.startsWith(`${caller}|`)),
    text: () => metrics.text(gaugesOf(workspace, refusals, refusedCalls())),
  };
}

function gaugesOf(
  { hub }: OpenedWorkspace,
  refusals: ReadonlyMap<string, number>,
  refusedCalls: Budgets["refusals"],
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
      help: "1 if a server can be used, 0 if its last start failed.",
      type: "gauge",
      samples: ofServers(({ isDown }) => (isDown ? 0 : 1)),
    },
    {
      name: "portolan_server_restarts_total",
      help: "Restarts of a server after it was lost.",
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
      help: "Tools of a server that are withheld, because nobody approved their definition.",
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
      name: "portolan_refused_calls_total",
      help: "Tool calls that a budget or the loop breaker refused.",
      type: "counter",
      samples: refusedCalls.map(({ decision: { kind, rule = "" }, value }) => ({
        labels: { decision: kind, rule },
        value,
      })),
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
