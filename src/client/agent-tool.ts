// Agent tool: an MCP tool with a name that every provider accepts, a Zod view of its schema, and a function that returns text.

import type * as Zod from "zod";
import { PortolanError, type Report } from "../errors/index.ts";
import type { JsonObject, ToolDefinition } from "../model/index.ts";
import { toZodView } from "../schema/index.ts";
import type { RequestOptions, Tool, ToolResult } from "./types.ts";

export interface AgentToolOptions {
  readonly name: string;
  readonly definition: ToolDefinition;
  readonly server: string;
  readonly zod: typeof Zod;
  readonly report: Report;
  readonly call: (name: string, input: JsonObject, options: RequestOptions) => Promise<ToolResult>;
}

export function toAgentTool({ name, definition, server, zod, report, call }: AgentToolOptions): Tool {
  let schema: Tool["schema"] | undefined;
  return {
    name,
    description: definition.description ?? "",
    inputSchema: definition.inputSchema,
    outputSchema: definition.outputSchema,
    annotations: definition.annotations,
    definition,
    get schema() {
      schema ??= toZodView(definition.inputSchema, zod, (diagnostic) => {
        const message = `tool "${definition.name}": ${diagnostic.message}`;
        report({ ...diagnostic, message, server, tool: definition.name });
      });
      return schema;
    },
    execute(input = {}, options = {}) {
      return call(definition.name, input, options).then((result) => {
        if (result.isError !== true) return result.text;
        const message = result.text || `${definition.name} reported an error without a message`;
        throw new PortolanError("TOOL_FAILED", message, { server, tool: definition.name, data: { result } });
      });
    },
  };
}
