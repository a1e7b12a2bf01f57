// A contract that is ready to be called: defaults, and validators that are compiled once.

import { type Contract, isObject, type JsonObject, type JsonSchema } from "../../model/index.ts";
import {
  type CheckResult,
  closedSchema,
  createValidator,
  formatProblem,
  type SchemaValidator,
  type SchemaView,
  viewSchema,
} from "../../schema/index.ts";
import { fail } from "../dispatch/failure.ts";

export interface PreparedContract {
  readonly contract: Contract;
  readonly inputs: SchemaView;
  readonly outputs: SchemaView;
  /** Returns the input with defaults; throws a failure that names the field. */
  checkInput(given: unknown): JsonObject;
  checkContext(values: JsonObject | undefined): void;
  /** Throws when the value does not match the contract. Returns the reason when it cannot be checked. */
  checkOutput(value: unknown): string | undefined;
}

/** For schemas that are too large to be compared. */
const ANYTHING: JsonSchema = {};

export async function prepareContract(contract: Contract): Promise<PreparedContract> {
  // An undeclared input must not reach an argument of the server that has the same name.
  const inputs = closedSchema(contract.inputs);
  const [input, output, context] = await Promise.all([
    createValidator(inputs),
    createValidator(contract.outputs),
    contract.contextSchema === undefined ? undefined : createValidator(contract.contextSchema),
  ]);
  return new Prepared(contract, viewOrAnything(inputs), { input, output, context });
}

export function viewOrAnything(schema: JsonSchema): SchemaView {
  return viewSchema(schema) ?? (viewSchema(ANYTHING) as SchemaView);
}

interface Validators {
  readonly input: SchemaValidator;
  readonly output: SchemaValidator;
  readonly context: SchemaValidator | undefined;
}

class Prepared implements PreparedContract {
  readonly contract: Contract;
  readonly inputs: SchemaView;
  readonly outputs: SchemaView;
  readonly #validators: Validators;
  readonly #defaults: readonly (readonly [string, unknown])[];

  constructor(contract: Contract, inputs: SchemaView, validators: Validators) {
    this.contract = contract;
    this.inputs = inputs;
    this.outputs = viewOrAnything(contract.outputs);
    this.#validators = validators;
    this.#defaults = defaultsOf(contract.inputs);
  }

  checkInput(given: unknown): JsonObject {
    if (given !== undefined && given !== null && !isObject(given))
      throw fail("input_invalid", `The input of ${this.contract.id} is not an object.`);
    const input = this.#withDefaults(given ?? {});
    const result = this.#validators.input.check(input);
    if (result.valid !== true) throw this.#refuse("input", "The input", result);
    return input;
  }

  checkContext(values: JsonObject | undefined): void {
    const result = this.#validators.context?.check(values ?? {});
    if (result !== undefined && result.valid !== true)
      throw this.#refuse("context", "The context of the call", result);
  }

  checkOutput(value: unknown): string | undefined {
    const result = this.#validators.output.check(value);
    if (result.valid === true) return undefined;
    if (result.valid === "unknown") return result.reason;
    const problems = result.problems.map(formatProblem).join("; ");
    throw fail(
      "output_parse_failed",
      `The output does not match the outputs of the contract ${this.contract.id}: ${problems}`,
    );
  }

  #withDefaults(given: JsonObject): JsonObject {
    let input = given;
    for (const [name, value] of this.#defaults) {
      if (Object.hasOwn(given, name)) continue;
      if (input === given) input = { ...given };
      input[name] = typeof value === "object" ? structuredClone(value) : value;
    }
    return input;
  }

  #refuse(where: string, what: string, result: CheckResult & { valid: false | "unknown" }): Error {
    if (result.valid === "unknown")
      return fail("input_invalid", `${what} cannot be checked: ${result.reason}`, { field: where });
    const [first] = result.problems;
    const named = first === undefined ? "" : fieldIn(first.path, first.message);
    const field = where === "input" ? named : [where, named].filter((part) => part !== "").join(".");
    const message = `${what} of ${this.contract.id} is not valid: ${result.problems.map(formatProblem).join("; ")}`;
    return fail("input_invalid", message, field === "" ? {} : { field });
  }
}

/** `/a/0/b` as `a.0.b`; an unknown field is named only in the message. */
function fieldIn(path: string, message: string): string {
  const unknown = /^unknown field "((?:[^"\\]|\\.)*)"/.exec(message)?.[1];
  const steps = path.split("/").slice(1);
  if (unknown !== undefined) steps.push(unknown);
  return steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~")).join(".");
}

function defaultsOf({ properties }: JsonSchema): [string, unknown][] {
  if (!isObject(properties)) return [];
  return Object.entries(properties).flatMap(([name, property]): [string, unknown][] =>
    name !== "__proto__" && isObject(property) && property.default !== undefined
      ? [[name, property.default]]
      : [],
  );
}
