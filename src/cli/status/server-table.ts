// Table of the servers of a workspace that fits the terminal; reasons are below their rows.

import type { ServerHealth } from "../../hub/index.ts";
import { describePins } from "../output/pin-lines.ts";
import { replacementLine, SANDBOX_VARIABLE, sandboxLabel, statePaint } from "../output/server-state.ts";
import type { Colors, Paint } from "../terminal/colors.ts";
import { count, cut, displayWidth, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";

export interface TableView {
  readonly colors: Colors;
  readonly width: number | undefined;
  readonly now: number;
  /** Shortens a path for the output. */
  readonly label: (file: string) => string;
  /** A line about a server that its config shows: whether the commands of an mcpfile run in a sandbox. */
  readonly rightsOf?: (alias: string) => string | undefined;
  /** A line about the login of the user at a server. */
  readonly loginOf?: (alias: string) => string | undefined;
}

interface Cell {
  readonly text: string;
  readonly paint?: Paint;
}

const HEAD = ["server", "state", "protocol", "tools", "latency", "since", "config file"];
const RIGHT: ReadonlySet<number> = new Set([3, 4]);
const GAP = "  ";
const MAX_ALIAS = 40;

export function describeStatus(servers: readonly ServerHealth[], view: TableView): string {
  const { colors, width } = view;
  const rows = servers.map((server) => cells(server, view));
  const widths = HEAD.map((head, index) =>
    Math.max(head.length, ...rows.map((row) => displayWidth(row[index]?.text ?? ""))),
  );
  const total = widths.reduce((sum, column) => sum + column + GAP.length, -GAP.length);
  // When the table would be too wide, the config file of a server moves below its row.
  const columns = width !== undefined && total > width ? HEAD.length - 1 : HEAD.length;
  const line = (row: readonly Cell[]): string =>
    row
      .slice(0, columns)
      .map(({ text, paint = (same) => same }, index) => {
        const space = " ".repeat(Math.max(0, (widths[index] ?? 0) - displayWidth(text)));
        return RIGHT.has(index) ? `${space}${paint(text)}` : `${paint(text)}${space}`;
      })
      .join(GAP)
      .trimEnd();
  const lines = [line(HEAD.map((text) => ({ text, paint: colors.dim })))];
  servers.forEach((server, index) => {
    const row = rows[index] as Cell[];
    lines.push(line(row), ...details(server, columns < HEAD.length ? row.at(-1)?.text : undefined, view));
  });
  return lines.join("\n");
}

const DOWN: ReadonlySet<string> = new Set(["blocked", "failed", "reconnecting"]);

/** `3 of 4 servers are up. 2 tools are withheld (not offered). Review: portolan pins diff files` */
export function summarize(servers: readonly ServerHealth[]): string {
  const enabled = servers.filter(({ state }) => state !== "disabled");
  if (enabled.length === 0)
    return servers.length === 1 ? "The server is disabled." : "All servers are disabled.";
  const up = enabled.filter(
    ({ state, error }) => state === "idle" || (state === "ready" && error === undefined),
  ).length;
  const words = enabled.length === 1 ? "server is" : "servers are";
  const down = enabled.find(({ state }) => DOWN.has(state));
  const more = down === undefined ? "" : ` See why: portolan why ${down.alias}`;
  const state =
    up === enabled.length
      ? `${enabled.length === 1 ? "The server is" : `All ${enabled.length} servers are`} up.`
      : `${up} of ${enabled.length} ${words} up.${more}`;
  const notes = [describeOutdated(enabled), describeWithheld(enabled)].filter((note) => note !== "");
  return [state, ...notes].map((text, at, all) => (at < all.length - 1 ? ended(text) : text)).join(" ");
}

function ended(text: string): string {
  return text.endsWith(".") ? text : `${text}.`;
}

function describeOutdated(servers: readonly ServerHealth[]): string {
  const outdated = servers.filter(({ failedReplacement }) => failedReplacement !== undefined);
  const [first] = outdated;
  if (first === undefined) return "";
  const runs = outdated.length === 1 ? "runs" : "run";
  return `${count(outdated.length, "server")} ${runs} with an earlier configuration, process or secret. See why: portolan why ${first.alias}`;
}

function describeWithheld(servers: readonly ServerHealth[]): string {
  const having = servers.filter(({ withheld = 0 }) => withheld > 0);
  const [first, ...others] = having;
  if (first === undefined) return "";
  const total = having.reduce((sum, { withheld = 0 }) => sum + withheld, 0);
  const isUnpinned = first.pins?.problem?.kind === "unpinned";
  const review = `portolan ${isUnpinned ? "pin" : "pins diff"} ${first.alias}`;
  const command = others.length === 0 ? review : "portolan pins";
  return `${count(total, "tool")} ${total === 1 ? "is" : "are"} withheld (not offered). Review: ${command}`;
}

function cells(server: ServerHealth, { colors, now, label }: TableView): Cell[] {
  const { alias, state, era, revision, tools, latencyMs, since, origin } = server;
  const none: Cell = { text: "-", paint: colors.dim };
  return [
    { text: plainLine(alias, MAX_ALIAS), paint: colors.bold },
    { text: state, paint: statePaint(state, colors) },
    // Portolan itself runs the tools of an mcpfile, without a protocol.
    origin.format === "mcpfile"
      ? { text: "mcpfile" }
      : era === undefined
        ? none
        : { text: `${plainLine(revision ?? "", 20)} ${era}`.trim() },
    tools === 0 && state !== "ready" ? none : { text: String(tools) },
    latencyMs === undefined ? none : { text: formatMs(latencyMs) },
    { text: formatAge(now - Date.parse(since)) },
    { text: `${label(origin.file)}:${origin.line}`, paint: colors.dim },
  ];
}

function details(
  server: ServerHealth,
  configFile: string | undefined,
  { colors, width, now, rightsOf, loginOf }: TableView,
): string[] {
  const {
    alias,
    error,
    failedReplacement,
    restarts,
    state,
    retrying,
    installing,
    transport,
    dedicatedProcesses: more = 0,
    sandbox,
    pins,
  } = server;
  const room = width === undefined ? undefined : width - 4;
  const lines: string[] = [];
  const add = (text: string, paint: Paint = (same) => same): void => {
    lines.push(
      ...wrap(text, room)
        .split("\n")
        .map((line) => `    ${paint(line)}`),
    );
  };
  if (configFile !== undefined)
    add(room === undefined ? configFile : cut(`config file ${configFile}`, room), colors.dim);
  if (installing !== undefined)
    add(
      `The server is not ready yet: ${plainLine(installing.what, 200)} (began ${formatAge(now - Date.parse(installing.since))}). This can take minutes. Run portolan status again.`,
    );
  if (error !== undefined) {
    add(
      `${plainLine(error.message, 500)} [${error.code}]`,
      state === "ready" ? colors.red : statePaint(state, colors),
    );
    if (error.hint !== "") add(`hint ${plainLine(error.hint, 500)}`);
    if (retrying === true) add("Portolan is trying to start the server again.");
  } else if (state === "starting" && installing === undefined)
    add("The server is not ready yet. Run portolan status again.");
  if (failedReplacement !== undefined) {
    add(replacementLine(failedReplacement), colors.yellow);
    add(`hint ${plainLine(failedReplacement.hint, 500)}`);
  }
  const login = loginOf?.(alias);
  if (login !== undefined) add(plainLine(login, 300), colors.dim);
  const rights = rightsOf?.(alias);
  if (rights !== undefined) add(rights, colors.dim);
  for (const line of describePins(alias, pins))
    add(line, pins?.mode === "enforce" ? colors.red : colors.yellow);
  if (sandbox !== undefined && sandbox.mode !== "enforce" && sandbox.by !== SANDBOX_VARIABLE)
    add(`sandbox ${sandboxLabel(sandbox)}`, colors.yellow);
  if (more > 0) {
    const what = transport === "http" ? ["session", "sessions"] : ["process", "processes"];
    add(
      `${more} more ${what[more === 1 ? 0 : 1]} for clients that answer requests from the server`,
      colors.dim,
    );
  }
  if (restarts > 0) add(`restarted ${restarts} ${restarts === 1 ? "time" : "times"}`, colors.dim);
  return lines;
}

function formatMs(ms: number): string {
  return ms < 10
    ? `${ms.toFixed(1)} ms`
    : ms < 1_000
      ? `${Math.round(ms)} ms`
      : `${(ms / 1_000).toFixed(1)} s`;
}

function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds}s ago`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes}m ago` : `${Math.floor(minutes / 60)}h ago`;
}
