// Servers that outlived their program: each child carries its owner's identity, so that a later program can tell and end them.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export const OWNER_VARIABLE = "PORTOLAN_OWNER";

let tag: string | undefined;

/**
 * This process by number, start time and the namespace in which the number holds: a number alone may be another process
 * tomorrow, and is another one outside of this container.
 */
export function ownerTag(): string {
  tag ??= `${process.pid}.${startTime(process.pid) ?? "0"}.${namespace() ?? "0"}`;
  return tag;
}

/** Ends the children of programs that are gone. Where /proc tells nothing, nothing is done. Returns how many were ended. */
export function reapOrphans(): number {
  let ended = 0;
  for (const pid of processes()) {
    const owner = ownerOf(pid);
    if (owner === undefined || !isOwnerGone(owner)) continue;
    try {
      process.kill(pid, "SIGKILL");
      ended += 1;
    } catch {
      // It left in the meantime, or belongs to another user.
    }
  }
  return ended;
}

/** Whether the process that had this tag has ended; false for one that cannot be looked up here. */
export function isOwnerGone(owner: string): boolean {
  return owner !== ownerTag() && !isElsewhere(owner) && !isAlive(owner);
}

/** Whether an owner with that number cannot be looked up here. */
function isElsewhere(owner: string): boolean {
  return owner.split(".")[2] !== namespace();
}

function namespace(): string | undefined {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0];
  } catch {
    return undefined;
  }
}

function isAlive(owner: string): boolean {
  const [pid, started] = owner.split(".");
  return startTime(Number(pid)) === started;
}

/** In clock ticks since boot, as the kernel counts them. */
function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the program's name, which may itself hold spaces and brackets.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

function ownerOf(pid: number): string | undefined {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, "latin1");
    return new RegExp(`(?:^|\\0)${OWNER_VARIABLE}=(\\d+\\.\\d+\\.\\d+)(?:\\0|$)`).exec(environment)?.[1];
  } catch {
    return undefined;
  }
}

function processes(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}
