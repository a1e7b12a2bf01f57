// Cursor over the text of a script: reads words and punctuation, skips spaces and comments, and throws syntax errors.

/** A syntax error in one statement. The parser catches it and goes on with the next statement. */
export class SyntaxProblem extends Error {
  readonly offset: number;
  readonly hint: string | undefined;

  constructor(offset: number, message: string, hint?: string) {
    super(message);
    this.offset = offset;
    this.hint = hint;
  }
}

const COMMENT = /(?:#|>>|\/\/)[^\n]*/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;

export class Cursor {
  readonly text: string;
  at: number;

  constructor(text: string, at = 0) {
    this.text = text;
    this.at = at;
  }

  /** Reads a match of a sticky pattern at the cursor. */
  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  peek(text: string): boolean {
    return this.text.startsWith(text, this.at);
  }

  take(text: string): boolean {
    if (!this.peek(text)) return false;
    this.at += text.length;
    return true;
  }

  expect(text: string, context: string, hint?: string): void {
    if (!this.take(text)) this.fail(`${quoted(text)} is expected ${context}, not ${this.found()}`, hint);
  }

  /** Reads a whole word, such as `from`. */
  expectWord(word: string, context: string, hint?: string): void {
    const start = this.at;
    if (this.match(NAME) === word) return;
    this.at = start;
    this.fail(`${quoted(word)} is expected ${context}, not ${this.found()}`, hint);
  }

  /** Reads a name: a letter or _, then letters, digits and _. */
  name(what: string): string {
    return (
      this.match(NAME) ??
      this.fail(
        `The name of ${what} is expected, not ${this.found()}`,
        "A name begins with a letter or _, and continues with letters, digits and _.",
      )
    );
  }

  /** Skips spaces within the line. */
  spaces(): void {
    this.match(/[ \t]*/y);
  }

  /** Skips spaces, line breaks and comments. */
  gap(): void {
    do this.match(/\s*/y);
    while (this.match(COMMENT) !== undefined);
  }

  /** Ends a statement: only a comment may follow on its line. */
  endStatement(): void {
    this.spaces();
    this.match(COMMENT);
    if (this.at < this.text.length && !this.take("\n"))
      this.fail(
        `The statement ends here, but ${this.found()} follows`,
        "Write each statement on its own line.",
      );
  }

  fail(message: string, hint?: string, offset: number = this.at): never {
    throw new SyntaxProblem(offset, `${message}.`, hint);
  }

  /** Describes the text at the cursor. */
  found(): string {
    if (this.at >= this.text.length) return "the end of the script";
    if (this.peek("\n")) return "the end of the line";
    const word = /[\w@.-]+|[^]/uy;
    word.lastIndex = this.at;
    return quoted((word.exec(this.text)?.[0] ?? "").slice(0, 40));
  }
}

export function quoted(text: string): string {
  return JSON.stringify(text);
}
