// Checks that names and URIs are legal and unique.

import { type Diagnostics, quoted, type TextNode } from "../../document/index.ts";
import { hint } from "./context.ts";
import type { Scope } from "./scope.ts";

/** Tool names that MCP allows. */
const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/;
/** Tool names that every model provider accepts. */
const PLAIN_NAME = /^[A-Za-z0-9_-]{1,64}$/;

export function checkToolName(node: TextNode | undefined, diagnostics: Diagnostics): void {
  if (node?.kind !== "string" || node.value === "") return;
  const name = String(node.value);
  const help = 'Use at most 64 letters, digits, "_" and "-".';
  if (!TOOL_NAME.test(name)) diagnostics.add(node, `${quoted(name)} cannot be the name of a tool`, help);
  else if (!PLAIN_NAME.test(name))
    diagnostics.warn(node, `some model providers refuse a tool named ${quoted(name)}`, help);
}

export function checkUri(node: TextNode | undefined, diagnostics: Diagnostics): void {
  if (node?.kind !== "string" || URL.canParse(String(node.value))) return;
  diagnostics.add(
    node,
    `${quoted(String(node.value))} is not a URI`,
    "For example file:///notes or users://all.",
  );
}

/** RFC 6570: `{a}`, `{+a,b}`, `{?a*}`, `{/a:3}`. */
const EXPRESSION =
  /^[+#./;?&]?((?:\w|%[0-9A-Fa-f]{2}|\.)+(?:\*|:\d{1,4})?(?:,(?:\w|%[0-9A-Fa-f]{2}|\.)+(?:\*|:\d{1,4})?)*)$/;

export function checkUriTemplate(node: TextNode | undefined, scope: Scope, diagnostics: Diagnostics): void {
  if (node?.kind !== "string") return;
  const text = String(node.value);
  if (/[{}]/.test(text.replaceAll(/\{[^{}]*\}/g, ""))) {
    diagnostics.add(node, "the uriTemplate has an unmatched brace", "Write {name} for each value.");
    return;
  }
  const expressions = [...text.matchAll(/\{([^{}]*)\}/g)].map(([, inner = ""]) => inner);
  if (expressions.length === 0)
    diagnostics.add(
      node,
      "the uriTemplate has no {name}",
      "An entry without {name} belongs under resources.",
    );
  for (const expression of expressions) {
    const names = EXPRESSION.exec(expression)?.[1]
      ?.split(",")
      .map((name) => name.replace(/\*$|:\d+$/, ""));
    if (names === undefined)
      diagnostics.add(node, `${quoted(`{${expression}}`)} is not an expression of RFC 6570`);
    for (const name of names ?? [])
      if (scope.find(name) === undefined)
        diagnostics.add(
          node,
          `${quoted(name)} is not ${scope.what}`,
          hint(diagnostics, () => scope.hintFor(name)),
        );
  }
}

/** Told at the second place. Names that are missing or not text are told elsewhere. */
export function checkUnique(
  nodes: readonly (TextNode | undefined)[],
  what: string,
  diagnostics: Diagnostics,
): void {
  const seen = new Map<string, TextNode>();
  for (const node of nodes) {
    if (node?.kind !== "string") continue;
    const first = seen.get(String(node.value));
    if (first === undefined) seen.set(String(node.value), node);
    else
      diagnostics.add(
        node,
        `${what} ${quoted(String(node.value))} is declared here and at line ${first.line}, column ${first.column}`,
        `Give one of the two another ${what === "uri" ? "uri" : "name"}.`,
      );
  }
}
