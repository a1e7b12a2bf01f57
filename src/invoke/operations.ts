// Operations of a server (tools, prompts, resources): listed, and made ready to run. An operation that cannot be used is reported and left out; the others work.

import { isPortolanError, type Report } from "../errors/index.ts";
import type {
  Invocation,
  InvokedPrompt,
  InvokedResource,
  InvokedResourceTemplate,
  InvokedServer,
  InvokedTool,
  JsonSchema,
} from "../model/index.ts";
import { createValidator, type SchemaValidator } from "../schema/index.ts";
import { createInputCheck, type InputCheck } from "./input.ts";
import type { Runner } from "./types.ts";
import { createUriMatcher, type UriMatch } from "./uri-template.ts";

interface Ready {
  readonly runner: Runner;
  readonly input: InputCheck;
}

export type ReadyTool = InvokedTool & Ready & { readonly output: SchemaValidator | undefined };
export type ReadyPrompt = InvokedPrompt & Ready;
export type ReadyResource = InvokedResource & Ready;
export type ReadyTemplate = InvokedResourceTemplate & Ready & { readonly match: UriMatch };

export interface Prepared {
  readonly tools: ReadonlyMap<string, ReadyTool>;
  readonly prompts: ReadonlyMap<string, ReadyPrompt>;
  readonly resources: ReadonlyMap<string, ReadyResource>;
  readonly templates: readonly ReadyTemplate[];
}

const NO_ARGUMENTS: JsonSchema = { type: "object" };

export interface Operation {
  /** `tool name`, `prompt name`, `resource uri`, `resource template uri`. */
  readonly label: string;
  readonly invocation: Invocation;
  readonly schema: JsonSchema;
}

export function listOperations(server: InvokedServer): Operation[] {
  const { tools, prompts, resources, resourceTemplates } = server;
  return [
    ...tools.map(({ definition, invocation }) => ({
      label: `tool ${definition.name}`,
      invocation,
      schema: definition.inputSchema,
    })),
    ...prompts.map(({ definition, invocation, inputSchema }) => ({
      label: `prompt ${definition.name}`,
      invocation,
      schema: inputSchema,
    })),
    ...resources.map(({ definition, invocation }) => ({
      label: `resource ${definition.uri}`,
      invocation,
      schema: NO_ARGUMENTS,
    })),
    ...resourceTemplates.map(({ definition, invocation, inputSchema }) => ({
      label: `resource template ${definition.uriTemplate}`,
      invocation,
      schema: inputSchema,
    })),
  ];
}

export async function prepareOperations(
  server: InvokedServer,
  name: string,
  createRunner: (invocation: Invocation, schema: JsonSchema) => Runner,
  report: Report,
): Promise<Prepared> {
  const ready = async <T extends { readonly invocation: Invocation }, More>(
    operations: readonly T[],
    what: string,
    nameOf: (operation: T) => string,
    more: (operation: T) => Promise<{ schema: JsonSchema; fromText?: boolean; more: More }>,
  ): Promise<[string, T & Ready & More][]> => {
    const all = operations.map(async (operation): Promise<[string, T & Ready & More][]> => {
      const key = nameOf(operation);
      try {
        const found = await more(operation);
        const runner = createRunner(operation.invocation, found.schema);
        const input = await createInputCheck(found.schema, operation.invocation, found.fromText);
        return [[key, { ...operation, runner, input, ...found.more }]];
      } catch (error) {
        if (!isPortolanError(error)) throw error;
        const message = `${what} "${key}" is left out: ${error.message}`;
        const hasVariables = JSON.stringify(operation.invocation).includes('"kind":"env"');
        const hint =
          server.packageFolder !== undefined
            ? undefined
            : `Correct this definition in the mcpfile${hasVariables ? ", or the value of a ${NAME} in it" : ""}.`;
        report({ code: "TOOL_DROPPED", severity: "error", message, server: name, tool: key, hint });
        return [];
      }
    });
    return (await Promise.all(all)).flat();
  };
  const tools = await ready(server.tools, "the tool", nameOfDefinition, async ({ definition }) => {
    const { inputSchema, outputSchema } = definition;
    const output = outputSchema === undefined ? undefined : await createValidator(outputSchema);
    return { schema: inputSchema, more: { output } };
  });
  const prompts = await ready(server.prompts, "the prompt", nameOfDefinition, async ({ inputSchema }) => ({
    schema: inputSchema,
    fromText: true,
    more: {},
  }));
  const resources = await ready(
    server.resources,
    "the resource",
    ({ definition }) => definition.uri,
    async () => ({ schema: NO_ARGUMENTS, more: {} }),
  );
  const templates = await ready(
    server.resourceTemplates,
    "the resource template",
    ({ definition }) => definition.uriTemplate,
    async ({ definition, inputSchema }) => ({
      schema: inputSchema,
      fromText: true,
      more: { match: createUriMatcher(definition.uriTemplate) },
    }),
  );
  return {
    tools: new Map(tools),
    prompts: new Map(prompts),
    resources: new Map(resources),
    templates: templates.map(([, template]) => template),
  };
}

function nameOfDefinition({ definition }: { readonly definition: { readonly name: string } }): string {
  return definition.name;
}
