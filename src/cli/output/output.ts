// Output of a command: the result goes to stdout in one form, and notes and errors go to stderr.

import { inspect } from "node:util";
import { ERROR_CODES, PortolanError } from "../../errors/index.ts";
import type { CliIo, OutputStream } from "../context.ts";
import type { RawOptions } from "../options/parse.ts";
import { type Colors, createColors, wantsColor } from "../terminal/colors.ts";
import { wrap } from "../terminal/layout.ts";
import { plainText, toJsonText } from "../terminal/safe-text.ts";

export interface Output {
  /** "json" with --json or when stdout is not a terminal, else "text"; --text forces text. */
  readonly form: "text" | "json";
  readonly quiet: boolean;
  /** The width of the terminal; undefined when stdout is not a terminal. */
  readonly width: number | undefined;
  /** Colours for stdout. */
  readonly colors: Colors;
  /** Colours for stderr. */
  readonly noteColors: Colors;
  /** Prints lines on stdout. The text must be safe already, apart from our own colours. */
  print(text: string): void;
  /** Prints one JSON value on stdout. */
  json(value: unknown): void;
  /** Prints a line on stderr, unless quiet. `whole`: lines are not wrapped, so that they can be copied. */
  note(text: string, whole?: boolean): void;
  /** Prints an error on stderr: one line of JSON, or readable text. */
  error(error: PortolanError, verbose?: boolean): void;
  /** Sets the spinner: hidden around a note, stopped by a result. */
  around(screen: Screen | undefined): void;
}

export interface Screen {
  hide(): void;
  show(): void;
  /** Removes it, because the result has arrived. */
  stop(): void;
}

export function createOutput(io: Pick<CliIo, "stdout" | "stderr" | "env">, raw: RawOptions): Output {
  const form = raw.json === true || (io.stdout.isTTY !== true && raw.text !== true) ? "json" : "text";
  const colors = createColors(wantsColor(io.stdout.isTTY === true, io.env, raw.color));
  const noteColors = createColors(wantsColor(io.stderr.isTTY === true, io.env, raw.color));
  const width = widthOf(io.stdout);
  const noteWidth = widthOf(io.stderr);
  const quiet = raw.quiet === true;
  let screen: Screen | undefined;
  const writeResult = (text: string): void => {
    screen?.stop();
    io.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
  };
  const writeNote = (text: string): void => {
    screen?.hide();
    io.stderr.write(text.endsWith("\n") ? text : `${text}\n`);
    screen?.show();
  };
  return {
    form,
    quiet,
    width,
    colors,
    noteColors,
    print: (text) => {
      if (text !== "") writeResult(text);
    },
    json: (value) => writeResult(toJsonText(value, 2)),
    note: (text, whole = false) => {
      if (!quiet) writeNote(whole ? text : wrap(text, noteWidth));
    },
    error: (error, verbose = false) => {
      writeNote(
        form === "json"
          ? toJsonText({ error: error.toJSON() })
          : describeError(error, noteColors, verbose, noteWidth),
      );
    },
    around: (next) => {
      screen = next;
    },
  };
}

/** A line of the gateway's log ends with the hint, which must be complete. A server can write anything to its stderr. */
const MAX_LOG_LINE = 4_000;
const MAX_STDERR_LINE = 500;

/** Describes an error for people: message, place, last lines of the server's stderr, and hint. */
export function describeError(error: PortolanError, colors: Colors, verbose = false, width?: number): string {
  const labelled = (label: string, text: string): string =>
    `${label} ${wrap(text, width === undefined ? undefined : width - 6).replaceAll("\n", "\n      ")}`;
  const message = plainText(error.message);
  const lines = [labelled(colors.red("error"), `${message} ${colors.dim(`[${error.code}]`)}`)];
  const place = [error.server, error.tool].filter((part) => part !== undefined).map(plainText);
  const isTold = place.length === 1 && message.includes(place[0] ?? "");
  if (place.length > 0 && !isTold) lines.push(colors.dim(labelled("   at", place.join(" › "))));
  if (error.stderr)
    lines.push(
      colors.dim(`   the last lines of the ${"log" in error.data ? "gateway's log" : "server's stderr"}:`),
      ...lastLines(error.stderr, "log" in error.data ? MAX_LOG_LINE : MAX_STDERR_LINE).map(
        (line) => `   ${colors.dim("│")} ${line}`,
      ),
    );
  if (error.hint !== "") lines.push(labelled(colors.cyan(" hint"), plainText(error.hint)));
  if (verbose) lines.push(...causes(error).map((cause) => colors.dim(labelled("cause", plainText(cause)))));
  return lines.join("\n");
}

export function exitCodeOf(error: PortolanError): number {
  return ERROR_CODES[error.code]?.exit ?? 70;
}

/** The width of a terminal; undefined when it is unknown or too small to wrap for. */
function widthOf({ isTTY, columns }: OutputStream): number | undefined {
  return isTTY === true && columns !== undefined && columns >= 20 ? columns : undefined;
}

function lastLines(text: string, maxLength: number): string[] {
  return plainText(text)
    .trimEnd()
    .split("\n")
    .slice(-20)
    .map((line) => line.slice(0, maxLength));
}

function causes(error: Error): string[] {
  const found: string[] = [];
  let cause: unknown = error.cause;
  while (cause !== undefined && found.length < 5) {
    found.push(cause instanceof Error ? (cause.stack ?? cause.message) : inspect(cause, { depth: 2 }));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return found.length === 0 && error instanceof PortolanError && error.code === "INTERNAL"
    ? [error.stack ?? ""]
    : found;
}
