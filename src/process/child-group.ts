// Child process in its own process group: started without a shell, its stderr always drained, and stopped with all
// its helpers.

import type { ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import spawn from "cross-spawn";
import { lastWords } from "../base/text/truncate.ts";
import { PortolanError } from "../errors/index.ts";
import { CHILD_VARIABLE, endLeftovers, endLeftoversNow, newMark } from "./leftovers.ts";
import { OWNER_VARIABLE } from "./orphans.ts";
import { stdioOf } from "./stdio.ts";
import type { Spawnable } from "./types.ts";

const STDERR_KEPT_BYTES = 64 * 1024;
const STDERR_TAIL_LINES = 20;
const STDERR_TAIL_CHARS = 4_096;
const STDIN_GRACE_MS = 2_000;
const TERM_GRACE_MS = 2_000;
const KILL_GRACE_MS = 800;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Groups that end with this process, even if it exits without closing them. */
const liveGroups = new Set<ChildGroup>();
/** Marks of servers whose leftover processes have not been searched for yet. */
const marks = new Set<string>();
let watchingExit = false;

export class ChildGroup {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly exited: Promise<Exit>;
  readonly #process: ChildProcess;
  readonly #pid: number;
  readonly #terminateInside: Spawnable["terminate"];
  /** Settles after the child has ended and all its leftover processes are gone. */
  readonly #gone: Promise<void>;
  #stderr: Buffer[] = [];
  #stderrBytes = 0;
  #stopping: Promise<void> | undefined;

  private constructor(
    child: ChildProcess,
    pid: number,
    terminateInside: Spawnable["terminate"],
    mark: string | undefined,
  ) {
    this.#process = child;
    this.#pid = pid;
    this.#terminateInside = terminateInside;
    // stdio is ["pipe", "pipe", "pipe"], so all three exist.
    this.stdin = child.stdin as Writable;
    this.stdout = child.stdout as Readable;
    this.exited = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
    (child.stderr as Readable).on("data", (chunk: Buffer) => this.#keepStderr(chunk));
    // A write to a child that has gone is reported by its exit, not by the pipe.
    this.stdin.on("error", () => {});
    liveGroups.add(this);
    if (mark !== undefined) marks.add(mark);
    this.#gone = this.exited.then(() => this.#killRest(mark));
  }

  static start(spawnable: Spawnable, server: string, onStderr?: (text: string) => void): Promise<ChildGroup> {
    if (!watchingExit) {
      watchingExit = true;
      process.on("exit", () => {
        for (const group of liveGroups) group.signal("SIGKILL");
        endLeftoversNow(marks);
      });
    }
    return new Promise((resolve, reject) => {
      const failed = (cause: Error & { code?: string }): void => {
        spawnable.spawned(false);
        spawnable.ended();
        reject(startError(spawnable, server, cause));
      };
      // A sandbox ends with everything in it, and its programs must not see Portolan's variables.
      const mark = OWNER_VARIABLE in spawnable.env ? newMark() : undefined;
      try {
        const child = spawn(spawnable.file, [...spawnable.args], {
          env: mark === undefined ? spawnable.env : { ...spawnable.env, [CHILD_VARIABLE]: mark },
          cwd: spawnable.cwd,
          stdio: stdioOf("pipe", "pipe", "pipe", ...spawnable.fds),
          shell: false,
          windowsHide: true,
          // The child leads a group of its own, so that its helpers can be stopped with it.
          detached: process.platform !== "win32",
        });
        child.once("error", failed);
        const pid = child.pid;
        if (pid === undefined) return;
        child.off("error", failed);
        child.on("error", () => {});
        const group = new ChildGroup(child, pid, spawnable.terminate, mark);
        spawnable.spawned();
        void group.exited.then(() => spawnable.ended());
        if (onStderr !== undefined) child.stderr?.on("data", (chunk: Buffer) => onStderr(chunk.toString()));
        resolve(group);
      } catch (cause) {
        failed(cause as Error);
      }
    });
  }

  stderrTail(): string {
    const text = Buffer.concat(this.#stderr).toString("utf8").trimEnd();
    return lastWords(text.split("\n").slice(-STDERR_TAIL_LINES).join("\n"), STDERR_TAIL_CHARS);
  }

  /** Closes stdin, then sends SIGTERM, then SIGKILL. The child and its helpers are gone after five seconds at most. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  signal(signal: NodeJS.Signals): void {
    try {
      if (process.platform === "win32") this.#process.kill(signal);
      else process.kill(-this.#pid, signal);
    } catch {
      // The group is already empty.
    }
  }

  async #stop(): Promise<void> {
    this.stdin.end();
    if (await this.#endsWithin(STDIN_GRACE_MS)) return this.#gone;
    if (this.#terminateInside?.(this.#process) !== true) this.signal("SIGTERM");
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
    this.signal("SIGKILL");
    liveGroups.delete(this);
    // A survivor outside of the group may keep the pipes open, which would keep this process alive.
    const letGo = (): void => {
      this.stdout.destroy();
      this.#process.stderr?.destroy();
      this.stdin.destroy();
    };
    // On a slow machine the pipes may still contain output, which is read first.
    setTimeout(() => setImmediate(() => setImmediate(letGo)), 100).unref();
    if (mark === undefined) return;
    await endLeftovers(mark);
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

function startError(
  { file, cwd }: Spawnable,
  server: string,
  cause: Error & { code?: string },
): PortolanError {
  const missing = cause.code === "ENOENT";
  const message = missing
    ? `cannot start "${file}": ${cwd === undefined ? "no such program" : "no such program or folder"}`
    : `cannot start "${file}": ${cause.message}`;
  return new PortolanError("SERVER_START_FAILED", message, {
    server,
    cause,
    data: { command: file, reason: cause.code ?? "unknown" },
    hint: missing ? "Check the spelling, install the program, or give its full path." : undefined,
  });
}
