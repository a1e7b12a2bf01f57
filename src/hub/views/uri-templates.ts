// URI templates (RFC 6570): which URIs a template covers, and which of several templates is the narrowest.

const EXPRESSION = /\{([+#./;?&]?)([^{}]*)\}/g;
/** A comparison takes as many steps as the URI has characters, times the expressions of the template. */
const MAX_URI_CHARS = 2_048;
const MAX_EXPRESSIONS = 16;
/** Placeholders for the value of an expression: one path segment, or anything. */
const SEGMENT = "\u0001";
const ANYTHING = "\u0002/";

export interface UriTemplate {
  readonly template: string;
  /** Strict match: a simple expression covers at most one path segment. False for very long URIs. */
  covers(uri: string): boolean;
  /** Loose match: any expression covers anything, because servers differ in the URIs that they accept. */
  mayCover(uri: string): boolean;
  /** True when this template covers every URI of the other one. */
  includes(other: UriTemplate): boolean;
  /** A URI that represents all URIs of this template. */
  readonly example: string;
}

export function parseUriTemplate(template: string): UriTemplate {
  const parts = template.split(EXPRESSION);
  const literals = parts.filter((_part, index) => index % 3 === 0);
  const spansSegments = parts.filter((_part, index) => index % 3 === 1).map((operator) => operator !== "");
  const example = literals.reduce(
    (text, literal, index) => text + (spansSegments[index - 1] === true ? ANYTHING : SEGMENT) + literal,
  );
  const covers = (uri: string): boolean => isCovered(uri, literals, spansSegments);
  return {
    template,
    example,
    covers,
    mayCover: templateMatcher(template),
    includes: (other) => covers(other.example),
  };
}

/** The templates that include no other one, except an equal one. */
export function narrowest<R extends { readonly uris: UriTemplate }>(routes: readonly R[]): R[] {
  return routes.filter(
    ({ uris }) => !routes.some((other) => uris.includes(other.uris) && !other.uris.includes(uris)),
  );
}

/** Matches loosely: this only finds the server, which then decides about the URI. */
export function templateMatcher(template: string): (uri: string) => boolean {
  const literals = template.split(EXPRESSION).filter((_part, index) => index % 3 === 0);
  const [head = "", ...rest] = literals;
  return (uri) => {
    if (!uri.startsWith(head)) return false;
    let at = head.length;
    for (const [index, literal] of rest.entries()) {
      const last = index === rest.length - 1;
      const found = last && literal !== "" ? uri.lastIndexOf(literal) : uri.indexOf(literal, at);
      if (found < at || (last && literal !== "" && found + literal.length !== uri.length)) return false;
      at = found + literal.length;
    }
    return rest.length > 0 || uri === template;
  };
}

/** Tracks all positions that the parts can reach at once, so that the time is bounded. */
function isCovered(uri: string, literals: readonly string[], spansSegments: readonly boolean[]): boolean {
  const [head = "", ...rest] = literals;
  if (!uri.startsWith(head) || uri.length > MAX_URI_CHARS || rest.length > MAX_EXPRESSIONS) return false;
  let reached = new Uint8Array(uri.length + 1);
  reached[head.length] = 1;
  for (const [index, literal] of rest.entries()) {
    const next = new Uint8Array(uri.length + 1);
    let isOpen = false;
    for (let at = head.length; at <= uri.length; at += 1) {
      isOpen ||= reached[at] === 1;
      if (isOpen && uri.startsWith(literal, at)) next[at + literal.length] = 1;
      if (spansSegments[index] !== true && isReserved(uri.charCodeAt(at))) isOpen = false;
    }
    reached = next;
  }
  return reached[uri.length] === 1;
}

/** `/`, `?` and `#`, which a simple expression writes as percent-encoded. */
function isReserved(code: number): boolean {
  return code === 0x2f || code === 0x3f || code === 0x23;
}
