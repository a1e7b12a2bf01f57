// References of a JSON Schema that lead back to themselves without a step into the value: no check of them would ever end.

import { isObject, type JsonSchema } from "../../../model/index.ts";
import { followReference } from "../../../schema/index.ts";

/** Keywords whose schemas apply to the same value. */
const SAME_VALUE = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

/** The references that close a cycle, as they are written. */
export function cyclicReferences(root: JsonSchema): ReadonlySet<string> {
  const cyclic = new Set<string>();
  const open = new Set<string>();
  const done = new Set<string>();
  // A step is either a reference to enter, or the end of one that was entered.
  const todo: { readonly reference: string; readonly leave: boolean }[] = [];
  const enter = (references: readonly string[]): void => {
    for (const reference of references) todo.push({ reference, leave: false });
  };
  for (const start of allReferences(root)) {
    enter([start]);
    for (let step = todo.pop(); step !== undefined; step = todo.pop()) {
      const { reference, leave } = step;
      if (leave) {
        open.delete(reference);
        done.add(reference);
      } else if (open.has(reference)) cyclic.add(reference);
      else if (!done.has(reference)) {
        open.add(reference);
        todo.push({ reference, leave: true });
        enter(ofSameValue(followReference(root, reference)));
      }
    }
  }
  return cyclic;
}

/** References that apply to the value of this schema itself. */
function ofSameValue(schema: unknown): string[] {
  const found: string[] = [];
  const todo = [schema];
  for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
    if (!isObject(at)) continue;
    if (typeof at.$ref === "string") found.push(at.$ref);
    for (const key of SAME_VALUE) {
      const inner = at[key];
      todo.push(...(Array.isArray(inner) ? (inner as unknown[]) : [inner]).filter(isObject));
    }
  }
  return found;
}

function allReferences(root: JsonSchema): ReadonlySet<string> {
  const found = new Set<string>();
  const todo: unknown[] = [root];
  for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
    if (Array.isArray(at)) for (const item of at as unknown[]) todo.push(item ?? false);
    if (!isObject(at)) continue;
    if (typeof at.$ref === "string") found.add(at.$ref);
    for (const inner of Object.values(at)) todo.push(inner ?? false);
  }
  return found;
}
