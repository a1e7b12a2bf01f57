// Time series of calls: how many, how many failed, and how long they took, per server and tool, in steps of ten seconds.

const STEP_MS = 10_000;
/** One hour. */
const MAX_STEPS = 360;
/** Servers and tools that are counted; later ones only count for their server, or not at all. */
const MAX_SERIES = 1_000;
/** Upper bounds of durations in milliseconds: each is about a quarter more than the one before. */
const BOUNDS: readonly number[] = Array.from({ length: 64 }, (_, index) => 0.25 * 1.25 ** index);

interface Step {
  /** Start of the step, in milliseconds since 1970. */
  readonly time: number;
  calls: number;
  errors: number;
  /** Calls by bound. */
  readonly durations: Map<number, number>;
}

/** One step as the page shows it. */
export interface SeriesPoint {
  readonly time: number;
  readonly calls: number;
  readonly errors: number;
  readonly p50?: number;
  readonly p95?: number;
  readonly p99?: number;
}

export interface CountedCall {
  readonly server: string;
  readonly tool: string;
  readonly durationMs: number;
  readonly failed: boolean;
}

export class CallSeries {
  readonly #now: () => number;
  readonly #series = new Map<string, Step[]>();

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
    const steps = this.#series.get(server === undefined ? "" : keyOf(server, tool)) ?? [];
    const oldest = this.#now() - STEP_MS * MAX_STEPS;
    return steps.filter(({ time }) => time >= oldest).map(toPoint);
  }

  /** The tools with calls, of one server or of all. */
  tools(): { readonly server: string; readonly tool: string; readonly points: SeriesPoint[] }[] {
    return [...this.#series.keys()].flatMap((key) => {
      const [server, tool] = key === "" ? [] : (JSON.parse(key) as string[]);
      if (server === undefined || tool === undefined) return [];
      return [{ server, tool, points: this.points(server, tool) }];
    });
  }

  #add(key: string, durationMs: number, failed: boolean): void {
    let steps = this.#series.get(key);
    if (steps === undefined) {
      if (this.#series.size >= MAX_SERIES) return;
      steps = [];
      this.#series.set(key, steps);
    }
    const time = Math.floor(this.#now() / STEP_MS) * STEP_MS;
    let step = steps.at(-1);
    if (step?.time !== time) {
      step = { time, calls: 0, errors: 0, durations: new Map() };
      steps.push(step);
      if (steps.length > MAX_STEPS) steps.shift();
    }
    step.calls += 1;
    if (failed) step.errors += 1;
    const bound = BOUNDS.find((limit) => durationMs <= limit) ?? BOUNDS.at(-1) ?? 0;
    step.durations.set(bound, (step.durations.get(bound) ?? 0) + 1);
  }
}

function keyOf(...names: readonly (string | undefined)[]): string {
  return JSON.stringify(names.filter((name) => name !== undefined));
}

function toPoint({ time, calls, errors, durations }: Step): SeriesPoint {
  const sorted = [...durations].toSorted(([a], [b]) => a - b);
  const percentile = (part: number): number | undefined => {
    let left = Math.ceil(calls * part);
    for (const [bound, count] of sorted) if ((left -= count) <= 0) return Math.round(bound * 100) / 100;
    return undefined;
  };
  return { time, calls, errors, p50: percentile(0.5), p95: percentile(0.95), p99: percentile(0.99) };
}
