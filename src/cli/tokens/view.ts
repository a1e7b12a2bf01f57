// Context cost as text: a table of servers or tools, and what could be dropped with the lines for portolan.yaml.

import type { Colors } from "../terminal/colors.ts";
import { count, cut, displayWidth, wrap } from "../terminal/layout.ts";
import { plainLine, plainText } from "../terminal/safe-text.ts";
import type { TokenReport } from "./report.ts";

export interface TokensOptions {
  /** Shows every tool. */
  tools?: boolean;
}

interface Shown {
  readonly colors: Colors;
  readonly width: number | undefined;
  /** Why tools that are never called are not shown. */
  readonly note: string | undefined;
}

const MAX_NAME = 60;

export function describeReport(report: TokenReport, { tools = false }: TokensOptions, shown: Shown): string {
  const { colors, width, note } = shown;
  const { encoding, tokens, rest, servers } = report;
  if (report.tools.length === 0) return "There are no tools.";
  const share = (part: number): string => `${((100 * part) / Math.max(1, tokens)).toFixed(1)} %`;
  const total = [count(report.tools.length, "tool"), number(tokens), "100.0 %"];
  const rows = tools
    ? report.tools.map((tool) => [label(tool.name), number(tool.tokens), share(tool.tokens)])
    : servers.map((one) => [
        label(one.server),
        count(one.tools, "tool"),
        number(one.tokens),
        share(one.tokens),
      ]);
  const parts = [
    `${colors.bold(number(tokens))} tokens (${encoding}) for ${count(report.tools.length, "tool")} of ${count(servers.length, "server")}`,
    table([...rows, tools ? ["total", ...total.slice(1)] : ["total", ...total]]),
    colors.dim(
      wrap(
        `Counted: name, description and input schema of each tool as JSON. Titles, annotations and output schemas take ${number(rest)} more in clients that pass them to the model. Other tokenizers differ by about 10 %.`,
        width,
      ),
    ),
    describeSavings(report, shown),
  ];
  if (note !== undefined) parts.push(colors.dim(wrap(note, width)));
  return parts.filter((part) => part !== "").join("\n\n");
}

function describeSavings({ savings, tokens }: TokenReport, { colors, width }: Shown): string {
  if (savings.length === 0) return "";
  const lines = savings.map(({ tokens: saved, message, yaml }) => {
    const text = `- ${number(saved)} tokens (${((100 * saved) / Math.max(1, tokens)).toFixed(1)} %): ${plainLine(message, 2_000)}`;
    const indented = yaml === undefined ? "" : `\n${plainText(yaml).replaceAll(/^/gm, "      ")}`;
    return `${wrap(text, width)}${colors.cyan(indented)}`;
  });
  const how = savings.some(({ yaml }) => yaml !== undefined) ? ", merge these lines into portolan.yaml" : "";
  return [colors.bold(`To save tokens${how}:`), ...lines].join("\n");
}

/** Columns, of which all but the first are aligned to the right. */
function table(rows: readonly (readonly string[])[]): string {
  const columns = rows[0]?.map((_, at) => Math.max(...rows.map((row) => displayWidth(row[at] ?? "")))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, at) => {
          const space = " ".repeat((columns[at] ?? 0) - displayWidth(cell));
          return at === 0 ? `  ${cell}${space}` : `${space}${cell}`;
        })
        .join("  "),
    )
    .join("\n");
}

function label(name: string): string {
  return cut(plainLine(name, 200), MAX_NAME);
}

function number(value: number): string {
  return value.toLocaleString("en");
}
