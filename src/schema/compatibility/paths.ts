// Paths in a schema: the part that a JSONPath selects, and the paths of all declared fields.

import type { JsonPath } from "../../model/index.ts";
import { quote } from "../message-text.ts";
import { describeView, meant } from "./compare.ts";
import { fieldNames, fieldOf, itemOf, requiredOf, type SchemaView, typesOf, viewOf } from "./view.ts";

export type PathView =
  | {
      readonly ok: true;
      readonly view: SchemaView;
      /** Place where the path leaves the declared fields, although the schema declares others there. */
      readonly undeclared?: string;
    }
  /** Reason why no value of the schema has this path. */
  | { readonly ok: false; readonly message: string };

/** Returns the part of the schema that the path selects, or the reason why it never selects anything. */
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

export interface DeclaredPath {
  /** A path such as `$`, `$.a.b` or `$.a[*].b`. */
  readonly text: string;
  readonly view: SchemaView;
  /** True if every value of the schema has this field. */
  readonly certain: boolean;
}

/** Names of the path, without the steps into lists. */
const MOST_NAMES = 3;
const MOST_PATHS = 100;
/** Names that can follow a dot. */
const NAME = /^[A-Za-z_][\w-]*$/;

interface Place extends DeclaredPath {
  /** True if the path passes through a list. */
  readonly many: boolean;
}

/** The paths of the declared fields, the shallowest first, up to a limit. */
export function declaredPaths(view: SchemaView): readonly DeclaredPath[] {
  const found: DeclaredPath[] = [];
  let level: readonly Place[] = [{ text: "$", view, certain: true, many: false }];
  for (let names = 0; level.length > 0; names += 1) {
    for (const { many, view: at, ...place } of level)
      found.push({ ...place, view: many ? viewOf(at, { type: "array", items: at.node }) : at });
    if (names === MOST_NAMES || found.length >= MOST_PATHS) break;
    level = level.flatMap(fieldsBelow).slice(0, MOST_PATHS - found.length);
  }
  return found;
}

function fieldsBelow(place: Place): Place[] {
  const { view, text, certain, many } = entriesOf(place);
  const required = requiredOf(view);
  return fieldNames(view).flatMap((name) => {
    const field = fieldOf(view, name);
    if (field.state !== "declared" || !NAME.test(name)) return [];
    return [
      { text: `${text}.${name}`, view: field.view, certain: certain && (many || required.has(name)), many },
    ];
  });
}

/** Returns the entries of a list, also of nested lists, because a list has no fields. */
function entriesOf(place: Place): Place {
  let at = place;
  for (let depth = 0; depth < MOST_NAMES; depth += 1) {
    const types = typesOf(at.view);
    const item = types.size === 1 && types.has("array") ? itemOf(at.view, undefined) : undefined;
    if (item === undefined) return at;
    at = { ...at, text: `${at.text}[*]`, view: item, many: true };
  }
  return at;
}
