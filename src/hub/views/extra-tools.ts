// Resources and prompts of a server as tools, for agents that only support tools.

import { blockText } from "../../client/index.ts";
import {
  isObject,
  type CallToolResult,
  type GetPromptResult,
  type JsonObject,
  type PromptDefinition,
  type ReadResourceResult,
  type ToolDefinition,
} from "../../model/index.ts";
import type { Call } from "../../upstream/index.ts";
import type { Member } from "../member/member.ts";
import {
  LIST_RESOURCES as LIST_NAME,
  promptToolName,
  READ_RESOURCE as READ_NAME,
} from "../pins/pinned-definitions.ts";

/** The request that a call of a hub tool becomes at its server. */
export type ToolAction =
  | { readonly kind: "call"; readonly name: string }
  | { readonly kind: "read_resource" }
  | { readonly kind: "list_resources" }
  | { readonly kind: "get_prompt"; readonly name: string }
  | { readonly kind: "login" };

export function extraTools({ config, inventory }: Member): { tool: ToolDefinition; action: ToolAction }[] {
  const { resources, prompts } = inventory.capabilities;
  return [
    ...(config.resourceTools === true && resources !== undefined ? [LIST_RESOURCES, READ_RESOURCE] : []),
    ...(config.promptTools === true && prompts !== undefined ? inventory.prompts.map(promptTool) : []),
  ];
}

/** Stands for the tools of a server that the caller cannot see before it has logged in. */
export function loginTool(alias: string): { tool: ToolDefinition; action: ToolAction } {
  return {
    tool: {
      name: "login",
      title: `Log in to ${alias}`,
      description: `Logs the user in to ${alias}. After the login, the tools of ${alias} are listed.`,
      inputSchema: { type: "object", properties: {} },
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    },
    action: { kind: "login" },
  };
}

const LIST_RESOURCES: { tool: ToolDefinition; action: ToolAction } = {
  tool: {
    name: LIST_NAME,
    description: "Lists the resources of this server: their URIs, names and types.",
    inputSchema: { type: "object", properties: {} },
    annotations: { readOnlyHint: true },
  },
  action: { kind: "list_resources" },
};

const READ_RESOURCE: { tool: ToolDefinition; action: ToolAction } = {
  tool: {
    name: READ_NAME,
    description: "Reads one resource of this server by its URI.",
    inputSchema: {
      type: "object",
      properties: { uri: { type: "string", description: "The resource's URI" } },
      required: ["uri"],
    },
    annotations: { readOnlyHint: true },
  },
  action: { kind: "read_resource" },
};

function promptTool(prompt: PromptDefinition): { tool: ToolDefinition; action: ToolAction } {
  const args = (Array.isArray(prompt.arguments) ? prompt.arguments : []).filter(
    (argument) => isObject(argument) && typeof argument.name === "string",
  );
  const properties = Object.fromEntries(
    args.map(({ name, description }) => [
      name,
      { type: "string", ...(typeof description === "string" ? { description } : {}) },
    ]),
  );
  return {
    tool: {
      name: promptToolName(prompt.name),
      description: prompt.description ?? `Gets the prompt ${prompt.name}.`,
      inputSchema: {
        type: "object",
        properties,
        required: args.filter((argument) => argument.required === true).map(({ name }) => name),
      },
      annotations: { readOnlyHint: true },
    },
    action: { kind: "get_prompt", name: prompt.name },
  };
}

/** Sends a call of a hub tool to its server. */
export function perform(member: Member, action: ToolAction, call: Call): Promise<JsonObject> {
  if (action.kind !== "call") return performExtra(member, action, call);
  if (call.params?.name === action.name) return member.request(call);
  return member.request({ ...call, params: { ...call.params, name: action.name } });
}

async function performExtra(
  member: Member,
  action: Exclude<ToolAction, { kind: "call" }>,
  call: Call,
): Promise<JsonObject> {
  const args = isObject(call.params?.arguments) ? call.params.arguments : {};
  switch (action.kind) {
    case "read_resource": {
      const { contents } = (await member.request({
        ...call,
        method: "resources/read",
        params: { uri: args.uri },
      })) as ReadResourceResult;
      return result(contents.map((resource) => ({ type: "resource", resource })));
    }
    case "list_resources": {
      const { resources, templates } = member.inventory;
      const structuredContent = { resources, resourceTemplates: templates };
      return { ...result([{ type: "text", text: JSON.stringify(structuredContent) }]), structuredContent };
    }
    case "get_prompt": {
      const params = { name: action.name, arguments: args };
      const { messages } = (await member.request({
        ...call,
        method: "prompts/get",
        params,
      })) as GetPromptResult;
      const text = messages.map(({ role, content }) => `${role}: ${blockText(content)}`).join("\n\n");
      return result([{ type: "text", text }]);
    }
    case "login": {
      // Fails if a login is needed, which offers one to the caller.
      await member.listed(call);
      const names = member.inventory.tools.map(({ name }) => name).join(", ");
      const text = `You are logged in to ${member.alias}. Its tools: ${names || "none"}.`;
      return result([{ type: "text", text }]);
    }
  }
}

function result(content: CallToolResult["content"] & object): CallToolResult {
  return { content };
}
