// Text that goes into a URL template: escaped for the URL, and its braces for the template.

/** A key or a value of a query, or a part of a path. `$` stays, since nothing that opens a gap follows it. */
export function encoded(text: string): string {
  return encodeURIComponent(wellFormed(text)).replaceAll("%24", "$");
}

/** The part of a path between its parameters, as it is written, with only that escaped which no URL can hold. */
export function literal(text: string): string {
  return (
    wellFormed(text)
      .replace(/[^\x21-\x7e]|["<>\\^`|]/gu, (char) => encodeURIComponent(char))
      .replace(/%(?![0-9A-Fa-f]{2})/g, "%25")
      // Before a brace it would begin a reference to a secret.
      .replace(/\$(?=[{}]|$)/g, "%24")
      .replaceAll("{", "{{")
      .replaceAll("}", "}}")
  );
}

/** Halves of characters, which nothing can encode, become the mark for an unknown one. */
export function wellFormed(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8");
}

export function isToken(name: string): boolean {
  return /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$/.test(name);
}
