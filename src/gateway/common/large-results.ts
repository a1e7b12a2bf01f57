// Results that are too large to hand over whole: their head, and a link under which the rest can be read in slices.

import { randomBytes } from "node:crypto";
import { PortolanError } from "../../errors/index.ts";
import { isObject, type ContentBlock, type JsonObject } from "../../model/index.ts";
import type { Visit } from "./types.ts";

export interface ResultsOptions {
  /** Largest result that is handed over whole, for servers that say nothing else; 0 for no limit. */
  readonly maxBytes: number;
  readonly keepMs?: number;
  readonly maxKeptBytes?: number;
}

interface Kept {
  readonly principal: string;
  readonly offer: string;
  readonly text: string;
  readonly mimeType: string;
  /** The text is Base64, and is read in slices of whole bytes. */
  readonly isBase64: boolean;
  readonly expiresAt: number;
}

const SCHEME = "portolan://results/";
const KEEP_MS = 30 * 60_000;
const MAX_KEPT_BYTES = 64 * 1024 * 1024;
const HEAD_CHARS = 4_096;
const SLICE_CHARS = 64 * 1024;
const MAX_SLICE_CHARS = 1024 * 1024;
const MAX_FOUND_LINES = 200;
/** Looking for a long text in a longer one can take as many steps as both lengths multiplied. */
const MAX_FIND_CHARS = 100;

export class Results {
  readonly #options: ResultsOptions;
  /** Oldest first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  constructor(options: ResultsOptions) {
    this.#options = options;
  }

  /** The result of a tool as the client gets it: as it is, unless it is above the limit of its server. */
  fit(visit: Visit, method: string, params: JsonObject, result: JsonObject): JsonObject {
    if (method !== "tools/call" || !Array.isArray(result.content)) return result;
    const limit = this.#limitFor(visit, String(params.name), result);
    if (limit === 0 || !isLargerThan(result, limit)) return result;
    const blocks = (result.content as ContentBlock[]).flatMap((block) => this.#cut(visit, block, limit));
    const { structuredContent, ...others } = result;
    if (structuredContent === undefined) return { ...others, content: blocks };
    const json = JSON.stringify(structuredContent);
    if (json.length <= limit / 2) return { ...result, content: blocks };
    return { ...others, content: [...blocks, ...this.#cutText(visit, json, "application/json")] };
  }

  /** What was kept, when that is what a request is about. */
  read(visit: Visit, method: string, params: JsonObject): JsonObject | undefined {
    const { uri } = params;
    if (method !== "resources/read" || typeof uri !== "string" || !uri.startsWith(SCHEME)) return undefined;
    const { pathname, searchParams } = new URL(uri.replace(SCHEME, "x://x/"));
    const kept = this.#kept.get(pathname.slice(1));
    const isTheirs = kept?.principal === visit.principal.name && kept.offer === visit.offer.key;
    if (kept === undefined || !isTheirs || kept.expiresAt < performance.now())
      throw new PortolanError("RESOURCE_NOT_FOUND", `${uri.slice(0, 200)} is not kept any more`, {
        hint: "Call the tool again.",
        data: { uri },
      });
    const base = `${SCHEME}${pathname.slice(1)}`;
    const wanted = searchParams.get("find");
    if (wanted !== null && wanted.length > MAX_FIND_CHARS)
      throw new PortolanError("INPUT_INVALID", `find takes at most ${MAX_FIND_CHARS} characters`);
    const contents =
      wanted === null || kept.isBase64
        ? slice(kept, base, uri, searchParams)
        : { uri, mimeType: "text/plain", text: linesWith(kept.text, wanted) };
    return { contents: [contents], ttlMs: 0, cacheScope: "private" };
  }

  #limitFor({ offer }: Visit, tool: string, { structuredContent }: JsonObject): number {
    const { toolRoutes, tools } = offer.view.table;
    const own = toolRoutes.get(tool)?.member.declared.maxResultBytes;
    if (own !== undefined) return own;
    // A client that knows the schema expects what it describes.
    const described =
      structuredContent !== undefined && tools.find(({ name }) => name === tool)?.outputSchema !== undefined;
    return described ? 0 : this.#options.maxBytes;
  }

  #cut(visit: Visit, block: ContentBlock, limit: number): ContentBlock[] {
    const small = Math.min(limit / 2, HEAD_CHARS * 2);
    if (typeof block.text === "string" && block.text.length > small) {
      const cut = this.#cutText(visit, block.text, "text/plain");
      return [{ ...block, ...cut[0] }, ...cut.slice(1)];
    }
    if (typeof block.data === "string" && block.data.length > small) {
      const mimeType = typeof block.mimeType === "string" ? block.mimeType : "application/octet-stream";
      return [this.#keep(visit, block.data, mimeType, true)];
    }
    const { resource } = block;
    if (isObject(resource) && isLargerThan(resource, small)) {
      const mimeType = typeof resource.mimeType === "string" ? resource.mimeType : "text/plain";
      if (typeof resource.blob === "string") return [this.#keep(visit, resource.blob, mimeType, true)];
      if (typeof resource.text === "string") return this.#cutText(visit, resource.text, mimeType);
    }
    return [block];
  }

  #cutText(visit: Visit, text: string, mimeType: string): ContentBlock[] {
    const link = this.#keep(visit, text, mimeType, false);
    const head = text.slice(0, endOfCharacter(text, HEAD_CHARS));
    return [
      {
        type: "text",
        text: `${head}\n… (${head.length} of ${text.length} characters; the rest is in ${String(link.uri)}, to be read in slices with ?offset=N&length=M, or searched with ?find=TEXT)`,
      },
      link,
    ];
  }

  #keep({ principal, offer }: Visit, text: string, mimeType: string, isBase64: boolean): ContentBlock {
    const { keepMs = KEEP_MS, maxKeptBytes = MAX_KEPT_BYTES } = this.#options;
    const id = randomBytes(12).toString("base64url");
    this.#kept.set(id, {
      principal: principal.name,
      offer: offer.key,
      text,
      mimeType,
      isBase64,
      expiresAt: performance.now() + keepMs,
    });
    this.#bytes += text.length;
    for (const [old, { expiresAt }] of this.#kept) {
      if (expiresAt > performance.now()) break;
      this.#drop(old);
    }
    while (this.#bytes > maxKeptBytes && this.#makeRoom(id));
    return {
      type: "resource_link",
      uri: `${SCHEME}${id}`,
      name: `result-${id}`,
      description: `The whole of it: ${text.length} ${isBase64 ? "characters of Base64" : "characters"}, kept for ${Math.round(keepMs / 60_000)} minutes. Read it in slices: add ?offset=N&length=M to the URI.`,
      mimeType,
      size: isBase64 ? Math.floor((text.length * 3) / 4) : Buffer.byteLength(text),
    };
  }

