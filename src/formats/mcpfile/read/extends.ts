// `extends`: an invocation base with things removed, added and replaced, in this order.

import { didYouMean } from "../../../errors/index.ts";
import { type Entry, nodeAt, type ObjectNode, quoted, type TextNode, toLabel } from "../../document/index.ts";
import type { AnySchema } from "../../schema-builder/index.ts";
import { type Context, hint } from "./context.ts";
import { APPLY, type Operation, rooted, sizeOf } from "./operations.ts";

/** An invocation with its kind known; nothing more than that is checked. */
export interface Kind {
  readonly kind: "http" | "cli";
  readonly node: ObjectNode;
}

export type Bases = (name: string) => Kind | "broken" | "cycle" | undefined;

/** In the order in which they are carried out. */
const OPERATIONS: readonly Operation[] = ["remove", "extend", "override"];

/** Longer chains are nobody's meaning, and would use up the stack. */
const LONGEST_CHAIN = 32;

/** Bases by name, each made once, when it is first asked for. */
export function createBases(map: TextNode | undefined, context: Context): Bases & { names(): string[] } {
  const entries = new Map(map?.kind === "object" ? map.entries.map((entry) => [entry.key, entry]) : []);
  const known = new Map<string, Kind | "broken" | "cycle">();
  let chain = 0;
  const find: Bases = (name) => {
    const found = known.get(name);
    const entry = entries.get(name);
    if (found !== undefined || entry === undefined) return found;
    if (chain >= LONGEST_CHAIN) {
      context.diagnostics.add(
        entry,
        `more than ${LONGEST_CHAIN} invocation bases extend one another in a row`,
      );
      return "broken";
    }
    known.set(name, "cycle");
    chain += 1;
    const made = kindOf(entry.value, bases, context, true) ?? "broken";
    chain -= 1;
    known.set(name, made);
    return made;
  };
  const bases = Object.assign(find, { names: () => [...entries.keys()] });
  return bases;
}

/** The invocation under its only key (`http` or `cli`), with `extends` applied. Errors are reported. */
export function kindOf(
  node: TextNode,
  bases: Bases & { names(): string[] },
  context: Context,
  base = false,
): Kind | undefined {
  const { diagnostics } = context;
  if (node.kind !== "object") return undefined;
  const [entry, other] = node.entries.filter(({ key }) => ["http", "cli", "extends"].includes(key));
  if (entry === undefined || other !== undefined) {
    const keys = context.version === "0.0.1" ? "http or cli" : "http, cli or extends";
    const message = `${toLabel(node.path)} must have exactly one key: ${keys}`;
    diagnostics.add(other ?? node, message, other && "Keep one of them.");
    return undefined;
  }
  if (entry.value.kind !== "object") return undefined;
  if (entry.key === "extends") return extended(entry, bases, context);
  const kind = entry.key === "http" ? "http" : "cli";
  if (base) partOf(kind, context).read(entry.value, context);
  // Told once, here, and not again by everything that extends it.
  if (base && diagnostics.hasErrorIn(entry.value)) return undefined;
  return { kind, node: entry.value };
}

function extended(entry: Entry, bases: Bases & { names(): string[] }, context: Context): Kind | undefined {
  const { diagnostics } = context;
  const node = entry.value as ObjectNode;
  context.format.extends.read(node, context);
  const from = nodeAt(node, "from");
  if (from?.kind !== "string") return undefined;
  const name = String(from.value);
  const base = bases(name);
  if (base === undefined) {
    const help = (): string => {
      const known = bases.names();
      if (known.length === 0) return "There are no invocationBases.";
      return didYouMean(name, known) ?? `The bases are ${known.slice(0, 20).join(", ")}.`;
    };
    diagnostics.add(from, `there is no invocation base ${quoted(name)}`, hint(diagnostics, help));
    return undefined;
  }
  if (base === "cycle")
    diagnostics.add(
      from,
      `the invocation base ${quoted(name)} extends itself`,
      "Change extends, so that no base extends itself, directly or through other bases.",
    );
  if (base === "cycle" || base === "broken") return undefined;
  const changes = readChanges(node, base.kind, context);
  if (changes === undefined) return undefined;
  const entries = new Map(base.node.entries.map((field) => [field.key, field]));
  for (const { operation, field } of changes) {
    const changed = APPLY[operation](entries.get(field.key), field, context);
    if (changed === undefined) entries.delete(field.key);
    else entries.set(field.key, changed);
  }
  const merged: ObjectNode = { ...node, entries: [...entries.values()].map((field) => rooted(field, node)) };
  return context.budget.spend(sizeOf(merged), node, diagnostics)
    ? { kind: base.kind, node: merged }
    : undefined;
}

interface Change {
  readonly operation: Operation;
  readonly field: Entry;
}

function readChanges(node: ObjectNode, kind: Kind["kind"], context: Context): Change[] | undefined {
  const { diagnostics } = context;
  const changes: Change[] = [];
  const seen = new Map<string, string>();
  for (const operation of OPERATIONS) {
    const map = nodeAt(node, operation);
    if (map?.kind !== "object") continue;
    // `remove` names a text with any value, and the keys of a map with a list.
    const named = operation === "remove" ? { ...map, entries: map.entries.map(emptied) } : map;
    partOf(kind, context).read(named, context);
    for (const field of map.entries) {
      const first = seen.get(field.key);
      if (isZero(field.value)) {
        const help = operation === "override" ? "To take a field away, use remove." : undefined;
        diagnostics.warn(field, `${operation} with an empty value does nothing: ${field.key}`, help);
        continue;
      }
      if (first !== undefined)
        diagnostics.add(
          field,
          `cannot use multiple operations on ${field.key}: ${first}, ${operation}`,
          "Keep one of them.",
        );
      seen.set(field.key, operation);
      changes.push({ operation, field });
    }
  }
  return diagnostics.hasErrorIn(node) ? undefined : changes;
}

function partOf(kind: Kind["kind"], { format }: Context): AnySchema {
  return kind === "http" ? format.httpPart : format.cliPart;
}

/** Only the key counts. */
function emptied(entry: Entry): Entry {
  const { line, column, path } = entry.value;
  return { ...entry, value: { line, column, path, kind: "null", value: null, source: "" } };
}

function isZero(node: TextNode): boolean {
  if (node.kind === "object" || node.kind === "list") return false;
  return node.value === null || node.value === "" || node.value === false || node.value === 0;
}
