// A command line as words, by the quoting rules of shells; what would need a shell is refused.

const SHELL = /[|&;<>()$`\n\r\0]/;
const SHELL_IN_QUOTES = /[$`\0]/;

/** The words, or why there are none. */
export function splitCommandLine(text: string): readonly string[] | { readonly problem: string } {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === " " || char === "\t") {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (char === "'") {
      const end = text.indexOf("'", at + 1);
      if (end === -1) return UNCLOSED;
      word = (word ?? "") + text.slice(at + 1, end);
      at = end;
    } else if (char === '"') {
      word ??= "";
      for (at += 1; text.charAt(at) !== '"'; at += 1) {
        if (at >= text.length) return UNCLOSED;
        if (text.charAt(at) === "\\" && /["\\$`]/.test(text.charAt(at + 1))) at += 1;
        else if (SHELL_IN_QUOTES.test(text.charAt(at))) return needs(text.charAt(at));
        word += text.charAt(at);
      }
    } else if (char === "\\") {
      at += 1;
      if (at >= text.length || /[\n\r\0]/.test(text.charAt(at))) return { problem: "it ends in the middle" };
      word = (word ?? "") + text.charAt(at);
    } else if (SHELL.test(char)) return needs(char);
    else word = (word ?? "") + char;
  }
  if (word !== undefined) words.push(word);
  return words.length === 0 ? { problem: "it is empty" } : words;
}

const UNCLOSED = { problem: "a quote is not closed" };

const needs = (char: string): { problem: string } => ({
  problem: `${JSON.stringify(char)} would need a shell, and no shell is used`,
});
