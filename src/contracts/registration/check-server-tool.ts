// Checks that a tool of the server can serve a contract: its arguments get values, and its result has the outputs.

import { didYouMean } from "../../errors/index.ts";
import {
  type Binding,
  type BindingField,
  type Contract,
  isObject,
  type ToolDefinition,
} from "../../model/index.ts";
import {
  compareSchemas,
  declaredPaths,
  describeView,
  fieldNames,
  fieldOf,
  meant,
  type Mismatch,
  requiredOf,
  type SchemaView,
  viewAtPath,
  viewOf,
  viewSchema,
} from "../../schema/index.ts";
import { type ArgumentPlan, type ArgumentRoute, CONTEXT } from "../dispatch/arguments.ts";
import type { ResultPlan } from "../dispatch/result.ts";
import type { DriverHooks } from "../driver/bound-tool.ts";

export interface BindingDiagnostic {
  readonly message: string;
  readonly hint?: string;
  /** Default: error. */
  readonly severity?: "error" | "warning" | "info";
  /** The field of the binding that causes it, for the position in the file. */
  readonly field?: BindingField;
}

export function aboutField(field: BindingField, found: readonly BindingDiagnostic[]): BindingDiagnostic[] {
  return found.map((diagnostic) => ({ field, ...diagnostic }));
}

export interface Planned {
  readonly contract: Contract;
  readonly binding: Binding;
  readonly inputs: SchemaView;
  /** Schema of the context of a call; undefined when the contract has none. */
  readonly context: SchemaView | undefined;
  readonly outputs: SchemaView;
  readonly arguments: ArgumentPlan;
  readonly result: ResultPlan;
}

export function checkServerTool(
  planned: Planned,
  tools: readonly ToolDefinition[],
  hooks: DriverHooks,
): readonly BindingDiagnostic[] {
  const { toolName } = planned.binding;
  if (hooks.execute?.[planned.contract.id] !== undefined) return [];
  const tool = tools.find(({ name }) => name === toolName);
  if (tool === undefined) {
    const names = tools.map(({ name }) => name);
    const some =
      names.length === 0 ? "The server has no tools." : `The server has ${names.slice(0, 12).join(", ")}.`;
    const hint = didYouMean(toolName, names) ?? some;
    return [{ message: `the server has no tool "${toolName}"`, hint, field: "tool_name" }];
  }
  return [
    ...(hooks.buildArguments === undefined
      ? aboutField("argument_mapping", checkArguments(planned, tool))
      : []),
    ...(hooks.parseToolResult === undefined ? aboutField("result_extract", checkResult(planned, tool)) : []),
  ];
}

function checkArguments(planned: Planned, tool: ToolDefinition): readonly BindingDiagnostic[] {
  const takes = viewSchema(tool.inputSchema);
  if (takes === undefined) return [notCompared(tool, "inputSchema")];
  const found: BindingDiagnostic[] = [];
  for (const route of planned.arguments.routes) found.push(...checkRoute(route, planned, takes, tool));
  const fed = new Map(planned.arguments.routes.map((route) => [route.target, route]));
  for (const name of requiredOf(takes)) {
    const route = fed.get(name);
    if (route === undefined)
      found.push({
        message: `the tool "${tool.name}" requires the argument "${name}", but no input is mapped to it`,
        hint: mappable(fieldNames(planned.inputs)),
      });
    else if (!isAlwaysThere(route, planned))
      found.push({
        message: `the tool "${tool.name}" requires the argument "${name}", and ${sourceOf(route)} that is mapped to it is optional`,
        hint:
          route.source === CONTEXT
            ? "In the contract's contextSchema, make this field required."
            : `In the contract, require "${route.source}" or give it a default.`,
      });
  }
  return found;
}

function checkRoute(
  route: ArgumentRoute,
  planned: Planned,
  takes: SchemaView,
  tool: ToolDefinition,
): readonly BindingDiagnostic[] {
  const { source, target } = route;
  const way = source === target ? sourceOf(route) : `${sourceOf(route)} (as "${target}")`;
  const field = fieldOf(takes, target);
  const known = fieldNames(takes);
  if (field.state === "closed")
    return [
      {
        message: `${way} is not an argument of the tool "${tool.name}"${meant(target, known)}`,
        hint:
          source === CONTEXT
            ? "Map it to one of the tool's arguments, or remove this mapping."
            : "Map it to one of the tool's arguments, or put it into drop_inputs if it is optional.",
      },
    ];
  const given = sentAs(route, planned);
  if ("message" in given) return [{ message: `${way}: ${given.message}` }];
  if (field.state === "open") {
    if (known.length === 0) return [];
    return [
      {
        severity: "warning",
        message: `${way} is not among the arguments that the tool "${tool.name}" declares${meant(target, known)}`,
      },
    ];
  }
  return compareSchemas(given.view, field.view, "all").map((mismatch) =>
    explain(mismatch, (verb) => `${way} ${verb} match the tool "${tool.name}"`, {
      error: "Correct the contract or the mapping, so that both have the same type.",
    }),
  );
}

