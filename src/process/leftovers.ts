// Ends processes that a server started outside of its process group and left behind. Each server without a sandbox
// carries a random mark in its environment, which its children inherit. A sandbox needs no mark: it ends with
// everything in it.

import { randomBytes } from "node:crypto";
import { setImmediate as yieldToOthers, setTimeout as sleep } from "node:timers/promises";
import { environmentOf, isOwn, newestProcess, processes, stateOf } from "./proc.ts";

export const CHILD_VARIABLE = "PORTOLAN_CHILD";

const MARK = new RegExp(`(?:^|\\0)${CHILD_VARIABLE}=([0-9a-f]{32})(?:\\0|$)`);
/** Servers often stop together, and one scan of all processes serves all of them. */
const BETWEEN_SCANS_MS = 50;
/** Processes that are checked before other work of the event loop may run. */
const AT_ONCE = 100;
/** Process ids begin again after the largest one, which takes longer than this. */
const NO_WRAP_MS = 10_000;
/** Time for a killed process to disappear. */
const DEATH_MS = 10;
/** A process that waits for a disk cannot be killed, so that the number of scans is bounded. */
const MAX_SCANS = 50;

/**
 * Ended servers by their marks, for the next scan. All workspaces of this process share the scans, because each may read the
 * environments of all processes of the machine.
 */
let wanted = new Map<string, EndedServer>();
let next: Promise<void> | undefined;
let lastScan = -Infinity;

/** A server whose process has ended. */
interface EndedServer {
  readonly pid: number;
  /** How long it ran. */
  readonly livedMs: number;
}

/** A random mark that no other program can know. */
export function newMark(): string {
  return randomBytes(16).toString("hex");
}

/** Kills all processes with the mark of an ended server. Resolves when none is left. */
export function endLeftovers(mark: string, server: EndedServer): Promise<void> {
  wanted.set(mark, server);
  // A scan that is under way may have passed this server's processes already.
  next ??= scanSoon();
  return next;
}

/** The synchronous variant, for the exit of this process. */
export function endLeftoversNow(marks: ReadonlySet<string>): void {
  if (marks.size === 0) return;
  // A process may have started another one during the scan.
  for (let scan = 0; scan < MAX_SCANS; scan += 1)
    if (processes().filter((pid) => endIfMarked(pid, marks)).length === 0) return;
}

async function scanSoon(): Promise<void> {
  await sleep(Math.max(0, lastScan + BETWEEN_SCANS_MS - performance.now()));
  const marks = wanted;
  wanted = new Map();
  const first = Math.min(...Array.from(marks.values(), oldestLeftover));
  next = undefined;
  lastScan = performance.now();
  for (let scan = 0; scan < MAX_SCANS; scan += 1) {
    let isClear = true;
    for (const [at, pid] of processes(first).entries()) {
      if (at % AT_ONCE === AT_ONCE - 1) await yieldToOthers();
      if (endIfMarked(pid, marks) || isStartingOrEnding(pid)) isClear = false;
    }
    if (isClear) return;
    await sleep(DEATH_MS);
  }
}

/** The smallest id that a process of the server can have: a new process gets a larger id than those before it. */
function oldestLeftover({ pid, livedMs }: EndedServer): number {
  const isWrapped = livedMs > NO_WRAP_MS || newestProcess() < pid;
  return isWrapped ? 0 : pid;
}

/** Returns whether the process existed. The environment of other users' processes cannot be read. */
function endIfMarked(pid: number, marks: { has(mark: string): boolean }): boolean {
  const mark = MARK.exec(environmentOf(pid))?.[1];
  if (mark === undefined || !marks.has(mark)) return false;
  try {
    // The environment was read just now, so that the process id still belongs to the same process.
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended in the meantime.
  }
  return true;
}

/**
 * True while the environment of the process is not readable, although it was or will be: it starts another program,
 * or it was killed and the kernel has not finished that.
 */
function isStartingOrEnding(pid: number): boolean {
  if (environmentOf(pid) !== "" || !isOwn(pid)) return false;
  const state = stateOf(pid);
  return state !== undefined && !state.isDead && state.memory === "none";
}
