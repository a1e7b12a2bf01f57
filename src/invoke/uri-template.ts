// Matcher of resource templates: finds the values of `{a}`, `{a,b}`, `{+a}`, `{/a}` and `{?a,b}` (RFC 6570) in a URI.

import { PortolanError } from "../errors/index.ts";

type Token =
  | { readonly kind: "text"; readonly text: string }
  /** A value up to the next character of `stop`. */
  | { readonly kind: "value"; readonly name: string; readonly stop: RegExp }
  | { readonly kind: "query"; readonly names: readonly string[] };

export type UriMatch = (uri: string) => Record<string, string> | undefined;

const EXPRESSION = /\{([^{}]*)\}/g;
const NAMES = /^([+/?]?)([A-Za-z0-9_.]+(?:,[A-Za-z0-9_.]+)*)$/;
const MAX_LENGTH = 8_192;
/** Bound on the search. A URI that needs more steps does not match. */
const MAX_STEPS = 200_000;
/** Characters that end a value in the URI; values hold them only percent-encoded. */
const STOPS = { "": /[/?#,&]/, "/": /[/?#]/, "+": /(?!)/ } as const;

/** Throws when the template uses an expression that cannot be matched. */
export function createUriMatcher(template: string): UriMatch {
  const tokens = parse(template);
  return (uri) => (uri.length > MAX_LENGTH ? undefined : match(tokens, uri));
}

function parse(template: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const addText = (text: string): void => {
    if (/[{}]/.test(text)) throw invalid(template, "its braces do not match");
    if (text !== "") tokens.push({ kind: "text", text });
  };
  for (const expression of template.matchAll(EXPRESSION)) {
    addText(template.slice(at, expression.index));
    at = expression.index + expression[0].length;
    const [, operator, list = ""] = NAMES.exec(expression[1] ?? "") ?? [];
    if (operator === undefined) throw invalid(template, `${expression[0]} is not supported`);
    const names = list.split(",");
    if (operator === "?") {
      if (at !== template.length) throw invalid(template, `${expression[0]} must be at the end`);
      tokens.push({ kind: "query", names });
      continue;
    }
    for (const [index, name] of names.entries()) {
      if (operator === "/") tokens.push({ kind: "text", text: "/" });
      else if (index > 0) tokens.push({ kind: "text", text: "," });
      tokens.push({ kind: "value", name, stop: STOPS[operator as keyof typeof STOPS] });
    }
  }
  addText(template.slice(at));
  if (tokens.some(({ kind }, index) => kind === "value" && tokens[index + 1]?.kind === "value"))
    throw invalid(template, "there is no text between two of its variables");
  const names = tokens.flatMap((token) => (token.kind === "value" ? [token.name] : []));
  if (new Set(names).size !== names.length) throw invalid(template, "it has the same variable twice");
  return tokens;
}

/** Tries the longest values first, and no combination of token and position twice. */
function match(tokens: readonly Token[], uri: string): Record<string, string> | undefined {
  const failed = new Set<number>();
  const found: [string, string][] = [];
  let steps = MAX_STEPS;
  const from = (index: number, at: number): boolean => {
    const token = tokens[index];
    if (token === undefined) return at === uri.length;
    const key = index * (MAX_LENGTH + 1) + at;
    if ((steps -= 1) < 0 || failed.has(key)) return false;
    const matched =
      token.kind === "text"
        ? uri.startsWith(token.text, at) && from(index + 1, at + token.text.length)
        : token.kind === "query"
          ? matchQuery(token.names, uri.slice(at), found)
          : tryValues(token, index, at);
    if (!matched) failed.add(key);
    return matched;
  };
  const tryValues = ({ name, stop }: Token & { kind: "value" }, index: number, at: number): boolean => {
    const length = uri.slice(at).search(stop);
    const next = tokens[index + 1];
    // The next text must follow the value, so only its occurrences are tried.
    const mark = next?.kind === "text" ? next.text : next === undefined ? "" : "?";
    let end = length < 0 ? uri.length : at + length;
    for (
      end = uri.lastIndexOf(mark, end);
      end > at;
      end = mark === "" ? -1 : uri.lastIndexOf(mark, end - 1)
    ) {
      const before = found.length;
      found.push([name, uri.slice(at, end)]);
      if (from(index + 1, end)) return true;
      found.length = before;
    }
    return false;
  };
  return from(0, 0) ? decodeAll(found) : undefined;
}

/** The query must hold every name once, in any order, and no other name. */
function matchQuery(names: readonly string[], query: string, found: [string, string][]): boolean {
  if (!query.startsWith("?")) return false;
  const pairs = query.slice(1).split("&");
  const missing = new Set(names);
  for (const pair of pairs) {
    const cut = pair.indexOf("=");
    const name = pair.slice(0, cut);
    const value = pair.slice(cut + 1);
    if (cut < 1 || value === "" || !missing.delete(name)) return false;
    found.push([name, value]);
  }
  return missing.size === 0;
}

/** Decodes each value once. Undefined when one is not properly encoded. */
function decodeAll(found: readonly (readonly [string, string])[]): Record<string, string> | undefined {
  try {
    return Object.fromEntries(found.map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    return undefined;
  }
}

function invalid(template: string, why: string): PortolanError {
  return new PortolanError(
    "FILE_INVALID",
    `the URI template ${template.slice(0, 200)} cannot be used: ${why}`,
  );
}
