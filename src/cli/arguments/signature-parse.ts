// Parses a call such as `tool(a: 1, b: "x", c: [1, 2])`, or a listed signature with values in place of the types.

import type { JsonObject } from "../../model/index.ts";
import { setOwn } from "./json-schema.ts";

export interface ParsedCall {
  readonly name: string;
  /** Values without a name, in order. */
  readonly positional: readonly unknown[];
  readonly named: JsonObject;
  /** The parts that could not be parsed; empty when the call is complete. */
  readonly problems: readonly string[];
}

const MAX_DEPTH = 64;
const MAX_PROBLEMS = 20;
const CALL = /^\s*(?:function\s+)?(?:[A-Za-z_][A-Za-z0-9_./-]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*\(/;
const IDENTIFIER = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const TOOL_NAME = /[A-Za-z_][A-Za-z0-9_./-]*/y;
const NUMBER = /[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const SPACE = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;
const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  b: "\b",
  f: "\f",
  v: "\v",
  "0": "\0",
  "\n": "",
};

/** True for text that is meant as a call, not as a plain tool name. */
export function looksLikeCall(text: string): boolean {
  return CALL.test(text);
}

/** Parses a call. Never throws: `problems` lists every error, so that the command reports all of them at once. */
export function parseCall(text: string): ParsedCall {
  return new Reader(text).call();
}

/** Thrown for a parameter that still holds its type; an optional one then counts as not given. */
class NotAValue extends Error {}

class Reader {
  readonly #text: string;
  #at = 0;
  readonly #problems: string[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  call(): ParsedCall {
    const positional: unknown[] = [];
    const named: JsonObject = {};
    let name = "";
    try {
      this.#space();
      this.#match(/function(?=[\s"'])/y);
      this.#space();
      name =
        this.#peek() === '"' || this.#peek() === "'"
          ? this.#string()
          : (this.#match(TOOL_NAME) ?? this.#fail("a tool name"));
      this.#space();
      this.#expect("(");
      this.#parameters(positional, named);
      this.#end();
    } catch (thrown) {
      if (!(thrown instanceof NotAValue)) throw thrown;
      this.#problem(thrown.message);
    }
    return { name, positional, named, problems: this.#problems };
  }

  #parameters(positional: unknown[], named: JsonObject): void {
    const seen = new Set<string>();
    for (;;) {
      this.#space();
      if (this.#take(")")) return;
      const key = this.#key();
      if (key !== undefined && seen.has(key.name)) this.#problem(`${key.name} is given twice`);
      if (key !== undefined) seen.add(key.name);
      else if (seen.size > 0)
        this.#problem(`a value without a name follows a named value (at character ${this.#at + 1})`);
      const start = this.#at;
      try {
        const value = this.#value(0);
        this.#space();
        if (this.#peek() !== "," && this.#peek() !== ")") this.#fail("a comma or a closing parenthesis");
        if (key === undefined) positional.push(value);
        else if (value !== undefined) setOwn(named, key.name, value);
      } catch (thrown) {
        if (!(thrown instanceof NotAValue)) throw thrown;
        const closed = this.#skipParameter(start);
        const left = this.#text.slice(start, this.#at).trim();
        if (!closed) this.#fail("a closing parenthesis");
        if (key?.optional !== true) {
          const what = key === undefined ? "" : `${key.name}: `;
          this.#problem(
            isTypeText(left) ? `${what}put a value in place of the type ${left}` : `${what}${thrown.message}`,
          );
        }
      }
      this.#space();
      if (!this.#take(",")) {
        this.#expect(")");
        return;
      }
    }
  }

  /** `key:`, `"key":`, `key?:` or `key=`; undefined (and nothing consumed) when the next token is a value. */
  #key(): { name: string; optional: boolean } | undefined {
    const start = this.#at;
    let name: string | undefined;
    try {
      name = this.#peek() === '"' || this.#peek() === "'" ? this.#string() : this.#match(IDENTIFIER);
    } catch (thrown) {
      if (!(thrown instanceof NotAValue)) throw thrown;
    }
    if (name !== undefined) {
      this.#space();
      const optional = this.#take("?");
      this.#space();
      if (this.#take(":") || this.#take("=")) {
        this.#space();
        return { name, optional };
      }
    }
    this.#at = start;
    return undefined;
  }

  #value(depth: number): unknown {
    if (depth > MAX_DEPTH) this.#fail(`at most ${MAX_DEPTH} levels of nesting`);
    this.#space();
    const next = this.#peek();
    if (next === '"' || next === "'") return this.#string();
    if (next === "[") return this.#array(depth);
    if (next === "{") return this.#object(depth);
    if (next === "`") this.#fail("a string in single or double quotes");
    const number = this.#match(NUMBER);
    if (number !== undefined) {
      const value = Number(number);
      if (!Number.isFinite(value)) this.#fail("a number that JSON can represent");
      return value;
    }
    const start = this.#at;
    const word = this.#match(IDENTIFIER);
    if (word === "true") return true;
    if (word === "false") return false;
    if (word === "null") return null;
    if (word === "undefined") return undefined;
    this.#at = start;
    return this.#fail("a value (strings need quotes)");
  }

  #array(depth: number): unknown[] {
    this.#expect("[");
    const items: unknown[] = [];
    for (;;) {
      this.#space();
      if (this.#take("]")) return items;
      items.push(this.#value(depth + 1) ?? null);
      this.#space();
      if (!this.#take(",")) {
        this.#expect("]");
        return items;
      }
    }
  }

  #object(depth: number): JsonObject {
    this.#expect("{");
    const object: JsonObject = {};
    for (;;) {
      this.#space();
      if (this.#take("}")) return object;
      const quoted = this.#peek() === '"' || this.#peek() === "'";
      const key = quoted
        ? this.#string()
        : (this.#match(IDENTIFIER) ?? this.#match(/\d+/y) ?? this.#fail("a key"));
      if (Object.hasOwn(object, key))
        this.#fail(`another key than ${JSON.stringify(key)}, which is already in the object,`);
      this.#space();
      this.#expect(":");
      const value = this.#value(depth + 1);
      if (value !== undefined) setOwn(object, key, value);
      this.#space();
      if (!this.#take(",")) {
        this.#expect("}");
        return object;
      }
    }
  }

  #string(): string {
    const quote = this.#text[this.#at];
    const start = this.#at;
    this.#at += 1;
    let value = "";
    for (;;) {
      const character = this.#text[this.#at];
      if (character === undefined) {
        this.#at = start;
        this.#fail("a closing quote");
      }
      this.#at += 1;
      if (character === quote) return value;
      value += character === "\\" ? this.#escape() : character;
    }
  }

  #escape(): string {
    const digits = this.#match(/x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}/y);
    if (digits !== undefined) {
      const point = Number.parseInt(digits.replace(/[xu{}]/g, ""), 16);
      if (point > 0x10ffff) this.#fail("a character code");
      return digits[1] === "{" ? String.fromCodePoint(point) : String.fromCharCode(point);
    }
    const character = this.#text[this.#at];
    if (character === undefined) this.#fail("a closing quote");
    this.#at += 1;
    return ESCAPES[character] ?? character;
  }

  /** Moves to the comma or parenthesis that ends this parameter, over nested brackets and strings. */
  #skipParameter(start: number): boolean {
    this.#at = start;
    let open = 0;
    for (; this.#at < this.#text.length; this.#at += 1) {
      const character = this.#text[this.#at] as string;
      if (open === 0 && (character === "," || character === ")")) return true;
      if ("([{<".includes(character)) open += 1;
      else if (")]}>".includes(character)) open = Math.max(0, open - 1);
      else if (character === '"' || character === "'") this.#skipString();
    }
    return false;
  }

  /** Leaves the position on the closing quote, or unchanged when there is none. */
  #skipString(): void {
    const start = this.#at;
    try {
      this.#string();
      this.#at -= 1;
    } catch {
      this.#at = start;
    }
  }

  /** After the parentheses, only a result type may follow, as in a listed signature. */
  #end(): void {
    this.#space();
    if (this.#take(":")) return;
    this.#take(";");
    this.#space();
    if (this.#at < this.#text.length) this.#fail("the end of the call");
  }

  #space(): void {
    this.#match(SPACE);
  }

  #peek(): string | undefined {
    return this.#text[this.#at];
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #expect(character: string): void {
    if (!this.#take(character)) this.#fail(`"${character}"`);
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #fail(expected: string): never {
    const rest = this.#text.slice(this.#at, this.#at + 20);
    throw new NotAValue(
      `expected ${expected} at character ${this.#at + 1}${rest === "" ? ", where the call ends" : `, found ${JSON.stringify(rest)}`}`,
    );
  }

  #problem(message: string): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(message);
  }
}

function isTypeText(text: string): boolean {
  return /^(?:\(|\{|")?\s*(?:string|number|integer|boolean|object|unknown|never|null|Record<)|\[\]$| \| /.test(
    text,
  );
}
