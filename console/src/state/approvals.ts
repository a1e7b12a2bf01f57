// Calls that wait for approval: loaded at the start, and whenever one begins or ceases to wait.

import { effect, signal } from "@preact/signals";
import { call } from "../api.ts";
import type { ShownApproval } from "../types.ts";
import { approvalVersion, connection } from "./live.ts";

/** The oldest first; undefined until they are loaded. */
export const waiting = signal<readonly ShownApproval[] | undefined>(undefined);
export const loadError = signal<unknown>(undefined);

export async function loadApprovals(): Promise<void> {
  try {
    waiting.value = (await call<{ waiting: ShownApproval[] }>("approvals")).waiting;
    loadError.value = undefined;
  } catch (thrown) {
    loadError.value = thrown;
  }
}

/** Keeps the list up to date until the returned function is called. */
export function followApprovals(): () => void {
  return effect(() => {
    const isConnected = connection.value === "open";
    if (approvalVersion.value >= 0 && isConnected) void loadApprovals();
  });
}
