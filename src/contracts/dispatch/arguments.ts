// Converts the input of a contract to the arguments of an MCP tool; planned once per binding, so that a call only copies values.

import {
  type Binding,
  type BindingField,
  evaluateJsonPath,
  type JsonObject,
  type JsonPath,
  type MappedFrom,
  parseJsonPath,
} from "../../model/index.ts";
import { fieldNames, fieldOf, meant, requiredOf, type SchemaView } from "../../schema/index.ts";
import type { BindingDiagnostic } from "../registration/check-server-tool.ts";
import { fail } from "./failure.ts";
import { type Transform, TRANSFORMS } from "./transforms.ts";

/** Source of arguments that come from the context of a call, which the contract's contextSchema describes. */
export const CONTEXT = "$context";

/** One argument, and the input that it comes from. */
export interface ArgumentRoute {
  /** An input, or `CONTEXT`. */
  readonly source: string;
  /** Path below the input; empty for the whole input. */
  readonly path: JsonPath;
  readonly transform: Transform | undefined;
  readonly target: string;
}

export interface ArgumentPlan {
  readonly routes: readonly ArgumentRoute[];
  readonly dropped: ReadonlySet<string>;
  /** Inputs of this call that the driver does not take. */
  unsupported(given: JsonObject): readonly string[];
  build(input: JsonObject, context?: JsonObject): JsonObject;
}

export interface PlannedArguments {
  readonly plan: ArgumentPlan;
  /** Diagnostics about the narrowing and the mappings. */
  readonly diagnostics: readonly BindingDiagnostic[];
  /** Parts of inputs that no argument gets, as `a.b`. */
  readonly lost: readonly string[];
}

const NONE: readonly string[] = [];
const NO_CONTEXT: JsonObject = {};

/** `context` is the contract's contextSchema; undefined when it has none. */
export function planArguments(binding: Binding, inputs: SchemaView, context?: SchemaView): PlannedArguments {
  const diagnostics: BindingDiagnostic[] = [];
  let field: BindingField = "drop_inputs";
  const add = (message: string, hint?: string): void => {
    diagnostics.push({ message, hint, field });
  };
  const names = fieldNames(inputs);
  const isInput = (name: string): boolean =>
    names.includes(name) || fieldOf(inputs, name).state === "declared";
  const dropped = new Set(binding.dropInputs);
  const required = requiredOf(inputs);
  for (const name of dropped) {
    if (!isInput(name))
      add(`drop_inputs names "${name}", which the contract does not have${meant(name, names)}`);
    else if (required.has(name))
      add(
        `drop_inputs names "${name}", which the contract requires`,
        "Only optional inputs can be dropped. Remove this input from drop_inputs.",
      );
  }
  const routes: ArgumentRoute[] = [];
  field = "mapping";
  for (const [key, value] of Object.entries(binding.mapping)) {
    const route = readMapping(key, value, isInput, add);
    if (route === undefined) continue;
    if (route.source === CONTEXT) {
      const known = context === undefined ? [] : fieldNames(context);
      if (context === undefined)
        add(
          `mapping of "${key}" uses the context of the call, but the contract has no contextSchema`,
          "Declare the context of calls in the contract: metadata.contextSchema.",
        );
      else if (isUndeclared(route.path, context))
        add(
          `mapping of "${key}" uses a field that the contextSchema of the contract does not declare`,
          `The contextSchema declares ${known.join(", ")}.`,
        );
      else routes.push(route);
    } else if (!isInput(route.source))
      add(
        `mapping names the input "${route.source}", which the contract does not have${meant(route.source, names)}`,
      );
    else if (dropped.has(route.source))
      add(
        `the input "${route.source}" is both dropped and mapped`,
        "Remove the input from drop_inputs, or remove its mapping.",
      );
    else routes.push(route);
  }
  const mapped = new Set(routes.map(({ source }) => source));
  for (const name of names)
    if (!mapped.has(name) && !dropped.has(name))
      routes.push({ source: name, path: [], transform: undefined, target: name });
  field = "argument_mapping";
  const renamed = rename(routes, binding, mapped, add);
  const lost = [...mapped].flatMap((source) => {
    // The context is for all drivers, and each takes only some fields.
    if (source === CONTEXT) return [];
    const input = fieldOf(inputs, source);
    const paths = routes.flatMap((route) => (route.source === source ? [route.path] : []));
    return input.state === "declared" ? lostParts(input.view, paths, source) : [];
  });
  return { plan: new Plan(renamed, dropped, names), diagnostics, lost };
}

function isUndeclared([first]: JsonPath, view: SchemaView): boolean {
  return (
    first?.kind === "name" && fieldNames(view).length > 0 && fieldOf(view, first.name).state !== "declared"
  );
}

/** Declared fields below a value that no path takes. */
function lostParts(view: SchemaView, paths: readonly JsonPath[], at: string): readonly string[] {
  // A path takes the whole value, or entries of a list.
  if (paths.some(([first]) => first?.kind !== "name")) return [];
  return fieldNames(view).flatMap((name) => {
    const below = paths.flatMap(([first, ...rest]) =>
      first?.kind === "name" && first.name === name ? [rest] : [],
    );
    if (below.length === 0) return [`${at}.${name}`];
    const field = fieldOf(view, name);
    return field.state === "declared" ? lostParts(field.view, below, `${at}.${name}`) : [];
  });
}

