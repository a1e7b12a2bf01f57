// Stderr log of each server of a hub: its last lines, redacted, in bounded memory. It lasts through restarts and generations.

import type { PortolanError } from "../../errors/index.ts";
import { describeExit } from "../../process/index.ts";
import type { Redactor } from "../../secrets/index.ts";

export interface LogLine {
  /** ISO time at which the line was complete. */
  readonly time: string;
  readonly text: string;
}

const MAX_LINES = 2_000;
const MAX_CHARS = 512 * 1024;
/** A longer line is stored in parts. */
const MAX_LINE_CHARS = 8 * 1024;
/** The number of lines that are compared with those of the process before. */
const MAX_COMPARED = 200;
/** Aliases come from config files, which may change for years. */
const MAX_SERVERS = 1_000;

export class StderrLog {
  readonly #redactor: Pick<Redactor, "redactText">;
  readonly #listeners = new Set<(line: LogLine) => void>();
  readonly #lines: LogLine[] = [];
  #chars = 0;
  /** The beginning of a line that is not complete. It is not redacted yet, because a secret may arrive in two pieces. */
  #partial = "";
  /** The lines of the present process. */
  #ofProcess: LogLine[] = [];
  /** The lines of the process before, while the present one repeats them, and the repeated lines. */
  #repeated: { readonly before: readonly LogLine[]; readonly lines: LogLine[] } | undefined;

  constructor(redactor: Pick<Redactor, "redactText">) {
    this.#redactor = redactor;
  }

  write(text: string): void {
    const parts = (this.#partial + text).split(/\r?\n/);
    this.#partial = parts.pop() ?? "";
    for (const part of parts) this.#add(part);
    // Redacted before it is cut, and cut far from its end, so that no secret is divided.
    if (this.#partial.length > 2 * MAX_LINE_CHARS) this.#partial = this.#redactor.redactText(this.#partial);
    while (this.#partial.length > 2 * MAX_LINE_CHARS) {
      this.#add(this.#partial.slice(0, MAX_LINE_CHARS));
      this.#partial = this.#partial.slice(MAX_LINE_CHARS);
    }
  }

  /**
   * A process of the server begins. `isSecondTry`: the one before ended at the probe of the protocol era, so that the same program is
   * started again. Output that only repeats that of the process before is left out.
   */
  begins(isSecondTry = false): void {
    // Otherwise, the beginning of a line may belong to an old process that still runs.
    if (isSecondTry) this.#flush();
    const before = this.#ofProcess;
    this.#ofProcess = [];
    this.#repeated = isSecondTry && before.length > 0 ? { before, lines: [] } : undefined;
  }

  /** The process has ended, so its last line is complete. A process that a signal ended could not log the reason itself. */
  ended({ exitCode, signal }: PortolanError["data"] = {}): void {
    this.#flush();
    const { before, lines } = this.#repeated ?? {};
    if (lines !== undefined && lines.length > 0 && lines.length < (before?.length ?? 0)) this.#showRepeated();
    this.#repeated = undefined;
    if (typeof signal === "string" || typeof exitCode === "number")
      this.#add(`— the process ${describeExit({ code: exitCode, signal })} —`);
  }

  /** The last lines, the oldest first. */
  tail(count: number): readonly LogLine[] {
    return count <= 0 ? [] : this.#lines.slice(-count);
  }

  /** Returns the function that removes the listener. */
  follow(listener: (line: LogLine) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #flush(): void {
    if (this.#partial !== "") this.#add(this.#partial);
    this.#partial = "";
  }

  #add(raw: string): void {
    const redacted = this.#redactor.redactText(raw);
    for (let at = 0; at === 0 || at < redacted.length; at += MAX_LINE_CHARS) {
      const line = { time: new Date().toISOString(), text: redacted.slice(at, at + MAX_LINE_CHARS) };
      if (this.#ofProcess.length < MAX_COMPARED) this.#ofProcess.push(line);
      if (this.#isRepeated(line)) continue;
      this.#showRepeated();
      this.#append(line);
    }
  }

  #isRepeated(line: LogLine): boolean {
    const { before, lines } = this.#repeated ?? {};
    if (lines === undefined || before?.[lines.length]?.text !== line.text) return false;
    lines.push(line);
    return true;
  }

  /** The output is not the same: it is shown in full. */
  #showRepeated(): void {
    if (this.#repeated === undefined) return;
    const { before, lines } = this.#repeated;
    this.#repeated = undefined;
    const time = (lines[0] ?? before.at(-1))?.time ?? new Date().toISOString();
    this.#append({ time, text: "— the process ended, and was started again —" });
    for (const line of lines) this.#append(line);
  }

  #append(line: LogLine): void {
    this.#lines.push(line);
    this.#chars += line.text.length;
    for (const listener of this.#listeners) listener(line);
    while (this.#lines.length > MAX_LINES || this.#chars > MAX_CHARS)
      this.#chars -= this.#lines.shift()?.text.length ?? 0;
  }
}

/** The logs of all servers of a hub, by alias. */
export class StderrLogs {
  readonly #redactor: Pick<Redactor, "redactText">;
  readonly #logs = new Map<string, StderrLog>();
  readonly #listeners = new Set<(server: string, line: LogLine) => void>();

  constructor(redactor: Pick<Redactor, "redactText">) {
    this.#redactor = redactor;
  }

  of(server: string): StderrLog {
    const known = this.#logs.get(server);
    if (known !== undefined) return known;
    const [oldest] = this.#logs.keys();
    if (this.#logs.size >= MAX_SERVERS && oldest !== undefined) this.#logs.delete(oldest);
    const log = new StderrLog(this.#redactor);
    log.follow((line) => {
      for (const listener of this.#listeners) listener(server, line);
    });
    this.#logs.set(server, log);
    return log;
  }

  /** Listens to the lines of all servers. */
  follow(listener: (server: string, line: LogLine) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
