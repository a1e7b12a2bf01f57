// Time series of calls: how many, how many failed, and how long they took, per server and tool, in steps of ten seconds.

const STEP_MS = 10_000;
/** Half an hour. */
const MAX_STEPS = 180;
/** Servers and tools that are counted. A further one takes the place of the one whose last call is the oldest. */
const MAX_SERIES = 500;
const MAX_TOOLS_SHOWN = 100;
/** Upper bounds of durations in milliseconds: each is about a quarter more than the one before. */
const BOUNDS: readonly number[] = Array.from({ length: 64 }, (_, index) => 0.25 * 1.25 ** index);

/** Calls, errors, and calls by the bound of their duration. */
class Counts {
  calls = 0;
  errors = 0;
  readonly #durations = new Map<number, number>();

  add(durationMs: number, failed: boolean): void {
    this.calls += 1;
    if (failed) this.errors += 1;
    const bound = BOUNDS.find((limit) => durationMs <= limit) ?? BOUNDS.at(-1) ?? 0;
    this.#durations.set(bound, (this.#durations.get(bound) ?? 0) + 1);
  }

  summary(): Summary {
    const sorted = [...this.#durations].toSorted(([a], [b]) => a - b);
    const percentile = (part: number): number | undefined => {
      let left = Math.ceil(this.calls * part);
      for (const [bound, count] of sorted) if ((left -= count) <= 0) return Math.round(bound * 100) / 100;
      return undefined;
    };
    const { calls, errors } = this;
    return { calls, errors, p50: percentile(0.5), p95: percentile(0.95), p99: percentile(0.99) };
  }
}

interface Series {
  /** All calls since the series began. */
  readonly total: Counts;
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
  /** The one with the newest step is the last. */
  readonly #series = new Map<string, Series>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  count({ server, tool, durationMs, failed }: CountedCall): void {
    this.#add("", durationMs, failed);
    this.#add(keyOf(server), durationMs, failed);
    this.#add(keyOf(server, tool), durationMs, failed);
  }

  /** The steps with calls, the oldest first: of all servers, one server, or one tool. */
  points(server?: string, tool?: string): SeriesPoint[] {
    const series = this.#series.get(server === undefined ? "" : keyOf(server, tool));
    if (series === undefined) return [];
    const { ended, step } = series;
    const oldest = this.#now() - STEP_MS * MAX_STEPS;
    const all = step === undefined ? ended : [...ended, toPoint(step)];
    return all.filter(({ time }) => time >= oldest);
  }

  /** The tools with calls, of one server or of all, the one with the most calls first. */
  tools(server?: string): ToolSummary[] {
    const found = [...this.#series].flatMap(([key, { total }]) => {
      const [owner, tool] = key === "" ? [] : (JSON.parse(key) as string[]);
      if (owner === undefined || tool === undefined || (server !== undefined && server !== owner)) return [];
      return [{ server: owner, tool, total }];
    });
    return found
      .toSorted((a, b) => b.total.calls - a.total.calls)
      .slice(0, MAX_TOOLS_SHOWN)
      .map(({ total, ...names }) => ({ ...names, ...total.summary() }));
  }

  #add(key: string, durationMs: number, failed: boolean): void {
    const time = Math.floor(this.#now() / STEP_MS) * STEP_MS;
    let series = this.#series.get(key);
    if (series?.step?.time !== time) series = this.#begin(key, series, time);
    series.step?.counts.add(durationMs, failed);
    series.total.add(durationMs, failed);
  }

  #begin(key: string, known: Series | undefined, time: number): Series {
    const series = known ?? { total: new Counts(), ended: [], step: undefined };
    if (series.step !== undefined) series.ended.push(toPoint(series.step));
    if (series.ended.length >= MAX_STEPS) series.ended.shift();
    series.step = { time, counts: new Counts() };
    const [oldest] = this.#series.keys();
    if (known === undefined && this.#series.size >= MAX_SERIES && oldest !== undefined)
      this.#series.delete(oldest);
    this.#series.delete(key);
    this.#series.set(key, series);
    return series;
  }
}

function keyOf(...names: readonly (string | undefined)[]): string {
  return JSON.stringify(names.filter((name) => name !== undefined));
}

function toPoint({ time, counts }: { readonly time: number; readonly counts: Counts }): SeriesPoint {
  return { time, ...counts.summary() };
}
