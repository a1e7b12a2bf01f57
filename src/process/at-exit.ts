// Work for the exit of this process: one listener for everything that must not outlive it.

const pending = new Set<() => void>();

/** Runs synchronous work when this process exits, unless the returned function is called before. */
export function atExit(work: () => void): () => void {
  if (pending.size === 0) process.on("exit", runAll);
  pending.add(work);
  return () => {
    pending.delete(work);
    if (pending.size === 0) process.off("exit", runAll);
  };
}

function runAll(): void {
  for (const work of pending)
    try {
      work();
    } catch {
      // The rest of the work is done all the same.
    }
}
