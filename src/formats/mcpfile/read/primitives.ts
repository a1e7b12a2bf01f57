// Reads tools, prompts and resources: their definitions for clients, and their invocations.

import {
  isObject,
  type Invocation,
  type InvokedPrompt,
  type InvokedResource,
  type InvokedResourceTemplate,
  type InvokedTool,
  type JsonSchema,
  type PromptArgument,
} from "../../../model/index.ts";
import { entryOf, nodeAt, type ObjectNode, type Diagnostics, toPlain } from "../../document/index.ts";
import { readSchema } from "./check-schema.ts";
import { readCli } from "./cli.ts";
import type { Context } from "./context.ts";
import { type createBases, kindOf } from "./extends.ts";
import { readHttp } from "./http.ts";
import { checkToolName, checkUri, checkUriTemplate } from "./names.ts";
import { createScope, OPEN_SCOPE, type Scope } from "./scope.ts";
import type { Primitive, PrimitiveValue } from "../schema/file-schema.ts";
import { checkUnused } from "./unused.ts";

interface Read {
  readonly checked: PrimitiveValue;
  readonly inputSchema: JsonSchema | undefined;
  readonly outputSchema: JsonSchema | undefined;
  readonly invoked: { readonly invocation: Invocation; readonly requiredScopes?: readonly string[] };
}

type Bases = ReturnType<typeof createBases>;

const NO_ARGUMENTS: JsonSchema = { type: "object" };
/** Stands for an argument whose schema has errors: it may be a number, and it may have any properties. */
const ANY_ARGUMENT = { type: "integer", allOf: [] };

export function readTool(node: ObjectNode, bases: Bases, context: Context): InvokedTool | undefined {
  const read = readPrimitive("tools", node, bases, context);
  checkToolName(nodeAt(node, "name"), context.diagnostics);
  if (read === undefined || context.diagnostics.hasErrorIn(node)) return undefined;
  const { checked, inputSchema = NO_ARGUMENTS, outputSchema, invoked } = read;
  const definition = {
    ...about(checked),
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(checked.annotations === undefined ? {} : { annotations: checked.annotations }),
  };
  return { definition, ...invoked };
}

export function readPrompt(node: ObjectNode, bases: Bases, context: Context): InvokedPrompt | undefined {
  const read = readPrimitive("prompts", node, bases, context);
  if (read === undefined) return undefined;
  const { checked, inputSchema = schemaOf(checked.arguments), invoked } = read;
  const list = checked.arguments ?? argumentsOf(inputSchema);
  const definition = { ...about(checked), ...(list.length === 0 ? {} : { arguments: [...list] }) };
  return { definition, inputSchema, ...invoked };
}

export function readResource(node: ObjectNode, bases: Bases, context: Context): InvokedResource | undefined {
  const read = readPrimitive("resources", node, bases, context);
  checkUri(nodeAt(node, "uri"), context.diagnostics);
  if (read === undefined || context.diagnostics.hasErrorIn(node)) return undefined;
  const { uri = "", mimeType, size } = read.checked;
  const definition = {
    ...about(read.checked),
    uri,
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(size === undefined ? {} : { size }),
  };
  return { definition, ...read.invoked };
}

export function readResourceTemplate(
  node: ObjectNode,
  bases: Bases,
  context: Context,
): InvokedResourceTemplate | undefined {
  const read = readPrimitive("resourceTemplates", node, bases, context);
  if (read === undefined) return undefined;
  const { uriTemplate = "", mimeType } = read.checked;
  const definition = { ...about(read.checked), uriTemplate, ...(mimeType === undefined ? {} : { mimeType }) };
  return { definition, inputSchema: read.inputSchema ?? NO_ARGUMENTS, ...read.invoked };
}