/** Schema of the value that is sent for an argument, after the path and the transform of the mapping. */
function sentAs(
  { source, path, transform }: ArgumentRoute,
  { inputs, context }: Planned,
): { readonly view: SchemaView } | { readonly message: string } {
  const view = source === CONTEXT ? (context ?? viewOf(inputs, true)) : inputView(inputs, source);
  const reached = viewAtPath(view, path);
  if (!reached.ok) return { message: reached.message };
  return { view: transform === undefined ? reached.view : viewOf(inputs, { type: transform.gives }) };
}

function inputView(inputs: SchemaView, name: string): SchemaView {
  const field = fieldOf(inputs, name);
  return field.state === "declared" ? field.view : viewOf(inputs, true);
}

function sourceOf({ source, path: [first] }: ArgumentRoute): string {
  if (source !== CONTEXT) return `the input "${source}"`;
  return first?.kind === "name" ? `"${first.name}" of the context` : "the context";
}

function isAlwaysThere(
  { source: name, path: [first] }: ArgumentRoute,
  { inputs, context, contract }: Planned,
): boolean {
  if (name === CONTEXT)
    return first?.kind !== "name" || (context !== undefined && requiredOf(context).has(first.name));
  if (requiredOf(inputs).has(name)) return true;
  const { properties } = contract.inputs;
  const property: unknown =
    isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isObject(property) && property.default !== undefined;
}

function checkResult(planned: Planned, tool: ToolDefinition): readonly BindingDiagnostic[] {
  // Without a schema, only the results of calls can be checked.
  if (tool.outputSchema === undefined) return [];
  const gives = viewSchema(tool.outputSchema);
  if (gives === undefined) return [notCompared(tool, "outputSchema")];
  const { binding, outputs, result } = planned;
  const what = `result_extract ${binding.resultExtract} of the tool "${tool.name}"`;
  const reached = viewAtPath(gives, result.path);
  if (!reached.ok)
    return [
      {
        message: `${what} matches nothing: ${reached.message}`,
        hint: matchingPaths(gives, outputs) ?? "Correct the path; the tool's outputSchema lists the fields.",
      },
    ];
  const mismatches = compareSchemas(withoutDropped(reached.view, binding.dropOutputs), outputs, "some");
  if (mismatches.length === 0 && reached.undeclared === undefined) return [];
  const better = matchingPaths(gives, outputs);
  const both = `The contract's outputs are ${describeView(outputs)}; the tool gives ${describeView(gives)}.`;
  const undeclared: readonly BindingDiagnostic[] =
    reached.undeclared === undefined
      ? []
      : [
          {
            severity: "warning",
            message: `${what} may match nothing: ${reached.undeclared}`,
            hint: better,
          },
        ];
  return [
    ...undeclared,
    ...mismatches.map((mismatch) =>
      explain(mismatch, (verb) => `${what} ${verb} give what the contract promises`, {
        error: better ?? both,
        warning: better,
      }),
    ),
  ];
}

/** Proposes paths that lead to the contract's output in the tool's outputSchema. */
function matchingPaths(gives: SchemaView, outputs: SchemaView): string | undefined {
  const paths = declaredPaths(gives)
    .filter(({ view }) => compareSchemas(view, outputs, "some").length === 0)
    .map(({ text }) => text);
  return paths.length === 0 ? undefined : `Matching paths: result_extract ${paths.slice(0, 4).join(" or ")}.`;
}

function withoutDropped(view: SchemaView, dropped: readonly string[]): SchemaView {
  if (dropped.length === 0) return view;
  return viewOf(view, {
    allOf: [view.node],
    properties: Object.fromEntries(dropped.map((name) => [name, false])),
  });
}

function explain(
  { path, message, severity }: Mismatch,
  what: (verb: "does not" | "may not") => string,
  hints: { readonly error: string; readonly warning?: string },
): BindingDiagnostic {
  const at = path.length === 0 ? "" : ` at ${path.join(".").replaceAll(".[]", "[]")}`;
  return severity === "error"
    ? { severity, message: `${what("does not")}${at}: ${message}`, hint: hints.error }
    : { severity, message: `${what("may not")}${at}: ${message}`, hint: hints.warning };
}

function notCompared(tool: ToolDefinition, which: string): BindingDiagnostic {
  return {
    severity: "warning",
    message: `Portolan did not compare the ${which} of the tool "${tool.name}" with the contract, because this ${which} is too large or too deeply nested`,
    hint: "This alone does not prevent the use of the driver. To test the tool, call the contract: portolan call <contract> key=value --pin <driver>",
  };
}

function mappable(inputs: readonly string[]): string {
  if (inputs.length === 0)
    return "The contract has no inputs. Add an input for this argument to the contract, or bind another tool.";
  const names = inputs.map((name) => `"${name}"`).join(", ");
  return `Map an input to it in argument_mapping. The inputs of the contract are ${names}. If none of them fits, add an input to the contract, or bind another tool.`;
}
