// Network of a sandbox on Linux: the egress proxy for granted hosts, or a listener that reports lookups.

import type { SandboxPolicy, WrapContext } from "../types.ts";
import { SANDBOX_HOSTNAME } from "./stub-files.ts";

export type OpenEgress = typeof import("../egress/egress.ts").openEgress;
export type Egress = Awaited<ReturnType<OpenEgress>>;
type NameListener = import("../egress/name-listener.ts").NameListener;

export interface SandboxNetwork {
  /** Undefined without granted hosts. */
  readonly egress: Egress | undefined;
  /** Undefined with granted hosts, and where lookups cannot be reported. */
  readonly names: NameListener | undefined;
  close(): void;
}

export interface NetworkOptions {
  readonly openEgress?: OpenEgress;
  /** Whether the sandbox routes all addresses to the relay before it starts. */
  readonly isRouted?: boolean;
}

export async function openNetwork(
  policy: SandboxPolicy,
  { server, onDenied }: WrapContext,
  { openEgress, isRouted }: NetworkOptions = {},
): Promise<SandboxNetwork> {
  if (policy.network.length === 0) {
    const { openNameListener } = await loadNameListener();
    const names = await openNameListener({ server, onDenied, hostname: SANDBOX_HOSTNAME });
    return { egress: undefined, names, close: () => names?.close() };
  }
  const open = openEgress ?? (await import("../egress/egress.ts")).openEgress;
  const egress = await open({ server, rules: policy.network, onDenied, isRouted });
  return { egress, names: undefined, close: () => egress.close() };
}

/** Loads the name listener ahead of time, because most sandboxes need it. */
export function preloadNetwork(policy: SandboxPolicy): void {
  if (policy.network.length === 0) loadNameListener().catch(() => {});
}

const loadNameListener = (): Promise<typeof import("../egress/name-listener.ts")> =>
  import("../egress/name-listener.ts");
