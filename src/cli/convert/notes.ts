// Notes about a conversion on stderr, so that stdout holds only the file.

import { isHttpUrl } from "../../base/net/urls.ts";
import { shellWord } from "../../base/text/command-line.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { ConvertedApi } from "../../openapi/index.ts";
import type { Cli } from "../context.ts";
import { describeDiagnostic } from "../output/diagnostic.ts";
import { count } from "../terminal/format.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { pathLabeller } from "../workspace/folder.ts";

const MOST_SHOWN = 20;

/** Notes the tools, the skipped operations, warnings, and the secrets that are needed. */
export function noteConverted({ tools, skipped, needs, diagnostics }: ConvertedApi, cli: Cli): void {
  const { output } = cli;
  const { bold, dim } = output.noteColors;
  const left = skipped.length === 0 ? "" : `, ${skipped.length} skipped`;
  output.note(bold(`${count(tools, "tool")}${left}`));
  for (const { operation, reason, line, column } of skipped.slice(0, MOST_SHOWN))
    output.note(`  ${plainLine(operation, 100)}: ${plainLine(reason, 300)} ${dim(`(${line}:${column})`)}`);
  if (skipped.length > MOST_SHOWN)
    output.note(dim(`  and ${skipped.length - MOST_SHOWN} more; --json has all`));
  // The skipped operations are listed above.
  noteDiagnostics(
    diagnostics.filter(({ message }) => !message.includes(" is skipped: ")),
    cli,
  );
  if (needs.length === 0) return;
  output.note(
    `It needs ${needs.length === 1 ? "a secret" : `${needs.length} secrets`}. To set ${needs.length === 1 ? "it" : "them"}:`,
  );
  for (const name of needs) output.note(`  portolan secrets set ${plainLine(name, 256)}`, true);
}

/** Diagnostics of severity info are shown only with --verbose. */
export function noteDiagnostics(diagnostics: readonly Diagnostic[], { io, output, options }: Cli): void {
  const labelFile = pathLabeller(io);
  const shown = diagnostics.filter(({ severity }) => options.verbose || severity !== "info");
  const most = options.verbose ? shown.length : MOST_SHOWN;
  const label = (file: string): string => (isHttpUrl(file) ? file : labelFile(file));
  for (const diagnostic of shown.slice(0, most))
    output.note(describeDiagnostic(diagnostic, { colors: output.noteColors, width: undefined, label }));
  if (shown.length > most)
    output.note(output.noteColors.dim(`and ${shown.length - most} more diagnostics; --verbose shows them`));
}

export function noteWritten(paths: readonly string[], { io, output }: Cli): void {
  const [first] = paths;
  if (first === undefined) return;
  const label = pathLabeller(io);
  output.note(`Written: ${paths.map(label).join(", ")}`);
  const name = shellWord(label(first));
  output.note(`  portolan list ${name}\n  portolan serve ${name}`, true);
}
