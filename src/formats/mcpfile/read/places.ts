// Where a character of a YAML value stands in the file. Folded and escaped texts are not followed: there the value's own place is given.

import type { Place, ScalarNode } from "../../document/index.ts";

export function createPlacer(text: string): (node: ScalarNode, offset: number) => Place {
  const source = text.startsWith("\uFEFF") ? text.slice(1) : text;
  let lines: string[] | undefined;

  const onOneLine = (node: ScalarNode, line: string, offset: number): Place | undefined => {
    const value = String(node.value);
    const start = node.column - 1;
    const quote = line[start] === '"' || line[start] === "'" ? 1 : 0;
    return line.startsWith(value, start + quote)
      ? { line: node.line, column: node.column + quote + offset, path: node.path }
      : undefined;
  };

  const inBlock = (node: ScalarNode, all: readonly string[], offset: number): Place | undefined => {
    const before = String(node.value).slice(0, offset).split("\n");
    const row = before.length - 1;
    const column = before[row]?.length ?? 0;
    const first = all.slice(node.line, node.line + 100).find((line) => line.trim() !== "");
    const indent = /^ */.exec(first ?? "")?.[0].length ?? 0;
    const line = all[node.line + row];
    const written = String(node.value).split("\n")[row] ?? "";
    return line?.slice(indent) === written
      ? { line: node.line + row + 1, column: indent + column + 1, path: node.path }
      : undefined;
  };

  return (node, offset) => {
    lines ??= source.split(/\r?\n/);
    const line = lines[node.line - 1] ?? "";
    const block = /^\|[-+0-9]*\s*(?:#.*)?$/.test(line.slice(node.column - 1));
    return (block ? inBlock(node, lines, offset) : onOneLine(node, line, offset)) ?? node;
  };
}
