// Converts schemas of a description to JSON Schema 2020-12. Referenced schemas are collected in `$defs`, so that each tool is
// self-contained.

import { firstWords } from "../../base/text/truncate.ts";
import { quoted } from "../../formats/document/index.ts";
import { isObject, type JsonObject } from "../../model/index.ts";
import { boundSchema } from "../../schema/index.ts";
import { follow, items, members, refOf, type Spec } from "../document/document.ts";
import { DEFINITION_BYTES, SCHEMA_BUDGET, SPEC_LIMITS } from "../limits.ts";
import { legalName, uniqueName } from "../names.ts";
import { type At, type Schema, Unusable } from "../types.ts";
import {
  isNullable,
  moveExample,
  moveExclusive,
  ONE_SCHEMA,
  SAME_VALUE,
  SCHEMA_LISTS,
  SCHEMA_MAPS,
  VALUES,
  withNull,
} from "./keywords.ts";
import { type Direction, hiddenNames, isHidden, requiresAny } from "./inspect.ts";

/** Budget that all tools of one description share. */
export interface Work {
  left: number;
  /** Number of outputSchemas that were left out because of their size. */
  largeOutputs: number;
  /** Number of inputSchemas with outlined definitions. */
  outlined: number;
}

/** A class of its own: an outputSchema that is too large is left out, but an inputSchema that is too large skips the operation. */
export class TooLarge extends Unusable {}

interface Within {
  /** The definition that is being converted; the root has no name. */
  readonly owner: string;
  /** True if the schema applies to the owner's own value, not to a part of it. */
  readonly same: boolean;
  /** Names that must not be required here. */
  readonly hidden: ReadonlySet<string>;
  readonly depth: number;
  /** Number of references that were inlined on the way here. */
  readonly inlined: number;
}

const MAX_INLINED = 8;

const NONE: ReadonlySet<string> = new Set();
const ROOT: Within = { owner: "", same: false, hidden: NONE, depth: 0, inlined: 0 };

export class SchemaConverter {
  readonly #spec: Spec;
  readonly #direction: Direction;
  readonly #work: Work;
  #left: number;
  /** Names of definitions, by the value in the description. */
  readonly #names = new Map<unknown, string>();
  readonly #taken = new Set<string>();
  readonly #waiting: { readonly name: string; readonly at: At }[] = [];
  readonly #edges = new Map<string, Set<string>>();

  constructor(spec: Spec, direction: Direction, work: Work) {
    this.#spec = spec;
    this.#direction = direction;
    this.#work = work;
    this.#left = SCHEMA_BUDGET[direction];
  }

  convert(at: At): Schema {
    return this.#convert(at, ROOT);
  }

  /** Converts a schema without a `$ref` at its root. */
  convertWhole(at: At): Schema {
    return this.#convert(follow(this.#spec, at), ROOT);
  }

