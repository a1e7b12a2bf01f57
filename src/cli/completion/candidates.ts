// Candidates for the word at the cursor: servers, tools, arguments, values and clients. From files, and for `approve` from running gateways; no server is started.

import { type ClientId, CLIENTS } from "../../formats/clients/index.ts";
import type { ServerConfig, ToolDefinition } from "../../model/index.ts";
import { enumOf, type Property, resolveSchema, shapeOf, typesOf } from "../arguments/json-schema.ts";
import type { CliIo } from "../context.ts";
import { workspaceFolder } from "../workspace/folder.ts";
import { loadSource, namesInFile } from "../workspace/source.ts";

const CLIENT_COMMANDS = new Set(["connect", "disconnect", "import"]);
/** Commands whose words are servers of the workspace. */
const SERVER_COMMANDS = new Set([
  ...["status", "why", "events", "logs", "restart", "remove", "install", "pin", "pins", "grant", "revoke"],
  ...["export", "update", "read"],
]);
/** Options whose value is a server, or a client. */
const SERVER_OPTIONS = new Set(["--only"]);
const CLIENT_OPTIONS = new Set(["--for"]);
const MAX = 500;

/** `words` are those after `portolan`; the last one is at the cursor, and may be empty. Never throws. */
export async function candidates(words: readonly string[], io: CliIo): Promise<readonly string[]> {
  try {
    const found = await find(words, io);
    const current = words.at(-1) ?? "";
    return [...new Set(found)]
      .filter((word) => word.startsWith(current) && !/[\n\t]/.test(word))
      .slice(0, MAX);
  } catch {
    // Completion shows no errors: the command itself does.
    return [];
  }
}

async function find(words: readonly string[], io: CliIo): Promise<readonly string[]> {
  const [command = "", ...rest] = words;
  const before = rest.slice(0, -1);
  const current = rest.at(-1) ?? "";
  const option = before.at(-1) ?? "";
  if (rest.length === 0) return [];
  if (command === "approve") return option === "--for" ? [] : waitingIds(words, io);
  if (CLIENT_OPTIONS.has(option)) return Object.keys(CLIENTS);
  const positional = plainWords(before);
  if (CLIENT_COMMANDS.has(command))
    return (Object.keys(CLIENTS) as ClientId[]).filter((id) => !positional.includes(id));
  const servers = (): Promise<readonly ServerConfig[]> => serversOf(words, io);
  if (SERVER_OPTIONS.has(option)) return (await servers()).map(({ alias }) => alias);
  if (SERVER_COMMANDS.has(command)) return (await servers()).map(({ alias }) => alias);
  if (command === "list") return listWords(positional, await servers());
  return command === "call" ? callWords(positional, before, current, await servers()) : [];
}

/** Words that are no options; the value of an option is one of them only if the option takes none. */
function plainWords(words: readonly string[]): string[] {
  return words.filter((word, index) => !word.startsWith("-") && !VALUE_OPTIONS.has(words[index - 1] ?? ""));
}

const VALUE_OPTIONS = new Set([
  ...["-w", "--workspace", "--timeout", "--start-timeout", "--max-time", "--wait", "--sandbox", "--out"],
  ...["--args", "--header", "--env", "--cwd", "--root", "--allow-net", "--allow-read", "--allow-write"],
]);

/** The ids of calls that wait for approval in running gateways. */
async function waitingIds(words: readonly string[], io: CliIo): Promise<readonly string[]> {
  const at = words.findIndex((word) => word === "-w" || word === "--workspace");
  const workspace = at < 0 ? undefined : words[at + 1];
  const { gateways } = await io.findGateways(workspaceFolder(io, { workspace }));
  const { withGateway } = await import("../control/find.ts");
  const found = gateways.map((gateway) => withGateway(gateway, (client) => client.approvals()));
  return (await Promise.all(found)).flat().map(({ id }) => id);
}

async function serversOf(words: readonly string[], io: CliIo): Promise<readonly ServerConfig[]> {
  const at = words.findIndex((word) => word === "-w" || word === "--workspace");
  const file = words.find((word, index) => index > 0 && /\.ya?ml$/.test(word) && index < words.length - 1);
  const workspace = at >= 0 ? words[at + 1] : file;
  const options = { workspace } as Parameters<typeof loadSource>[0]["options"];
  const { config } = await loadSource({ io, options });
  return config.servers.filter(({ enabled }) => enabled);
}

