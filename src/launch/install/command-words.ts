// A command line as words, by the quoting rules of shells; what would need a shell is refused.

import { PortolanError } from "../../errors/index.ts";

const SHELL = /[|&;<>()$`\n\r\0]/;
const SHELL_IN_QUOTES = /[$`\0]/;

export function splitCommand(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === " " || char === "\t") {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (char === "'") {
      const end = text.indexOf("'", at + 1);
      if (end === -1) throw commandError(text, "a quote is not closed");
      word = (word ?? "") + text.slice(at + 1, end);
      at = end;
    } else if (char === '"') {
      word ??= "";
      for (at += 1; text.charAt(at) !== '"'; at += 1) {
        if (at >= text.length) throw commandError(text, "a quote is not closed");
        if (text.charAt(at) === "\\" && /["\\$`]/.test(text.charAt(at + 1))) at += 1;
        else if (SHELL_IN_QUOTES.test(text.charAt(at))) throw commandError(text, needs(text.charAt(at)));
        word += text.charAt(at);
      }
    } else if (char === "\\") {
      at += 1;
      if (at >= text.length || /[\n\r\0]/.test(text.charAt(at)))
        throw commandError(text, "it ends in the middle");
      word = (word ?? "") + text.charAt(at);
    } else if (SHELL.test(char)) throw commandError(text, needs(char));
    else word = (word ?? "") + char;
  }
  if (word !== undefined) words.push(word);
  if (words.length === 0) throw commandError(text, "it is empty");
  return words;
}

const needs = (char: string): string => `${JSON.stringify(char)} would need a shell, and no shell is used`;

function commandError(text: string, why: string): PortolanError {
  return new PortolanError("CONFIG_INVALID", `The command ${JSON.stringify(text)} cannot be used: ${why}.`, {
    hint: "Write one program and its arguments.",
  });
}