  /** All schemas that were referenced so far. */
  definitions(): JsonObject {
    const definitions: JsonObject = {};
    const most = DEFINITION_BYTES[this.#direction];
    let bytes = 0;
    // The definitions near the root come first, so a large schema is cut where it is deepest.
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      if (bytes > most && this.#direction === "output")
        throw new TooLarge("its schemas are too large", next.at.path);
      definitions[next.name] =
        bytes > most ? outline(next.at) : this.#convert(next.at, { ...ROOT, owner: next.name, same: true });
      bytes += JSON.stringify(definitions[next.name])?.length ?? 0;
    }
    if (bytes > most) this.#work.outlined += 1;
    if (isCyclic(this.#edges)) throw new Unusable("a schema refers only to itself", []);
    return definitions;
  }

  #convert(at: At, within: Within): Schema {
    this.#spend(1, at);
    if (within.depth > SPEC_LIMITS.depth) throw new Unusable("its schemas are nested too deep", at.path);
    if (typeof at.value === "boolean") return at.value;
    if (!isObject(at.value)) return {};
    return refOf(at.value) === undefined
      ? this.#convertObject(at, at.value, within)
      : this.#convertReference(at, at.value, within);
  }

  #convertReference(at: At, source: JsonObject, within: Within): Schema {
    const target = follow(this.#spec, at);
    if (!isObject(target.value) && typeof target.value !== "boolean")
      throw new Unusable(`the reference ${quoted(String(source.$ref))} does not point to a schema`, at.path);
    if (this.#mustStandHere(target, within))
      return this.#convert(target, { ...within, depth: within.depth + 1, inlined: within.inlined + 1 });
    const name = this.#define(target);
    if (within.same) {
      const edges = this.#edges.get(within.owner) ?? new Set();
      this.#edges.set(within.owner, edges.add(name));
    }
    const reference: JsonObject = { $ref: `#/$defs/${name}` };
    if (this.#spec.dialect === "3.1") {
      const beside = this.#convertObject(at, source, within);
      return { ...reference, ...(isObject(beside) ? beside : {}) };
    }
    const { description } = source;
    const described = typeof description === "string" ? { ...reference, description } : reference;
    return isNullable(source) ? withNull(described) : described;
  }

  /** True if the target requires a property that is hidden only here. It is inlined then, because a definition is the same for all its users. */
  #mustStandHere(target: At, { hidden, inlined }: Within): boolean {
    if (hidden.size === 0 || inlined >= MAX_INLINED) return false;
    const own = hiddenNames(this.#spec, target, this.#direction, this.#spend);
    const others = new Set([...hidden].filter((name) => !own.has(name)));
    return others.size > 0 && requiresAny(this.#spec, target, others, this.#spend);
  }

  #convertObject(at: At, source: JsonObject, within: Within): Schema {
    const own = hiddenNames(this.#spec, at, this.#direction, this.#spend);
    const hidden = own.size === 0 ? within.hidden : new Set([...within.hidden, ...own]);
    const schema: JsonObject = {};
    for (const { key, at: member } of members(at)) {
      const inner: Within = {
        owner: within.owner,
        same: within.same && SAME_VALUE.has(key),
        hidden: key === "allOf" ? hidden : NONE,
        depth: within.depth + 1,
        inlined: within.inlined,
      };
      if (key === "required" && Array.isArray(member.value)) {
        const required = member.value.filter((name) => typeof name === "string" && !hidden.has(name));
        if (required.length > 0) schema.required = [...new Set(required)];
      } else if (VALUES.get(key)?.(member.value) === true) {
        this.#spend(1 + ((JSON.stringify(member.value)?.length ?? 0) >> 5), member);
        schema[key] = member.value;
      } else if (key === "items" && Array.isArray(member.value)) {
        schema.prefixItems = items(member).map((item) => this.#convert(item, inner));
      } else if (ONE_SCHEMA.has(key) && (isObject(member.value) || typeof member.value === "boolean")) {
        schema[key] = this.#convert(member, inner);
      } else if (SCHEMA_LISTS.has(key)) {
        const list = items(member).map((item) => this.#convert(item, inner));
        if (list.length > 0) schema[key] = list;
      } else if (SCHEMA_MAPS.has(key) && isObject(member.value)) {
        schema[key] = this.#convertMap(key, member, inner);
      }
    }
    moveExample(source, schema);
    if (this.#spec.dialect === "3.1") return schema;
    moveExclusive(source, schema);
    return isNullable(source) ? withNull(schema) : schema;
  }

  #convertMap(key: string, at: At, within: Within): JsonObject {
    const map: JsonObject = {};
    for (const { key: name, at: member } of members(at)) {
      if (key === "properties" && isHidden(this.#spec, member, this.#direction)) continue;
      map[name] = this.#convert(member, within);
    }
    return map;
  }

  #define(target: At): string {
    const known = this.#names.get(target.value);
    if (known !== undefined) return known;
    const name = uniqueName(legalName(String(target.path.at(-1) ?? "root"), "schema"), this.#taken);
    this.#names.set(target.value, name);
    this.#waiting.push({ name, at: target });
    return name;
  }

  readonly #spend = (amount: number, at: At): void => {
    this.#left -= amount;
    this.#work.left -= amount;
    if (this.#left < 0) throw new TooLarge("its schemas are too large", at.path);
    if (this.#work.left < 0) throw new TooLarge("all schemas together are too large", at.path);
  };
}

const OUTLINE_CHARS = 200;

/** A definition without its parts: it accepts everything that the whole one accepts. */
function outline({ value }: At): JsonObject {
  if (!isObject(value)) return {};
  const { type, description } = value;
  const about = typeof description === "string" ? firstWords(description, OUTLINE_CHARS) : undefined;
  return {
    ...(type === "object" && !isNullable(value) ? { type } : {}),
    ...(about === undefined ? {} : { description: about }),
  };
}

/** Returns true if the graph has a cycle. Works without recursion, so that the size of the graph does not matter. */
function isCyclic(edges: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  const open = new Map([...edges].map(([from, targets]) => [from, new Set(targets)]));
  const into = new Map<string, string[]>();
  for (const [from, targets] of open)
    for (const target of targets) into.set(target, [...(into.get(target) ?? []), from]);
  const ends = [...into.keys()].filter((name) => !open.has(name));
  // Nodes without outgoing edges are removed again and again; only cycles, and nodes that lead into them, remain.
  for (let end = ends.pop(); end !== undefined; end = ends.pop()) {
    for (const from of into.get(end) ?? []) {
      const targets = open.get(from);
      targets?.delete(end);
      if (targets?.size !== 0) continue;
      open.delete(from);
      ends.push(from);
    }
  }
  return open.size > 0;
}

/** The last step of a tool's schema: adds the definitions that it references, and checks its size. */
export function withDefinitions(root: JsonObject, converter: SchemaConverter): JsonObject {
  const definitions = used(root, converter.definitions());
  const schema = Object.keys(definitions).length === 0 ? root : { ...root, $defs: definitions };
  const bounds = boundSchema(schema);
  if (!bounds.ok) throw new Unusable(`its schema cannot be used: ${bounds.reason}`, []);
  return schema;
}

/** The definitions that the schema still references; a conversion may have dropped some references. */
function used(root: JsonObject, definitions: JsonObject): JsonObject {
  const reached = new Set<string>();
  const todo: unknown[] = [root];
  while (todo.length > 0) {
    const value = todo.pop();
    if (Array.isArray(value)) for (const item of value) todo.push(item);
    if (!isObject(value)) continue;
    const name = typeof value.$ref === "string" ? value.$ref.slice("#/$defs/".length) : undefined;
    if (name !== undefined && !reached.has(name)) {
      reached.add(name);
      todo.push(definitions[name]);
    }
    todo.push(...Object.values(value));
  }
  return Object.fromEntries(Object.entries(definitions).filter(([name]) => reached.has(name)));
}
