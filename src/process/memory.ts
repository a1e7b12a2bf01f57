// Resident memory of process groups, from /proc. Elsewhere it is not known.

import { processes, stateOf } from "./proc.ts";

/** Bytes by group. Programs in a sandbox are children of a process in the group, so that all descendants count. */
export function measureMemory(groups: ReadonlySet<number>): ReadonlyMap<number, number> {
  const states = new Map(
    processes().flatMap((pid) => {
      const state = stateOf(pid);
      return state === undefined || state.isDead ? [] : [[pid, state] as const];
    }),
  );
  const groupOf = (pid: number): number | undefined => {
    let at: number | undefined = pid;
    for (let depth = 0; at !== undefined && depth < 20; depth += 1) {
      const state = states.get(at);
      if (state === undefined) return undefined;
      if (groups.has(state.group)) return state.group;
      at = state.parent;
    }
    return undefined;
  };
  const sums = new Map<number, number>();
  for (const [pid, { memoryBytes }] of states) {
    const group = groupOf(pid);
    if (group !== undefined && memoryBytes > 0) sums.set(group, (sums.get(group) ?? 0) + memoryBytes);
  }
  return sums;
}
