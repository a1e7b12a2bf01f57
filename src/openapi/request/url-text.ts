// Text in a URL template: escaped for the URL, and its braces for the template.

/** A key or a value of a query, or a part of a path. `$` stays, because no brace follows it. */
export function encoded(text: string): string {
  return encodeURIComponent(wellFormed(text)).replaceAll("%24", "$");
}

/** The part of a path between its parameters: only characters that no URL can contain are escaped. */
export function literal(text: string): string {
  return (
    wellFormed(text)
      .replace(/[^\x21-\x7e]|["<>\\^`|]/gu, (char) => encodeURIComponent(char))
      .replace(/%(?![0-9A-Fa-f]{2})/g, "%25")
      // Before a brace, `$` would begin a secret reference.
      .replace(/\$(?=[{}]|$)/g, "%24")
      .replaceAll("{", "{{")
      .replaceAll("}", "}}")
  );
}

/** Replaces lone surrogates, which have no UTF-8 encoding. */
export function wellFormed(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8");
}

export function isToken(name: string): boolean {
  return /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$/.test(name);
}
