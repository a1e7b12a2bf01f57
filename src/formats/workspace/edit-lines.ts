// Edits of portolan.yaml line by line: which lines belong to a server, where a new one goes.

import { isCollection, isMap, isNode, isPair, isScalar, parseDocument } from "yaml";
import { createLocator, type TextNode } from "../document/index.ts";

interface Block {
  readonly alias: string;
  /** First and last line, counted from 0, without the comments above. */
  readonly first: number;
  readonly last: number;
  readonly indent: number;
}

/** The text with the lines of the server. Returns undefined if the file is written in braces. */
export function insertServer(
  text: string,
  root: TextNode | undefined,
  alias: string,
  body: readonly string[],
): string | undefined {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const lines = splitLines(text);
  const render = (indent: number, step: number): string[] => [
    `${" ".repeat(indent)}${alias}:`,
    ...body.map((line) => `${" ".repeat(indent + step)}${line}`),
  ];
  if (root === undefined || root.kind === "null") {
    const head = lines.length === 0 ? [] : [...lines, ""];
    return joinLines([...head, "version: 1", "servers:", ...render(2, 2)], eol);
  }
  const servers = readServers(text);
  if (servers === undefined) return joinLines([...dropBlankEnd(lines), "", "servers:", ...render(2, 2)], eol);
  if (servers.blocks === undefined) return undefined;
  const { blocks, keyLine } = servers;
  const last = blocks.at(-1);
  if (last === undefined) {
    const line = (lines[keyLine] ?? "").replace(/:\s*(\{\s*\}|null|~)/, ":");
    return joinLines([...lines.slice(0, keyLine), line, ...render(2, 2), ...lines.slice(keyLine + 1)], eol);
  }
  const before = blocks.at(-2);
  const spaced =
    before !== undefined && lines.slice(before.last, last.first).some((line) => line.trim() === "");
  const at = last.last + 1;
  const added = [...(spaced ? [""] : []), ...render(last.indent, 2)];
  return joinLines([...lines.slice(0, at), ...added, ...lines.slice(at)], eol);
}

/** The text without the server's lines and the comment directly above them. */
export function cutServer(text: string, alias: string): string | undefined {
  const servers = readServers(text);
  const index = servers?.blocks?.findIndex((block) => block.alias === alias) ?? -1;
  const block = servers?.blocks?.[index];
  if (servers === undefined || block === undefined) return undefined;
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const lines = splitLines(text);
  let { first } = block;
  let end = block.last + 1;
  // Above the first server a comment may be about all of them, so it stays.
  if (index > 0) while (indentOfComment(lines[first - 1]) === block.indent) first -= 1;
  const blankAbove = first > 0 && lines[first - 1]?.trim() === "";
  if ((blankAbove || first - 1 === servers.keyLine) && lines[end]?.trim() === "") end += 1;
  const kept = [...lines.slice(0, first), ...lines.slice(end)];
  if (servers.blocks?.length === 1) {
    const key = kept[servers.keyLine] ?? "";
    kept[servers.keyLine] = key.replace(/:/, ": {}");
  }
  return joinLines(end >= lines.length ? dropBlankEnd(kept) : kept, eol);
}

interface Servers {
  readonly keyLine: number;
  /** Undefined if the servers are written in braces. */
  readonly blocks: readonly Block[] | undefined;
}

function readServers(text: string): Servers | undefined {
  const { contents } = parseDocument(text, { schema: "core", merge: false, uniqueKeys: false });
  const locate = createLocator(text);
  const lines = splitLines(text);
  if (!isMap(contents)) return undefined;
  if (contents.flow === true) return { keyLine: 0, blocks: undefined };
  const pair = contents.items.find(({ key }) => isScalar(key) && key.value === "servers");
  if (pair === undefined || !isScalar(pair.key)) return undefined;
  const keyLine = locate(pair.key.range?.[0] ?? 0).line - 1;
  if (!isMap(pair.value)) return { keyLine, blocks: [] };
  if (pair.value.flow === true) return { keyLine, blocks: pair.value.items.length === 0 ? [] : undefined };
  const blocks = pair.value.items.flatMap(({ key, value }): Block[] => {
    if (!isScalar(key) || key.range == null) return [];
    const { line, column } = locate(key.range[0]);
    const indent = column - 1;
    const end = Math.max(lastOffset(value), key.range[1]);
    let last = locate(end).line - 1;
    while ((indentOfComment(lines[last + 1]) ?? -1) > indent) last += 1;
    return [{ alias: String(key.value), first: line - 1, last, indent }];
  });
  return { keyLine, blocks };
}

/** Where the last character of a value stands; comments after it do not count. */
function lastOffset(value: unknown): number {
  if (isPair(value)) return Math.max(lastOffset(value.key), lastOffset(value.value));
  if (!isNode(value) || value.range == null) return 0;
  if (isCollection(value) && value.flow !== true) return lastOffset(value.items.at(-1));
  return Math.max(value.range[0], value.range[1] - 1);
}

function indentOfComment(line: string | undefined): number | undefined {
  const indent = /^(\s*)#/.exec(line ?? "")?.[1];
  return indent?.length;
}

/** Lines without their ends; no empty line after the last end. */
function splitLines(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function joinLines(lines: readonly string[], eol: string): string {
  return `${lines.join(eol)}${eol}`;
}

function dropBlankEnd(lines: readonly string[]): string[] {
  const kept = [...lines];
  while (kept.at(-1)?.trim() === "") kept.pop();
  return kept;
}
