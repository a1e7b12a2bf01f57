// Identity of a process: pid, start time and machine, so that a reused pid is not mistaken for the old process.

import { readFile, readlink } from "node:fs/promises";
import { hostname } from "node:os";

export interface ProcessIdentity {
  readonly pid: number;
  /** Start time in a unit of the system; only equality matters. */
  readonly started: string | null;
  readonly host: string;
  /** Changes with every boot of the machine. */
  readonly boot: string | null;
  /** Pids of different namespaces (containers) cannot be compared. */
  readonly namespace: string | null;
}

export async function describeThisProcess(): Promise<ProcessIdentity> {
  return {
    pid: process.pid,
    started: (await startOf(process.pid)).started,
    host: hostname(),
    ...(await machine()),
  };
}

/** Returns `unknown` for a process of another machine or container. */
export async function stateOf(owner: ProcessIdentity): Promise<"alive" | "dead" | "unknown"> {
  const here = await machine();
  if (owner.host !== hostname()) return "unknown";
  if (owner.boot !== null && here.boot !== null && owner.boot !== here.boot) return "dead";
  if (owner.namespace !== here.namespace) return "unknown";
  const now = await startOf(owner.pid);
  if (now.ended) return "dead";
  if (owner.started !== null && now.started !== null && owner.started !== now.started) return "dead";
  // Asked last: a process that ends while its start time is read is dead.
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return "dead";
  }
  return "alive";
}

async function machine(): Promise<{ boot: string | null; namespace: string | null }> {
  if (process.platform !== "linux") return { boot: null, namespace: null };
  const [boot, namespace] = await Promise.all([
    readFile("/proc/sys/kernel/random/boot_id", "utf8").then(
      (text) => text.trim(),
      () => null,
    ),
    readlink("/proc/self/ns/pid").catch(() => null),
  ]);
  return { boot, namespace };
}

async function startOf(pid: number): Promise<{ started: string | null; ended: boolean }> {
  if (process.platform === "linux") return startFromProc(pid);
  // Windows has no cheap way to read the start time, so the pid alone decides.
  if (process.platform === "win32") return { started: null, ended: false };
  return { started: await startFromPs(pid), ended: false };
}

async function startFromProc(pid: number): Promise<{ started: string | null; ended: boolean }> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (stat === undefined) return { started: null, ended: false };
  // The program name, in parentheses, may contain spaces and parentheses. The fields are counted after it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { started: fields[19] ?? null, ended: fields[0] === "Z" || fields[0] === "X" };
}

async function startFromPs(pid: number): Promise<string | null> {
  const { execFile } = await import("node:child_process");
  return await new Promise((resolve) => {
    execFile(
      "ps",
      ["-o", "lstart=", "-p", String(pid)],
      { env: { PATH: "/bin:/usr/bin", LC_ALL: "C", TZ: "UTC" }, timeout: 2_000 },
      (error, stdout) => resolve(error === null ? stdout.trim() || null : null),
    );
  });
}
