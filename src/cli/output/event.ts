// Events and log messages of servers, one line each.

import type {
  ApprovalEvent,
  BudgetExceededEvent,
  CallRefusedEvent,
  ContractEvent,
  GatewayRefusedEvent,
  GatewayReloadedEvent,
  HubEvent,
  LoopStoppedEvent,
} from "../../hub/index.ts";
import type { ApprovalWay, LogMessage } from "../../model/index.ts";
import type { Colors, Paint } from "../terminal/colors.ts";
import { count, formatDownload } from "../terminal/layout.ts";
import { specificHint } from "./server-state.ts";
import { plainLine, plainText, toJsonText } from "../terminal/safe-text.ts";

export function describeEvent(event: HubEvent, colors: Colors): string {
  return `${colors.dim(formatTime(event.time))} ${describeUndated(event, colors)}`;
}

/** The same without the time. */
export function describeUndated(event: HubEvent, colors: Colors): string {
  const { type, server } = event;
  const head = colors.bold(plainLine(server, 40));
  if (event.type === "mcp.server_installing") {
    // The reason says whether the installation starts or is done.
    const amount = event.bytes === undefined ? "" : `: ${formatDownload(event.bytes)}`;
    return `${head} ${colors.cyan(plainLine(event.reason ?? "", 500))}${amount}`;
  }
  const what = isKept(event)
    ? "config not reloaded"
    : type === "gateway.reloaded"
      ? `settings ${event.problems.length > 0 ? "not reloaded" : "reloaded"}`
      : isUnreachable(event)
        ? "host unreachable"
        : type.replace(/^(?:mcp\.(?:server_)?|gateway\.)/, "").replaceAll("_", " ");
  const isConnection = type.startsWith("mcp.server_") || type === "mcp.tools_changed";
  const caller = isConnection && "caller" in event && event.caller !== undefined ? event.caller : undefined;
  const whose = caller === undefined ? "" : ` for ${plainLine(caller, 80)}`;
  return `${head} ${paintOf(event, colors)(what)}${whose}${detailOf(event)}`;
}

/** Local date and time, as in `2026-03-01 14:05:09`. */
export function formatTime(time: string): string {
  const at = new Date(time);
  const two = (value: number): string => String(value).padStart(2, "0");
  const date = [at.getFullYear(), at.getMonth() + 1, at.getDate()].map(two).join("-");
  return `${date} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":")}`;
}

/** True when the config files have errors, so that the reload applied none of them. */
function isKept(event: HubEvent): boolean {
  if (event.type !== "mcp.config_reloaded" || event.problems.length === 0) return false;
  return event.added.length + event.changed.length + event.removed.length === 0;
}

function isUnreachable(event: HubEvent): boolean {
  return event.type === "mcp.sandbox_denied" && event.kind === "unreachable";
}

function paintOf(event: HubEvent, colors: Colors): Paint {
  const { type } = event;
  if (event.type === "mcp.pins_compared") return event.withheld > 0 ? colors.red : colors.yellow;
  if (event.type === "gateway.reloaded") return event.problems.length > 0 ? colors.red : colors.cyan;
  if (/failed$|denied$|refused$|exceeded$|loop_stopped$/.test(type)) return colors.red;
  if (/relaxed$|requested$|expired$/.test(type)) return colors.yellow;
  return /ready$|restarted$|granted$/.test(type) ? colors.green : colors.cyan;
}