/** Returns undefined after an error. */
function readPrimitive(kind: Primitive, node: ObjectNode, bases: Bases, context: Context): Read | undefined {
  const { diagnostics } = context;
  const checked = context.format.primitives[kind].read(node, context) ?? {};
  const inputSchema = readSchema(nodeAt(node, "inputSchema"), context);
  const outputSchema = readSchema(nodeAt(node, "outputSchema"), context, "result");
  const listed =
    kind === "prompts" ? (inputSchema ?? schemaOf(checked.arguments)) : (inputSchema ?? NO_ARGUMENTS);
  const given = isWrong(node, "arguments", diagnostics)
    ? undefined
    : knownArguments(node, listed, diagnostics);
  const scope = given === undefined ? OPEN_SCOPE : createScope(kind === "resources" ? undefined : given);
  if (kind === "resourceTemplates") checkUriTemplate(nodeAt(node, "uriTemplate"), scope, diagnostics);
  const invocation = readInvocation(node, scope, bases, context);
  if (invocation !== undefined && kind !== "resources" && given !== undefined)
    checkUnused(node, invocation, given, context);
  if (diagnostics.hasErrorIn(node) || invocation === undefined) return undefined;
  const { requiredScopes } = checked;
  const invoked = { invocation, requiredScopes };
  return { checked, inputSchema, outputSchema, invoked };
}

/**
 * The arguments as far as their names are certain, so that all errors of a tool are reported at once. Errors inside the
 * schemas of properties leave the names certain. Any other error of the schema would make every placeholder look wrong.
 */
function knownArguments(
  node: ObjectNode,
  schema: JsonSchema,
  diagnostics: Diagnostics,
): JsonSchema | undefined {
  if (!isWrong(node, "inputSchema", diagnostics)) return schema;
  const entries = nodeAt(node, "inputSchema");
  const properties = nodeAt(node, "inputSchema", "properties");
  if (entries?.kind !== "object" || properties?.kind !== "object") return undefined;
  if (entries.entries.some((entry) => entry.key !== "properties" && diagnostics.hasErrorIn(entry)))
    return undefined;
  const known = properties.entries.map((entry) => [
    entry.key,
    diagnostics.hasErrorIn(entry) ? ANY_ARGUMENT : toPlain(entry.value),
  ]);
  return { ...schema, properties: Object.fromEntries(known) };
}

function isWrong(node: ObjectNode, key: string, diagnostics: Diagnostics): boolean {
  const entry = entryOf(node, key);
  return entry !== undefined && diagnostics.hasErrorIn(entry);
}

function readInvocation(
  node: ObjectNode,
  scope: Scope,
  bases: Bases,
  context: Context,
): Invocation | undefined {
  const invocation = nodeAt(node, "invocation");
  if (invocation?.kind !== "object") return undefined;
  context.format.invocation.read(invocation, context);
  const known = [...(context.format.invocation.rules.keys?.values() ?? [])];
  const unknown = invocation.entries.filter(({ key }) => !known.includes(key));
  // An invocation with unknown keys alone has an error for each of them already.
  if (unknown.length > 0 && unknown.length === invocation.entries.length) return undefined;
  const found = kindOf(invocation, bases, context);
  if (found === undefined) return undefined;
  return found.kind === "http" ? readHttp(found.node, scope, context) : readCli(found.node, scope, context);
}

function about({ name = "", title, description = "" }: PrimitiveValue): {
  name: string;
  title?: string;
  description: string;
} {
  return { name, ...(title === undefined ? {} : { title }), description };
}

/** The list of arguments for a prompt that has only a schema. */
function argumentsOf(schema: JsonSchema): PromptArgument[] {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties).map(([name, property]) => {
    const { title, description } = isObject(property) ? property : {};
    return {
      name,
      ...(typeof title === "string" ? { title } : {}),
      ...(typeof description === "string" ? { description } : {}),
      required: required.includes(name),
    };
  });
}

/** The schema for a prompt that has only a list of arguments, which are texts. */
function schemaOf(list: readonly PromptArgument[] | undefined): JsonSchema {
  const named = (list ?? []).filter((argument) => typeof argument?.name === "string");
  const properties = named.map(({ name, description }) => [
    name,
    { type: "string", ...(description === undefined ? {} : { description }) },
  ]);
  const required = named.filter((argument) => argument.required === true).map(({ name }) => name);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
  };
}
