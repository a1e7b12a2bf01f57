// Collects the arguments of one tool: unique names, schemas, required names.

import { isObject, type JsonObject } from "../../model/index.ts";
import { legalName, uniqueName } from "../names.ts";
import type { Parameter } from "./parameters.ts";
import type { Schema } from "../types.ts";

/** `{headers.x}` and `{env.x}` in a template are not arguments. */
const RESERVED: ReadonlySet<string> = new Set(["headers", "env"]);

export class Inputs {
  readonly properties: JsonObject = {};
  readonly required: string[] = [];
  readonly #taken = new Set<string>();

  /** The argument name of a parameter: its own name if that is legal and free. */
  nameFor({ name, in: place }: Parameter): string {
    const wanted = legalName(name, "value");
    if (!this.#taken.has(wanted) && !RESERVED.has(wanted)) return uniqueName(wanted, this.#taken);
    return uniqueName(legalName(`${wanted}_${place}`, place), this.#taken);
  }

  add(name: string, schema: Schema, required: boolean): void {
    this.#taken.add(name);
    this.properties[name] = schema;
    if (required && !this.required.includes(name)) this.required.push(name);
  }

  has(name: string): boolean {
    return this.#taken.has(name);
  }

  /** Reserves the names of form fields, which cannot be renamed. */
  reserve(names: Iterable<string>): void {
    for (const name of names) this.#taken.add(name);
  }

  /** A free name for the body as a whole. */
  free(name: string): string {
    return uniqueName(name, this.#taken);
  }
}

/** The description of the parameter replaces the description of its type. */
export function described(schema: Schema, description: string | undefined): Schema {
  if (description === undefined) return schema;
  return isObject(schema) ? { ...schema, description } : schema ? { description } : schema;
}
