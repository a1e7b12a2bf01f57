// Vendored programs of a DRIVER.md (`install` with `method: vendored`), with their positions.

import { dirname, resolve } from "node:path";
import { nodeAt, type TextNode } from "../../document/index.ts";
import { readFrontmatter } from "./frontmatter.ts";

export interface VendoredProgram {
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

export function vendoredPrograms(text: string, file: string): readonly VendoredProgram[] {
  if (!text.includes("vendored")) return [];
  const list = nodeAt(readFrontmatter(text, file).root, "install");
  if (list?.kind !== "list") return [];
  return list.items.flatMap((item) => {
    const place = nodeAt(item, "path");
    const path = textOf(place);
    if (place === undefined || path === undefined || textOf(nodeAt(item, "method")) !== "vendored") return [];
    return [{ path: resolve(dirname(file), path), line: place.line, column: place.column }];
  });
}

function textOf(node: TextNode | undefined): string | undefined {
  return node?.kind === "string" ? String(node.value) : undefined;
}
