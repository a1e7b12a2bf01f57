// Paths of the fields that a schema declares, the shallowest first, up to a limit.

import { fieldNames, fieldOf, itemOf, requiredOf, type SchemaView, typesOf, viewOf } from "./view.ts";

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
