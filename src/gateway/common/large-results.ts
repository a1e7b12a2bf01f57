// Large tool results: the client gets the beginning, and a resource link under which the rest can be read in slices.

import { randomBytes } from "node:crypto";
import { PortolanError } from "../../errors/index.ts";
import { isObject, type ContentBlock, type JsonObject } from "../../model/index.ts";
import type { RequestContext } from "./types.ts";

export interface LargeResultsOptions {
  /** Largest result that is sent whole, for servers without a setting of their own; 0 for no limit. */
  readonly maxBytes: number;
  readonly keepMs?: number;
  readonly maxStoredBytes?: number;
}

interface StoredResult {
  readonly caller: string;
  readonly view: string;
  readonly text: string;
  readonly mimeType: string;
  /** The text is Base64, so slices end at whole bytes. */
  readonly isBase64: boolean;
  readonly expiresAt: number;
}

const SCHEME = "portolan://results/";
const KEEP_MS = 30 * 60_000;
const MAX_STORED_BYTES = 64 * 1024 * 1024;
const HEAD_CHARS = 4_096;
const SLICE_CHARS = 64 * 1024;
const MAX_SLICE_CHARS = 1024 * 1024;
const MAX_FOUND_LINES = 200;
/** Limits the search, which can take as many steps as the product of both lengths. */
const MAX_FIND_CHARS = 100;

export class LargeResults {
  readonly #options: LargeResultsOptions;
  /** Stored results, the oldest first. */
  readonly #stored = new Map<string, StoredResult>();
  #bytes = 0;

  constructor(options: LargeResultsOptions) {
    this.#options = options;
  }

  /** Returns a tool result unchanged, or shortened if it exceeds the limit of its server. */
  limit(context: RequestContext, method: string, params: JsonObject, result: JsonObject): JsonObject {
    if (method !== "tools/call" || !Array.isArray(result.content)) return result;
    const limit = this.#limitFor(context, String(params.name), result);
    if (limit === 0 || !isLargerThan(result, limit)) return result;
    const blocks = (result.content as ContentBlock[]).flatMap((block) =>
      this.#shorten(context, block, limit),
    );
    const { structuredContent, ...others } = result;
    if (structuredContent === undefined) return { ...others, content: blocks };
    const json = JSON.stringify(structuredContent);
    if (json.length <= limit / 2) return { ...result, content: blocks };
    return { ...others, content: [...blocks, ...this.#shortenText(context, json, "application/json")] };
  }

  /** Reads a slice of a stored result. Undefined for requests about anything else. */
  read(context: RequestContext, method: string, params: JsonObject): JsonObject | undefined {
    const { uri } = params;
    if (method !== "resources/read" || typeof uri !== "string" || !uri.startsWith(SCHEME)) return undefined;
    const { pathname, searchParams } = new URL(uri.replace(SCHEME, "x://x/"));
    const stored = this.#stored.get(pathname.slice(1));
    const isOwn = stored?.caller === context.caller.name && stored.view === context.view.key;
    if (stored === undefined || !isOwn || stored.expiresAt < performance.now())
      throw new PortolanError("RESOURCE_NOT_FOUND", `${uri.slice(0, 200)} has expired or does not exist`, {
        hint: "Call the tool again to get a new link.",
        data: { uri },
      });
    const base = `${SCHEME}${pathname.slice(1)}`;
    const wanted = searchParams.get("find");
    if (wanted !== null && wanted.length > MAX_FIND_CHARS)
      throw new PortolanError(
        "INPUT_INVALID",
        `the parameter find of ${uri.slice(0, 200)} is longer than ${MAX_FIND_CHARS} characters`,
        { hint: "Search for a shorter text." },
      );
    const contents =
      wanted === null || stored.isBase64
        ? slice(stored, base, uri, searchParams)
        : { uri, mimeType: "text/plain", text: linesWith(stored.text, wanted) };
    return { contents: [contents], ttlMs: 0, cacheScope: "private" };
  }

  #limitFor({ view }: RequestContext, tool: string, { structuredContent }: JsonObject): number {
    const { toolRoutes, tools } = view.hubView.table;
    const own = toolRoutes.get(tool)?.member.config.maxResultBytes;
    if (own !== undefined) return own;
    // The output schema describes the whole result, so a shortened one would not match it.
    const described =
      structuredContent !== undefined && tools.find(({ name }) => name === tool)?.outputSchema !== undefined;
    return described ? 0 : this.#options.maxBytes;
  }

  #shorten(context: RequestContext, block: ContentBlock, limit: number): ContentBlock[] {
    const small = Math.min(limit / 2, HEAD_CHARS * 2);
    if (typeof block.text === "string" && block.text.length > small) {
      const cut = this.#shortenText(context, block.text, "text/plain");
      return [{ ...block, ...cut[0] }, ...cut.slice(1)];
    }
    if (typeof block.data === "string" && block.data.length > small) {
      const mimeType = typeof block.mimeType === "string" ? block.mimeType : "application/octet-stream";
      return [this.#store(context, block.data, mimeType, true)];
    }
    const { resource } = block;
    if (isObject(resource) && isLargerThan(resource, small)) {
      const mimeType = typeof resource.mimeType === "string" ? resource.mimeType : "text/plain";
      if (typeof resource.blob === "string") return [this.#store(context, resource.blob, mimeType, true)];
      if (typeof resource.text === "string") return this.#shortenText(context, resource.text, mimeType);
    }
    return [block];
  }

  #shortenText(context: RequestContext, text: string, mimeType: string): ContentBlock[] {
    const link = this.#store(context, text, mimeType, false);
    const head = text.slice(0, endOfCharacter(text, HEAD_CHARS));
    return [
      {
        type: "text",
        text: `${head}\n… (${head.length} of ${text.length} characters; the rest is in ${String(link.uri)}, to be read in slices with ?offset=N&length=M, or searched with ?find=TEXT)`,
      },
      link,
    ];
  }

  #store({ caller, view }: RequestContext, text: string, mimeType: string, isBase64: boolean): ContentBlock {
    const { keepMs = KEEP_MS, maxStoredBytes = MAX_STORED_BYTES } = this.#options;
    const id = randomBytes(12).toString("base64url");
    this.#stored.set(id, {
      caller: caller.name,
      view: view.key,
      text,
      mimeType,
      isBase64,
      expiresAt: performance.now() + keepMs,
    });
    this.#bytes += text.length;
    for (const [old, { expiresAt }] of this.#stored) {
      if (expiresAt > performance.now()) break;
      this.#drop(old);
    }
    while (this.#bytes > maxStoredBytes && this.#evict(id));
    return {
      type: "resource_link",
      uri: `${SCHEME}${id}`,
      name: `result-${id}`,
      description: `The whole result: ${text.length} ${isBase64 ? "characters of Base64" : "characters"}, kept for ${Math.round(keepMs / 60_000)} minutes. Read it in slices: add ?offset=N&length=M to the URI.`,
      mimeType,
      size: isBase64 ? Math.floor((text.length * 3) / 4) : Buffer.byteLength(text),
    };
  }

  /** Evicts the oldest result of the caller that stores most, so that one caller cannot evict the results of others. */
  #evict(fresh: string): boolean {
    const owned = new Map<string, { bytes: number; oldest: string | undefined }>();
    for (const [id, { caller, text }] of this.#stored) {
      const own = owned.get(caller) ?? { bytes: 0, oldest: undefined };
      owned.set(caller, {
        bytes: own.bytes + text.length,
        oldest: own.oldest ?? (id === fresh ? undefined : id),
      });
    }
    const [most] = [...owned.values()]
      .filter(({ oldest }) => oldest !== undefined)
      .toSorted((a, b) => b.bytes - a.bytes);
    if (most?.oldest === undefined) return false;
    this.#drop(most.oldest);
    return true;
  }

  #drop(id: string): void {
    this.#bytes -= this.#stored.get(id)?.text.length ?? 0;
    this.#stored.delete(id);
  }
}

