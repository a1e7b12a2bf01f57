// Templates, words and scripts as text again, so that reading the text gives the same data.

import type { CliPart, CliVariable, CliWord, Template, TemplatePart } from "../../../model/index.ts";

/** How a `templateVariables` gap is called in the text. */
export type NameVariable = (variable: CliVariable) => string;

export function renderTemplate(template: Template): string {
  return joined(template.map((part) => (part.kind === "text" ? braces(part.text) : gap(part))));
}

export function renderScript(parts: readonly CliPart[], name: NameVariable): string {
  return joined(parts.map((part) => (part.kind === "text" ? braces(part.text) : named(part, name))));
}

export function renderWords(words: readonly CliWord[], name: NameVariable): string {
  return words.map((word) => renderWord(word, name)).join(" ");
}

export function renderFormat(format: readonly Template[]): string {
  return renderWords(
    format.map((parts) => ({ kind: "word", parts })),
    () => "",
  );
}

function renderWord(word: CliWord, name: NameVariable): string {
  if (word.kind === "variable") return `{${name(word.variable)}}`;
  const [first, ...more] = word.parts;
  // Without quotes it would be a word of its own kind.
  if (first?.kind === "variable" && more.length === 0) return `"{${name(first.variable)}}"`;
  return joined(word.parts.map((part) => (part.kind === "text" ? quote(part.text) : named(part, name))));
}

function named(part: Exclude<CliPart, { kind: "text" }>, name: NameVariable): string {
  return part.kind === "variable" ? `{${name(part.variable)}}` : gap(part);
}

function gap(part: Exclude<TemplatePart, { kind: "text" }>): string {
  if (part.kind === "input") return `{${part.path.join(".")}}`;
  return part.kind === "env" ? `\${${part.name}}` : `{headers.${part.name}}`;
}

/** A `$` before a gap is written twice, since `${name}` is a variable. */
function joined(texts: readonly string[]): string {
  let text = "";
  for (const next of texts) text += text.endsWith("$") && /^\{(?!\{)/.test(next) ? `$${next}` : next;
  return text;
}

function braces(text: string): string {
  return text.replaceAll(/[{}]/g, "$&$&");
}

function quote(text: string): string {
  if (/^[\w/:=.,@%+-]+$/.test(text)) return text;
  return `'${braces(text).replaceAll("'", "'\\''")}'`;
}