function detailOf(event: HubEvent): string {
  if (event.type === "mcp.tools_changed") return changesOf(event);
  if (event.type === "mcp.config_reloaded") {
    const failed = event.failed.map(
      ({ server, reason }) => `; ${plainLine(server, 40)} failed: ${plainLine(reason, 300)}`,
    );
    const problems = event.problems.map((problem) => `; ${plainLine(problem, 300)}`);
    return `${changesOf(event)}${failed.join("")}${problems.slice(0, 3).join("")}`;
  }
  if (event.type === "mcp.sandbox_denied") {
    // Without a port, the server only looked up the host.
    const port = event.port === undefined ? "" : `:${event.port}`;
    return ` ${plainLine(event.host, 255)}${port} ${plainLine(event.reason, 500)}`;
  }
  if (event.type === "mcp.sandbox_path_denied") {
    const grant = event.grant === undefined ? "" : ` Grant access with: ${plainLine(event.grant, 500)}`;
    return ` ${plainLine(event.path, 500)} ${plainLine(event.reason, 500)}${grant}`;
  }
  if (event.type === "mcp.sandbox_relaxed") {
    const { mode, by, missing } = event;
    const unenforced =
      missing.length === 0 ? "" : `; not enforced: ${missing.map((one) => plainLine(one, 200)).join(", ")}`;
    return ` to ${mode} (${plainLine(by, 80)})${unenforced}`;
  }
  if (event.type === "mcp.pins_compared") return pinsDetail(event);
  if (event.type === "gateway.refused") return refusalDetail(event);
  if (event.type === "gateway.call_refused") return callRefusalDetail(event);
  if (event.type === "gateway.reloaded") return reloadDetail(event);
  if (event.type === "gateway.budget_exceeded") {
    const { budget, kind, used, amount, until } = event;
    const noun = kind === "calls" ? "calls" : "cost units";
    return ` ${plainLine(budget, 80)}: ${used} of ${amount} ${noun} used; ${refusedCall(event)}. The period of the budget ends at ${formatTime(until)}`;
  }
  if (event.type === "gateway.loop_stopped")
    return ` after ${count(event.calls, "identical call")}: ${refusedCall(event)}. The call is possible again at ${formatTime(event.until)}`;
  if ("ts" in event) return contractDetail(event);
  if ("rule" in event) return approvalDetail(event);
  const reason = event.reason === undefined ? "" : ` ${plainLine(event.reason, 500)}`;
  const code = event.code === undefined ? "" : ` [${event.code}]`;
  if ("tool" in event)
    return ` ${plainLine(event.tool, 80)}${event.caller === undefined ? "" : ` for ${plainLine(event.caller, 80)}`} ${Math.round(event.durationMs)} ms${reason}${code}`;
  const hint = specificHint(event.code, "hint" in event ? (event.hint ?? "") : "");
  return `${reason}${code}${hint === "" ? "" : ` ${hint}`}`;
}

function refusedCall({ tool, caller }: BudgetExceededEvent | LoopStoppedEvent): string {
  return `refused ${plainLine(tool, 80)} for ${plainLine(caller, 80)}`;
}

/** How a waiting call can be approved, after "To approve: ". A rule may not allow the command. */
export function approvalPlaces(ways: readonly ApprovalWay[], command: string): string {
  if (ways.includes("terminal")) return command;
  if (ways.includes("console")) return "in the console (portolan console)";
  return ways.includes("caller") ? "in the client that sent the call" : "in the program of the gateway";
}

function approvalDetail({ type, tool, caller, id, by, reason, ways = [] }: ApprovalEvent): string {
  const how = by === undefined ? "" : ` (${by})`;
  const why = reason === undefined ? "" : `: ${plainLine(reason, 300)}`;
  const command = `portolan approve ${plainLine(id, 20)}`;
  const next =
    type !== "gateway.approval_requested"
      ? ""
      : ways.includes("terminal")
        ? `. Decide: ${command}`
        : `. To approve: ${approvalPlaces(ways, command)}. To deny: ${command} --deny`;
  return ` ${plainLine(tool, 80)} for ${plainLine(caller, 80)}${how}${why}${next}`;
}

function refusalDetail(event: GatewayRefusedEvent): string {
  const { caller, address, path, reason, code, more } = event;
  const by = caller === undefined ? "" : ` of ${plainLine(caller, 80)}`;
  const from = `${by}${address === undefined ? "" : ` from ${plainLine(address, 80)}`}`;
  const others = more === undefined ? "" : ` (and ${more} more since the last event)`;
  return ` ${plainLine(path, 200)}${from}: ${plainLine(reason, 300)} [${code}]${others}`;
}

