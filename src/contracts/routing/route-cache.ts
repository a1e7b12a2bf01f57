// Who serves which calls, worked out once for each caller and kept until something that it depends on changes.

import type { Contract } from "../../model/index.ts";
import type { ContractPolicy } from "./policy.ts";
import { type Candidate, type Resolution, resolve, type RouteRequest, type RouteState } from "./route.ts";
import type { CallContext } from "../driver/bound-tool.ts";

const MOST_CALLERS = 1_000;
const MOST_KEPT = 1_000;
const NOTHING: ReadonlySet<string> = new Set();

export interface RoutesOptions {
  readonly policy: ContractPolicy;
  /** The drivers as they are for a caller, such as by who is logged in. */
  readonly candidates: (context: CallContext) => readonly Candidate[];
  /** By contract, the inputs that some driver does not take. */
  readonly narrowed: () => ReadonlyMap<string, ReadonlySet<string>>;
}

/** What is known for one caller. */
interface Known {
  readonly state: RouteState;
  /** Calls that ask for nothing particular, as most. */
  readonly plain: Map<Contract, Resolution>;
  readonly particular: Map<string, Resolution>;
}

export class Routes {
  readonly #options: RoutesOptions;
  /** By workspace, then by user: two look-ups cost a call less than one text made of both. */
  readonly #callers = new Map<string, Map<string, Known>>();
  #count = 0;
  #narrowed: ReadonlyMap<string, ReadonlySet<string>> | undefined;

  constructor(options: RoutesOptions) {
    this.#options = options;
  }

  resolve(request: RouteRequest, context: CallContext): Resolution {
    const known = this.#known(context);
    const { contract, pin, region } = request;
    // A call that was made before with other drivers left out is another question.
    if (request.exclude !== undefined || request.loginOnly === true) return resolve(request, known.state);
    this.#narrowed ??= this.#options.narrowed();
    const narrowed = this.#narrowed.get(contract.id) ?? NOTHING;
    if (pin === undefined && region === undefined && narrowed.size === 0)
      return kept(known.plain, contract, request, known.state);
    return kept(known.particular, keyOf(request, narrowed), request, known.state);
  }

  /** A driver came or went, somebody logged in or out, health changed. */
  invalidate(): void {
    this.#callers.clear();
    this.#count = 0;
    this.#narrowed = undefined;
  }

  #known(context: CallContext): Known {
    const { workspaceId = "" } = context;
    const who = whoOf(context);
    const known = this.#callers.get(workspaceId)?.get(who);
    if (known !== undefined) return known;
    if (this.#count >= MOST_CALLERS) this.invalidate();
    const { policy, candidates } = this.#options;
    const state = { drivers: candidates(context), policy };
    const made: Known = { state, plain: new Map(), particular: new Map() };
    const users = this.#callers.get(workspaceId) ?? new Map<string, Known>();
    this.#callers.set(workspaceId, users.set(who, made));
    this.#count += 1;
    return made;
  }
}

/** All that logins and the grants of secrets are about. */
function whoOf({ userId = "", roles, capabilities, workflow }: CallContext): string {
  if (roles === undefined && capabilities === undefined && workflow === undefined) return userId;
  return JSON.stringify([userId, roles, capabilities, workflow]);
}

function kept<K>(known: Map<K, Resolution>, key: K, request: RouteRequest, state: RouteState): Resolution {
  const found = known.get(key);
  if (found !== undefined) return found;
  const resolution = resolve(request, state);
  if (known.size >= MOST_KEPT) known.clear();
  known.set(key, resolution);
  return resolution;
}

function keyOf({ contract, inputs, pin, region }: RouteRequest, narrowed: ReadonlySet<string>): string {
  const given = inputs.filter((name) => narrowed.has(name)).toSorted();
  return JSON.stringify([contract.id, contract.version, pin, region, given]);
}
