// Truncates text at a word boundary. Half a secret at the cut would pass a redactor, which knows whole secrets only.

const BETWEEN_WORDS = /[\s"'`,;=&<>()[\]{}]/;

/** Returns the beginning of a text, at most `max` characters, without the word at the cut. */
export function firstWords(text: string, max: number): string {
  if (text.length <= max) return text;
  let end = max;
  while (end > 0 && !BETWEEN_WORDS.test(text.charAt(end))) end -= 1;
  return text.slice(0, end);
}

/** Returns the end of a text, at most `max` characters, without the word at the cut. */
export function lastWords(text: string, max: number): string {
  if (text.length <= max) return text;
  let start = text.length - max;
  while (start < text.length && !BETWEEN_WORDS.test(text.charAt(start - 1))) start += 1;
  return text.slice(start);
}
