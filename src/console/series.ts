// Time series of calls: how many, how many failed, and how long they took, per server and tool, in steps of ten seconds.

const STEP_MS = 10_000;
/** Half an hour. */
const MAX_STEPS = 180;
/** Servers and tools that are counted. A further one takes the place of the one whose last call is the oldest. */
const MAX_SERIES = 500;
const MAX_TOOLS_SHOWN = 100;
/** Durations are counted by upper bounds, in milliseconds: each bound is a quarter more than the one before. */
const FIRST_BOUND = 0.25;
const GROWTH = 1.25;
const BOUNDS = 64;

/** The number of the bound of a duration. */
function boundOf(durationMs: number): number {
  if (durationMs <= FIRST_BOUND) return 0;
  return Math.min(BOUNDS - 1, Math.ceil(Math.log(durationMs / FIRST_BOUND) / Math.log(GROWTH) - 1e-9));
}

/** Calls, errors, and calls by the bound of their duration. */
class Counts {
  calls = 0;
  errors = 0;
  readonly #durations = new Uint32Array(BOUNDS);

  add(bound: number, failed: boolean): void {
    this.calls += 1;
    if (failed) this.errors += 1;
    this.#durations[bound] = (this.#durations[bound] as number) + 1;
  }

  addAll(others: Counts): void {
    this.calls += others.calls;
    this.errors += others.errors;
    for (const [bound, count] of others.#durations.entries())
      this.#durations[bound] = (this.#durations[bound] as number) + count;
  }

  summary(): Summary {
    const percentile = (part: number): number | undefined => {
      let left = Math.ceil(this.calls * part);
      const bound = this.#durations.findIndex((count) => (left -= count) <= 0);
      return this.calls === 0 ? undefined : Math.round(FIRST_BOUND * GROWTH ** bound * 100) / 100;
    };
    const { calls, errors } = this;
    return { calls, errors, p50: percentile(0.5), p95: percentile(0.95), p99: percentile(0.99) };
  }
}

interface Series {
  /** Undefined for all servers together. */
  readonly server: string | undefined;
  /** Undefined for all tools of the server. */
  readonly tool: string | undefined;
  /** All calls of the steps that have ended. */
  readonly before: Counts;
  /** Steps that have ended: their durations are percentiles only, which take little memory. */
  readonly ended: SeriesPoint[];
  step: { readonly time: number; readonly counts: Counts } | undefined;
}

export interface Summary {
  readonly calls: number;
  readonly errors: number;
  readonly p50?: number;
  readonly p95?: number;
  readonly p99?: number;
}

/** One tool, as the page lists it. */
export interface ToolSummary extends Summary {
  readonly server: string;
  readonly tool: string;
}

/** One step as the page shows it. */
export interface SeriesPoint extends Summary {
  /** Start of the step, in milliseconds since 1970. */
  readonly time: number;
}

export interface CountedCall {
  readonly server: string;
  readonly tool: string;
  readonly durationMs: number;
  readonly failed: boolean;
}

export class CallSeries {
  readonly #now: () => number;
  /** By key. The one with the newest step is the last. */
  readonly #series = new Map<string, Series>();
  /** The counts of the last call: under load, the next call is often of the same tool. */
  #last: { readonly server: string; readonly tool: string; readonly time: number; readonly counts: Counts[] };

  constructor(now: () => number = Date.now) {
    this.#now = now;
    this.#last = { server: "", tool: "", time: Number.NaN, counts: [] };
  }

  count({ server, tool, durationMs, failed }: CountedCall): void {
    const bound = boundOf(durationMs);
    const time = Math.floor(this.#now() / STEP_MS) * STEP_MS;
    const last = this.#last;
    if (last.time !== time || last.tool !== tool || last.server !== server) {
      const all = this.#stepOf(undefined, undefined, time);
      const counts = [all, this.#stepOf(server, undefined, time), this.#stepOf(server, tool, time)];
      this.#last = { server, tool, time, counts };
    }
    for (const counts of this.#last.counts) counts.add(bound, failed);
  }

  /** The steps with calls, the oldest first: of all servers, one server, or one tool. */
  points(server?: string, tool?: string): SeriesPoint[] {
    const series = this.#series.get(keyOf(server, tool));
    if (series === undefined) return [];
    const { ended, step } = series;
    const oldest = this.#now() - STEP_MS * MAX_STEPS;
    const all = step === undefined ? ended : [...ended, toPoint(step)];
    return all.filter(({ time }) => time >= oldest);
  }

  /** The tools with calls, of one server or of all, the one with the most calls first. */
  tools(only?: string): ToolSummary[] {
    const found = [...this.#series.values()].flatMap((series) => {
      const { server, tool } = series;
      if (server === undefined || tool === undefined || (only !== undefined && only !== server)) return [];
      return [{ server, tool, total: totalOf(series) }];
    });
    return found
      .toSorted((a, b) => b.total.calls - a.total.calls)
      .slice(0, MAX_TOOLS_SHOWN)
      .map(({ total, ...names }) => ({ ...names, ...total.summary() }));
  }

  /** The counts of the present step. */
  #stepOf(server: string | undefined, tool: string | undefined, time: number): Counts {
    const key = keyOf(server, tool);
    const step = this.#series.get(key)?.step;
    if (step?.time === time) return step.counts;
    const known = this.#series.get(key);
    const series = known ?? { server, tool, before: new Counts(), ended: [], step: undefined };
    if (series.step !== undefined) {
      series.ended.push(toPoint(series.step));
      series.before.addAll(series.step.counts);
    }
    if (series.ended.length >= MAX_STEPS) series.ended.shift();
    const [oldest] = this.#series.keys();
    if (known === undefined && this.#series.size >= MAX_SERIES && oldest !== undefined)
      this.#series.delete(oldest);
    this.#series.delete(key);
    this.#series.set(key, series);
    const counts = new Counts();
    series.step = { time, counts };
    return counts;
  }
}

/** The alias of a server has no line feed. */
function keyOf(server: string | undefined, tool: string | undefined): string {
  if (server === undefined) return "";
  return tool === undefined ? server : `${server}\n${tool}`;
}

function totalOf({ before, step }: Series): Counts {
  const total = new Counts();
  total.addAll(before);
  if (step !== undefined) total.addAll(step.counts);
  return total;
}

function toPoint({ time, counts }: { readonly time: number; readonly counts: Counts }): SeriesPoint {
  return { time, ...counts.summary() };
}
