// Tool calls of a script: finds the tool by its name in either spelling, and makes its input of the arguments.

import { PortolanError, unknownTool } from "../../errors/index.ts";
import { isObject, type JsonObject, type ToolDefinition } from "../../model/index.ts";

/** Finds a tool by its own name, or by the same words in snake_case, kebab-case or camelCase. */
export function findTool(name: string, tools: readonly ToolDefinition[], server: string): ToolDefinition {
  const exact = tools.find((tool) => tool.name === name);
  if (exact !== undefined) return exact;
  const words = toWords(name);
  const [found, ...others] = tools.filter((tool) => toWords(tool.name) === words);
  if (found !== undefined && others.length === 0) return found;
  const names = tools.map((tool) => tool.name);
  if (found !== undefined)
    throw new PortolanError("NAME_AMBIGUOUS", `${JSON.stringify(name)} matches several tools of ${server}.`, {
      server,
      hint: `Write one of ${[found, ...others].map((tool) => tool.name).join(", ")}.`,
    });
  throw unknownTool({ server, name, known: names });
}

/** `createIssue`, `create-issue` and `create_issue` are the same words. */
function toWords(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toLowerCase();
}

function listed(names: readonly string[]): string {
  return `${names.slice(0, 10).join(", ")}${names.length > 10 ? ", …" : ""}`;
}

/** One object names the arguments. Other arguments are given by position: the required ones first, as in the tool's schema. */
export function toInput(args: readonly unknown[], { name, inputSchema }: ToolDefinition): JsonObject {
  const [first] = args;
  if (args.length === 0) return {};
  if (args.length === 1 && isObject(first)) return first;
  const { properties, required } = inputSchema as { properties?: unknown; required?: unknown };
  const known = isObject(properties) ? Object.keys(properties) : [];
  const needed = Array.isArray(required) ? required.filter((one) => known.includes(one as string)) : [];
  const order = [...new Set([...(needed as string[]), ...known])];
  if (args.length > order.length)
    throw new PortolanError(
      "INPUT_INVALID",
      `The call has ${args.length} arguments, but ${name} takes ${order.length}.`,
      {
        tool: name,
        hint: order.length === 0 ? "Leave the arguments out." : `The arguments are ${listed(order)}.`,
      },
    );
  return Object.fromEntries(args.map((value, index) => [order[index], value])) as JsonObject;
}
