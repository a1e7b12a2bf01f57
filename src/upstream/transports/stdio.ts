// stdio transport: one child process, one JSON-RPC message per line.

import { firstWords } from "../../base/text/truncate.ts";
import { PortolanError } from "../../errors/index.ts";
import { launch } from "../../launch/index.ts";
import type { RequestId, StdioEndpoint } from "../../model/index.ts";
import { type ChildGroup, describeExit, type Exit } from "../../process/index.ts";
import { httpProgramHint } from "../failure-hints/http-programs.ts";
import { LineReader } from "./lines.ts";
import type { OutgoingMessage } from "./outgoing-message.ts";
import {
  refuseLarger,
  type Transport,
  type TransportCounters,
  type TransportEvents,
  type TransportOptions,
} from "./transport.ts";

/** How long the exit status may arrive after the end of stdout, and the other way round. */
const EXIT_LAG_MS = 50;
const FLUSH_AT = 8;
/** A pipe write of at most this many characters is atomic. */
const WHOLE_WRITE_CHARS = 4_096;
/** Length of a line on stdout that is no message, in a diagnostic. */
const NOISE_CHARS = 120;

export class StdioTransport implements Transport {
  readonly name = "stdio";
  readonly perRequestStreams = false;
  readonly counters: TransportCounters = { noise: 0 };
  readonly #endpoint: StdioEndpoint;
  readonly #options: TransportOptions;
  #child: ChildGroup | undefined;
  #reader: LineReader | undefined;
  #events: TransportEvents | undefined;
  #outbox: string[] = [];
  #outboxChars = 0;
  #ended = false;
  #exited = false;
  /** The id of the last request in each write in progress. */
  readonly #writing: number[] = [];
  #lastQueued = -1;
  #lastWritten = -1;

  constructor(endpoint: StdioEndpoint, options: TransportOptions) {
    this.#endpoint = endpoint;
    this.#options = options;
  }

  async open(events: TransportEvents, signal: AbortSignal): Promise<void> {
    const child = await launch({
      server: this.#options.server,
      endpoint: this.#endpoint,
      settings: this.#options.launch,
      roots: this.#options.roots,
      report: this.#options.report,
      onLaunch: this.#options.onLaunch,
      onStderr: this.#options.onStderr,
      context: this.#options.launchContext,
      signal,
    });
    this.#child = child;
    this.#events = events;
    const reader = new LineReader(this.#options.maxMessageBytes, {
      message: (message) => events.message(message),
      noise: (line) => this.#noise(line),
      oversized: (id) => this.#oversized(id),
    });
    this.#reader = reader;
    child.stdout.on("data", (chunk: Buffer) => reader.push(chunk));
    const stdoutEnded = new Promise<void>((resolve) =>
      child.stdout.once("close", resolve).once("end", resolve),
    );
    // Either event means that the process ended. Both are waited for, because responses may still be in the pipe.
    void child.exited.then(() => (this.#exited = true));
    void child.exited.then((exit) => soon(stdoutEnded).then(() => this.#died(exit)));
    void stdoutEnded.then(() => soon(child.exited)).then((exit) => this.#died(exit));
  }

  send({ text, id, method }: OutgoingMessage): void {
    const child = this.#child;
    if (child === undefined || this.#ended) throw this.#gone(undefined);
    // Characters approximate bytes: the limit protects memory and need not be exact.
    refuseLarger(text, this.#options);
    if (this.#outboxChars + child.stdin.writableLength + text.length > this.#options.maxQueuedBytes) {
      throw new PortolanError(
        "BUSY",
        `the request was not sent: ${this.#options.server} reads its stdin too slowly, and too much data waits already`,
        {
          server: this.#options.server,
          stderr: this.stderrTail(),
        },
      );
    }
    if (method !== undefined && typeof id === "number") this.#lastQueued = id;
    this.#outbox.push(text);
    this.#outboxChars += text.length + 1;
    // All messages sent in one turn of the event loop are written together.
    if (this.#outbox.length === 1) setImmediate(this.#flush);
    // A long queue is written in parts, so that the server can begin while the rest is written.
    else if (this.#outbox.length >= FLUSH_AT) this.#flush();
  }

  stderrTail(): string | undefined {
    return this.#child?.stderrTail() || undefined;
  }

  async close(): Promise<void> {
    this.#flush();
    this.#ended = true;
    await this.#child?.stop();
  }

  /** A request that was queued after the process had ended, or whose whole write failed, cannot have run. */
  neverSent(id: RequestId): boolean {
    return typeof id === "number" && id > this.#lastWritten;
  }

  readonly #flush = (): void => {
    // The messages in the outbox of a process that has ended were never sent.
    if (this.#outbox.length === 0 || this.#child === undefined || this.#exited) return;
    const lines = `${this.#outbox.join("\n")}\n`;
    this.#outbox = [];
    this.#outboxChars = 0;
    const { stdin } = this.#child;
    if (stdin.destroyed || stdin.writableEnded) return;
    // A part of a long write may reach the server before the write fails.
    if (lines.length > WHOLE_WRITE_CHARS) this.#lastWritten = this.#lastQueued;
    this.#writing.push(this.#lastQueued);
    stdin.write(lines, this.#written);
  };

  readonly #written = (error: Error | null | undefined): void => {
    const last = this.#writing.shift() ?? -1;
    if (error == null) this.#lastWritten = Math.max(this.#lastWritten, last);
  };

  #noise(line: string): void {
    this.counters.noise += 1;
    const shown = firstWords(line, NOISE_CHARS);
    this.#options.onNoise?.(shown);
    if (this.counters.noise > 1) return;
    this.#options.report({
      code: "PROTOCOL_ERROR",
      severity: "warning",
      server: this.#options.server,
      message: `Portolan ignored a line on the stdout of the server that is not JSON-RPC: ${JSON.stringify(shown)}`,
      // The line that npm prints before it runs a script: "> name@1.0.0 start".
      hint: /^> \S+@\S+ \S+$/.test(line)
        ? "npm printed this line. To suppress it, add --silent to the arguments of npm."
        : httpProgramHint(line),
    });
  }

  #oversized(id: Parameters<TransportEvents["failed"]>[0] | undefined): void {
    const { server, maxMessageBytes } = this.#options;
    const error = new PortolanError(
      "MESSAGE_TOO_LARGE",
      `${server} sent a message that is larger than ${maxMessageBytes} bytes`,
      {
        server,
        data: { maxMessageBytes },
      },
    );
    if (id !== undefined) this.#events?.failed(id, error);
    else this.#end(error);
  }

  #died(exit: Exit | undefined): void {
    this.#end(this.#gone(exit));
  }

  #end(error: PortolanError): void {
    if (this.#ended) return;
    this.#ended = true;
    void this.#child?.stop();
    this.#events?.closed(error);
  }

  #gone(exit: Exit | undefined): PortolanError {
    const server = this.#options.server;
    const partial = this.#reader?.partial();
    const how = exit === undefined ? "closed its output" : describeExit(exit);
    return new PortolanError("SERVER_CRASHED", `${server} ${how}`, {
      server,
      stderr: this.stderrTail(),
      data: {
        ...(exit === undefined ? {} : { exitCode: exit.code, signal: exit.signal }),
        ...(partial ? { partialMessage: partial } : {}),
      },
    });
  }
}

/** The value if it arrives within EXIT_LAG_MS, else undefined. */
function soon<T>(promise: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), EXIT_LAG_MS);
    void promise.then((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
}
