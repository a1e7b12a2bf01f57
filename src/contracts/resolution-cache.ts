// Resolutions that are kept until something they depend on changes.

import { policyFingerprint } from "./policy.ts";
import { type Resolution, resolve, type RouteRequest, type RouteState } from "./resolver.ts";

const MOST_KEPT = 1_000;

export class ResolutionCache {
  readonly #kept = new Map<string, Resolution>();

  /** `who` tells apart callers for whom the state differs, such as by who is logged in. */
  resolve(
    request: RouteRequest,
    state: () => RouteState,
    narrowed: ReadonlySet<string>,
    who = "",
  ): Resolution {
    // A call that was made before with other drivers left out is another question.
    if (request.exclude !== undefined || request.loginOnly === true) return resolve(request, state());
    const current = state();
    const key = keyOf(request, policyFingerprint(current.policy), narrowed, who);
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const resolution = resolve(request, current);
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    this.#kept.set(key, resolution);
    return resolution;
  }

  /** A driver came or went, somebody logged in or out, health changed. */
  invalidate(): void {
    this.#kept.clear();
  }
}

/** A version says its major one. Names that callers choose are quoted, so that none can pass for another's key. */
function keyOf(
  { contract, inputs, pin, region }: RouteRequest,
  policy: string,
  narrowed: ReadonlySet<string>,
  who: string,
): string {
  const asked = pin === undefined && region === undefined ? "" : JSON.stringify([pin, region]);
  const given =
    narrowed.size === 0 ? "" : JSON.stringify(inputs.filter((name) => narrowed.has(name)).toSorted());
  return `${contract.id}@${contract.version}\n${policy}\n${asked}\n${given}\n${who}`;
}
