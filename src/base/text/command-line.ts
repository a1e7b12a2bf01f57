// Command lines: splits text into words by the quoting rules of a POSIX shell, and quotes a word for display.
// No shell runs the words, so text that only a shell could carry out is refused instead of becoming an argument.

export interface SplitOptions {
  /** A person typed the command: `$`, parentheses and trailing line breaks are accepted, `$(` is not. */
  readonly typed?: boolean;
  /** Backslashes separate the parts of a path, and escape only a double quote. */
  readonly windows?: boolean;
}

interface Unsplittable {
  readonly problem: string;
}

const SHELL = /[|&;<>()$`\n\r\0]/;
const SHELL_TYPED = /[|&;<>`\n]/;
const SHELL_IN_QUOTES = /[$`\0]/;

/** Returns the words of a command line, or the reason why it cannot be split. */
export function splitCommandLine(text: string, options: SplitOptions = {}): readonly string[] | Unsplittable {
  const { typed = false, windows = false } = options;
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    const next = text.charAt(at + 1);
    if (char === "'" || char === '"') {
      const quoted = readQuoted(text, at, options);
      if ("problem" in quoted) return quoted;
      word = (word ?? "") + quoted.content;
      at = quoted.end;
    } else if (char === "\\" && (!windows || next === '"')) {
      if (next === "" || (!typed && /[\n\r\0]/.test(next))) return { problem: "it ends in a backslash" };
      // A backslash at the end of a line continues the line.
      if (next !== "\n") word = (word ?? "") + next;
      at += 1;
    } else if (/[ \t]/.test(char) || (typed && isTypedSpace(text, at))) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (typed && char === "$" && next === "(") return needsShell("$(");
    else if ((typed ? SHELL_TYPED : SHELL).test(char)) return needsShell(char);
    else word = (word ?? "") + char;
  }
  if (word !== undefined) words.push(word);
  return words.length === 0 && !typed ? { problem: "it is empty" } : words;
}

/** A carriage return, or a line break with nothing after it: both come from pasted text. */
function isTypedSpace(text: string, at: number): boolean {
  return text.charAt(at) === "\r" || (text.charAt(at) === "\n" && text.slice(at).trim() === "");
}

function readQuoted(
  text: string,
  start: number,
  { typed = false, windows = false }: SplitOptions,
): { readonly content: string; readonly end: number } | Unsplittable {
  const quote = text.charAt(start);
  const escapable = windows ? '"' : typed ? '"\\$`\n' : '"\\$`';
  let content = "";
  for (let at = start + 1; at < text.length; at += 1) {
    const char = text.charAt(at);
    const next = text.charAt(at + 1);
    if (char === quote) return { content, end: at };
    if (quote === '"' && char === "\\" && next !== "" && escapable.includes(next)) {
      if (next !== "\n") content += next;
      at += 1;
    } else if (quote === '"' && !typed && SHELL_IN_QUOTES.test(char)) return needsShell(char);
    else content += char;
  }
  return { problem: `a ${quote} is not closed` };
}

function needsShell(text: string): Unsplittable {
  const shown = text === "\n" || text === "\r" ? "a line break" : JSON.stringify(text);
  return { problem: `${shown} has a meaning only in a shell, but Portolan uses no shell` };
}

/** Returns a word as a person types it in a shell, with quotes where they are needed. */
export function shellWord(word: string): string {
  return /^[\w./:@~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
