// Hand-over between versions of drivers, as pure rules, and between sets of contracts: a new version serves once
// its server was verified, and the old one until then.

/** The facts about one version of a driver that the rules read. */
export interface DriverVersion {
  readonly driver: { readonly id: string };
  /** By the ids of the contracts that it serves. */
  readonly bound: ReadonlyMap<string, unknown>;
  /** Its file does not match its contracts, so that it can never serve. */
  readonly isBroken: boolean;
  readonly status: "verified" | "refused" | "unknown";
}

export interface HandOver<T> {
  /** The current version of each driver, by id. */
  readonly current: ReadonlyMap<string, T>;
  /** The versions among them whose verification is under way: they do not serve yet. */
  readonly waiting: ReadonlySet<T>;
  /** The versions that serve until their successors are verified, by id. */
  readonly predecessors: ReadonlyMap<string, T>;
}

/** The next state, and the versions that are not needed any more. */
export type HandOverStep<T> = readonly [HandOver<T>, released: readonly T[]];

export function startHandOver<T extends DriverVersion>(before: Iterable<T>): HandOver<T> {
  const predecessors = new Map(Array.from(before, (one) => [one.driver.id, one]));
  return { current: new Map(), waiting: new Set(), predecessors };
}

/** The version that serves as this driver now. */
export function servingAs<T>({ current, waiting, predecessors }: HandOver<T>, id: string): T | undefined {
  const predecessor = predecessors.get(id);
  if (predecessor !== undefined) return predecessor;
  const one = current.get(id);
  return one === undefined || waiting.has(one) ? undefined : one;
}

/** All versions that serve now. */
export function serving<T>(state: HandOver<T>): readonly T[] {
  const { current, predecessors } = state;
  const removed = [...predecessors].flatMap(([id, one]) => (current.has(id) ? [] : [one]));
  return [...[...current.keys()].flatMap((id) => servingAs(state, id) ?? []), ...removed];
}

/**
 * Adds a driver, or replaces the current version of it. With `isVerified`, `finishVerification` follows. A version waits only where a
 * verified driver serves in its place: otherwise calls may come at once, and wait for the verification.
 */
export function addVersion<T extends DriverVersion>(
  state: HandOver<T>,
  one: T,
  isVerified: boolean,
): HandOverStep<T> {
  const { id } = one.driver;
  const replaced = state.current.get(id);
  const waits = isVerified && !one.isBroken && isServed(state, one);
  const current = new Map(state.current).set(id, one);
  const waiting = new Set(state.waiting);
  const predecessors = new Map(state.predecessors);
  if (waits) waiting.add(one);
  if (replaced === undefined) return [{ current, waiting, predecessors }, []];
  // No call relies on a version that never served.
  const hasServed = !waiting.delete(replaced) && !predecessors.has(id);
  if (!waits || !hasServed) return [{ current, waiting, predecessors }, [replaced]];
  return [{ current, waiting, predecessors: predecessors.set(id, replaced) }, []];
}

/** The verification has ended, whatever it found: the version takes over. */
export function finishVerification<T extends DriverVersion>(state: HandOver<T>, one: T): HandOverStep<T> {
  if (!state.waiting.has(one)) return [state, []];
  return releaseUnneeded({ ...state, waiting: without(state.waiting, one) });
}

export function removeDriver<T extends DriverVersion>(state: HandOver<T>, id: string): HandOverStep<T> {
  const gone = [state.current.get(id), state.predecessors.get(id)].filter((one) => one !== undefined);
  const current = new Map(state.current);
  const predecessors = new Map(state.predecessors);
  current.delete(id);
  predecessors.delete(id);
  const waiting = new Set([...state.waiting].filter((one) => !gone.includes(one)));
  const [next, released] = releaseUnneeded<T>({ current, waiting, predecessors });
  return [next, [...gone, ...released]];
}