function callRefusalDetail({ tool, caller, rule, more }: CallRefusedEvent): string {
  const others = more === undefined ? "" : ` (and ${more} more since the last event)`;
  return ` ${plainLine(tool, 200)} for ${plainLine(caller, 80)}: ${plainLine(rule, 500)}${others}`;
}

function reloadDetail({ changed, restart, problems }: GatewayReloadedEvent): string {
  if (problems.length > 0)
    return `: the earlier settings stay in use: ${problems.map((one) => plainLine(one, 500)).join("; ")}`;
  const later =
    restart.length === 0 ? "" : `; effective after a restart of the gateway: ${restart.join(", ")}`;
  return `${changed.length === 0 ? "" : ` ${changed.join(", ")}`}${later}`;
}

function pinsDetail(event: Extract<HubEvent, { type: "mcp.pins_compared" }>): string {
  const { mode, withheld, reason, hint } = event;
  const changes = changesOf(event);
  if (changes === "" && reason === undefined)
    return mode === "off"
      ? ": the tools are no longer compared with the pins"
      : ": all tool definitions are approved";
  const why = reason === undefined ? "" : `: ${plainLine(reason, 500)}`;
  const effect =
    mode === "warn" ? "only reported" : withheld === 0 ? "" : `${count(withheld, "tool")} withheld`;
  const next = hint === undefined ? "" : `. ${plainLine(hint, 300)}`;
  return `${changes}${why}${effect === "" ? "" : ` (${effect})`}${next}`;
}

function changesOf(
  event: HubEvent & { type: "mcp.tools_changed" | "mcp.config_reloaded" | "mcp.pins_compared" },
): string {
  const parts = [
    ["+", event.added],
    ["~", event.changed],
    ["-", event.removed],
  ] as const;
  const shown = parts.flatMap(([sign, names]) => names.map((name) => `${sign}${plainLine(name, 80)}`));
  if (shown.length === 0) return "";
  return ` ${shown.slice(0, 8).join(" ")}${shown.length > 8 ? ` and ${shown.length - 8} more` : ""}`;
}

function contractDetail(event: ContractEvent): string {
  switch (event.type) {
    case "driver.resolved": {
      const rejected = event.rejected.map(({ provider_id, reason }) => `${provider_id}: ${reason}`);
      const why = rejected.length === 0 ? "" : ` (not ${plainLine(rejected.join("; "), 500)})`;
      return ` for ${plainLine(event.tool, 80)}${event.selected === undefined ? ": no driver" : ""}${why}`;
    }
    case "driver.invoked": {
      const { tool_id, mcp_tool_name, duration_ms, ok, code } = event;
      const failed = ok ? "" : ` failed${code === undefined ? "" : ` [${plainLine(code, 60)}]`}`;
      return ` ${plainLine(tool_id, 80)} as ${plainLine(mcp_tool_name, 80)} ${Math.round(duration_ms)} ms${failed}`;
    }
    case "secret.reveal":
    case "secret.reveal.denied": {
      const { slug, tool, granted_by, reason } = event;
      const how = reason ?? (granted_by === undefined ? "" : `by ${granted_by}`);
      return ` ${plainLine(slug, 80)}${tool === undefined ? "" : ` for ${plainLine(tool, 80)}`} ${plainLine(how, 300)}`;
    }
  }
}

/** One line for a log message of a server. */
export function describeLog({ level, logger, data }: LogMessage, colors: Colors): string {
  const text = typeof data === "string" ? plainText(data) : toJsonText(data);
  const from = logger === undefined ? "" : ` ${plainLine(logger, 60)}`;
  return `${colors.dim(`log ${plainLine(level, 20)}${from}`)} ${text}`;
}
