// Pins as text: the state of servers, tools with their lint findings, and differences of definitions.

import { type DefinitionChange, visibleText } from "../../packages/index.ts";
import type { JsonObject } from "../../model/index.ts";
import type { Colors, Paint } from "../terminal/colors.ts";
import { count, cut, displayWidth, wrap } from "../terminal/layout.ts";
import { plainLine, plainText, toJsonText } from "../terminal/safe-text.ts";
import { isDifferent, type LintedTool, type LiveServer } from "./live.ts";

export interface View {
  readonly colors: Colors;
  readonly width: number | undefined;
}

const MAX_LINES = 40;
/** Longer values take several lines. */
const SHORT_JSON = 70;

/** `pinned`, `2 changed, 1 new`, `not pinned` */
export function stateOf({ mode, tools, removed, problem }: LiveServer, isPinned: boolean): string {
  if (problem?.kind === "unreadable") return "lock file unreadable";
  if (!isPinned) return "not pinned";
  if (mode === undefined) return "pinned, not compared";
  const of = (...verdicts: string[]): number =>
    tools.filter(({ verdict }) => verdicts.includes(verdict)).length;
  const parts = [
    [of("changed", "unpinnable"), "changed"],
    [of("new"), "new"],
    [removed.length, "removed"],
  ] as const;
  const shown = parts.filter(([number]) => number > 0).map(([number, word]) => `${number} ${word}`);
  return shown.length === 0 ? "pinned" : shown.join(", ");
}

/** One line for a server, and one for each tool that differs. */
export function describeServer(server: LiveServer, isPinned: boolean, column: number, view: View): string {
  const { colors, width } = view;
  const state = stateOf(server, isPinned);
  const paint: Paint =
    state === "pinned" ? colors.green : state.startsWith("not") ? colors.dim : colors.yellow;
  const withheld = server.mode === "enforce" ? server.tools.filter(isDifferent).length : 0;
  const facts = [
    count(server.tools.length, "tool"),
    ...(withheld > 0 ? [colors.red(`${withheld} withheld`)] : []),
    ...(server.mode === "warn" ? ["pins: warn"] : []),
    ...(server.kind === "driver" ? ["driver"] : []),
  ];
  const name = plainLine(server.server, 60);
  const space = " ".repeat(Math.max(0, column - displayWidth(name)));
  const lines = [
    wrap(`${colors.bold(name)}${space}  ${paint(state)} ${colors.dim("·")} ${facts.join(", ")}`, width, 4),
  ];
  if (server.problem?.kind === "unreadable" || (server.problem?.kind === "unpinned" && !isPinned))
    lines.push(wrap(`  ${colors.red(plainLine(server.problem.message, 500))}`, width, 2));
  if (isPinned && server.mode !== undefined) {
    const differing = server.tools.filter(isDifferent);
    const names = [...differing.map((tool) => tool.name), ...server.removed].map((one) => plainLine(one, 60));
    const wide = Math.max(0, ...names.map(displayWidth));
    for (const tool of differing) lines.push(...describeDifference(tool, wide, view));
    for (const tool of server.removed)
      lines.push(`  ${colors.dim("removed")}  ${plainLine(tool, 60)}`.trimEnd());
  }
  return lines.join("\n");
}

function describeDifference(tool: LintedTool, wide: number, view: View): string[] {
  const { colors, width } = view;
  const name = plainLine(tool.name, 60);
  const label = tool.verdict === "new" ? colors.yellow("new    ") : colors.yellow("changed");
  const what =
    tool.verdict === "unpinnable"
      ? "its definition cannot be compared"
      : tool.verdict === "new"
        ? plainLine(tool.definition.description ?? "", 100)
        : (tool.fields ?? []).join(", ");
  const space = " ".repeat(Math.max(0, wide - displayWidth(name)));
  const line = `  ${label}  ${name}${space}  `;
  const room = width === undefined ? undefined : width - displayWidth(line);
  const shown = room === undefined ? what : cut(what, Math.max(10, room));
  return [`${line}${colors.dim(shown)}`.trimEnd(), ...describeFindings(tool, view, 11)];
}

