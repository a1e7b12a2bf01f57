// Usage of the inputs of an mcpfile tool: which ones its invocation uses, and which declared ones it never passes on.

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
  // Without a bodyRoot, all unused inputs go to the query or into the body.
  if (invocation.kind === "http" && invocation.bodyRoot === undefined) return [];
  const { ignored = [] } = invocation;
  const unused = declaredBeside([...usedInputs(invocation), ...ignored], schema, [], schema);
  // `appendUnused` appends whole inputs to the command, but not the unused parts of an input that the command uses.
  const isAppended = invocation.kind === "cli" && invocation.appendUnused;
  return isAppended ? unused.filter((path) => path.length > 1) : unused;
}

const DEEPEST = 16;

/** Returns the declared properties that none of the used paths contains, ends at or passes through. */
function declaredBeside(used: readonly Path[], schema: unknown, above: Path, root: unknown): Path[] {
  if (above.length > DEEPEST) return [];
  const unused: Path[] = [];
  for (const [name, property] of propertiesOf(schema, root)) {
    const path = [...above, name];
    const touching = used.filter((one) =>
      path.every((step, index) => index >= one.length || one[index] === step),
    );
    if (touching.length === 0) unused.push(path);
    else if (touching.every((one) => one.length > path.length))
      unused.push(...declaredBeside(touching, property, path, root));
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
