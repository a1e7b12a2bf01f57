// Evaluates values of a script. Values from tools are inserted as they are: they are never parsed as a template.

import { didYouMean, PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import type { Reference, Step, Template, Value } from "../syntax/ast.ts";
import type { Budget } from "./budget.ts";

export interface Scope {
  readonly variables: ReadonlyMap<string, unknown>;
  readonly budget: Budget;
}

/** An error at an offset of the script. */
export class EvaluationError extends Error {
  readonly at: number;
  readonly error: PortolanError;

  constructor(at: number, error: PortolanError) {
    super(error.message);
    this.at = at;
    this.error = error;
  }
}

/** Evaluates a value, and takes its size from the budget. */
export function evaluate(value: Value, scope: Scope): unknown {
  const result = build(value, scope);
  scope.budget.spendValue(result);
  return result;
}

function build(value: Value, scope: Scope): unknown {
  switch (value.kind) {
    case "literal":
      return value.value;
    case "template":
      return fillTemplate(value, scope);
    case "reference":
      return lookUp(value, scope);
    case "list":
      return value.items.map((item) => build(item, scope));
    case "object":
      // `fromEntries` creates own properties, whatever their names are.
      return Object.fromEntries(value.entries.map((entry) => [entry.name, build(entry.value, scope)]));
  }
}

export function fillTemplate({ parts }: Template, scope: Scope): string {
  return parts
    .map((part) => (typeof part === "string" ? part : renderText(lookUp(part, scope), scope.budget)))
    .join("");
}

/** A value as text: text as it is, everything else as JSON. */
export function renderText(value: unknown, budget: Budget): string {
  budget.spendValue(value);
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
}

/** Returns the value of a variable, or of a field in it. Throws when it does not exist. */
export function lookUp({ name, steps, at }: Reference, { variables }: Scope): unknown {
  let value = variables.get(name);
  let path = name;
  for (const step of steps) {
    const next = follow(value, step);
    if (next === undefined)
      throw new EvaluationError(
        at,
        new PortolanError("INPUT_INVALID", `${path} has no ${labelOf(step)}.`, {
          hint: hintFor(path, value, step),
        }),
      );
    path += "index" in step ? `[${step.index}]` : `.${step.name}`;
    value = next.value;
  }
  return value;
}

function follow(value: unknown, step: Step): { readonly value: unknown } | undefined {
  if ("index" in step)
    return Array.isArray(value) && step.index < value.length
      ? { value: (value as unknown[])[step.index] }
      : undefined;
  if (!isObject(value) || !Object.hasOwn(value, step.name)) return undefined;
  return { value: value[step.name] };
}

function labelOf(step: Step): string {
  return "index" in step ? `entry [${step.index}]` : `field ${JSON.stringify(step.name)}`;
}

function hintFor(path: string, value: unknown, step: Step): string {
  if (Array.isArray(value))
    return value.length === 0
      ? `${path} is an empty list.`
      : `${path} is a list with the entries ${path}[0] to ${path}[${value.length - 1}].`;
  if (!isObject(value)) return `${path} is ${value === null ? "null" : `a ${typeof value}`}.`;
  const names = Object.keys(value);
  const near = "name" in step ? didYouMean(step.name, names) : undefined;
  if (near !== undefined) return near;
  const shown = names.slice(0, 10).join(", ").slice(0, 300);
  return names.length === 0 ? `${path} is empty.` : `${path} has ${shown}${names.length > 10 ? ", …" : ""}.`;
}
