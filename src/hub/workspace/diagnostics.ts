// Diagnostics of a workspace that runs for days: each once, and not more than a limit.

import type { Diagnostic } from "../../errors/index.ts";

const MAX_KEPT = 1_000;

export interface KeptDiagnostics {
  /** The latest diagnostics, the oldest first. The array is always the same. */
  readonly all: readonly Diagnostic[];
  add(diagnostic: Diagnostic): void;
  /** Forgets diagnostics whose cause is gone. */
  forget(isOver: (diagnostic: Diagnostic) => boolean): void;
}

/** A diagnostic that comes again moves to the end. Beyond the limit, the oldest one is forgotten. */
export function createDiagnostics(max: number = MAX_KEPT): KeptDiagnostics {
  const all: Diagnostic[] = [];
  const keys = new Map<string, Diagnostic>();
  const remove = (diagnostic: Diagnostic): void => {
    const at = all.indexOf(diagnostic);
    if (at >= 0) all.splice(at, 1);
  };
  return {
    all,
    add(diagnostic) {
      const { code, severity, server, tool, file, line, column, message } = diagnostic;
      const key = JSON.stringify([code, severity, server, tool, file, line, column, message]);
      const before = keys.get(key);
      if (before !== undefined) remove(before);
      keys.delete(key);
      keys.set(key, diagnostic);
      all.push(diagnostic);
      const [oldest] = keys;
      if (keys.size <= max || oldest === undefined) return;
      keys.delete(oldest[0]);
      remove(oldest[1]);
    },
    forget(isOver) {
      for (const [key, diagnostic] of keys) {
        if (!isOver(diagnostic)) continue;
        keys.delete(key);
        remove(diagnostic);
      }
    },
  };
}
