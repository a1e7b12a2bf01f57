// Log of `portolan serve`: text for a person at a terminal, or one dated line for each event, as text or as JSON.

import { RotatingFile } from "../../base/files/rotating-file.ts";
import { type Diagnostic, hintedMessage, locatedMessage, type PortolanError } from "../../errors/index.ts";
import type { HubEvent } from "../../hub/index.ts";
import type { LogFormat } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { describeDiagnostic, diagnosticLine, noteDiagnostic } from "../output/diagnostic.ts";
import { describeEvent, describeUndated, formatTime } from "../output/event.ts";
import { describeError } from "../output/output.ts";
import { createColors } from "../terminal/colors.ts";
import { plainLine, toJsonText } from "../terminal/safe-text.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { type Greeting, greetingJson, greetingText } from "./greeting.ts";
import type { ServeOptions } from "./options.ts";

export interface ServeLog {
  event(event: HubEvent): void;
  note(text: string): void;
  readonly diagnostic: (diagnostic: Diagnostic) => void;
  greet(greeting: Greeting): void;
}

export interface ServeLogOptions {
  readonly format: LogFormat;
  /** A file in place of stderr. */
  readonly file?: string;
  /** True when stderr must stay empty except for failures. */
  readonly stdio: boolean;
}

const MAX_FILE_BYTES = 5 * 1024 * 1024;
const MAX_LINE = 4_000;

type Level = "info" | "warning" | "error";

function createServeLog(cli: Cli, options: ServeLogOptions): ServeLog {
  return options.format === "pretty" && options.file === undefined
    ? prettyLog(cli, options)
    : lineLog(cli, options);
}

/** The log of a command line. Clients show the stderr of a stdio server as errors, so it gets no dates. */
export function openServeLog(cli: Cli, { stdio, logFormat, logFile }: ServeOptions): ServeLog {
  return createServeLog(cli, { format: logFormatOf(cli, { stdio, logFormat }), file: logFile, stdio });
}

export function logFormatOf<F extends string>(
  { io }: Pick<Cli, "io">,
  { stdio, logFormat }: { readonly stdio: boolean; readonly logFormat: F | undefined },
): F | "text" | "pretty" {
  return logFormat ?? (!stdio && io.stderr.isTTY !== true ? "text" : "pretty");
}

/** The line about a gateway that did not start. */
export function describeFailedStart({ output, options }: Cli, error: PortolanError, format: string): string {
  const time = new Date().toISOString();
  const { message } = error;
  if (format === "json")
    return toJsonText({ time, level: "error", type: "gateway.failed", message, error: error.toJSON() });
  const text = describeError(error, output.noteColors, options.verbose).replaceAll(/\s*\n\s*/g, " ");
  return `${output.noteColors.dim(formatTime(time))} ${text}`;
}

function prettyLog(cli: Cli, { stdio }: ServeLogOptions): ServeLog {
  const { io, output } = cli;
  return {
    event: (event) => output.note(describeEvent(event, output.noteColors)),
    note: (text) => output.note(text),
    diagnostic: (diagnostic) => noteProblem(diagnostic, stdio, cli),
    greet(greeting) {
      const columns = io.stderr.isTTY === true ? io.stderr.columns : undefined;
      output.note(greetingText(greeting, output.noteColors, columns), true);
      if (io.stderr.isTTY === true) output.note(output.noteColors.dim("\nPress Ctrl-C to stop the gateway."));
    },
  };
}

function lineLog(cli: Cli, { format, file, stdio }: ServeLogOptions): ServeLog {
  const { output, options } = cli;
  const colors = file === undefined ? output.noteColors : createColors(false);
  const rotating = file === undefined ? undefined : new RotatingFile(file, MAX_FILE_BYTES);
  const write = (line: string): void =>
    rotating === undefined ? output.note(line, true) : rotating.write(line);
  const line = (level: Level, type: string, message: string, more: object = {}): void => {
    const time = new Date().toISOString();
    if (format === "json") return write(toJsonText({ time, level, type, message, ...more }));
    write(`${colors.dim(formatTime(time))} ${plainLine(message.replaceAll(/\s*\n\s*/g, " "), MAX_LINE)}`);
  };
  return {
    event(event) {
      if (format === "json") {
        const message = describeUndated(event, createColors(false));
        return write(toJsonText({ level: levelOf(event), message, ...event }));
      }
      write(describeEvent(event, colors).replaceAll("\n", " "));
    },
    note: (text) => line("info", "gateway.note", text),
    diagnostic(diagnostic) {
      const { severity, hint } = diagnostic;
      if (severity !== "error" && !options.verbose && (stdio || severity === "info")) return;
      // In JSON, `level` is the severity, and `diagnostic` has the code.
      const text =
        format === "json"
          ? locatedMessage({ ...diagnostic, message: hintedMessage(diagnostic) })
          : `${diagnosticLine(diagnostic, (same) => same)}${hint === undefined ? "" : ` ${hint}`}`;
      line(severity, "gateway.diagnostic", text, { diagnostic });
    },
    greet(greeting) {
      if (format === "json") {
        const time = new Date().toISOString();
        return write(
          toJsonText({ time, level: "info", type: "gateway.listening", ...greetingJson(greeting) }),
        );
      }
      for (const text of greetingText(greeting, createColors(false), undefined, "lines").split("\n"))
        line("info", "gateway.listening", text);
    },
  };
}

function levelOf(event: HubEvent): Level {
  if (event.type.endsWith("failed")) return "error";
  if (/denied$|refused$|relaxed$|budget_exceeded$|loop_stopped$/.test(event.type)) return "warning";
  // Tools that nobody approved need a person. Without a hint, all tools are the approved ones.
  if (event.type === "mcp.pins_compared" && event.hint !== undefined) return "warning";
  const hasProblems = "problems" in event && event.problems.length > 0;
  return hasProblems ? "error" : "info";
}

/** A gateway runs for days, so it shows warnings too. */
export function noteProblem(diagnostic: Diagnostic, stdio: boolean, cli: Cli): void {
  const { io, output, options } = cli;
  const { severity, file, line } = diagnostic;
  if (severity !== "error" && !options.verbose && (stdio || severity === "info")) return;
  if (file !== undefined && line !== undefined) {
    // For an error in a saved config file, the place matters most.
    const label = pathLabeller(io);
    return output.note(
      describeDiagnostic(diagnostic, { colors: output.noteColors, width: undefined, label }),
    );
  }
  if (severity !== "warning" || stdio) return noteDiagnostic(diagnostic, cli);
  const hint = diagnostic.hint === undefined ? "" : ` ${plainLine(diagnostic.hint, 300)}`;
  output.note(`${diagnosticLine(diagnostic, output.noteColors.yellow)}${hint}`);
}
