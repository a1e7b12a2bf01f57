// In which kind of quotes each gap of a shell script stands. A wrong answer may split a value into words; it never runs one.

export type Quotes = "none" | "double" | "single" | "ansi" | "here" | "here-quoted";

/** `))` is arithmetic, where "<<" and "#" mean something else. */
type Opened = '"' | "'" | "$'" | ")" | "))" | "`" | "#";

/** Follows a script piece by piece. */
export class QuoteScanner {
  /** What is open, innermost last: quotes, and the ends of substitutions. */
  readonly #open: Opened[] = [];
  /** Here-documents that begin with the next line. */
  #waiting: { end: string; quoted: boolean }[] = [];
  #here: { end: string; quoted: boolean; line: string } | undefined;
  /** The last character, for what depends on where a word begins. */
  #before = "\n";
  /** A value began the word that is being written; were it empty, the next one would. */
  #afterOpener = false;

  get quotes(): Quotes {
    if (this.#here !== undefined) return this.#here.quoted ? "here-quoted" : "here";
    const top = this.#open.at(-1);
    return top === '"' ? "double" : top === "'" ? "single" : top === "$'" ? "ansi" : "none";
  }

  /** Whether what comes next begins a word, quotes aside. */
  get atWordStart(): boolean {
    return this.#here === undefined && (this.#afterOpener || /[\s|&;(<>]/.test(this.#before));
  }

  /** Whether everything that was opened is closed; a last here-document may end with the script. */
  get balanced(): boolean {
    return this.#open.every((kind) => kind === "#");
  }

  /** A value: no syntax of its own. */
  gap(): void {
    this.#afterOpener = this.atWordStart;
    this.#before = "x";
    if (this.#here !== undefined) this.#here.line += "\0";
  }

  text(text: string): void {
    for (let at = 0; at < text.length;)
      at += this.#here === undefined ? this.#code(text, at) : this.#body(text, at);
  }

  #body(text: string, at: number): number {
    const here = this.#here;
    if (here === undefined) return 1;
    if (text[at] !== "\n") here.line += text[at];
    else if (here.line.replace(/^\t+/, "") === here.end) this.#here = this.#nextHere();
    else here.line = "";
    return 1;
  }

  #nextHere(): { end: string; quoted: boolean; line: string } | undefined {
    const next = this.#waiting.shift();
    if (next === undefined) this.#before = "\n";
    return next === undefined ? undefined : { ...next, line: "" };
  }

  #code(text: string, at: number): number {
    const top = this.#open.at(-1);
    const two = text.slice(at, at + 2);
    const char = text[at] ?? "";
    const before = this.#before;
    // Quotes themselves are no part of a word, so that `"{x}"` begins one as `{x}` does.
    if (char !== '"' && char !== "'" && two !== "$'") {
      this.#before = char;
      this.#afterOpener = false;
    }
    if (top === "#") {
      if (char === "\n") this.#open.pop();
      return this.#endLine(char);
    }
    if (top === "'") return this.#closeOn(char, "'");
    if (char === "\\") {
      this.#before = text[at + 1] ?? "\\";
      return 2;
    }
    if (top === "$'") return this.#closeOn(char, "'");
    if (text.startsWith("$((", at)) return this.#push("))", 3, "(");
    if (two === "$(") return this.#push(")", 2, "(");
    if (char === "`") return top === "`" ? this.#closeOn(char, "`") : this.#push("`", 1, "(");
    if (top === '"') return this.#closeOn(char, '"');
    if (char === '"' || char === "'") return this.#push(char, 1, before);
    if (two === "$'") return this.#push("$'", 2, before);
    if (two === "((") return this.#push("))", 2, "(");
    if (char === "(") return this.#push(")", 1, "(");
    if (top === "))") {
      if (two === "))") this.#open.pop();
      return two === "))" ? 2 : 1;
    }
    if (char === ")") return this.#closeOn(char, ")");
    if (char === "#" && /[\s|&;()]/.test(before)) return this.#push("#", 1, "#");
    if (two === "<<") return this.#hereMark(text, at);
    return this.#endLine(char);
  }

  #endLine(char: string): number {
    if (char === "\n") this.#here = this.#nextHere();
    return 1;
  }

  #closeOn(char: string, end: string): number {
    const top = this.#open.at(-1);
    if (char === end && top !== undefined && top.endsWith(end)) this.#open.pop();
    return 1;
  }

  #push(kind: Opened, length: number, before: string): number {
    this.#open.push(kind);
    this.#before = before;
    return length;
  }

  /** `<<WORD`, `<<-WORD`, `<<'WORD'`; `<<<` is another thing. */
  #hereMark(text: string, at: number): number {
    if (text[at + 2] === "<") return 3;
    const mark = /^<<-?[ \t]*(?:'([^'\n]*)'|"([^"\n]*)"|(\\?[^\s'"|&;()<>]+))/.exec(text.slice(at, at + 200));
    if (mark === null) return 2;
    const bare = mark[3];
    const quoted = bare === undefined || bare.startsWith("\\");
    this.#waiting.push({ end: mark[1] ?? mark[2] ?? bare?.replace("\\", "") ?? "", quoted });
    this.#before = "x";
    return mark[0].length;
  }
}
