// Where a JSONPath leads in everything that a schema describes, or why it can never lead anywhere.

import type { JsonPath } from "../model/index.ts";
import { describeView, meant } from "./compatibility.ts";
import { fieldNames, fieldOf, itemOf, type SchemaView, typesOf, viewOf } from "./compatibility-view.ts";
import { quote } from "./words.ts";

export type PathView =
  | { readonly ok: true; readonly view: SchemaView }
  /** Why no value of the schema has anything there. */
  | { readonly ok: false; readonly message: string };

export function viewAtPath(view: SchemaView, path: JsonPath): PathView {
  let at = view;
  let walked = "$";
  let many = false;
  const refuse = (message: string): PathView => ({ ok: false, message });
  for (const segment of path) {
    const types = typesOf(at);
    if (segment.kind === "name") {
      if (!types.has("object")) return refuse(`${walked} is ${describeView(at)}, which has no fields`);
      const field = fieldOf(at, segment.name);
      if (field.state === "closed")
        return refuse(`${walked} has no field ${quote(segment.name)}${meant(segment.name, fieldNames(at))}`);
      at = field.state === "open" ? undeclared(at) : field.view;
      walked += `.${segment.name}`;
      continue;
    }
    if (!types.has("array")) return refuse(`${walked} is ${describeView(at)}, which has no entries`);
    const item = itemOf(at, segment.kind === "index" ? segment.index : undefined);
    if (item === undefined) return refuse(`${walked} has no entries of that number`);
    if (segment.kind !== "index") many = true;
    at = item;
    walked += segment.kind === "index" ? `[${segment.index}]` : "[*]";
  }
  return { ok: true, view: many ? viewOf(at, { type: "array", items: at.node }) : at };
}

/** Nothing is known about it, so that nothing can be said against it. */
function undeclared(view: SchemaView): SchemaView {
  return viewOf(view, true);
}
