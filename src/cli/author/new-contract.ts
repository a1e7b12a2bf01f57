// A new contract for a tool, from the server's own description of the tool only.

import type { ToolDraft } from "../../formats/driver/index.ts";
import { isObject, type JsonObject, type JsonSchema, type ToolDefinition } from "../../model/index.ts";
import { propertiesOf, requiredOf } from "./bind.ts";
import { title } from "./names.ts";
import type { Sample } from "./sample.ts";

export interface NewContract {
  readonly draft: ToolDraft;
  readonly resultExtract: string;
  /** Guesses, for the user to check. */
  readonly guesses: readonly ("mutates" | "text" | "sampled")[];
}

/** `base` is the name of the server, for `mutates`. */
export function newContract(
  id: string,
  tool: ToolDefinition,
  base: string,
  sample: Sample | undefined,
): NewContract {
  const { annotations } = tool;
  const readOnly = annotations?.readOnlyHint === true;
  const output = outputOf(tool, sample);
  const named = [tool.title, annotations?.title].find(
    (text) => typeof text === "string" && text.trim() !== "",
  );
  const description = (tool.description ?? "").trim().slice(0, 2_000) || `Calls ${tool.name}.`;
  return {
    draft: {
      id,
      name: (named ?? title(tool.name)).trim().slice(0, 80),
      description,
      version: "1.0.0",
      inputs: { ...withoutDialect(tool.inputSchema), type: "object" },
      outputs: output.schema,
      idempotent: readOnly || annotations?.idempotentHint === true,
      ...(readOnly
        ? {}
        : {
            mutates: [`external:${base}`],
            approval: "on-mutate",
            riskLevel: annotations?.destructiveHint === false ? 1 : 2,
          }),
      ...(sample?.portable !== true
        ? {}
        : {
            examples: [
              {
                name: "sample",
                input: sample.input,
                note: "A real call, recorded when this file was written.",
              },
            ],
          }),
    },
    resultExtract: output.extract,
    guesses: [
      ...(readOnly ? [] : ["mutates" as const]),
      ...(tool.outputSchema !== undefined
        ? []
        : sample?.schema === undefined
          ? ["text" as const]
          : ["sampled" as const]),
    ],
  };
}

/** A result with one property is that property; a result without a schema is text, unless a sample shows otherwise. */
function outputOf(
  { outputSchema }: ToolDefinition,
  sample: Sample | undefined,
): { readonly schema: JsonSchema; readonly extract: string } {
  if (outputSchema === undefined) return { schema: sample?.schema ?? { type: "string" }, extract: "$" };
  const whole = withoutDialect(outputSchema);
  const [only, ...others] = Object.entries(propertiesOf(whole));
  const plain = only !== undefined && others.length === 0 && /^[A-Za-z_][\w-]*$/.test(only[0]);
  if (!plain || !requiredOf(whole).includes(only[0]) || !isObject(only[1]) || hasReference(whole))
    return { schema: whole, extract: "$" };
  return { schema: only[1], extract: `$.${only[0]}` };
}

function withoutDialect(schema: unknown): JsonObject {
  const { $schema: _dialect, ...rest } = isObject(schema) ? schema : {};
  return rest;
}

/** A part that references the whole schema cannot be used alone. */
function hasReference(schema: JsonObject): boolean {
  return JSON.stringify(schema).includes('"$ref"');
}
