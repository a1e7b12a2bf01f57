// Copies of objects with additional fields, for code that every call passes.
//
// With Node 20, V8 creates a new hidden class each time when `{ ...a, more }` or `{ ...a, ...b }` adds a field that the copy of `a`
// does not have. This takes a microsecond, and makes all later accesses to the object slow. `Object.assign()` does not have this
// problem.

/** A new object with the fields of all; those of a later object win. */
export function merge<A extends object, B extends object, C extends object>(
  first: A | undefined,
  second: B | undefined,
  third?: C,
): A & B & C {
  return Object.assign({}, first, second, third);
}