/** Releases the predecessors that no contract needs any more. */
export function releaseUnneeded<T extends DriverVersion>(state: HandOver<T>): HandOverStep<T> {
  const [kept, released]: [[string, T][], T[]] = [[], []];
  for (const [id, one] of state.predecessors)
    if (isNeeded(state, one)) kept.push([id, one]);
    else released.push(one);
  return released.length === 0 ? [state, []] : [{ ...state, predecessors: new Map(kept) }, released];
}

/** Releases all predecessors: the current versions serve, verified or not. */
export function releaseAll<T>(state: HandOver<T>): HandOverStep<T> {
  return [
    { current: state.current, waiting: new Set(), predecessors: new Map() },
    [...state.predecessors.values()],
  ];
}

/** True when a verified driver serves under the same id, or serves one of its contracts. */
function isServed<T extends DriverVersion>(state: HandOver<T>, { driver, bound }: T): boolean {
  return serving(state).some(
    (one) =>
      one.status === "verified" &&
      (one.driver.id === driver.id || [...one.bound.keys()].some((contract) => bound.has(contract))),
  );
}

/** As long as its successor waits, or a driver waits for a contract that only this version serves. */
function isNeeded<T extends DriverVersion>({ current, waiting }: HandOver<T>, { driver, bound }: T): boolean {
  const successor = current.get(driver.id);
  if (successor !== undefined && waiting.has(successor)) return true;
  const hasDriver = (contract: string, isWaiting: boolean): boolean =>
    [...current.values()].some(
      (one) => waiting.has(one) === isWaiting && one.status !== "refused" && one.bound.has(contract),
    );
  return [...bound.keys()].some((contract) => hasDriver(contract, true) && !hasDriver(contract, false));
}

function without<T>(all: ReadonlySet<T>, one: T): ReadonlySet<T> {
  const rest = new Set(all);
  rest.delete(one);
  return rest;
}

/** A newer set that uses the drivers of this one. */
interface Successor {
  /** Something about the drivers has changed. */
  changed(): void;
  /** The drivers cannot be used any longer. */
  closed(): void;
}

/**
 * Hand-over between sets of contracts, as after a reload: a new set uses drivers of the one before until its own
 * are verified.
 */
export class SetHandOver {
  readonly #successors = new Set<Successor>();
  readonly #needsBefore: () => boolean;
  /** Tells the set before that its drivers are not needed any more. */
  #release: (() => void) | undefined;
  /** Calls that may use a driver of the set before. */
  readonly #calls = new Set<Promise<unknown>>();

  constructor(before: SetHandOver | undefined, successor: Successor, needsBefore: () => boolean) {
    this.#needsBefore = needsBefore;
    this.#release = before === undefined ? undefined : before.#use(successor);
  }

  /** True when a newer set still uses the drivers of this one. */
  get isInUse(): boolean {
    return this.#successors.size > 0;
  }

  /** The drivers of the set before are not released before the end of a call that may have chosen one. */
  track<T>(call: Promise<T>): Promise<T> {
    if (this.#release === undefined) return call;
    this.#calls.add(call);
    return call.finally(() => this.#calls.delete(call));
  }

  /** Something about the drivers of this set has changed. */
  changed(): void {
    for (const successor of this.#successors) successor.changed();
    this.#releaseUnneeded();
  }

  close(): void {
    this.#release?.();
    this.#release = undefined;
    const successors = [...this.#successors];
    this.#successors.clear();
    for (const successor of successors) successor.closed();
  }

  /** Returns the function that ends the use. */
  #use(successor: Successor): () => void {
    this.#successors.add(successor);
    return () => {
      this.#successors.delete(successor);
      this.#releaseUnneeded();
    };
  }

  /** Once neither this set nor one that uses its drivers needs the set before. */
  #releaseUnneeded(): void {
    const release = this.#release;
    if (release === undefined || this.isInUse || this.#needsBefore()) return;
    this.#release = undefined;
    void Promise.allSettled(this.#calls).then(release);
  }
}
