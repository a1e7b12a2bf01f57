// Event log of a running gateway: each new state once, and calls only with --verbose.

import type { HubEvent } from "../../hub/index.ts";
import type { Cli } from "../context.ts";
import { describeRelaxedByOwner, SANDBOX_VARIABLE } from "../output/server-state.ts";
import type { ServedServer } from "./greeting.ts";
import type { ServeLog } from "./log.ts";

const TROUBLE: ReadonlySet<string> = new Set([
  "mcp.server_failed",
  "mcp.server_replacement_failed",
  "mcp.sandbox_denied",
  "mcp.pins_compared",
  "gateway.approval_requested",
]);

/** Limits the memory for servers that try many hosts. */
const MAX_HOSTS = 50;

export interface ServeEvents {
  record(event: HubEvent): void;
  /** Starts the log, once the state of these servers has been shown. */
  begin(servers: readonly ServedServer[]): void;
  /** Ends the log, since the stop events at the end are not shown. */
  end(): void;
}

/** `troubleOnly`: shows only failures. */
export function createServeEvents(
  log: Pick<ServeLog, "event" | "note">,
  { output, options }: Pick<Cli, "output" | "options">,
  troubleOnly: boolean,
): ServeEvents {
  /** The last shown reason of each server that is down. */
  const down = new Map<string, string>();
  const known = new Set<string>();
  /** Relaxed sandboxes that were shown already. */
  const seen = new Set<string>();
  const relaxed: (HubEvent & { readonly type: "mcp.sandbox_relaxed" })[] = [];
  /** Servers with withheld tools at the start. */
  const withheld = new Map<string, HubEvent>();
  /** Denied hosts by server. */
  const hosts = new Map<string, Set<string>>();
  const isNewHost = ({
    server,
    kind,
    host,
    port,
  }: HubEvent & { readonly type: "mcp.sandbox_denied" }): boolean => {
    const tried = hosts.get(server) ?? new Set();
    hosts.set(server, tried);
    return tried.size < MAX_HOSTS && once(tried, `${kind} ${host}:${port ?? ""}`);
  };
  let running = false;
  let ended = false;
  const isNews = (event: HubEvent): boolean => {
    if (event.type === "gateway.budget_exceeded" || event.type === "gateway.loop_stopped") return true;
    if (event.type.startsWith("gateway.approval_") || event.type === "gateway.call_refused") return true;
    // The connections of single callers come and go.
    if (event.type !== "gateway.refused" && "caller" in event && event.caller !== undefined) return false;
    switch (event.type) {
      case "mcp.tools_changed":
      case "mcp.pins_compared":
      case "mcp.config_reloaded":
      case "mcp.server_replacement_failed":
      case "gateway.refused":
      case "gateway.reloaded":
        return true;
      case "mcp.server_failed": {
        const reason = event.reason ?? event.code ?? "";
        // Each restart fails for the same reason; the log shows it once.
        if (down.get(event.server) === reason) return false;
        down.set(event.server, reason);
        return true;
      }
      case "mcp.server_started":
        // A server that was just added: its ready event is shown.
        if (!known.has(event.server)) down.set(event.server, "");
        known.add(event.server);
        return false;
      case "mcp.server_stopped":
        // A server that comes back counts as new.
        down.delete(event.server);
        known.delete(event.server);
        return true;
      case "mcp.server_ready":
        return down.delete(event.server);
      case "mcp.server_restarted":
        return down.delete(event.server) || event.reason !== undefined;
      case "mcp.sandbox_relaxed":
        // In the mode warn, a sandbox whose rules are all enforced is as good as any other.
        if (event.mode === "warn" && event.missing.length === 0 && event.by !== SANDBOX_VARIABLE)
          return false;
        return once(seen, `${event.server} ${event.mode}`);
      case "mcp.sandbox_denied":
        return isNewHost(event);
      default:
        return false;
    }
  };
  return {
    record(event) {
      if (!running && event.type === "mcp.sandbox_relaxed" && isNews(event)) relaxed.push(event);
      if (!running && event.type === "mcp.pins_compared") {
        if (event.withheld > 0) withheld.set(event.server, event);
        else withheld.delete(event.server);
      }
      // Installations are also shown before the gateway listens, because most happen then and take long.
      if (event.type === "mcp.server_installing" && event.bytes === undefined && !troubleOnly && !ended)
        return log.event(event);
      if (!running || !(isNews(event) || options.verbose)) return;
      if (troubleOnly && !TROUBLE.has(event.type)) return;
      log.event(event);
    },
    begin(servers) {
      for (const { alias, state, error } of servers) {
        known.add(alias);
        if (state !== "ready" && state !== "idle") down.set(alias, error?.message ?? "");
      }
      running = true;
      for (const event of withheld.values()) log.event(event);
      if (troubleOnly) return;
      // One line covers all servers that PORTOLAN_SANDBOX relaxes.
      const owner = describeRelaxedByOwner(
        relaxed.map(({ server, ...rest }) => ({ alias: server, ...rest })),
      );
      if (owner !== undefined) log.note(output.noteColors.yellow(owner));
      for (const event of relaxed) if (event.by !== SANDBOX_VARIABLE) log.event(event);
    },
    end() {
      running = false;
      ended = true;
    },
  };
}

function once(seen: Set<string>, what: string): boolean {
  const isNew = !seen.has(what);
  seen.add(what);
  return isNew;
}
