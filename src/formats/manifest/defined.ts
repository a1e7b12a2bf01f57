// Objects without what is not said: a declaration that says nothing has no key for it.

export type Loose<T> = { [K in keyof T]: T[K] | undefined };

export function definedOnly<T extends object>(fields: Loose<T>): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

/** Nothing in place of an object without keys. */
export function filled<T extends object>(value: T | undefined): T | undefined {
  return value === undefined || Object.keys(value).length === 0 ? undefined : value;
}
