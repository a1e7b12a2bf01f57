// Metrics in the text format of Prometheus: histograms that count while calls run, and gauges that are read at the time of a scrape.
// Written by hand: the usual library takes five times as long for a value, and twenty times as long for a scrape.

import type { Attributes } from "../attributes.ts";

/** Series of one histogram. Beyond it, values go into one series with `otel_metric_overflow`, as the SDK of OpenTelemetry does. */
const MAX_SERIES = 2_000;
const OVERFLOW = 'otel_metric_overflow="true"';

export interface Series {
  readonly labels: string;
  readonly counts: number[];
  sum: number;
  count: number;
}

export interface HistogramSnapshot {
  readonly labels: string;
  readonly count: number;
  readonly sum: number;
}

export class Histogram {
  readonly name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();

  /** `name` is the name in the text format, with its unit. */
  constructor(name: string, help: string, bounds: readonly number[]) {
    this.name = name;
    this.#help = help;
    this.#bounds = bounds;
  }

  /** `key` is equal for equal attributes; the attributes are only made for the first value of a series. */
  series(key: string, attributes: () => Attributes): Series {
    return this.#series.get(key) ?? this.#create(key, attributes);
  }

  record(series: Series, value: number): void {
    const { counts } = series;
    let at = 0;
    while (at < this.#bounds.length && value > (this.#bounds[at] as number)) at += 1;
    counts[at] = (counts[at] ?? 0) + 1;
    series.sum += value;
    series.count += 1;
  }

  snapshot(): readonly HistogramSnapshot[] {
    return [...this.#series.values()].map(({ labels, count, sum }) => ({ labels, count, sum }));
  }

  write(lines: string[]): void {
    lines.push(`# HELP ${this.name} ${this.#help}`, `# TYPE ${this.name} histogram`);
    for (const { labels, counts, sum, count } of new Set(this.#series.values())) {
      const separator = labels === "" ? "" : ",";
      let total = 0;
      for (const [at, bound] of this.#bounds.entries()) {
        total += counts[at] ?? 0;
        lines.push(`${this.name}_bucket{${labels}${separator}le="${bound}"} ${total}`);
      }
      lines.push(
        `${this.name}_bucket{${labels}${separator}le="+Inf"} ${count}`,
        `${this.name}_sum{${labels}} ${sum}`,
        `${this.name}_count{${labels}} ${count}`,
      );
    }
  }

  #create(key: string, attributes: () => Attributes): Series {
    if (this.#series.size >= MAX_SERIES) {
      const overflow = this.#series.get(OVERFLOW);
      if (overflow !== undefined) return overflow;
      return this.#add(OVERFLOW, OVERFLOW);
    }
    return this.#add(key, toLabels(attributes()));
  }

  #add(key: string, labels: string): Series {
    const series: Series = {
      labels,
      counts: Array.from({ length: this.#bounds.length + 1 }, () => 0),
      sum: 0,
      count: 0,
    };
    this.#series.set(key, series);
    return series;
  }
}

export interface Sample {
  readonly labels?: Attributes;
  readonly value: number;
}

/** Gauges and counters that exist elsewhere, and are read when they are scraped. */
export interface Gauge {
  readonly name: string;
  readonly help: string;
  readonly type: "gauge" | "counter";
  readonly samples: readonly Sample[];
}

export function writeGauge({ name, help, type, samples }: Gauge, lines: string[]): void {
  lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
  for (const { labels = {}, value } of samples) {
    const text = toLabels(labels);
    lines.push(`${name}${text === "" ? "" : `{${text}}`} ${value}`);
  }
}

/** Dots of attribute names become underscores. */
function toLabels(attributes: Attributes): string {
  return Object.entries(attributes)
    .map(([name, value]) => `${name.replaceAll(/[^A-Za-z0-9_]/g, "_")}="${escaped(String(value))}"`)
    .join(",");
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
