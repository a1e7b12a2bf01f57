// Applies a JSONPath to a schema: the part of the schema that it selects, or the reason why it never selects anything.

import type { JsonPath } from "../../model/index.ts";
import { describeView, meant } from "./compare.ts";
import { fieldNames, fieldOf, itemOf, type SchemaView, typesOf, viewOf } from "./view.ts";
import { quote } from "../message-text.ts";

export type PathView =
  | {
      readonly ok: true;
      readonly view: SchemaView;
      /** Place where the path leaves the declared fields, although the schema declares others there. */
      readonly undeclared?: string;
    }
  /** Reason why no value of the schema has this path. */
  | { readonly ok: false; readonly message: string };

export function viewAtPath(view: SchemaView, path: JsonPath): PathView {
  let at = view;
  let walked = "$";
  let many = false;
  let undeclared: string | undefined;
  const refuse = (message: string): PathView => ({ ok: false, message });
  for (const segment of path) {
    const types = typesOf(at);
    if (segment.kind === "name") {
      if (!types.has("object")) return refuse(`${walked} is ${describeView(at)}, which has no fields`);
      const field = fieldOf(at, segment.name);
      if (field.state === "closed")
        return refuse(`${walked} has no field ${quote(segment.name)}${meant(segment.name, fieldNames(at))}`);
      const known = field.state === "open" ? fieldNames(at) : [];
      if (known.length > 0)
        undeclared ??= `${walked} declares no field ${quote(segment.name)}${meant(segment.name, known)}`;
      // Undeclared fields may have any value.
      at = field.state === "open" ? viewOf(at, true) : field.view;
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
  return { ok: true, view: many ? viewOf(at, { type: "array", items: at.node }) : at, undeclared };
}
