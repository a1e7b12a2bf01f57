/** What the server has to offer, the same in both eras: its lists, their changes, and the methods that read them. */
import { CODE, RpcError } from "../../fixtures/lib/rpc.mjs";
import { askingTools } from "./asking-tools.mjs";
import { messages, says, text } from "./content.mjs";
import { plainTools } from "./plain-tools.mjs";
import { complete, getPrompt, prompts } from "./prompts.mjs";
import { createTasks, listedTask, taskTools } from "./tasks.mjs";
import { readResource, resources, resourceTemplates } from "./resources.mjs";

export const SERVER_INFO = { name: "portolan-conformance-server", version: "1.0.0" };

export const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  logging: {},
  completions: {},
};

export const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** The tasks extension belongs to the modern era. */
export function createSurface({ withTasks = false } = {}) {
  const changes = { tools: 0, prompts: 0 };
  const listeners = new Set();
  // Every change is a real one, because who stands in front may announce nothing else: a description that counts.
  const description = (list) => `Was changed ${changes[list]} times`;
  return {
    tasks: createTasks(),
    tools: () => [
      ...plainTools,
      ...(withTasks ? taskTools : []),
      ...askingTools,
      {
        name: "test_changing_tool",
        description: description("tools"),
        inputSchema: { type: "object", properties: {} },
        run: () => says(description("tools")),
      },
    ],
    prompts: () => [
      ...prompts,
      {
        name: "test_changing_prompt",
        description: description("prompts"),
        get: () => messages(text(description("prompts"))),
      },
    ],
    change(list) {
      changes[list] += 1;
      for (const listener of listeners) listener(`notifications/${list}/list_changed`);
    },
    /** Calls `listener` with the method of every change; returns how to stop that. */
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The methods of both eras. Each gets a context and returns a result. */
export const commonMethods = {
  "tools/list": ({ surface }) => ({
    tools: surface.tools().map(({ run: _run, ...listed }) => listedTask(listed)),
  }),
  "prompts/list": ({ surface }) => ({ prompts: surface.prompts().map(({ get: _get, ...listed }) => listed) }),
  "resources/list": () => ({ resources }),
  "resources/templates/list": () => ({ resourceTemplates }),
  "resources/read": readResource,
  "prompts/get": getPrompt,
  "completion/complete": complete,
  "tools/call": callTool,
};

/** Thrown through a tool by the era: nothing that the tool could have done wrong. */
export class Interruption extends Error {}

async function callTool(ctx) {
  const { name, arguments: args = {} } = ctx.params;
  const tool = ctx.surface.tools().find((candidate) => candidate.name === name);
  if (!tool) throw new RpcError(CODE.invalidParams, `Unknown tool: ${name}`);
  try {
    return await tool.run(args, ctx);
  } catch (error) {
    if (error instanceof RpcError || error instanceof Interruption) throw error;
    return { ...says(error.message), isError: true };
  }
}

export function handlerOf(methods, method, data) {
  if (Object.hasOwn(methods, method)) return methods[method];
  throw new RpcError(CODE.methodNotFound, `Method not found: ${method}`, { status: 404, data });
}

export function toRpcError(error) {
  return error instanceof RpcError ? error : new RpcError(CODE.internal, error.message);
}
