// Arguments that a tool declares and its invocation never passes on: a caller who gives one would be ignored without a word.

import { type Invocation, type JsonSchema, unusedInputs, usedInputs } from "../../../model/index.ts";
import { entryOf, nodeAt, type ObjectNode, type Place, quoted, type TextNode } from "../../document/index.ts";
import { type Context, hint } from "./context.ts";
import type { Scope } from "./scope.ts";

/** The paths in `ignoredArguments`; a name that is no argument is among the diagnostics. */
export function readIgnored(
  node: ObjectNode,
  scope: Scope,
  { diagnostics }: Context,
): readonly (readonly string[])[] | undefined {
  const list = nodeAt(node, "ignoredArguments");
  if (list?.kind !== "list") return undefined;
  return list.items.flatMap((item) => {
    if (item.kind !== "string") return [];
    const name = String(item.value);
    const path = scope.find(name);
    if (path !== undefined) return [path];
    diagnostics.add(
      item,
      `${quoted(name)} is not ${scope.what}`,
      hint(diagnostics, () => scope.hintFor(name)),
    );
    return [];
  });
}

/** Each argument that is used nowhere is a problem at the place where it is declared. */
export function checkUnused(
  node: ObjectNode,
  invocation: Invocation,
  schema: JsonSchema,
  { diagnostics }: Context,
): void {
  const isCommand = invocation.kind === "cli";
  for (const path of unusedInputs(invocation, schema)) {
    const name = path.join(".");
    const place = isCommand
      ? "the command"
      : `the url or into a header${path.length === 1 ? ", list it in query" : ""}`;
    diagnostics.add(
      placeOf(node, path),
      `${isCommand ? "the command" : "the request"} never uses the argument ${quoted(name)}`,
      `Put {${name}} into ${place}, or leave the argument out. If it deliberately has no effect, write ignoredArguments: [${name}].`,
    );
  }
  const used = usedInputs(invocation);
  for (const path of invocation.ignored ?? [])
    // A placeholder for a whole object also passes the property that is to be ignored.
    if (used.some((one) => one.every((step, at) => step === path[at])))
      diagnostics.add(
        nodeAt(node, "invocation") ?? node,
        `${quoted(path.join("."))} is in ignoredArguments, but ${isCommand ? "the command" : "the request"} uses it`,
        "Remove the argument from ignoredArguments, or remove its placeholder.",
      );
}

/** Where the argument is declared: in the inputSchema, in the list of a prompt, or what is nearest to it. */
function placeOf(node: ObjectNode, path: readonly string[]): Place {
  const schema = entryOf(node, "inputSchema");
  const list = nodeAt(node, "arguments");
  const listed =
    list?.kind === "list" ? list.items.find((item) => isNamed(nodeAt(item, "name"), path[0])) : undefined;
  let place: Place = schema ?? listed ?? node;
  let at = schema?.value;
  for (const step of path) {
    const properties = at === undefined ? undefined : nodeAt(at, "properties");
    const entry = properties === undefined ? undefined : entryOf(properties, step);
    if (entry === undefined) return place;
    place = entry;
    at = entry.value;
  }
  return place;
}

function isNamed(node: TextNode | undefined, name: string | undefined): boolean {
  return node?.kind === "string" && node.value === name;
}
