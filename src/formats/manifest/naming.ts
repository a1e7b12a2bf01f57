// The naming template: how the name of a tool is made of the server's alias and the tool's own name.

import { didYouMean } from "../../errors/index.ts";
import { type Problems, quoted, type Shape, type TextNode } from "../text/index.ts";

export const NAMING_PATTERN =
  "^(?:[A-Za-z0-9_-]|\\{alias\\}|\\{tool\\})*\\{tool\\}(?:[A-Za-z0-9_-]|\\{alias\\}|\\{tool\\})*$";

export const NAMING: Shape = {
  type: "string",
  pattern: NAMING_PATTERN,
  description: "How tools are named, for example mcp_{alias}_{tool}.",
};

export function checkNaming(
  template: string | undefined,
  node: TextNode | undefined,
  problems: Problems,
): void {
  if (template === undefined || node === undefined) return;
  const placeholders = [...template.matchAll(/\{([^{}]*)\}/g)].map(([, name = ""]) => name);
  const unknown = placeholders.find((name) => name !== "alias" && name !== "tool");
  const around = template.replace(/\{[^{}]*\}/g, "").match(/[^A-Za-z0-9_-]/u)?.[0];
  if (unknown !== undefined)
    problems.add(
      node,
      `naming has an unknown placeholder ${quoted(`{${unknown}}`)}`,
      didYouMean(unknown, ["alias", "tool"]) ?? "There are {alias} and {tool}.",
    );
  else if (!placeholders.includes("tool"))
    problems.add(node, "naming must hold {tool}", "Write for example mcp_{alias}_{tool}.");
  if (around !== undefined)
    problems.add(
      node,
      `naming holds ${quoted(around)}, which tool names cannot have`,
      'Use letters, digits, "_" and "-" around {alias} and {tool}.',
    );
}
