// A finding in a declaration, as compilers show theirs: the place first, then the line it is about.

import type { Diagnostic } from "../errors/index.ts";
import type { Colors, Paint } from "./colors.ts";
import { cut, displayWidth, wrap } from "./layout.ts";
import { plainLine, plainText } from "./plain-text.ts";
import { placeOf, relabel } from "./workspace-source.ts";

export interface FindingView {
  readonly colors: Colors;
  readonly width: number | undefined;
  /** A file as people write it. */
  readonly label: (file: string) => string;
  /** The text of a file, to show the line; undefined shows none. */
  readonly textOf?: ((file: string) => string | undefined) | undefined;
}

/** `file:line:column severity message`, the line itself with a mark, and what would be right. */
export function describeFinding(finding: Diagnostic, view: FindingView): string {
  const { colors, width } = view;
  const { severity, file, server } = finding;
  const message = relabel(finding.message, finding, view.label);
  const hint = finding.hint === undefined ? undefined : relabel(finding.hint, finding, view.label);
  const word = severity === "info" ? "note" : severity;
  const where =
    file === undefined
      ? server === undefined
        ? ""
        : `${plainLine(server, 80)}: `
      : `${placeOf(finding, view.label)} `;
  const lines = [wrap(`${where}${paintOf(finding, colors)(word)} ${plainLine(message, 1_000)}`, width, 2)];
  lines.push(...excerpt(finding, view));
  if (hint !== undefined && hint !== "")
    lines.push(wrap(`  ${colors.cyan("hint")} ${plainLine(hint, 1_000)}`, width, 2));
  return lines.join("\n");
}

function excerpt({ file, line, column = 1 }: Diagnostic, { colors, width, textOf }: FindingView): string[] {
  const text = file === undefined || line === undefined ? undefined : textOf?.(file);
  const source = text?.split(/\r?\n/)[(line ?? 1) - 1];
  if (source === undefined || source.trim() === "") return [];
  const number = String(line);
  const room = (width ?? 120) - number.length - 5;
  const shown = cut(plainText(source.trim().slice(0, 1_000)).replaceAll("\t", " "), room);
  const skipped = source.length - source.trimStart().length;
  const before = displayWidth(
    plainText(source.slice(skipped, Math.max(skipped, column - 1))).replaceAll("\t", " "),
  );
  const bar = colors.dim("│");
  const result = [`  ${colors.dim(number)} ${bar} ${shown}`];
  if (before < room)
    result.push(`  ${" ".repeat(number.length)} ${bar} ${" ".repeat(before)}${colors.yellow("^")}`);
  return result;
}

function paintOf({ severity }: Diagnostic, colors: Colors): Paint {
  return severity === "error" ? colors.red : severity === "warning" ? colors.yellow : colors.cyan;
}