function slice(stored: StoredResult, base: string, uri: string, query: URLSearchParams): JsonObject {
  const number = (name: string, otherwise: number): number => {
    const given = Number(query.get(name) ?? otherwise);
    return Number.isSafeInteger(given) && given >= 0 ? given : otherwise;
  };
  const { text, mimeType, isBase64 } = stored;
  const unit = isBase64 ? 4 : 1;
  const from = Math.min(number("offset", 0), text.length);
  const length = Math.min(number("length", SLICE_CHARS), MAX_SLICE_CHARS);
  const start = from - (from % unit);
  const rough = Math.min(text.length, start + Math.max(unit, length - (length % unit)));
  const end = isBase64 ? rough : endOfCharacter(text, rough);
  return {
    uri,
    mimeType,
    ...(isBase64 ? { blob: text.slice(start, end) } : { text: text.slice(start, end) }),
    _meta: {
      offset: start,
      length: end - start,
      total: text.length,
      ...(end < text.length ? { next: `${base}?offset=${end}&length=${length}` } : {}),
    },
  };
}

/** The lines that contain the text, each with its offset. */
function linesWith(text: string, wanted: string): string {
  const found: string[] = [];
  let at = 0;
  for (const line of text.split("\n")) {
    if (line.includes(wanted)) found.push(`${at}: ${line.slice(0, 1_000)}`);
    if (found.length >= MAX_FOUND_LINES) return [...found, "… (more)"].join("\n");
    at += line.length + 1;
  }
  return found.length === 0 ? `(no line contains ${JSON.stringify(wanted.slice(0, 100))})` : found.join("\n");
}

/** Moves a cut out of the middle of a surrogate pair. */
function endOfCharacter(text: string, at: number): number {
  const code = text.charCodeAt(at - 1);
  return at > 0 && at < text.length && code >= 0xd800 && code <= 0xdbff ? at + 1 : at;
}

/** True if the value as JSON is longer than the limit; stops counting as soon as it is. */
function isLargerThan(value: unknown, limit: number): boolean {
  let left = limit;
  const stack: unknown[] = [value];
  while (stack.length > 0 && left >= 0) {
    const part = stack.pop();
    if (typeof part === "string") left -= part.length + 2;
    else if (Array.isArray(part)) for (const item of part) stack.push(item);
    else if (isObject(part)) {
      for (const key of Object.keys(part)) {
        left -= key.length + 3;
        stack.push(part[key]);
      }
    } else left -= 4;
  }
  return left < 0;
}
