// The result of `portolan pack` as text: the files, the changes, and what a person must fill in.

import { shellWord } from "../../base/text/command-line.ts";
import { describeDiagnostic } from "../output/diagnostic.ts";
import type { Colors } from "../terminal/colors.ts";
import { count, formatBytes, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import type { PackReport } from "./pack.ts";

export interface PackView {
  readonly colors: Colors;
  readonly width: number | undefined;
  readonly label: (file: string) => string;
  /** The text of the document, for excerpts. */
  readonly text: string;
  readonly isCheck: boolean;
}

export function describePack(report: PackReport, view: PackView): string {
  const { colors, width, label, text } = view;
  const { missing, warnings, notes } = report;
  const show = { colors, width, label, textOf: () => text };
  const sections = [
    fileLines(report, view).join("\n"),
    ...(notes.length === 0
      ? []
      : [notes.map((note) => wrap(`${colors.yellow("note")} ${plainLine(note, 500)}`, width, 2)).join("\n")]),
    ...(warnings.length === 0 ? [] : [warnings.map((one) => describeDiagnostic(one, show)).join("\n")]),
    ...(missing.length === 0
      ? []
      : [
          [
            colors.bold(`To fill in before the package can be published (${missing.length}):`),
            ...missing.map((one) => describeDiagnostic(one, show)),
          ].join("\n"),
        ]),
    nextLine(report, view),
  ];
  return sections.filter((section) => section !== "").join("\n\n");
}

function fileLines(
  { document, archive, hash, size, isNew, changes, isCurrent }: PackReport,
  { colors, width, label, isCheck }: PackView,
): string[] {
  const fields = (kind: string): string =>
    changes
      .filter((change) => change.kind === kind)
      .map(({ field }) => field)
      .join(", ");
  const states = [
    ["added", fields("added")],
    ["updated", fields("updated")],
    ["kept, although the server has other values", fields("kept")],
  ].filter(([, list]) => list !== "");
  const isSame = !isNew && !changes.some(({ kind }) => kind !== "kept");
  const state = isCheck
    ? isCurrent || isSame
      ? "is up to date"
      : isNew
        ? "does not exist yet"
        : "is not up to date"
    : isNew
      ? "was written"
      : isSame
        ? "is unchanged"
        : "was updated";
  return [
    `${colors.bold(label(document))} ${state}`,
    ...states.map(([what, list]) => wrap(`  ${what}: ${plainLine(list, 1_000)}`, width, 2)),
    ...(archive === undefined
      ? []
      : [
          `${colors.bold(label(archive.file))} ${isCheck && isSame && !isCurrent ? "is missing or not up to date: " : ""}${colors.dim(`${count(archive.files.length, "file")}: ${plainLine(archive.files.join(", "), 300)}`)}`,
        ]),
    ...(hash === undefined
      ? []
      : [colors.dim(`  ${hash}${size === undefined ? "" : `  ${formatBytes(size)}`}`)]),
  ];
}

function nextLine(
  { document, archive, missing, isCurrent }: PackReport,
  { label, isCheck }: PackView,
): string {
  const name = shellWord(label(document));
  if (isCheck) return isCurrent ? "" : "To write the files, run the same command without --check.";
  if (missing.length > 0)
    return `Fill in these fields, then check them: portolan validate ${name}, or the same command with --check`;
  const file = archive === undefined ? "" : ` --file ${shellWord(label(archive.file))}`;
  return `Publish the package: portolan publish ${name}${file}`;
}
