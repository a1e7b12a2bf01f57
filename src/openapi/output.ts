// Output schema of an operation: present only if every success returns the same kind of JSON object or list.

import { isObject, type JsonObject } from "../model/index.ts";
import { toPointer } from "../formats/document/index.ts";
import { child, follow, members, type Spec } from "./document/document.ts";
import type { SpecDiagnostics } from "./document/diagnostics.ts";
import { findJson, isJson, listed, mediaOf } from "./request/media-types.ts";
import type { Operation } from "./document/operations.ts";
import { withDefinitions, SchemaConverter, TooLarge, type Work } from "./schema/schema.ts";
import { type At, Unusable } from "./types.ts";

export interface Output {
  readonly schema: JsonObject | undefined;
  /** True if JSON is one of several media types, so that the request needs an Accept header. */
  readonly askForJson: boolean;
}

export function readOutput(
  spec: Spec,
  operation: Operation,
  work: Work,
  diagnostics: SpecDiagnostics,
): Output {
  let askForJson = false;
  try {
    const answers = successes(operation).map((written) => answerOf(spec, operation, follow(spec, written)));
    askForJson = answers.some(({ choice }) => choice);
    if (operation.method === "HEAD") return { schema: undefined, askForJson };
    const [first] = answers;
    const schema = first?.schema;
    if (schema === undefined || !answers.every((answer) => isSame(spec, answer.schema, schema)))
      return { schema: undefined, askForJson };
    return { schema: convert(spec, schema, work), askForJson };
  } catch (thrown) {
    if (!(thrown instanceof Unusable)) throw thrown;
    if (thrown instanceof TooLarge) work.largeOutputs += 1;
    else diagnostics.info(thrown.path, `${operation.label}: its outputSchema is left out: ${thrown.message}`);
    return { schema: undefined, askForJson };
  }
}

/** `default` describes errors if there is also a response for a success. */
function successes({ at }: Operation): At[] {
  const responses = members(child(at, "responses"));
  const found = responses.filter(({ key }) => /^2(?:\d\d|xx)$/i.test(key));
  return (found.length > 0 ? found : responses.filter(({ key }) => key === "default")).map((one) => one.at);
}

function answerOf(spec: Spec, { at }: Operation, response: At): { schema: At | undefined; choice: boolean } {
  const present = (schema: At): At | undefined => (schema.value === undefined ? undefined : schema);
  if (spec.dialect === "2.0") {
    const produces = listed(spec, at, "produces");
    const json = produces.length === 0 || produces.some(isJson);
    return {
      schema: json ? present(child(response, "schema")) : undefined,
      choice: json && produces.length > 1,
    };
  }
  const media = mediaOf(child(response, "content"));
  const json = findJson(media);
  if (json === undefined) return { schema: undefined, choice: false };
  return { schema: present(child(json.at, "schema")), choice: isJson(json.type) && media.length > 1 };
}

function isSame(spec: Spec, a: At | undefined, b: At): boolean {
  if (a === undefined) return false;
  const [one, other] = [follow(spec, a), follow(spec, b)];
  return (
    toPointer(one.path) === toPointer(other.path) || JSON.stringify(one.value) === JSON.stringify(other.value)
  );
}

/** Returns undefined unless the root is certainly an object or a list. */
function convert(spec: Spec, schema: At, work: Work): JsonObject | undefined {
  const type = isArraySchema(spec, schema) ? "array" : isObjectSchema(spec, schema, 0) ? "object" : undefined;
  if (type === undefined) return undefined;
  const converter = new SchemaConverter(spec, "output", work);
  const root = converter.convertWhole(schema);
  if (!isObject(root) || (root.type !== undefined && root.type !== type)) return undefined;
  const { type: _, ...rest } = root;
  return withDefinitions({ type, ...rest }, converter);
}

function isArraySchema(spec: Spec, at: At): boolean {
  const { value } = follow(spec, at);
  return isObject(value) && value.type === "array";
}

function isObjectSchema(spec: Spec, at: At, depth: number): boolean {
  const { value, path } = follow(spec, at);
  if (!isObject(value) || depth > 16) return false;
  if (value.type !== undefined) return value.type === "object";
  if (isObject(value.properties)) return true;
  const parts = Array.isArray(value.allOf) ? value.allOf : [];
  return parts.some((part: unknown, index) =>
    isObjectSchema(spec, { value: part, path: [...path, "allOf", index] }, depth + 1),
  );
}
