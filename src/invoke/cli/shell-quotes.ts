// Quote scanner for shell scripts: tells in which quotes a placeholder stands, and if a value there would be code. An error of this scanner
// may split a value into words, but never runs it.

export type Quotes = "none" | "double" | "single" | "ansi" | "here" | "here-quoted";

/** `))` is arithmetic, where "<<" and "#" mean something else. */
type Opened = '"' | "'" | "$'" | ")" | "))" | "`" | "#";

/** Words after which a command begins, and commands that run their arguments. */
const BEFORE_COMMANDS = new Set(
  "! { if then else elif do while until time exec eval command builtin source .".split(" "),
);

/** Scans a script piece by piece. */
export class QuoteScanner {
  /** Open quotes and substitutions, the innermost last. */
  readonly #open: Opened[] = [];
  /** Here-documents that begin with the next line. */
  #waiting: { end: string; quoted: boolean }[] = [];
  #here: { end: string; quoted: boolean; line: string } | undefined;
  /** The last character; it decides if a word begins. */
  #before = "\n";
  /** A placeholder began the current word; if its value is empty, the next placeholder begins the word. */
  #afterOpener = false;
  /** The previous word; separators of commands count as words. */
  #word = "\n";
  #wordEnded = true;
  #escaping = false;

  get quotes(): Quotes {
    if (this.#here !== undefined) return this.#here.quoted ? "here-quoted" : "here";
    const top = this.#open.at(-1);
    // Arithmetic is expanded as if it stood in double quotes.
    return top === '"' || top === "))" ? "double" : top === "'" ? "single" : top === "$'" ? "ansi" : "none";
  }

  /** True if the next character begins a word, quotes ignored. */
  get atWordStart(): boolean {
    return this.#here === undefined && (this.#afterOpener || /[\s|&;(<>]/.test(this.#before));
  }

  /** True if a value here would choose the program that runs. */
  get atCommand(): boolean {
    if (this.#here !== undefined || this.inArithmetic || !this.atWordStart) return false;
    return /^[\n;&|(`]$/.test(this.#word) || (this.#wordEnded && BEFORE_COMMANDS.has(this.#word));
  }

  /** In arithmetic, a shell runs commands that stand in values. */
  get inArithmetic(): boolean {
    return this.#open.at(-1) === "))";
  }

  /** True if a backslash before this place would change the next character. */
  get escaping(): boolean {
    return this.#escaping && this.quotes !== "single";
  }

  /** True if all quotes and substitutions are closed; a last here-document may end with the script. */
  get balanced(): boolean {
    return this.#open.every((kind) => kind === "#");
  }

  /** Steps over a placeholder: its value has no syntax. */
  placeholder(): void {
    this.#afterOpener = this.atWordStart;
    this.#escaping = false;
    this.#before = "x";
    this.#follow("x", true);
    if (this.#here !== undefined) this.#here.line += "\0";
  }

  text(text: string): void {
    this.#escaping = /(?:^|[^\\])(?:\\\\)*\\$/.test(text);
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
    if (next === undefined) this.#before = this.#word = "\n";
    return next === undefined ? undefined : { ...next, line: "" };
  }

  #code(text: string, at: number): number {
    const top = this.#open.at(-1);
    const two = text.slice(at, at + 2);
    const char = text[at] ?? "";
    const before = this.#before;
    this.#follow(char, top === '"' || top === "'" || top === "$'");
    // Quotes do not count as characters of a word, so that `"{x}"` begins a word as `{x}` does.
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
      // An escaped line break continues the line.
      this.#before = text[at + 1] === "\n" ? " " : "x";
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
    if (char === "(") return this.#push(")", 1, before === "=" ? this.#listBegins() : "(");
    if (top === "))") {
      if (two === "))") this.#open.pop();
      return two === "))" ? 2 : 1;
    }
    if (char === ")") return this.#closeOn(char, ")");
    if (char === "#" && /[\s|&;()]/.test(before)) return this.#push("#", 1, "#");
    if (two === "<<") return this.#hereMark(text, at);
    return this.#endLine(char);
  }

  /** `name=(`: words follow, not a command. */
  #listBegins(): string {
    this.#word = "x";
    return " ";
  }

  #follow(char: string, quoted: boolean): void {
    if (!quoted && /["']/.test(char)) return;
    if (!quoted && /[ \t]/.test(char)) this.#wordEnded = true;
    else if (!quoted && /[\n;&|(`]/.test(char)) [this.#word, this.#wordEnded] = [char, true];
    else {
      this.#word = this.#wordEnded ? char : (this.#word + char).slice(0, 20);
      this.#wordEnded = false;
    }
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
    if (before === "(") [this.#word, this.#wordEnded] = ["(", true];
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
