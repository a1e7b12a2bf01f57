// URL templates: parsed once, filled per call. A value cannot leave the part of the URL where it stands.

import { PortolanError } from "../../errors/index.ts";
import type { Template } from "../../model/index.ts";
import type { Run } from "../types.ts";
import { ArgumentError, asText, describePlaceholder, fillPlaceholder, type Placeholder } from "../values.ts";
import { encodeValue, fillPairs, type Pair, type Part, toPairs } from "./query.ts";

export interface UrlTemplate {
  readonly origin: string;
  readonly hostname: string;
  /** `Basic …` if the template has credentials before its host. */
  readonly authorization: string | undefined;
  readonly path: readonly Part[];
  readonly query: readonly Pair[];
  /** The fixed beginning of every path, and its number of segments. */
  readonly prefix: string;
  readonly segments: number;
}

const AUTHORITY = /^\s*(https?:\/\/[^/?#\\\s]+)/i;

export function parseUrlTemplate(template: Template): UrlTemplate {
  const [first, ...others] = joinTexts(template);
  const head = first?.kind === "text" ? AUTHORITY.exec(first.text) : null;
  if (first?.kind !== "text" || head === null || !URL.canParse(head[1] ?? ""))
    throw invalid("the URL must begin with http:// or https:// and a host without arguments");
  const tail = first.text.slice(head[0].length);
  // A placeholder directly after the host could extend the host, or add another host after an "@".
  if (tail === "" && others.length > 0)
    throw invalid("the host of the URL must end before the first placeholder");
  const base = new URL(head[1] ?? "");
  const { path, query } = splitAtQuery([{ kind: "text", text: tail }, ...others]);
  const lead = path[0]?.kind === "text" ? path[0].text : "";
  const sample = path.map((part) => (part.kind === "text" ? part.text : "x")).join("");
  return {
    origin: base.origin,
    hostname: base.hostname,
    authorization: credentialsOf(base),
    path,
    query: toPairs(query),
    prefix: new URL(base.origin + lead).pathname,
    segments: countSegments(new URL(base.origin + sample)),
  };
}

/** Fills the template; `more` are additional query pairs. */
export function fillUrl(template: UrlTemplate, run: Pick<Run, "args" | "headers">, more: string[]): URL {
  const pairs = [...fillPairs(template.query, run), ...more];
  const text =
    template.origin + fillPath(template.path, run) + (pairs.length > 0 ? `?${pairs.join("&")}` : "");
  const url = new URL(text);
  // Defence in depth: the encoding above must never let these differ.
  const kept =
    url.origin === template.origin &&
    url.username === "" &&
    url.pathname.startsWith(template.prefix) &&
    countSegments(url) === template.segments;
  if (!kept)
    throw new ArgumentError("The arguments would change the host or the path structure of this tool's URL.");
  return url;
}

function fillPath(parts: readonly Part[], run: Pick<Run, "args" | "headers">): string {
  let path = "";
  /** The current segment, and the placeholder that filled it last. */
  let segment = "";
  let touched: Placeholder | undefined;
  const end = (): void => {
    const plain = segment.replace(/%2e/gi, ".");
    if (touched !== undefined && (plain === "" || plain === "." || plain === ".."))
      throw new ArgumentError(
        `The ${describePlaceholder(touched)} must not turn a part of the path into "${plain}".`,
      );
    path += segment;
    segment = "";
    touched = undefined;
  };
  for (const part of parts) {
    if (part.kind !== "text") {
      segment += encodeForPath(part, fillPlaceholder(part, run));
      touched = part;
      continue;
    }
    for (const piece of part.text.split(/(?<=[/\\])|(?=[/\\])/)) {
      if (piece !== "/" && piece !== "\\") segment += piece;
      else {
        end();
        path += piece;
      }
    }
  }
  end();
  return path;
}

function encodeForPath(part: Placeholder, value: unknown): string {
  if (value === undefined) throw new ArgumentError(`The ${describePlaceholder(part)} is needed for the URL.`);
  const items = Array.isArray(value) ? value : [value];
  return items.map((item) => encodePathValue(asText(item), describePlaceholder(part))).join(",");
}

function encodePathValue(text: string, what: string): string {
  // Some servers decode separators before they resolve "..".
  if (/[/\\]/.test(text) && text.split(/[/\\]/).some((step) => step === "." || step === ".."))
    throw new ArgumentError(`The ${what} must not contain "." or ".." between separators.`);
  return encodeValue(text, what);
}

function splitAtQuery(parts: readonly Part[]): { path: Part[]; query: Part[] } {
  const path: Part[] = [];
  const query: Part[] = [];
  let target = path;
  for (const part of parts) {
    if (part.kind !== "text") {
      target.push(part);
      continue;
    }
    // A fragment is never sent.
    const hash = part.text.indexOf("#");
    const text = hash < 0 ? part.text : part.text.slice(0, hash);
    const mark = target === path ? text.indexOf("?") : -1;
    target.push({ kind: "text", text: mark < 0 ? text : text.slice(0, mark) });
    if (mark >= 0) {
      target = query;
      target.push({ kind: "text", text: text.slice(mark + 1) });
    }
    if (hash >= 0) break;
  }
  return { path, query };
}

/** Joins neighbouring texts, and removes line breaks and tabs as every URL parser does. */
function joinTexts(template: Template): Part[] {
  const parts: Part[] = [];
  for (const given of template) {
    const part = given.kind === "text" ? { ...given, text: given.text.replace(/[\t\r\n]/g, "") } : given;
    const last = parts.at(-1);
    if (part.kind === "text" && last?.kind === "text")
      parts[parts.length - 1] = { kind: "text", text: last.text + part.text };
    else if (part.kind !== "text" || part.text !== "") parts.push(part);
  }
  return parts;
}

function countSegments(url: URL): number {
  return url.pathname.split("/").length;
}

function credentialsOf({ username, password }: URL): string | undefined {
  if (username === "" && password === "") return undefined;
  const pair = [username, password].map((text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      // The text contains a bare "%", which is taken literally.
      return text;
    }
  });
  return `Basic ${Buffer.from(pair.join(":")).toString("base64")}`;
}

function invalid(message: string): PortolanError {
  return new PortolanError("FILE_INVALID", message);
}
