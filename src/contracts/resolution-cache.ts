// Resolutions that are kept until something they depend on changes.

import { majorKey } from "./find-contract.ts";
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
    const inputs = narrowed.size === 0 ? "" : request.inputs.filter((name) => narrowed.has(name)).toSorted();
    const key = JSON.stringify([
      majorKey(request.contract),
      request.contract.version,
      policyFingerprint(current.policy),
      request.pin,
      request.region,
      inputs,
      who,
    ]);
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
