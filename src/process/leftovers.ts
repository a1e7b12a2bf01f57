// What a server started outside of its process group, and left behind: each server without a box carries a mark in its
// environment, which all that it starts inherits. In a box nothing of the kind is needed: it ends whole.

import { randomBytes } from "node:crypto";
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import { environmentOf, processes } from "./proc.ts";

export const CHILD_VARIABLE = "PORTOLAN_CHILD";

const MARK = new RegExp(`(?:^|\\0)${CHILD_VARIABLE}=([0-9a-f]{32})(?:\\0|$)`);
/** Servers often stop together, and one look at all processes is enough for all of them. */
const BETWEEN_LOOKS_MS = 50;
/** Looked at without letting anything else run. */
const AT_ONCE = 100;
/** For what was told to end just now. */
const DEATH_MS = 10;
/** One that cannot be killed, because it waits for a disk, is not waited for for ever. */
const MOST_LOOKS = 50;

/** Of servers that have ended; the next look is for these. */
let wanted = new Set<string>();
let next: Promise<void> | undefined;
let lastLook = -Infinity;

/** Another one for each server; nobody else can know it. */
export function newMark(): string {
  return randomBytes(16).toString("hex");
}

/** Ends everything that has the mark of a server which has ended. Resolves when nothing of it is there any more. */
export function endLeftovers(mark: string): Promise<void> {
  wanted.add(mark);
  // A look that has begun may have passed by already what only now is a leftover.
  next ??= lookSoon();
  return next;
}

/** The same when this process ends, and nothing can be waited for any more. */
export function endLeftoversNow(marks: ReadonlySet<string>): void {
  if (marks.size === 0) return;
  // What is seen in one look may have started something in the meantime.
  for (let look = 0; look < MOST_LOOKS; look += 1)
    if (processes().filter((pid) => endIfMarked(pid, marks)).length === 0) return;
}

async function lookSoon(): Promise<void> {
  await sleep(Math.max(0, lastLook + BETWEEN_LOOKS_MS - performance.now()));
  const marks = wanted;
  wanted = new Set();
  next = undefined;
  lastLook = performance.now();
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    let isClear = true;
    for (const [at, pid] of processes().entries()) {
      if (at % AT_ONCE === AT_ONCE - 1) await turn();
      if (endIfMarked(pid, marks)) isClear = false;
    }
    if (isClear) return;
    await sleep(DEATH_MS);
  }
}

/** Whether it was there. Of other users' processes neither can the environment be read, nor can they be signalled. */
function endIfMarked(pid: number, marks: ReadonlySet<string>): boolean {
  const mark = MARK.exec(environmentOf(pid))?.[1];
  if (mark === undefined || !marks.has(mark)) return false;
  try {
    // Right after it was read: by now the number cannot be another process's.
    process.kill(pid, "SIGKILL");
  } catch {
    // It left in the meantime.
  }
  return true;
}
