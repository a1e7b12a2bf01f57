// Shortens what strangers wrote. The word at the cut goes with it: half a secret would pass a redactor, which knows whole ones.

const BETWEEN_WORDS = /[\s"'`,;=&<>()[\]{}]/;

export function firstOf(text: string, max: number): string {
  if (text.length <= max) return text;
  let end = max;
  while (end > 0 && !BETWEEN_WORDS.test(text.charAt(end))) end -= 1;
  return text.slice(0, end);
}

export function lastOf(text: string, max: number): string {
  if (text.length <= max) return text;
  let start = text.length - max;
  while (start < text.length && !BETWEEN_WORDS.test(text.charAt(start - 1))) start += 1;
  return text.slice(start);
}
