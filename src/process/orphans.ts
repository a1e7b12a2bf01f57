// Servers that outlived their program: each child carries its owner's identity, so that a later program can tell and end them.

import { readFileSync, readlinkSync } from "node:fs";
import { environmentOf, processes, stateOf } from "./proc.ts";

export const OWNER_VARIABLE = "PORTOLAN_OWNER";

let tag: string | undefined;

/**
 * This process by number, start time and the namespace in which the number holds: a number alone may be another process
 * tomorrow, and is another one outside of this container.
 */
export function ownerTag(): string {
  tag ??= `${process.pid}.${stateOf(process.pid)?.started ?? "0"}.${namespace() ?? "0"}`;
  return tag;
}

/** For what other machines see, too: most of them call their first namespace the same. */
export function ownerTagAnywhere(): string {
  return `${ownerTag()}.${boot() ?? "0"}`;
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

/** The same for a tag that may be of another machine, or of this one before it was started anew. */
export function isOwnerAnywhereGone(owner: string): boolean {
  const [, local = "", machine] = /^(\d+\.\d+\.\d+)\.([0-9a-f]{32})$/.exec(owner) ?? [];
  return machine !== undefined && machine === boot() && isOwnerGone(local);
}

/** Whether an owner with that number cannot be looked up here. */
function isElsewhere(owner: string): boolean {
  return owner.split(".")[2] !== namespace();
}

function namespace(): string | undefined {
  try {
    // Otherwise this is the /proc of another namespace, and says nothing about numbers of ours.
    const isOurs = readlinkSync("/proc/self") === String(process.pid);
    return isOurs ? /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] : undefined;
  } catch {
    return undefined;
  }
}

/** Different on every machine, and after each start of it. */
function boot(): string | undefined {
  try {
    const id = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim().replaceAll("-", "");
    return /^[0-9a-f]{32}$/.test(id) ? id : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(owner: string): boolean {
  const [pid, started] = owner.split(".");
  const state = stateOf(Number(pid));
  return state === undefined ? isThere(Number(pid)) : state.started === started && !state.isDead;
}

/** A machine may hide the processes of others from /proc. */
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

const TAG = new RegExp(`(?:^|\\0)${OWNER_VARIABLE}=(\\d+\\.\\d+\\.\\d+)(?:\\0|$)`);

function ownerOf(pid: number): string | undefined {
  return TAG.exec(environmentOf(pid))?.[1];
}
