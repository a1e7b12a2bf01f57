// One operation as a tool of an mcpfile.

import type { JsonObject } from "../model/index.ts";
import { readBody } from "./request/body.ts";
import { child, type Spec } from "./document/document.ts";
import type { SpecDiagnostics } from "./document/diagnostics.ts";
import { Inputs } from "./request/tool-inputs.ts";
import { MAX_DESCRIPTION } from "./limits.ts";
import type { Operation } from "./document/operations.ts";
import { readOutput } from "./output.ts";
import { readParameters } from "./request/parameters.ts";
import { withDefinitions, SchemaConverter, type Work } from "./schema/schema.ts";
import type { Credentials } from "./request/security.ts";
import { sendParameters, words } from "./request/place-parameters.ts";
import { prepareBody, sendBody } from "./request/place-body.ts";
import type { Method } from "./types.ts";

/** The parts of a conversion that all tools of one description share. */
export interface ConversionContext {
  readonly spec: Spec;
  readonly work: Work;
  readonly diagnostics: SpecDiagnostics;
}

/** Throws `Unusable` if the operation cannot be a tool. */
export function toTool(
  operation: Operation,
  base: string,
  credentials: Credentials,
  context: ConversionContext,
): JsonObject {
  const { spec, work, diagnostics } = context;
  const converter = new SchemaConverter(spec, "input", work);
  const inputs = new Inputs();
  const parameters = readParameters(spec, operation);
  const body = readBody(spec, operation, parameters);
  const prepared = prepareBody(spec, operation, body, inputs, converter, diagnostics);
  const sent = sendParameters(operation, parameters.list, credentials, inputs, converter, diagnostics);
  const { additional, fields, headers: bodyHeaders } = sendBody(operation, prepared, inputs, converter);
  const output = readOutput(spec, operation, work, diagnostics);

  const inputSchema: JsonObject = { type: "object", properties: inputs.properties };
  if (inputs.required.length > 0) inputSchema.required = inputs.required;
  if (additional !== undefined) inputSchema.additionalProperties = additional;
  const headers = {
    ...(output.askForJson ? { Accept: "application/json" } : {}),
    ...bodyHeaders,
    ...sent.headers,
  };
  const { title, description } = words(operation);
  const isOld = child(operation.at, "deprecated").value === true;
  return {
    name: operation.tool,
    ...(title === undefined ? {} : { title: title.slice(0, 200) }),
    description: shortened(isOld ? `Deprecated. ${description}` : description),
    inputSchema: withDefinitions(inputSchema, converter),
    ...(output.schema === undefined ? {} : { outputSchema: output.schema }),
    annotations: annotationsOf(operation.method),
    invocation: {
      extends: {
        from: base,
        extend: { url: sent.url, ...(Object.keys(headers).length === 0 ? {} : { headers }) },
        override: { method: operation.method, ...fields },
      },
    },
  };
}

function annotationsOf(method: Method): JsonObject {
  const openWorldHint = true;
  switch (method) {
    case "GET":
    case "HEAD":
      return { readOnlyHint: true, openWorldHint };
    case "PUT":
      return { idempotentHint: true, openWorldHint };
    case "DELETE":
      return { destructiveHint: true, openWorldHint };
    case "POST":
    case "PATCH":
      return { openWorldHint };
  }
}

function shortened(text: string): string {
  return text.length > MAX_DESCRIPTION ? `${text.slice(0, MAX_DESCRIPTION - 3)}...` : text;
}
