// Diagnostics of the library as warnings of Node, for programs that give no `onDiagnostic`.

import type { Diagnostic, Report } from "../errors/index.ts";

const MAX_WARNINGS = 200;

/** Emits each warning once. Node prints them to stderr unless the program listens for "warning" or runs with --no-warnings. */
export function createWarner(): Report {
  const seen = new Set<string>();
  return ({ code, severity, server, message, hint }: Diagnostic) => {
    if (severity === "info" || seen.size >= MAX_WARNINGS) return;
    const text = server === undefined || message.includes(server) ? message : `${server}: ${message}`;
    if (seen.has(text)) return;
    seen.add(text);
    process.emitWarning(text, { type: "PortolanWarning", code, detail: hint });
  };
}
