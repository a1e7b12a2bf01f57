// Values as JSON text, in the style of an existing text.

import { isObject } from "../../../model/index.ts";

export interface JsonStyle {
  /** One step of indentation; undefined for a text without line breaks. */
  readonly unit: string | undefined;
  /** Blanks after colons and commas. */
  readonly spaced: boolean;
  readonly eol: string;
}

export const PLAIN_STYLE: JsonStyle = { unit: "  ", spaced: true, eol: "\n" };

const MAX_LINE = 80;

/** `indent` is that of the line on which the value starts. */
export function toJsonText(value: unknown, style: JsonStyle, indent = ""): string {
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const inner = indent + (style.unit ?? "");
  const parts = partsOf(value, style, inner);
  if (parts.length === 0) return JSON.stringify(value);
  const blank = style.spaced ? " " : "";
  const isFlat = Array.isArray(value) && !value.some((item) => typeof item === "object" && item !== null);
  if (style.unit === undefined || isFlat) {
    const edge = Array.isArray(value) ? "" : blank;
    const line = `${open}${edge}${parts.join(`,${blank}`)}${edge}${close}`;
    if (style.unit === undefined || line.length <= MAX_LINE) return line;
  }
  const lines = parts.map((part) => inner + part).join(`,${style.eol}`);
  return `${open}${style.eol}${lines}${style.eol}${indent}${close}`;
}

export function toJsonKey(key: string, style: JsonStyle): string {
  return `${JSON.stringify(key)}:${style.spaced ? " " : ""}`;
}

function partsOf(value: unknown, style: JsonStyle, indent: string): string[] {
  if (Array.isArray(value)) return value.map((item: unknown) => toJsonText(item, style, indent));
  if (!isObject(value)) return [];
  return Object.entries(value).map(([key, item]) => toJsonKey(key, style) + toJsonText(item, style, indent));
}

/** The style of an existing text. */
export function jsonStyleOf(text: string): JsonStyle {
  const body = text.trim();
  return {
    unit: /[\r\n]/.test(body) || body === "{}" ? (/^([ \t]+)["/]/m.exec(text)?.[1] ?? "  ") : undefined,
    spaced: !/"\s*:/.test(text) || /":\s/.test(text),
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
}
