// Ends servers that outlived the Portolan process that started them. Each child carries its owner's tag in its
// environment.

import { readFileSync, readlinkSync } from "node:fs";
import { environmentOf, processes, stateOf } from "./proc.ts";

export const OWNER_VARIABLE = "PORTOLAN_OWNER";

/** Computed once, because it identifies this process. */
let tag: string | undefined;

/**
 * Identifies this process by process id, start time and pid namespace, because ids are reused and differ between
 * containers.
 */
export function ownerTag(): string {
  tag ??= `${process.pid}.${stateOf(process.pid)?.started ?? "0"}.${namespace() ?? "0"}`;
  return tag;
}

/** The tag for resources that several machines share: it contains the boot id as well. */
export function ownerTagAnywhere(): string {
  return `${ownerTag()}.${boot() ?? "0"}`;
}

/** Kills the children of processes that have ended, and returns how many. Does nothing where /proc cannot be read. */
export function reapOrphans(): number {
  let ended = 0;
  for (const pid of processes()) {
    const owner = ownerOf(pid);
    if (owner === undefined || !isOwnerGone(owner)) continue;
    try {
      process.kill(pid, "SIGKILL");
      ended += 1;
    } catch {
      // The process has ended in the meantime, or belongs to another user.
    }
  }
  return ended;
}

/** Whether the process with this tag has ended; false if it cannot be looked up from here. */
export function isOwnerGone(owner: string): boolean {
  return owner !== ownerTag() && !isElsewhere(owner) && !isAlive(owner);
}

/** The same for a tag that may come from another machine, or from this one before a reboot. */
export function isOwnerAnywhereGone(owner: string): boolean {
  const [, local = "", machine] = /^(\d+\.\d+\.\d+)\.([0-9a-f]{32})$/.exec(owner) ?? [];
  return machine !== undefined && machine === boot() && isOwnerGone(local);
}

/** Whether the tag belongs to another pid namespace. */
function isElsewhere(owner: string): boolean {
  return owner.split(".")[2] !== namespace();
}

function namespace(): string | undefined {
  try {
    // Otherwise /proc belongs to another namespace, and its process ids mean nothing here.
    const isOurs = readlinkSync("/proc/self") === String(process.pid);
    return isOurs ? /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] : undefined;
  } catch {
    return undefined;
  }
}

/** The boot id differs on every machine and after every boot. */
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

/** A machine may hide the processes of other users from /proc. */
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