/** The lint findings of a tool, the worst first. */
export function describeFindings({ findings }: LintedTool, { colors, width }: View, indent = 4): string[] {
  const paints = { error: colors.red, warning: colors.yellow, info: colors.dim } as const;
  const order = ["error", "warning", "info"] as const;
  const sorted = findings.toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
  const shown = sorted.slice(0, 10).map(({ severity, path, message }) => {
    const text = `${paints[severity](severity)} ${plainLine(path, 80)} ${plainLine(visibleText(message), 300)}`;
    return wrap(`${" ".repeat(indent)}${text}`, width, 2);
  });
  if (sorted.length > shown.length)
    shown.push(`${" ".repeat(indent)}${colors.dim(`and ${sorted.length - shown.length} more`)}`);
  return shown;
}

/** A tool that is about to be pinned: name, description, findings. */
export function describeTool(tool: LintedTool, view: View): string {
  const { colors, width } = view;
  const mark = tool.verdict === "same" || tool.approved === undefined ? "" : ` ${colors.yellow("(changed)")}`;
  const head = `  ${colors.cyan(plainLine(tool.name, 100))}${mark}`;
  const description = firstLine(tool.definition.description);
  const room = width === undefined ? undefined : width - displayWidth(head) - 2;
  const shown = room === undefined ? description : room < 20 ? "" : cut(description, room);
  return [`${head}${shown === "" ? "" : `  ${colors.dim(shown)}`}`, ...describeFindings(tool, view)].join(
    "\n",
  );
}

function firstLine(text: unknown): string {
  return typeof text === "string" ? plainLine(visibleText(text), 200) : "";
}

/** The difference of one tool. Without `changes`, the approved definition is not stored on this machine. */
export function describeDiff(
  server: string,
  tool: LintedTool,
  changes: readonly DefinitionChange[] | undefined,
  view: View,
): string {
  const { colors, width } = view;
  const title = `${colors.bold(plainLine(server, 60))} ${colors.cyan(plainLine(tool.name, 100))}`;
  const head = `${title} ${colors.yellow(tool.verdict === "new" ? "is new" : "changed")}`;
  const lines = [head];
  if (changes !== undefined) for (const change of changes) lines.push(...describeChange(change, view));
  else {
    if (tool.verdict !== "new")
      lines.push(
        colors.dim(
          wrap(
            "  The approved definition is not stored on this machine. This is the present definition:",
            width,
            2,
          ),
        ),
      );
    lines.push(...describeDefinition(tool.definition, view));
  }
  lines.push(...describeFindings(tool, view, 2));
  if (tool.hash !== undefined) lines.push(colors.dim(`  hash ${tool.hash}`));
  return lines.join("\n");
}

function describeDefinition({ name: _name, _meta, ...definition }: JsonObject, view: View): string[] {
  return Object.entries(definition).flatMap(([path, after]) => describeChange({ path, after }, view));
}

function describeChange({ path, before, after }: DefinitionChange, { colors, width }: View): string[] {
  const old = linesOf(before);
  const now = linesOf(after);
  // Equal lines at both ends are not shown.
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (
    end < old.length - start &&
    end < now.length - start &&
    old[old.length - 1 - end] === now[now.length - 1 - end]
  )
    end += 1;
  const part = (sign: string, lines: readonly string[], paint: Paint): string[] => {
    const changed = lines.slice(start, lines.length - end);
    const shown = changed.slice(0, MAX_LINES).flatMap((line) =>
      wrap(line, width === undefined ? undefined : width - 4)
        .split("\n")
        .map((one, index) => paint(`  ${index === 0 ? sign : " "} ${one}`)),
    );
    return changed.length > MAX_LINES
      ? [...shown, colors.dim(`  … ${changed.length - MAX_LINES} more lines`)]
      : shown;
  };
  return [
    `  ${colors.bold(plainLine(path, 200))}`,
    ...part("-", old, colors.red),
    ...part("+", now, colors.green),
  ];
}

/** Hidden characters are visible in these lines. */
function linesOf(value: unknown): string[] {
  if (value === undefined) return [];
  const short = typeof value === "string" ? value : toJsonText(value);
  const text = typeof value === "string" || short.length <= SHORT_JSON ? short : toJsonText(value, 2);
  return text.split("\n").map((line) => plainText(visibleText(line)));
}
