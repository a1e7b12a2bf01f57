// Process information from /proc: parents, children, start times and environments, so that a signal reaches the
// right process.

import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync } from "node:fs";

export interface ProcessState {
  readonly parent: number;
  /** The id of its process group. */
  readonly group: number;
  /** Clock ticks since boot. Together with the process id it identifies the process. */
  readonly started: string;
  /** The process has ended, and its parent has not collected its exit code. */
  readonly isDead: boolean;
  /** Resident memory. */
  readonly memoryBytes: number;
  /**
   * "none" while the process starts another program, and after it was killed; "hidden" if this process may not read
   * it, or if it is a thread of the kernel.
   */
  readonly memory: "readable" | "hidden" | "none";
}

const PAGE_BYTES = 4096;
/** The kernel's start address of the code of a process whose memory the reader may not see. */
const HIDDEN_CODE = "1";
/** The flag of the threads of the kernel. */
const KERNEL_THREAD = 0x20_00_00;

/** Undefined if there is no such process, or if it may not be read. */
export function stateOf(pid: number | "self"): ProcessState | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === "") return undefined;
  // The second field is the program's name, which may itself hold spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = "", parent, group] = fields;
  return {
    parent: Number(parent),
    group: Number(group),
    started: fields[19] ?? "",
    isDead: state === "Z" || state === "X",
    memoryBytes: Number(fields[21]) * PAGE_BYTES,
    memory: memoryOf(fields),
  };
}

function memoryOf(fields: readonly string[]): ProcessState["memory"] {
  if (fields[23] === HIDDEN_CODE || (Number(fields[6]) & KERNEL_THREAD) !== 0) return "hidden";
  return fields[47] === "0" ? "none" : "readable";
}

/** Running children, oldest first, including those that the process adopted. */
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

/** Undefined where the kernel provides no list of children. */
function listedChildren(pid: number): number[] | undefined {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, "latin1").split(" ").filter(Boolean).map(Number),
    );
  } catch {
    return undefined;
  }
}

/** All processes with an id of at least `first`. */
export function processes(first = 0): number[] {
  try {
    // Other names are no numbers, and a comparison with them is false.
    return readdirSync("/proc")
      .map(Number)
      .filter((pid) => pid >= first);
  } catch {
    return [];
  }
}

/** True for a process of the user that runs this one. */
export function isOwn(pid: number): boolean {
  try {
    return statSync(`/proc/${pid}`).uid === process.getuid?.();
  } catch {
    return false;
  }
}

/** The id of the newest process, which may have ended; 0 if it is not known. */
export function newestProcess(): number {
  return Number(readText("/proc/loadavg").trim().split(" ").at(-1)) || 0;
}

const buffer = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * The environment that the process was started with, as `NAME=value` separated by zero bytes; empty if it has
 * ended or may not be read.
 */
export function environmentOf(pid: number): string {
  return readText(`/proc/${pid}/environ`);
}

/** A file of /proc, or an empty text. readFileSync takes ten times as long, and there are many of these files. */
export function readText(path: string): string {
  try {
    const file = openSync(path, "r");
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
