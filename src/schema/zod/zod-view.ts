// Zod view of a tool's JSON Schema, for frameworks that need one. It rejects less than the schema, never more.

import type { ZodObject, ZodType } from "zod";
import type { Report } from "../../errors/index.ts";
import { isObject, type JsonObject } from "../../model/index.ts";
import { boundSchema } from "../bounds.ts";
import { withinBudget } from "../budget.ts";
import { isSchema } from "../keywords.ts";
import { refCost } from "../ref-cost.ts";
import { clip } from "../message-text.ts";
import { copyForZod, HINTS } from "./zod-copy.ts";

type ZodModule = typeof import("zod");

/** Zod takes about 40 microseconds for a subschema. Larger schemas get no view. */
const MOST_PARTS = 1000;
/** Schemas up to this size run without a budget, so that a busy machine does not turn the view into an empty one. */
const DIRECT_PARTS = 300;
const CONVERT_MS = 100;
const MOST_REPORTS = 10;
/** At the root these keywords would make the view something other than an object, which frameworks require. */
const NOT_ON_ROOT = [
  "allOf",
  "anyOf",
  "oneOf",
  "minProperties",
  "maxProperties",
  "propertyNames",
  "patternProperties",
  "default",
];

/**
 * Returns a ZodObject that accepts unknown fields. Constraints that the view leaves out are reported, and the full check still
 * applies them. If no view is possible, the result is an object that accepts anything.
 */
export function toZodView(schema: unknown, zod: ZodModule, report: Report): ZodObject {
  const warn = (message: string, path?: string): void =>
    report({ code: "SCHEMA_UNSUPPORTED", severity: "warning", message, path });
  const loose = (why: string): ZodObject => {
    warn(
      `Portolan cannot convert inputSchema to Zod, so the Zod schema of the tool accepts any object: ${why}`,
    );
    return zod.looseObject({});
  };
  const bounds = boundSchema(schema);
  if (!bounds.ok) return loose(bounds.reason);
  const root = objectRoot(schema);
  if (root === undefined) return loose("its root is not an object");
  try {
    const plan = planFor(root, schema);
    if (plan === undefined) return loose(`it has more than ${MOST_PARTS} parts`);
    const run = (): ZodType => {
      const converted = zod.fromJSONSchema(plan.copy, {
        defaultTarget: plan.target,
        registry: registryFor(zod),
      });
      return converted instanceof zod.ZodObject ? withJsonSchemas(converted, zod) : converted;
    };
    const view =
      plan.parts <= DIRECT_PARTS ? ({ ok: true, value: run() } as const) : withinBudget(CONVERT_MS, run);
    if (!view.ok) return loose(`converting it took longer than ${CONVERT_MS} ms`);
    if (!(view.value instanceof zod.ZodObject)) return loose("it does not describe an object");
    for (const { path, why } of plan.omissions.slice(0, MOST_REPORTS))
      warn(
        `The Zod schema of the tool does not contain ${clip(path, 200)} of inputSchema: ${why}`,
        clip(path, 200),
      );
    return view.value;
  } catch (error) {
    return loose(clip(error instanceof Error ? error.message : String(error)));
  }
}

interface Plan {
  readonly copy: Parameters<ZodModule["fromJSONSchema"]>[0];
  readonly target: "draft-2020-12" | "draft-7";
  /** Number of subschemas with all references expanded. */
  readonly parts: number;
  readonly omissions: readonly { readonly path: string; readonly why: string }[];
}