async function listWords(
  before: readonly string[],
  servers: readonly ServerConfig[],
): Promise<readonly string[]> {
  const [first] = before;
  if (first === undefined) return servers.map(({ alias }) => alias);
  const server = serverNamed(first, servers);
  return server === undefined || before.length > 1 ? [] : (await toolsOf(server)).map(({ name }) => name);
}

function serverNamed(word: string, servers: readonly ServerConfig[]): ServerConfig | undefined {
  return servers.find((server) => [server.alias, ...namesInFile(server)].includes(word));
}

async function callWords(
  positional: readonly string[],
  before: readonly string[],
  current: string,
  servers: readonly ServerConfig[],
): Promise<readonly string[]> {
  const [first, second] = positional.filter((word) => !/\.ya?ml$/.test(word));
  if (first === undefined) {
    const dotted = servers.find(({ alias }) => current.startsWith(`${alias}.`));
    if (dotted !== undefined) return (await toolsOf(dotted)).map(({ name }) => `${dotted.alias}.${name}`);
    const tools = await Promise.all(servers.map(toolsOf));
    return [...servers.map(({ alias }) => `${alias}.`), ...uniqueNames(tools)];
  }
  const server = serverNamed(first, servers);
  if (server !== undefined && (second === undefined || second.includes("=")))
    return (await toolsOf(server)).map(({ name }) => name);
  const tool = await toolNamed(server === undefined ? first : (second ?? ""), server, servers);
  return tool === undefined ? [] : argumentWords(tool, current, before);
}

/** Names that only one server has. */
function uniqueNames(tools: readonly (readonly ToolDefinition[])[]): string[] {
  const names = tools.flat().map(({ name }) => name);
  return names.filter((name) => names.indexOf(name) === names.lastIndexOf(name));
}

async function toolNamed(
  word: string,
  server: ServerConfig | undefined,
  servers: readonly ServerConfig[],
): Promise<ToolDefinition | undefined> {
  const found: ToolDefinition[] = [];
  for (const one of server === undefined ? servers : [server])
    for (const tool of await toolsOf(one))
      if ([tool.name, `${one.alias}.${tool.name}`, `mcp_${one.alias}_${tool.name}`].includes(word))
        found.push(tool);
  return found.length === 1 ? found[0] : undefined;
}

/** `key=` for every argument that is not given yet; after `key=`, its values. */
function argumentWords(
  { inputSchema }: ToolDefinition,
  current: string,
  before: readonly string[],
): string[] {
  const properties = [...shapeOf(inputSchema, inputSchema).properties.values()];
  const valuesFor = ({ schema }: Property): string[] => {
    const values = enumOf(resolveSchema(schema, inputSchema) ?? {});
    if (values !== undefined)
      return values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
    return typesOf(schema, inputSchema)?.has("boolean") === true ? ["true", "false"] : [];
  };
  const flag = before.at(-1)?.startsWith("--") === true ? before.at(-1)?.slice(2) : undefined;
  const flagged = properties.find(({ name }) => name === flag);
  if (flagged !== undefined) return valuesFor(flagged);
  const [, lead = "", key = ""] = /^(--)?([^=]+)=/.exec(current) ?? [];
  const assigned = properties.find(({ name }) => name === key);
  if (assigned !== undefined) return valuesFor(assigned).map((value) => `${lead}${key}=${value}`);
  const given = new Set(before.flatMap((word) => /^(?:--)?([^=]+)/.exec(word)?.[1] ?? []));
  const free = properties.filter(({ name }) => !given.has(name)).map(({ name }) => name);
  return current.startsWith("-") ? free.map((name) => `--${name}`) : free.map((name) => `${name}=`);
}

/** The tools of the last run, or of the mcpfile. */
async function toolsOf(server: ServerConfig): Promise<readonly ToolDefinition[]> {
  const { endpoint } = server;
  if (endpoint.transport === "invoke") return endpoint.server.tools.map(({ definition }) => definition);
  const { readKeptInventory } = await import("../../hub/index.ts");
  return (await readKeptInventory(server))?.tools ?? [];
}

/** The words of an unfinished command line: split at blanks outside of quotes. */
export function splitLine(line: string): string[] {
  const words = [""];
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] as string;
    const last = words.length - 1;
    if (character === "\\" && quote !== "'") words[last] += line[(at += 1)] ?? "";
    else if (quote !== "" ? character === quote : character === "'" || character === '"')
      quote = quote === "" ? character : "";
    else if (quote === "" && /\s/.test(character)) {
      if (words[last] !== "") words.push("");
    } else words[last] += character;
  }
  return words;
}
