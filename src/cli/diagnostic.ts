// One line for a finding about a server that does not stop the work.

import type { Diagnostic } from "../errors/index.ts";
import type { Paint } from "./colors.ts";
import { plainLine } from "./plain-text.ts";

export function describeDiagnostic({ severity, message, tool, code }: Diagnostic, paint: Paint): string {
  const place = tool === undefined ? "" : `${plainLine(tool, 80)}: `;
  return `${paint(severity === "info" ? "note" : severity)} ${place}${plainLine(message, 500)} [${code}]`;
}
