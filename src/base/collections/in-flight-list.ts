// List of objects that live for the time of a call. A `Set` would keep ended objects in memory, as `in-flight-map.ts` explains.

/** Removes an object from the list. The order of the others may change. */
export function removeFrom<T extends object>(list: T[], object: T): boolean {
  const index = list.lastIndexOf(object);
  if (index === -1) return false;
  const last = list.pop() as T;
  if (index < list.length) list[index] = last;
  return true;
}
