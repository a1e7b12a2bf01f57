// A config file as text, its value, and changes in place. The syntax (JSON, TOML, YAML) is given as an object.

import type { Path } from "../node.ts";
import { applyChange, type Change, sameValue, valueAt } from "./values.ts";

/** Offsets into the text; `key` is where the name of a member starts, or its value if it has no name. */
export interface SourceRange {
  readonly key: number;
  readonly start: number;
  readonly end: number;
}

export interface SyntaxProblem {
  readonly offset: number;
  readonly message: string;
}

export interface ParsedText {
  readonly value: unknown;
  /** Syntax errors in the order of the text. Messages never repeat the text. */
  readonly problems: readonly SyntaxProblem[];
  readonly rangeOf: (path: Path) => SourceRange | undefined;
  /** Keys that an object repeats, at each repetition. The last one counts. */
  readonly repeatedKeys?: (path: Path) => readonly string[];
}

export interface Syntax {
  readonly parse: (text: string) => ParsedText;
  /** Makes one change in a text without problems. The result need not be right: the document checks it. */
  readonly edit: (text: string, change: Change) => string;
  readonly render: (value: unknown) => string;
}

const BYTE_ORDER_MARK = "\uFEFF";

/**
 * An immutable document: each change returns a new one, in which all other bytes are the same. A change returns undefined
 * if the text is written in a way that does not allow it, for example if another part refers to the changed one.
 */
export class TextDocument {
  /** Without a byte order mark; offsets refer to it. */
  readonly text: string;
  readonly #syntax: Syntax;
  readonly #mark: string;
  readonly #parsed: ParsedText;

  constructor(syntax: Syntax, text: string) {
    this.#syntax = syntax;
    this.#mark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
    this.text = text.slice(this.#mark.length);
    this.#parsed = parse(syntax, this.text);
  }

  get value(): unknown {
    return this.#parsed.value;
  }

  get problems(): readonly SyntaxProblem[] {
    return this.#parsed.problems;
  }

  get(path: Path): unknown {
    return valueAt(this.value, path);
  }

  rangeOf(path: Path): SourceRange | undefined {
    return this.#parsed.rangeOf(path);
  }

  repeatedKeys(path: Path): readonly string[] {
    return this.#parsed.repeatedKeys?.(path) ?? [];
  }

  /** The offset of a path, or of its nearest parent that has one. */
  offsetOf(path: Path): number {
    for (let length = path.length; length > 0; length -= 1) {
      const range = this.rangeOf(path.slice(0, length));
      if (range !== undefined) return length === path.length ? range.key : range.start;
    }
    return 0;
  }

  /** Sets a value; objects on the way that do not exist are created. */
  set(path: Path, value: unknown): TextDocument | undefined {
    return this.edit([{ path, value }]);
  }

  delete(path: Path): TextDocument | undefined {
    return this.edit([{ path }]);
  }

  /** Adds an item at the end of a list. */
  append(path: Path, item: unknown): TextDocument | undefined {
    const list = this.get(path);
    return this.set([...path, Array.isArray(list) ? list.length : 0], item);
  }

  /** Several changes at once, checked once: only the wanted values have changed. */
  edit(changes: readonly Change[]): TextDocument | undefined {
    if (changes.length === 0) return this;
    if (this.problems.length > 0) return undefined;
    const wanted = changes.reduce(applyChange, this.value);
    const text =
      this.text.trim() === "" && wanted !== undefined
        ? this.#syntax.render(wanted)
        : changes.reduce((now, change) => this.#syntax.edit(now, change), this.text);
    const edited = new TextDocument(this.#syntax, this.#mark + text);
    return edited.problems.length === 0 && sameValue(edited.value, wanted) ? edited : undefined;
  }

  /** The same values in another text, for example with comments; undefined if the values differ. */
  withText(text: string): TextDocument | undefined {
    const other = new TextDocument(this.#syntax, this.#mark + text);
    return other.problems.length === 0 && sameValue(other.value, this.value) ? other : undefined;
  }

  /** The whole text as it was read, with the changes. */
  render(): string {
    return this.#mark + this.text;
  }
}

function parse(syntax: Syntax, text: string): ParsedText {
  try {
    return syntax.parse(text);
  } catch {
    return toFailure(0, "it is nested too deeply to be read");
  }
}

export function toFailure(offset: number, message: string): ParsedText {
  return { value: undefined, problems: [{ offset, message }], rangeOf: () => undefined };
}
