// What tools have in common, written once: the base URL, and the headers that say who calls.

import type { JsonObject } from "../model/index.ts";

export class Bases {
  readonly #names = new Map<string, string>();
  readonly list: JsonObject = {};

  /** The name of the base with that URL and those headers. */
  nameFor(url: string, headers: Readonly<Record<string, string>>): string {
    const key = JSON.stringify([url, headers]);
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const name = this.#names.size === 0 ? "api" : `api-${this.#names.size + 1}`;
    this.#names.set(key, name);
    const http: JsonObject = { method: "GET", url };
    if (Object.keys(headers).length > 0) http.headers = headers;
    this.list[name] = { http };
    return name;
  }

  /** Only those that are used. */
  named(names: ReadonlySet<string>): JsonObject {
    return Object.fromEntries(Object.entries(this.list).filter(([name]) => names.has(name)));
  }
}
