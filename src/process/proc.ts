// Who started whom, as /proc tells it: a signal must reach the right process, and never one that only has the same number.

import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";

export interface ProcessState {
  readonly parent: number;
  /** The number of its process group. */
  readonly group: number;
  /** In clock ticks since boot, as the kernel counts them: with its number, it says which process this is. */
  readonly started: string;
  /** It has ended, and nobody has asked how. */
  readonly isDead: boolean;
}

/** Undefined when there is none, or none that may be looked at. */
export function stateOf(pid: number | "self"): ProcessState | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the program's name, which may itself hold spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state = "", parent, group] = fields;
    return {
      ...{ parent: Number(parent), group: Number(group), started: fields[19] ?? "" },
      isDead: state === "Z" || state === "X",
    };
  } catch {
    return undefined;
  }
}

/** Those that run, the oldest first; with all that it took over from others. */
export function childrenOf(pid: number): number[] {
  const listed = listedChildren(pid) ?? processes().filter((one) => stateOf(one)?.parent === pid);
  return listed
    .flatMap((one) => {
      const state = stateOf(one);
      return state === undefined || state.isDead || state.parent !== pid ? [] : [{ one, state }];
    })
    .toSorted((a, b) => Number(a.state.started) - Number(b.state.started) || a.one - b.one)
    .map(({ one }) => one);
}

/** Undefined where the kernel keeps no such lists. */
function listedChildren(pid: number): number[] | undefined {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, "latin1").split(" ").filter(Boolean).map(Number),
    );
  } catch {
    return undefined;
  }
}

export function processes(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

const buffer = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * The environment that it was started with, as `NAME=value` with zeros in between; empty when it has ended, or may not be
 * looked at. All processes are asked for it, and reading such a file in the usual way takes ten times as long.
 */
export function environmentOf(pid: number): string {
  try {
    const file = openSync(`/proc/${pid}/environ`, "r");
    try {
      let text = "";
      for (let read = -1; read !== 0;) {
        read = readSync(file, buffer, 0, buffer.length, null);
        text += buffer.toString("latin1", 0, read);
      }
      return text;
    } finally {
      closeSync(file);
    }
  } catch {
    return "";
  }
}