function planFor(root: JsonObject, schema: unknown): Plan | undefined {
  // Zod searches definitions under one keyword per dialect.
  const target = isObject(root["$defs"]) ? "draft-2020-12" : "draft-7";
  const prefix = target === "draft-7" ? "#/definitions/" : "#/$defs/";
  // The root became an object schema. If the schema itself does not say so, a reference to the root means something wider.
  const whole = isObject(schema) && schema["type"] === "object" && schema["$ref"] === undefined;
  const resolve = (ref: string): unknown =>
    (ref === "#" ? whole : ref.startsWith(prefix)) ? resolveLocal(root, ref) : undefined;
  const follow = (node: JsonObject): { name: string; target: unknown } => {
    const name = String(node["$ref"]);
    return { name, target: resolve(name) };
  };
  const weigh = (): number => 1;
  let { weight: parts, unbounded } = refCost(root, { follow, weigh });
  if (parts > MOST_PARTS) unbounded = true;
  if (unbounded) parts = refCost(root, { follow: () => undefined, weigh }).weight;
  if (parts > MOST_PARTS) return undefined;

  const omissions: { path: string; why: string }[] = [];
  const copy = copyForZod(root, {
    follows: (ref) => !unbounded && isSchema(resolve(ref)),
    leftOut: (path, why) => omissions.push({ path, why }),
  }) as JsonObject;
  for (const keyword of NOT_ON_ROOT) {
    if (copy[keyword] === undefined) continue;
    delete copy[keyword];
    omissions.push({ path: `/${keyword}`, why: "the top level of the Zod schema must be a plain object" });
  }
  return { copy: copy as Plan["copy"], target, parts, omissions };
}

/** Registry for the metadata of the view: Zod's own, with our hints unpacked and without an `id`, which must be unique there. */
function registryFor(zod: ZodModule): ReturnType<ZodModule["registry"]> {
  const registry = zod.registry<JsonObject>();
  registry.add = (schema, ...given) => {
    const { [HINTS]: hints, id: _, ...meta } = given[0] ?? {};
    zod.globalRegistry.add(schema, { ...meta, ...(isObject(hints) ? hints : {}) });
    return registry;
  };
  return registry;
}

/**
 * Adds its JSON Schema to each field. Metadata such as descriptions is in a registry that other copies of Zod, such as 4.1.8, do not
 * read. A check does nothing but add the JSON Schema, because checks stay when a framework clones a field with its own copy of Zod.
 */
function withJsonSchemas(view: ZodObject, zod: ZodModule): ZodObject {
  const { properties = {} } = zod.toJSONSchema(view, { io: "input", unrepresentable: "any" });
  const shape = Object.entries(view.shape).map(([name, field]) => {
    const json = JSON.stringify(properties[name]);
    // A reference is relative to the root, which the framework makes.
    if (json.includes('"$ref":')) return [name, field];
    const check = new zod.core.$ZodCheck({ check: "portolan:json-schema" });
    check._zod.check = () => undefined;
    check._zod.onattach = [({ _zod: internals }) => (internals.toJSONSchema = () => JSON.parse(json))];
    return [name, cloneWith(field as ZodType, { checks: [...(field._zod.def.checks ?? []), check] }, zod)];
  });
  return cloneWith(view, { shape: Object.fromEntries(shape) }, zod);
}

/** A clone with the same metadata. It has no parent, because Zod cannot make a JSON Schema of a field with a parent and its own JSON Schema. */
function cloneWith<T extends ZodType>(schema: T, changes: Partial<T["_zod"]["def"]>, zod: ZodModule): T {
  const copy = zod.clone(schema, { ...schema._zod.def, ...changes });
  zod.globalRegistry.add(copy, zod.globalRegistry.get(schema) ?? {});
  return copy;
}

/** Returns the schema as an object schema, or undefined if it describes something else. A reference at the root is followed. */
function objectRoot(schema: unknown): JsonObject | undefined {
  if (schema === true) return { type: "object" };
  let root = schema;
  for (let hops = 0; isObject(root) && typeof root["$ref"] === "string"; hops += 1) {
    const target = hops < 8 ? resolveLocal(schema, root["$ref"]) : undefined;
    if (!isObject(target)) return undefined;
    const { $ref: _, ...rest } = schema as JsonObject;
    root = { ...rest, ...target };
  }
  if (!isObject(root)) return undefined;
  const { type } = root;
  if (type !== undefined && type !== "object" && !(Array.isArray(type) && type.includes("object")))
    return undefined;
  return { ...root, type: "object" };
}

function resolveLocal(schema: unknown, ref: string): unknown {
  if (ref === "#") return schema;
  const [, keyword, name, ...more] = ref.split("/");
  if (
    !isObject(schema) ||
    more.length > 0 ||
    name === undefined ||
    (keyword !== "$defs" && keyword !== "definitions")
  )
    return undefined;
  const definitions = schema[keyword];
  const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
  return isObject(definitions) && Object.hasOwn(definitions, key) ? definitions[key] : undefined;
}