/** A text maps an input to a key. An object gives the source of a key: an input, a part of one as `a.b` or `$.a.b`, or of the context as `$context.a`. */
function readMapping(
  key: string,
  value: string | MappedFrom,
  isInput: (name: string) => boolean,
  add: (message: string, hint?: string) => void,
): ArgumentRoute | undefined {
  if (typeof value === "string") return { source: key, path: [], transform: undefined, target: value };
  let transform: Transform | undefined;
  if (value.transform !== undefined) {
    transform = TRANSFORMS.get(value.transform);
    const known = [...TRANSFORMS.keys()];
    if (transform === undefined) {
      add(
        `mapping of "${key}" has the unknown transform "${value.transform}"${meant(value.transform, known)}`,
      );
      return undefined;
    }
  }
  const { from } = value;
  const below = /^\$context(?=$|[.[])/.exec(from);
  if (below !== null) {
    const parsed = parseJsonPath(`$${from.slice(below[0].length)}`);
    if (parsed.ok) return { source: CONTEXT, path: parsed.path, transform, target: key };
    add(`mapping of "${key}": ${parsed.message}`, parsed.hint);
    return undefined;
  }
  const isName = !from.startsWith("$") && (isInput(from) || !from.includes("."));
  if (isName) return { source: from, path: [], transform, target: key };
  const parsed = parseJsonPath(from.startsWith("$") ? from : `$.${from}`);
  if (!parsed.ok) {
    add(`mapping of "${key}": ${parsed.message}`, parsed.hint);
    return undefined;
  }
  const [first, ...rest] = parsed.path;
  if (first?.kind === "name") return { source: first.name, path: rest, transform, target: key };
  add(
    `mapping of "${key}": the path must begin with an input`,
    "Begin with the name of an input: $.<input>.",
  );
  return undefined;
}

/** Applies `argument_mapping` to the keys that `mapping` gives. */
function rename(
  routes: readonly ArgumentRoute[],
  { argumentMapping }: Binding,
  mapped: ReadonlySet<string>,
  add: (message: string, hint?: string) => void,
): readonly ArgumentRoute[] {
  const keys = routes.map(({ target }) => target);
  for (const key of Object.keys(argumentMapping)) {
    if (keys.includes(key)) continue;
    const already = mapped.has(key) ? routes.find(({ source }) => source === key)?.target : undefined;
    if (already === undefined)
      add(`argument_mapping names "${key}", which is not an input, or is dropped${meant(key, keys)}`);
    else
      add(
        `argument_mapping names "${key}", but mapping already maps this input to "${already}"`,
        `Write "${already}" in argument_mapping, or map the input in one place only.`,
      );
  }
  const feeds = new Map<string, string>();
  return routes.map((route) => {
    const target = Object.hasOwn(argumentMapping, route.target)
      ? (argumentMapping[route.target] ?? route.target)
      : route.target;
    const other = feeds.get(target);
    if (other !== undefined)
      add(
        `the inputs "${other}" and "${route.source}" both become the argument "${target}"`,
        "Map one of the inputs to another argument, or put an optional one into drop_inputs.",
      );
    if (target === "__proto__") add(`an argument cannot be called "${target}"`);
    feeds.set(target, route.source);
    return { ...route, target };
  });
}

class Plan implements ArgumentPlan {
  readonly routes: readonly ArgumentRoute[];
  readonly dropped: ReadonlySet<string>;
  readonly #known: ReadonlySet<string>;
  readonly #targets: ReadonlySet<string>;
  readonly #identity: boolean;

  constructor(routes: readonly ArgumentRoute[], dropped: ReadonlySet<string>, names: readonly string[]) {
    this.routes = routes;
    this.dropped = dropped;
    this.#known = new Set(names);
    this.#targets = new Set(routes.map(({ target }) => target));
    this.#identity =
      dropped.size === 0 &&
      routes.every(
        ({ source, target, path, transform }) =>
          source === target && path.length === 0 && transform === undefined,
      );
  }

  unsupported(given: JsonObject): readonly string[] {
    if (this.dropped.size === 0) return NONE;
    return [...this.dropped].filter((name) => Object.hasOwn(given, name));
  }

  build(input: JsonObject, context: JsonObject = NO_CONTEXT): JsonObject {
    if (this.#identity) return input;
    const built: JsonObject = {};
    for (const route of this.routes) {
      const given = route.source === CONTEXT ? context : own(input, route.source);
      if (given === undefined) continue;
      const value = this.#take(route, given);
      if (value !== undefined) built[route.target] = value;
    }
    // Inputs that the contract allows without declaring them keep their names.
    for (const name of Object.keys(input)) if (!this.#known.has(name)) this.#pass(name, input, built);
    return built;
  }

  #take({ source, path, transform, target }: ArgumentRoute, value: unknown): unknown {
    let taken = value;
    if (path.length > 0) {
      const followed = evaluateJsonPath(path, value);
      if (!followed.found) return undefined;
      taken = followed.value;
    }
    if (transform === undefined) return taken;
    const changed = transform.apply(taken);
    if (changed === undefined)
      throw fail("input_invalid", `the input ${source} cannot be converted to the argument ${target}`, {
        field: source,
      });
    return changed;
  }

  #pass(name: string, input: JsonObject, built: JsonObject): void {
    if (this.#targets.has(name) || name === "__proto__")
      throw fail(
        "input_invalid",
        `the input "${name.slice(0, 80)}" has the name of an argument that another input is mapped to`,
        {
          field: name,
        },
      );
    built[name] = input[name];
  }
}

function own(input: JsonObject, name: string): unknown {
  return Object.hasOwn(input, name) ? input[name] : undefined;
}
