// Finds the series of a value by its fields. Every call does this twice, and comparing fields is faster than joining them to a key.

import type { Attributes } from "../attributes.ts";
import type { Histogram, Series } from "./registry.ts";

/** Most series of one name in the index. Values of further series are found by their key. */
const MAX_OF_NAME = 16;
/** Beyond so many names, the index is emptied; the histogram keeps its series. */
const MAX_NAMES = 2_000;

export interface SeriesFields<T> {
  /** The field that differs most often: the name of a tool. */
  readonly nameOf: (value: T) => string;
  /** True if two values with the same name are of one series. */
  readonly isSame: (a: T, b: T) => boolean;
  /** Equal for values of one series. */
  readonly keyOf: (value: T) => string;
  readonly attributesOf: (value: T) => Attributes;
}

export class SeriesIndex<T> {
  readonly #histogram: Histogram;
  readonly #fields: SeriesFields<T>;
  readonly #byName = new Map<string, { readonly first: T; readonly series: Series }[]>();

  constructor(histogram: Histogram, fields: SeriesFields<T>) {
    this.#histogram = histogram;
    this.#fields = fields;
  }

  of(value: T): Series {
    const { nameOf, isSame, keyOf, attributesOf } = this.#fields;
    const name = nameOf(value);
    let known = this.#byName.get(name);
    if (known !== undefined) for (const { first, series } of known) if (isSame(first, value)) return series;
    const series = this.#histogram.series(keyOf(value), () => attributesOf(value));
    if (known === undefined) {
      if (this.#byName.size >= MAX_NAMES) this.#byName.clear();
      this.#byName.set(name, (known = []));
    }
    if (known.length < MAX_OF_NAME) known.push({ first: value, series });
    return series;
  }
}