  /** The caller with the most gives up its oldest: its results must not cost others theirs. */
  #makeRoom(fresh: string): boolean {
    const owned = new Map<string, { bytes: number; oldest: string | undefined }>();
    for (const [id, { principal, text }] of this.#kept) {
      const own = owned.get(principal) ?? { bytes: 0, oldest: undefined };
      owned.set(principal, {
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
    this.#bytes -= this.#kept.get(id)?.text.length ?? 0;
    this.#kept.delete(id);
  }
}

function slice(kept: Kept, base: string, uri: string, asked: URLSearchParams): JsonObject {
  const number = (name: string, otherwise: number): number => {
    const given = Number(asked.get(name) ?? otherwise);
    return Number.isSafeInteger(given) && given >= 0 ? given : otherwise;
  };
  const { text, mimeType, isBase64 } = kept;
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

/** Lines that hold the text, each with where it begins. */
function linesWith(text: string, wanted: string): string {
  const found: string[] = [];
  let at = 0;
  for (const line of text.split("\n")) {
    if (line.includes(wanted)) found.push(`${at}: ${line.slice(0, 1_000)}`);
    if (found.length >= MAX_FOUND_LINES) return [...found, "… (more)"].join("\n");
    at += line.length + 1;
  }
  return found.length === 0 ? `(no line holds ${JSON.stringify(wanted.slice(0, 100))})` : found.join("\n");
}

/** Not in the middle of a character that takes two units. */
function endOfCharacter(text: string, at: number): number {
  const code = text.charCodeAt(at - 1);
  return at > 0 && at < text.length && code >= 0xd800 && code <= 0xdbff ? at + 1 : at;
}

/** Whether a value is longer than this when written down; stops counting as soon as it is. */
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
