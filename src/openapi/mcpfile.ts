// The text of the mcpfile: tools as long as there is room, the bases that they share, and the head. The same description always
// gives the same bytes.

import type { JsonObject } from "../model/index.ts";
import { fits, HEAD, type PackedTool, plus, type Size, yaml } from "./render-tool.ts";

/** Collects the tools of a file. If there is too little room, the largest outputSchemas are left out first. */
export class Pack {
  readonly #tools: PackedTool[] = [];
  #size: Size = HEAD;

  get count(): number {
    return this.#tools.length;
  }

  /** Returns false if there is no room for the tool, even without its outputSchema. `whole`: also if its outputSchema has none. */
  add(tool: PackedTool, { whole = false } = {}): boolean {
    const size = whole ? plus(tool.size, tool.more) : tool.size;
    const sum = plus(this.#size, size);
    if (!fits(sum)) return false;
    this.#size = sum;
    this.#tools.push(tool);
    return true;
  }

  /** Returns the texts in the order in which they were added, and the number of outputSchemas that were left out. */
  finish(): { readonly texts: readonly string[]; readonly shortened: number } {
    const smallestFirst = this.#tools
      .map((tool, index) => ({ tool, index }))
      .sort((a, b) => a.tool.more.bytes - b.tool.more.bytes || a.index - b.index);
    let size = this.#tools.reduce((sum, tool) => plus(sum, tool.size), HEAD);
    const whole = new Set<PackedTool>();
    for (const { tool } of smallestFirst) {
      const sum = plus(size, tool.more);
      if (tool.full === undefined || !fits(sum)) continue;
      size = sum;
      whole.add(tool);
    }
    const isLean = (tool: PackedTool): boolean =>
      tool.isShortened || (tool.full !== undefined && !whole.has(tool));
    return {
      texts: this.#tools.map((tool) => (whole.has(tool) ? (tool.full ?? tool.lean) : tool.lean)),
      shortened: this.#tools.filter(isLean).length,
    };
  }
}

/** The `invocationBases` of a file: each base URL with its headers, written once for all tools that use it. */
export class Bases {
  readonly #names = new Map<string, string>();
  readonly list: JsonObject = {};

  /** Returns the name of the base with this URL and these headers; adds the base if it is new. */
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

  /** The bases of these names. */
  named(names: ReadonlySet<string>): JsonObject {
    return Object.fromEntries(Object.entries(this.list).filter(([name]) => names.has(name)));
  }
}

export function renderFile(comments: readonly string[], head: JsonObject, tools: readonly string[]): string {
  const lines = comments.map(
    (comment) => `# ${comment.replace(/[\p{C}\u2028\u2029]+/gu, " ").slice(0, 300)}`,
  );
  return `${lines.join("\n")}\n${yaml(head)}tools:\n${tools.join("")}`;
}

export function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let deepest = 0;
  for (const inner of Object.values(value)) deepest = Math.max(deepest, depthOf(inner));
  return deepest + 1;
}
