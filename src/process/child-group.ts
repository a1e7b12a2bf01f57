// Process group of a server: runs until it is stopped, its stderr always drained, and its leftover processes ended.

import type { Readable, Writable } from "node:stream";
import { lastWords } from "../base/text/truncate.ts";
import { atExit } from "./at-exit.ts";
import { CHILD_VARIABLE, endLeftovers, endLeftoversNow, newMark } from "./leftovers.ts";
import { OWNER_VARIABLE } from "./orphans.ts";
import { type Exit, ProcessGroup, startError } from "./process-group.ts";
import type { Spawnable } from "./types.ts";

const STDERR_KEPT_BYTES = 64 * 1024;
const STDERR_TAIL_LINES = 20;
const STDERR_TAIL_CHARS = 4_096;
const STDIN_GRACE_MS = 2_000;
const TERM_GRACE_MS = 2_000;
const KILL_GRACE_MS = 800;

/** Marks of servers whose leftover processes have not been searched for yet. One scan at the exit of this process serves all. */
const marks = new Set<string>();
const endMarked = (): void => endLeftoversNow(marks);

/** The last lines of a text on stderr, for errors. */
export function tailOf(stderr: string): string {
  const lines = stderr.trimEnd().split("\n");
  return lastWords(lines.slice(-STDERR_TAIL_LINES).join("\n"), STDERR_TAIL_CHARS);
}

export class ChildGroup {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly exited: Promise<Exit>;
  /** The id of the process group. */
  readonly pid: number;
  readonly #group: ProcessGroup;
  /** Settles after the child has ended and all its leftover processes are gone. */
  readonly #gone: Promise<void>;
  #stderr: Buffer[] = [];
  #stderrBytes = 0;
  #stopping: Promise<void> | undefined;

  private constructor(group: ProcessGroup, mark: string | undefined) {
    this.#group = group;
    this.stdin = group.stdin as Writable;
    this.stdout = group.stdout;
    this.exited = group.exited;
    this.pid = group.pid;
    group.stderr.on("data", (chunk: Buffer) => this.#keepStderr(chunk));
    atExit(endMarked);
    this.#gone = this.#killRest(mark);
  }

  static async start(
    spawnable: Spawnable,
    server: string,
    onStderr?: (text: string) => void,
  ): Promise<ChildGroup> {
    // A sandbox ends with everything in it, and its programs must not see Portolan's variables.
    const mark = OWNER_VARIABLE in spawnable.env ? newMark() : undefined;
    const env = mark === undefined ? undefined : { ...spawnable.env, [CHILD_VARIABLE]: mark };
    const group = await ProcessGroup.start(spawnable, { stdin: "pipe", env }).catch((cause: unknown) => {
      throw startError(spawnable, cause, server);
    });
    if (onStderr !== undefined) group.stderr.on("data", (chunk: Buffer) => onStderr(chunk.toString()));
    return new ChildGroup(group, mark);
  }

  stderrTail(): string {
    return tailOf(Buffer.concat(this.#stderr).toString("utf8"));
  }

  /** Closes stdin, then sends SIGTERM, then SIGKILL. The child and its helpers are gone after five seconds at most. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  signal(signal: NodeJS.Signals): void {
    this.#group.signal(signal);
  }

  async #stop(): Promise<void> {
    this.stdin.end();
    if (await this.#endsWithin(STDIN_GRACE_MS)) return this.#gone;
    this.#group.terminate();
    if (await this.#endsWithin(TERM_GRACE_MS)) return this.#gone;
    this.signal("SIGKILL");
    if (await this.#endsWithin(KILL_GRACE_MS)) return this.#gone;
  }

  async #endsWithin(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), ms);
    });
    const ended = await Promise.race([this.exited.then(() => true as const), late]);
    clearTimeout(timer);
    return ended;
  }

  /** Kills the helpers that the server left behind. */
  async #killRest(mark: string | undefined): Promise<void> {
    if (mark !== undefined) marks.add(mark);
    const startedAt = performance.now();
    await this.exited;
    this.signal("SIGKILL");
    this.#group.release();
    // On a slow machine the pipes may still contain output, which is read first.
    setTimeout(() => setImmediate(() => setImmediate(() => this.#group.destroyPipes())), 100).unref();
    if (mark === undefined) return;
    await endLeftovers(mark, { pid: this.pid, livedMs: performance.now() - startedAt });
    marks.delete(mark);
  }

  #keepStderr(chunk: Buffer): void {
    this.#stderr.push(chunk);
    this.#stderrBytes += chunk.length;
    while (this.#stderrBytes > STDERR_KEPT_BYTES && this.#stderr.length > 1) {
      this.#stderrBytes -= this.#stderr.shift()?.length ?? 0;
    }
  }
}
