// Texts of strangers with their hidden characters and look-alike letters made visible.

import { findHiddenText } from "../../packages/index.ts";

export interface RevealedText {
  /** The text with each hidden character as <U+200B>. */
  readonly shown: string;
  /** The hidden characters and look-alikes that were found; empty for a plain text. */
  readonly kinds: readonly string[];
  /** The text that tag characters spell out. */
  readonly decoded?: string;
}

/** Letters of these scripts look like Latin ones. A word that mixes them with Latin letters is meant to deceive. */
const LATIN = /\p{Script=Latin}/u;
const LOOK_ALIKE = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Cherokee}\p{Script=Armenian}]/u;

export function revealHiddenText(text: string): RevealedText {
  const hidden = findHiddenText(text);
  const mixed = text.split(/[^\p{L}\p{M}]+/u).some((word) => LATIN.test(word) && LOOK_ALIKE.test(word));
  if (hidden === undefined && !mixed) return { shown: text, kinds: [] };
  let shown = "";
  for (const character of text) {
    const isHidden = findHiddenText(character) !== undefined;
    const isForeign = mixed && LOOK_ALIKE.test(character);
    shown += isHidden || isForeign ? `<U+${codeOf(character)}>` : character;
  }
  return {
    shown,
    kinds: [...(hidden?.kinds ?? []), ...(mixed ? ["letters of several alphabets in one word"] : [])],
    decoded: hidden?.decoded,
  };
}

function codeOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}
