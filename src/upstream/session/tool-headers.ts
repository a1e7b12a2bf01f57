// Which headers the calls of each tool carry, as its definition said when it was last listed.

import type { JsonObject } from "../../model/index.ts";
import { headersForCall, type ParamHeader } from "./param-headers.ts";
import type { Call } from "../upstream.ts";

export class ToolHeaders {
  readonly #known = new Map<string, readonly ParamHeader[]>();
  readonly #listTools: (call: Call) => Promise<JsonObject>;
  readonly #maxPages: number;

  /** `listTools` fetches one page, and lets this learn from it. */
  constructor(listTools: (call: Call) => Promise<JsonObject>, maxPages: number) {
    this.#listTools = listTools;
    this.#maxPages = maxPages;
  }

  learn(headers: ReadonlyMap<string, readonly ParamHeader[]>): void {
    for (const [tool, own] of headers) this.#known.set(tool, own);
  }

  of(call: Call): Record<string, string> | undefined {
    const headers = this.#known.get(String(call.params?.name));
    return headers === undefined ? undefined : headersForCall(headers, call.params?.arguments);
  }

  /** Lists all tools again, on behalf of a call that was refused for its headers. */
  async refresh({ caller, signal }: Call): Promise<void> {
    this.#known.clear();
    let cursor: unknown;
    for (let page = 0; page < this.#maxPages; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const result = await this.#listTools({ method: "tools/list", params, caller, signal });
      if (typeof result.nextCursor !== "string" || result.nextCursor === cursor) return;
      cursor = result.nextCursor;
    }
  }
}
