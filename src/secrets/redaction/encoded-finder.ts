// Finder for short secrets inside of base64 text, such as the password of Basic credentials.

import { REDACTED } from "../secret.ts";
import { innerBase64Forms, MIN_LENGTH } from "./secret-forms.ts";
import { createWordFinder } from "./word-finder.ts";

export interface EncodedFinder {
  /** Replaces each base64 text that contains a short secret. */
  redact(text: string): string;
}

/** A shorter value has forms of two or three characters, which every text contains. */
const MIN_VALUE = 4;
const BASE64 = /[A-Za-z0-9+/_-]/;
/** Control characters, and the replacement character of bytes that are no text. */
const NOT_TEXT = /[^\P{Cc}\t\r\n]|\uFFFD/u;

/**
 * The inner base64 form of a short value has four to seven characters, which also occur in images and hashes. The text around it is
 * therefore decoded: it is redacted only if it is readable and contains the value.
 */
export function createEncodedFinder(values: readonly string[]): EncodedFinder {
  const searched = values.filter((value) => Buffer.byteLength(value) >= MIN_VALUE);
  const finder = createWordFinder(searched.flatMap(innerBase64Forms));
  const contains = (text: string): boolean =>
    !NOT_TEXT.test(text) && searched.some((value) => text.includes(value));
  // The text may follow other characters of the alphabet, for example a slash, so each of the four alignments is decoded.
  const isSecret = (run: string): boolean =>
    [0, 1, 2, 3].some((skipped) => contains(Buffer.from(run.slice(skipped), "base64").toString("utf8")));

  return {
    redact(text) {
      let out = "";
      let done = 0;
      // Each run of base64 characters is decoded once, so that the work does not grow with the number of matches in it.
      for (let at = finder.find(text, 0); at !== -1; at = finder.find(text, done)) {
        let start = at;
        while (start > done && BASE64.test(text[start - 1] as string)) start -= 1;
        let end = finder.end();
        while (end < text.length && BASE64.test(text[end] as string)) end += 1;
        const run = text.slice(start, end);
        const isRedacted = run.length >= MIN_LENGTH && isSecret(run);
        out += text.slice(done, start) + (isRedacted ? REDACTED : run);
        done = end;
      }
      return done === 0 ? text : out + text.slice(done);
    },
  };
}
