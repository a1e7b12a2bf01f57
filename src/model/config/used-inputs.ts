// Usage of the inputs of an mcpfile tool: which ones its invocation uses, and which ones it never passes on.

import { isObject } from "../json/json.ts";
import type { CliPart, Invocation, Template } from "./invoked-server.ts";

type Path = readonly string[];

/** Returns the paths of the inputs that the invocation uses. */
export function usedInputs(invocation: Invocation): Path[] {
  if (invocation.kind === "http") {
    const { url, headers, query, bodyRoot } = invocation;
    const root = bodyRoot?.findIndex((step) => typeof step === "number") ?? -1;
    const body = (root < 0 ? bodyRoot : bodyRoot?.slice(0, root))?.map(String);
    return [
      ...[url, ...headers.map(({ value }) => value)].flatMap(inTemplate),
      ...query.map((name) => [name]),
      ...(body === undefined ? [] : [body]),
    ];
  }
  const { words, shell, cwd = [], env = [] } = invocation;
  const parts = words.flatMap((word) => (word.kind === "word" ? word.parts : [word]));
  return [
    ...[...parts, ...(shell?.script ?? [])].flatMap(inPart),
    ...[cwd, ...env.map(({ value }) => value)].flatMap(inTemplate),
  ];
}

/** Returns the paths of declared inputs that reach neither the command nor the request. */
export function unusedInputs(invocation: Invocation, schema: unknown): Path[] {
  return findUnused(invocation, schema, schema, (at) => propertiesOf(at, schema));
}

/** Returns the paths of given arguments that reach neither the command nor the request, such as those that only `additionalProperties` allows. */
export function unusedArguments(invocation: Invocation, schema: unknown, args: unknown): Path[] {
  return findUnused(invocation, schema, args, (at) => (isObject(at) ? Object.entries(at) : []));
}

/** The named parts of a schema or of a value. */
type Children = (at: unknown) => Iterable<readonly [string, unknown]>;

function findUnused(invocation: Invocation, schema: unknown, of: unknown, children: Children): Path[] {
  // Without a bodyRoot, all unused inputs go to the query or into the body.
  if (invocation.kind === "http" && invocation.bodyRoot === undefined) return [];
  const { ignored = [] } = invocation;
  const unused = besidePaths([...usedInputs(invocation), ...ignored], of, [], children);
  if (invocation.kind === "http" || !invocation.appendUnused) return unused;
  // `appendUnused` appends whole inputs to the command, but not the unused parts of an input that the command uses.
  const appended = isObject(schema) && isObject(schema.properties) ? schema.properties : {};
  return unused.filter(([name = "", ...inner]) => inner.length > 0 || !Object.hasOwn(appended, name));
}

const DEEPEST = 16;

/** Returns the parts that none of the used paths contains, ends at or passes through. */
function besidePaths(used: readonly Path[], of: unknown, above: Path, children: Children): Path[] {
  if (above.length > DEEPEST) return [];
  const unused: Path[] = [];
  for (const [name, child] of children(of)) {
    const path = [...above, name];
    const touching = used.filter((one) =>
      path.every((step, index) => index >= one.length || one[index] === step),
    );
    if (touching.length === 0) unused.push(path);
    else if (touching.every((one) => one.length > path.length))
      unused.push(...besidePaths(touching, child, path, children));
  }
  return unused;
}

/** Collects the properties of a schema and of its subschemas for the same value. References may form cycles, so each schema is read once. */
function propertiesOf(
  schema: unknown,
  root: unknown,
  found: Map<string, unknown> = new Map(),
  seen: Set<unknown> = new Set(),
): ReadonlyMap<string, unknown> {
  if (!isObject(schema) || seen.has(schema)) return found;
  seen.add(schema);
  const others = [
    ...["allOf", "anyOf", "oneOf"].flatMap((key) => (Array.isArray(schema[key]) ? schema[key] : [])),
    ...["if", "then", "else"].map((key) => schema[key]),
    ...(typeof schema.$ref === "string" ? [referred(schema.$ref, root)] : []),
  ];
  for (const other of others) propertiesOf(other, root, found, seen);
  if (isObject(schema.properties))
    for (const [name, property] of Object.entries(schema.properties)) found.set(name, property);
  return found;
}

function referred(ref: string, root: unknown): unknown {
  if (!ref.startsWith("#/")) return undefined;
  return ref
    .slice(2)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>((at, step) => (isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined), root);
}

function inTemplate(template: Template): Path[] {
  return template.flatMap((part) => (part.kind === "input" ? [part.path] : []));
}

function inPart(part: CliPart): Path[] {
  if (part.kind === "variable") return [part.variable.path];
  return part.kind === "input" ? [part.path] : [];
}
