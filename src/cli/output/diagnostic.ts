// Diagnostics as text: with an excerpt of the file, in one line, or as one error.

import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { maskSecrets, maskValueAt } from "../../base/text/secret-text.ts";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import type { Cli } from "../context.ts";
import type { Colors, Paint } from "../terminal/colors.ts";
import { cut, displayWidth, wrap } from "../terminal/layout.ts";
import { plainLine, plainText } from "../terminal/safe-text.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { formatTime } from "./event.ts";

export interface DiagnosticView {
  readonly colors: Colors;
  readonly width: number | undefined;
  /** Shortens a path for the output. */
  readonly label: (file: string) => string;
  /** Reads a file for the excerpt; undefined shows no excerpt. */
  readonly textOf?: (file: string) => string | undefined;
}

/** `file:line:column severity message`, the line itself with a mark, and the hint. */
export function describeDiagnostic(diagnostic: Diagnostic, view: DiagnosticView): string {
  const { colors, width } = view;
  const { severity, file, server } = diagnostic;
  const message = relabel(diagnostic.message, diagnostic, view.label);
  const hint = diagnostic.hint === undefined ? undefined : relabel(diagnostic.hint, diagnostic, view.label);
  const word = severity === "info" ? "note" : severity;
  const where =
    file === undefined
      ? server === undefined
        ? ""
        : `${plainLine(server, 80)}: `
      : `${placeOf(diagnostic, view.label)} `;
  const { at } = diagnostic;
  const time = at === undefined ? "" : ` Time of the call: ${formatTime(at)}.`;
  const lines = [
    wrap(`${where}${paintOf(diagnostic, colors)(word)} ${plainLine(message, 1_000)}${time}`, width, 2),
  ];
  lines.push(...excerpt(diagnostic, view));
  if (hint !== undefined && hint !== "")
    lines.push(wrap(`  ${colors.cyan("hint")} ${plainLine(hint, 1_000)}`, width, 2));
  return lines.join("\n");
}

/** The line of a diagnostic with a mark under its column; empty if the file cannot be read. */
export function excerpt(
  { file, line, column = 1, literalSecret }: Pick<Diagnostic, "file" | "line" | "column" | "literalSecret">,
  { colors, width, textOf }: Pick<DiagnosticView, "colors" | "width" | "textOf">,
): string[] {
  const text = file === undefined || line === undefined ? undefined : textOf?.(file);
  const written = text?.split(/\r?\n/)[(line ?? 1) - 1];
  if (written === undefined || written.trim() === "") return [];
  // The output may end up in a log or a screenshot, so that it contains no value that looks like a secret.
  const source = literalSecret === undefined ? maskSecrets(written) : maskValueAt(written, column);
  const number = String(line);
  const room = (width ?? 120) - number.length - 5;
  // The indentation stays, because it is often the error.
  const shown = cut(plainText(source.trimEnd().slice(0, 1_000)).replaceAll("\t", " "), room);
  const before = displayWidth(
    plainText(maskSecrets(written.slice(0, Math.max(0, column - 1)))).replaceAll("\t", " "),
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

export function diagnosticLine(
  { severity, message, tool, code, file, line, column }: Diagnostic,
  paint: Paint,
): string {
  const position = [line, column].filter((part) => part !== undefined).join(":");
  // The reader knows the folder; the line matters more.
  const where =
    file === undefined ? "" : `${plainLine(basename(file), 100)}${position === "" ? "" : `:${position}`} `;
  const place = tool === undefined ? "" : `${plainLine(tool, 80)}: `;
  const words = plainLine(relabel(message, { file }, basename), 500);
  return `${where}${paint(severity === "info" ? "note" : severity)} ${place}${words} [${code}]`;
}

/** Combines all errors, each with its place, into one error. */
export function configError(
  errors: readonly Diagnostic[],
  {
    io,
    options,
    label = pathLabeller(io),
  }: Pick<Cli, "io"> & Partial<Pick<Cli, "options">> & { readonly label?: (path: string) => string },
  what = "The config files have errors",
  /** The hint for several errors. */
  next = `To see the text of each line, and how to correct it: portolan validate${workspaceWords(options?.workspace)}`,
): PortolanError {
  const lines = errors.map((error) => {
    const place = error.file === undefined ? "" : `${placeOf(error, label)} `;
    const text = `${place}${relabel(error.message, error, label)}`;
    // The hint of a single error is the hint of the command.
    return errors.length === 1 || error.hint === undefined
      ? text
      : `${text.replace(/[.]?$/, ".")} ${relabel(error.hint, error, label)}`;
  });
  const [first] = errors;
  const hint = first?.hint === undefined ? undefined : relabel(first.hint, first, label);
  return new PortolanError(
    "FILE_INVALID",
    lines.length === 1 ? (lines[0] as string) : `${what}:\n- ${lines.join("\n- ")}`,
    {
      hint: errors.length === 1 ? hint : next,
      data: { diagnostics: errors },
    },
  );
}

/** The option that the user gave, for a command that must read the same files. */
function workspaceWords(workspace: string | undefined): string {
  return workspace === undefined ? "" : ` -w ${shellWord(workspace)}`;
}

/** `file:line:column`, as far as they are known. */
export function placeOf(
  { file = "", line, column }: Pick<Diagnostic, "file" | "line" | "column">,
  label: (file: string) => string,
): string {
  const position = [line, column].filter((part) => part !== undefined).join(":");
  return `${label(file)}${position === "" ? "" : `:${position}`}`;
}

/** Spells the diagnostic's file in its message as the output does, so that one file has one name in an output. */
export function relabel(
  text: string,
  { file }: Pick<Diagnostic, "file">,
  label: (file: string) => string,
): string {
  if (file === undefined || !text.includes(file)) return text;
  // A path that is only a part of a longer one stays.
  const whole = file.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
  return text.replaceAll(new RegExp(String.raw`(?<![\w~/\\.-])${whole}(?![\w/\\-]|\.\w)`, "g"), () =>
    label(file),
  );
}

export function readTexts(): (file: string) => string | undefined {
  const texts = new Map<string, string | undefined>();
  return (file) => {
    if (!texts.has(file)) texts.set(file, read(file));
    return texts.get(file);
  };
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** Whether it explains why a server could not use a file or host. Servers seldom report it themselves. */
export function isFailedAccess({ code }: Diagnostic): boolean {
  return code === "SANDBOX_DENIED" || code === "HOST_UNREACHABLE";
}

/** Notes a diagnostic on stderr: errors always, the rest with --verbose. */
export function noteDiagnostic(
  diagnostic: Diagnostic,
  { output, options }: Pick<Cli, "output" | "options">,
): void {
  const { severity, hint } = diagnostic;
  const isAccess = isFailedAccess(diagnostic);
  if (severity !== "error" && !options.verbose && !isAccess) return;
  output.note(diagnosticLine(diagnostic, output.noteColors.yellow));
  if ((isAccess || severity === "error") && hint !== undefined)
    output.note(`${output.noteColors.cyan(" hint")} ${plainLine(hint, 1_000)}`);
}
