// Renewal of stored indexes in the background of a start. It never delays the start, and ends with its workspace.

import type { RenewOptions } from "../registry/index.ts";

export interface IndexRenewal {
  /** Renews the index of a registry unless it is recent. `onRenewed` is called after a renewal. */
  begin(
    registry: string,
    options: Pick<RenewOptions, "maxAgeMs" | "token">,
    onRenewed: () => Promise<void>,
  ): void;
  close(): Promise<void>;
}

export function createIndexRenewal(): IndexRenewal {
  const leaving = new AbortController();
  /** One renewal at a time for each registry; all starts of that time wait for it. */
  const running = new Map<string, Promise<boolean>>();
  const tasks = new Set<Promise<void>>();

  const renew = async (
    registry: string,
    options: Pick<RenewOptions, "maxAgeMs" | "token">,
  ): Promise<boolean> => {
    const { renewIndex } = await import("../registry/index.ts");
    return renewIndex(registry, { ...options, signal: leaving.signal });
  };

  return {
    begin(registry, options, onRenewed) {
      if (leaving.signal.aborted) return;
      const renewal =
        running.get(registry) ?? renew(registry, options).finally(() => running.delete(registry));
      running.set(registry, renewal);
      const task = renewal
        .then((isRenewed) => (isRenewed && !leaving.signal.aborted ? onRenewed() : undefined))
        // Without the network, the stored index stays in use. A command that reads the registry reports its errors.
        .catch(() => {})
        .finally(() => tasks.delete(task));
      tasks.add(task);
    },
    async close() {
      leaving.abort();
      await Promise.all(tasks);
    },
  };
}
