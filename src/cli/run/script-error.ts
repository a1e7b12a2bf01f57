// Errors of a script, shown in its lines: those found before it runs, all at once, and the one that ended it.

import { changedError, type Diagnostic, PortolanError } from "../../errors/index.ts";
import type { Cli } from "../context.ts";
import { configError, describeDiagnostic, excerpt, placeOf } from "../output/diagnostic.ts";
import { count } from "../terminal/layout.ts";
import { pathLabeller } from "../workspace/folder.ts";

type Place = Pick<Diagnostic, "file" | "line" | "column">;

/** Shows the errors that keep a script from running, and returns the error that ends the command. */
export function scriptError(cli: Cli, diagnostics: readonly Diagnostic[], text: string): PortolanError {
  const { io, output } = cli;
  const [first] = diagnostics;
  const all = configError(diagnostics, cli, "The script has errors");
  const code = first?.code ?? "FILE_INVALID";
  if (diagnostics.length === 1 || output.form === "json" || output.quiet) {
    if (diagnostics.length === 1) showLine(cli, first ?? {}, text);
    const hint = diagnostics.length === 1 ? first?.hint : "Correct these lines; nothing was run.";
    return new PortolanError(code, all.message, { hint, data: all.data });
  }
  const label = pathLabeller(io);
  const view = { colors: output.noteColors, width: io.stderr.columns, label, textOf: () => text };
  for (const diagnostic of diagnostics) output.note(describeDiagnostic(diagnostic, view), true);
  const summary = `${label(first?.file ?? "")} has ${count(diagnostics.length, "error")}; nothing was run.`;
  return new PortolanError(code, summary, { hint: "Correct these lines.", data: all.data });
}

/** Shows the line that failed, and returns the error with its position. */
export function failureAt(cli: Cli, error: PortolanError, text: string): PortolanError {
  const place = error.data as Place;
  if (place.line === undefined) return error;
  showLine(cli, place, text);
  return changedError(error, { message: `${placeOf(place, pathLabeller(cli.io))} ${error.message}` });
}

function showLine({ io, output }: Cli, place: Place, text: string): void {
  if (output.form === "json") return;
  const frame = excerpt(place, {
    colors: output.noteColors,
    width: io.stderr.columns,
    textOf: () => text,
  });
  if (frame.length > 0) output.note(frame.join("\n"), true);
}
