// One line for a finding about a server that does not stop the work.

import { basename } from "node:path";
import type { Diagnostic } from "../errors/index.ts";
import type { Paint } from "./colors.ts";
import { plainLine } from "./plain-text.ts";

export function describeDiagnostic(
  { severity, message, tool, code, file, line, column }: Diagnostic,
  paint: Paint,
): string {
  const position = [line, column].filter((part) => part !== undefined).join(":");
  // The folder is known to whoever reads this; the line is what is looked for.
  const where =
    file === undefined ? "" : `${plainLine(basename(file), 100)}${position === "" ? "" : `:${position}`} `;
  const place = tool === undefined ? "" : `${plainLine(tool, 80)}: `;
  return `${where}${paint(severity === "info" ? "note" : severity)} ${place}${plainLine(message, 500)} [${code}]`;
}
