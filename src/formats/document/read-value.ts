// A value of a program as nodes, so that the readers of config files check it with the same rules and messages.

import { keepGoodEntries, MAX_DEPTH, MAX_NODES, tooDeep, tooMany, TooMuch } from "./bounds.ts";
import { Diagnostics, ROOT } from "./diagnostics.ts";
import type { Path, Place, ReadResult, TextNode } from "./node.ts";

/** Fields that are undefined are left out. Lines and columns are all 1, so diagnostics are ordered by their occurrence. */
export function readValue(value: unknown, file: string): ReadResult {
  const diagnostics = new Diagnostics(file);
  let nodes = 0;

  const convert = (given: unknown, path: Path): TextNode => {
    nodes += 1;
    // The depth also ends a value that contains itself.
    if (path.length > MAX_DEPTH) throw tooDeep();
    if (nodes > MAX_NODES) throw tooMany();
    const place: Place = { line: 1, column: 1, path };
    const scalar = toScalar(given, place);
    if (scalar !== undefined) return scalar;
    if (Array.isArray(given))
      return { ...place, kind: "list", items: given.map((item, index) => convert(item, [...path, index])) };
    if (isPlain(given)) {
      const entries = Object.entries(given)
        .filter(([, field]) => field !== undefined)
        .map(([key, field]) => ({
          ...place,
          path: [...path, key],
          key,
          value: convert(field, [...path, key]),
        }));
      return { ...place, kind: "object", entries: keepGoodEntries(entries, diagnostics) };
    }
    const kind = typeof given === "object" ? "an object of a class" : `a ${typeof given}`;
    diagnostics.add(
      place,
      `${kind} is not allowed in a configuration`,
      "Use texts, numbers, lists and plain objects.",
    );
    return { ...place, kind: "null", value: null, source: "" };
  };

  try {
    const root = convert(value, []);
    return { root, diagnostics: diagnostics.sorted() };
  } catch (thrown) {
    const message = thrown instanceof TooMuch ? thrown.message : "a getter of the configuration failed";
    diagnostics.add(ROOT, message);
    return { root: undefined, diagnostics: diagnostics.sorted() };
  }
}

function toScalar(value: unknown, place: Place): TextNode | undefined {
  if (value === null || value === undefined) return { ...place, kind: "null", value: null, source: "" };
  if (typeof value === "string") return { ...place, kind: "string", value, source: value };
  if (typeof value === "number") return { ...place, kind: "number", value, source: String(value) };
  if (typeof value === "boolean") return { ...place, kind: "boolean", value, source: String(value) };
  return undefined;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}
