// CPU time and memory of other processes, from Linux's /proc. Elsewhere the figures are undefined.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isNativeServer } from "./native-server.mjs";

const SERVERS = fileURLToPath(new URL("../servers/", import.meta.url));

const onLinux = existsSync("/proc/self/stat");

/** The gateway's processes: itself and what it started, without the benchmark's servers and the shells around them. */
export function listGatewayProcesses(root) {
  return listTree(root).filter((pid) => !isServer(pid) && !/\bsh$/.test(readArguments(pid)[0]));
}

/** How many of the benchmark's servers it has running. */
export function countServers(root) {
  return listTree(root).filter(isServer).length;
}

function isServer(pid) {
  const [program, script] = readArguments(pid);
  return isNativeServer(program) || (script?.startsWith(SERVERS) ?? false);
}

function readArguments(pid) {
  return (readProc(pid, "cmdline") ?? "").split("\0");
}

/** A process and its descendants, parents first. */
export function listTree(root) {
  if (!onLinux) return [root];
  const children = new Map();
  for (const name of readdirSync("/proc")) {
    const parent = /^\d+$/.test(name) ? readStat(name)?.parent : undefined;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

/** CPU time of their threads, from the scheduler. Threads that have ended are not in it; Node's last as long as their process. */
export function readCpuMs(pids) {
  return onLinux ? sum(pids.flatMap(readThreadsMs)) : undefined;
}

function readThreadsMs(pid) {
  return listProc(`/proc/${pid}/task`).map((thread) => {
    const nanoseconds = readProc(pid, `task/${thread}/schedstat`)?.split(" ", 1)[0];
    return Number(nanoseconds ?? 0) / 1e6;
  });
}

export function readRssMb(pids) {
  if (!onLinux) return undefined;
  const kilobytes = (pid) => Number(/^VmRSS:\s*(\d+)/m.exec(readProc(pid, "status") ?? "")?.[1] ?? 0);
  return sum(pids.map(kilobytes)) / 1024;
}

function readStat(pid) {
  const stat = readProc(pid, "stat");
  if (stat === undefined) return undefined;
  // The command's name, in parentheses, may itself contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { parent: Number(fields[1]) };
}

/** Processes end at any time: what is gone reads as undefined. */
function readProc(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return undefined;
  }
}

function listProc(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}
