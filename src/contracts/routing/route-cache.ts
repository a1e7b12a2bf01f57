// Cache of routes: each route is computed once per caller and kept until a state that it depends on changes.

import type { Contract } from "../../model/index.ts";
import type { ContractPolicy } from "./policy.ts";
import { type Candidate, type Resolution, resolve, type RouteRequest, type RouteState } from "./route.ts";
import type { CallContext } from "../contract/call-context.ts";

const MAX_CALLERS = 1_000;
const MAX_ROUTES = 1_000;
const NOTHING: ReadonlySet<string> = new Set();

export interface RouteCacheOptions {
  readonly policy: ContractPolicy;
  /** The drivers as routing reads them for one caller. */
  readonly candidates: (context: CallContext) => readonly Candidate[];
  /** By contract, the inputs that at least one driver does not take. */
  readonly narrowed: () => ReadonlyMap<string, ReadonlySet<string>>;
}

/** Routes of one caller. */
interface CallerRoutes {
  readonly state: RouteState;
  /** Calls without a pin, a region or a narrowed input: most calls. */
  readonly plain: Map<Contract, Resolution>;
  readonly particular: Map<string, Resolution>;
}

export class RouteCache {
  readonly #options: RouteCacheOptions;
  /** By workspace, then by user: two lookups are cheaper than one joined key. */
  readonly #callers = new Map<string, Map<string, CallerRoutes>>();
  #count = 0;
  #narrowed: ReadonlyMap<string, ReadonlySet<string>> | undefined;

  constructor(options: RouteCacheOptions) {
    this.#options = options;
  }

  resolve(request: RouteRequest, context: CallContext): Resolution {
    const known = this.#known(context);
    const { contract, pin, region } = request;
    // Routes without the drivers that failed in this call, and routes for a login, are rare.
    if (request.exclude !== undefined || request.loginOnly === true) return resolve(request, known.state);
    this.#narrowed ??= this.#options.narrowed();
    const narrowed = this.#narrowed.get(contract.id) ?? NOTHING;
    if (pin === undefined && region === undefined && narrowed.size === 0)
      return kept(known.plain, contract, request, known.state);
    return kept(known.particular, keyOf(request, narrowed), request, known.state);
  }

  /** After any change of a driver, a login or a health status. */
  invalidate(): void {
    this.#callers.clear();
    this.#count = 0;
    this.#narrowed = undefined;
  }

  #known(context: CallContext): CallerRoutes {
    const { workspaceId = "" } = context;
    const who = whoOf(context);
    const known = this.#callers.get(workspaceId)?.get(who);
    if (known !== undefined) return known;
    if (this.#count >= MAX_CALLERS) this.invalidate();
    const { policy, candidates } = this.#options;
    const state = { drivers: candidates(context), policy };
    const made: CallerRoutes = { state, plain: new Map(), particular: new Map() };
    const users = this.#callers.get(workspaceId) ?? new Map<string, CallerRoutes>();
    this.#callers.set(workspaceId, users.set(who, made));
    this.#count += 1;
    return made;
  }
}

/** The fields that logins and grants of secrets depend on. */
function whoOf({ userId = "", roles, capabilities, workflow }: CallContext): string {
  if (roles === undefined && capabilities === undefined && workflow === undefined) return userId;
  return JSON.stringify([userId, roles, capabilities, workflow]);
}

function kept<K>(known: Map<K, Resolution>, key: K, request: RouteRequest, state: RouteState): Resolution {
  const found = known.get(key);
  if (found !== undefined) return found;
  const resolution = resolve(request, state);
  if (known.size >= MAX_ROUTES) known.clear();
  known.set(key, resolution);
  return resolution;
}

function keyOf({ contract, inputs, pin, region }: RouteRequest, narrowed: ReadonlySet<string>): string {
  const given = inputs.filter((name) => narrowed.has(name)).toSorted();
  return JSON.stringify([contract.id, contract.version, pin, region, given]);
}
