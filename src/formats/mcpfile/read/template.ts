// Texts with placeholders: `{name}`, `{a.b}`, and from 0.1 on `{headers.Name}`, `{env.NAME}` and `${NAME}`. `{{` and `}}` are braces.

import type { Template, TemplatePart } from "../../../model/index.ts";
import { quoted, type ScalarNode } from "../../document/index.ts";
import { type Context, hint } from "./context.ts";
import type { Scope } from "./scope.ts";
import type { Version } from "../schema/versions.ts";

/** A run of characters that stand in the source as they are, or a placeholder; `at` is the offset in the source. */
export type Piece = TextPiece | PlaceholderPiece;

export interface TextPiece {
  readonly kind: "text";
  readonly text: string;
  readonly at: number;
}

export interface PlaceholderPiece {
  readonly kind: "placeholder";
  readonly name: string;
  /** A variable of the environment: `${NAME}` or `{env.NAME}`. */
  readonly env: boolean;
  readonly at: number;
}

const LONGEST = 65_536;
const MARKS = /\{\{|\}\}|\{([^{}]*)\}|[{}]/g;
/** `$$` before a placeholder is a `$`, because `${name}` is a variable of the environment. */
const MARKS_WITH_ENV = /\$\$(?=\{(?!\{))|\$\{([A-Za-z0-9_]+)\}|\{\{|\}\}|\{([^{}]*)\}|[{}]/g;
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

/** Returns undefined after an error; the reasons are among the diagnostics. */
export function readPieces(node: ScalarNode, context: Context): Piece[] | undefined {
  const { diagnostics, version, budget } = context;
  const text = node.kind === "string" ? String(node.value) : node.source;
  if (text.length > LONGEST) {
    diagnostics.add(node, `this text has ${text.length} characters; at most ${LONGEST} are allowed`);
    return undefined;
  }
  if (!budget.spend(text.length, node, diagnostics)) return undefined;
  const pieces: Piece[] = [];
  let end = 0;
  let good = true;
  for (const match of text.matchAll(version === "0.0.1" ? MARKS : MARKS_WITH_ENV)) {
    const [mark] = match;
    const at = match.index;
    if (at > end) pieces.push({ kind: "text", text: text.slice(end, at), at: end });
    end = at + mark.length;
    if (mark === "$$" || mark === "{{" || mark === "}}")
      pieces.push({ kind: "text", text: mark.slice(1), at: at + 1 });
    else if (mark.length > 1) pieces.push(toPlaceholder(mark, at, version));
    else {
      good = false;
      diagnostics.add(
        context.within(node, at),
        `a single ${mark} is not part of a placeholder`,
        `Write ${mark}${mark} for a literal brace, and {name} for a value.`,
      );
    }
  }
  if (end < text.length) pieces.push({ kind: "text", text: text.slice(end), at: end });
  return good ? pieces : undefined;
}

/** `${NAME}` and `{env.NAME}` have the same meaning. */
function toPlaceholder(mark: string, at: number, version: Version): PlaceholderPiece {
  const name = /^(?:\$\{|\{env\.)([A-Za-z0-9_]+)\}$/.exec(mark)?.[1];
  return name === undefined || version === "0.0.1"
    ? { kind: "placeholder", name: mark.slice(1, -1), env: false, at }
    : { kind: "placeholder", name, env: true, at };
}

/** Returns undefined after an error. */
export function readTemplate(node: ScalarNode, scope: Scope, context: Context): Template | undefined {
  const pieces = readPieces(node, context);
  return pieces && toTemplate(pieces, (placeholder) => toPart(placeholder, node, scope, context));
}

/** Returns undefined if a placeholder has no meaning. */
export function toTemplate<Part extends { readonly kind: string }>(
  pieces: readonly Piece[],
  toPlaceholder: (placeholder: PlaceholderPiece) => Part | undefined,
): (Part | TextPart)[] | undefined {
  const parts: (Part | TextPart)[] = [];
  let good = true;
  for (const piece of pieces) {
    if (piece.kind === "text") addText(parts, piece.text);
    else {
      const part = toPlaceholder(piece);
      if (part === undefined) good = false;
      else parts.push(part);
    }
  }
  return good ? parts : undefined;
}

export type TextPart = Extract<TemplatePart, { kind: "text" }>;

/** Joins neighbouring texts, so that equal templates are equal data. */
export function addText(parts: { readonly kind: string }[], text: string): void {
  if (text === "") return;
  const last = parts.at(-1) as TextPart | undefined;
  if (last?.kind === "text") parts[parts.length - 1] = { kind: "text", text: last.text + text } as TextPart;
  else parts.push({ kind: "text", text } as TextPart);
}

/** The meaning of a placeholder. Returns undefined after an error. */
export function toPart(
  placeholder: PlaceholderPiece,
  node: ScalarNode,
  scope: Scope,
  context: Context,
): TemplatePart | undefined {
  const { diagnostics, version } = context;
  const place = (): ReturnType<Context["within"]> => context.within(node, placeholder.at);
  if (placeholder.env) return { kind: "env", name: placeholder.name };
  if (version !== "0.0.1" && /^(?:headers|env)\./.test(placeholder.name)) {
    const header = placeholder.name.startsWith("headers.");
    const name = placeholder.name.slice(placeholder.name.indexOf(".") + 1);
    if (header && HEADER_NAME.test(name)) return { kind: "header", name };
    diagnostics.add(place(), `${quoted(name)} is not the name of a ${header ? "header" : "variable"}`);
    return undefined;
  }
  const path = scope.find(placeholder.name);
  if (path !== undefined) return { kind: "input", path };
  diagnostics.add(
    place(),
    placeholder.name.trim() === ""
      ? "a placeholder has no name"
      : `${quoted(`{${placeholder.name}}`)} is not ${scope.what}`,
    hint(diagnostics, () => scope.hintFor(placeholder.name)),
  );
  return undefined;
}
