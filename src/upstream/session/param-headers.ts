// Tool parameters that are also sent as HTTP headers (`x-mcp-header`): reads and validates the annotations, encodes values.

import { isObject, type JsonObject, type JsonSchema } from "../../model/index.ts";
import { headerValue } from "../transports/http/protocol.ts";
import type { Call } from "../upstream.ts";

export interface ParamHeader {
  /** Full header name, `Mcp-Param-…`. */
  readonly header: string;
  /** Property names from the root of the arguments. */
  readonly path: readonly string[];
}

const ANNOTATION = "x-mcp-header";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const MIRRORED_TYPES = new Set(["string", "integer", "boolean"]);
const MAX_DEPTH = 64;

/** The headers that a tool's input schema demands, or the fault in its annotations. */
export function paramHeaders(schema: JsonSchema): { headers: ParamHeader[] } | { problem: string } {
  const headers: ParamHeader[] = [];
  const seen = new Set<string>();

  const annotated = (node: JsonObject, path: readonly string[]): string | undefined => {
    const name = node[ANNOTATION];
    const at = path.join(".");
    if (typeof name !== "string" || !TOKEN.test(name)) return `${ANNOTATION} at "${at}" is not a header name`;
    if (typeof node.type !== "string" || !MIRRORED_TYPES.has(node.type)) {
      return `${ANNOTATION} at "${at}" is on a parameter that is not a string, integer or boolean`;
    }
    if (seen.has(name.toLowerCase())) return `${ANNOTATION} "${name}" is used twice`;
    seen.add(name.toLowerCase());
    headers.push({ header: `Mcp-Param-${name}`, path });
    return undefined;
  };

  const visit = (
    node: unknown,
    path: readonly string[],
    reachable: boolean,
    depth: number,
  ): string | undefined => {
    if (depth > MAX_DEPTH || typeof node !== "object" || node === null) return undefined;
    if (Array.isArray(node)) return first(node, (item) => visit(item, path, false, depth + 1));
    const schemaNode = node as JsonObject;
    if (ANNOTATION in schemaNode) {
      if (!reachable || path.length === 0)
        return `${ANNOTATION} is at a place where the arguments of a call have no value`;
      const problem = annotated(schemaNode, path);
      if (problem !== undefined) return problem;
    }
    return first(Object.keys(schemaNode), (key) => {
      const child = schemaNode[key];
      if (key === "properties" && isObject(child)) {
        return first(Object.keys(child), (name) => visit(child[name], [...path, name], reachable, depth + 1));
      }
      return DATA_KEYWORDS.has(key) ? undefined : visit(child, path, false, depth + 1);
    });
  };

  const problem = visit(schema, [], true, 0);
  return problem === undefined ? { headers } : { problem };
}

/** Keywords whose value is data, not a schema, so that an annotation in it has no meaning. */
const DATA_KEYWORDS = new Set(["const", "default", "enum", "examples", ANNOTATION]);

function first<T>(items: readonly T[], find: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The header values for one call. Parameters that are absent or null have no header. */
export function headersForCall(headers: readonly ParamHeader[], args: unknown): Record<string, string> {
  const result: Record<string, string> = {};
  for (const { header, path } of headers) {
    let value: unknown = args;
    for (const name of path) {
      value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    }
    if (typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value)) {
      result[header] = headerValue(String(value));
    }
  }
  return result;
}

/** The headers of tool calls, as the tools demanded when they were last listed. */
export class ToolHeaders {
  readonly #known = new Map<string, readonly ParamHeader[]>();
  readonly #listTools: (call: Call) => Promise<JsonObject>;
  readonly #maxPages: number;

  /** `listTools` fetches one page and calls `learn` with its headers. */
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

  /** Lists all tools again, for a call that was refused because of its headers. */
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
