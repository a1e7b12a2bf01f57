// One server of a declaration from its checked fields: the model's words in place of the file's.

import type { DeclaredServer, Limits, Origin } from "../../model/index.ts";
import type { ObjectNode, Problems } from "../text/index.ts";
import { inferTransport, toEndpoint } from "./endpoint.ts";
import { toLaunchSettings } from "./launch.ts";
import { folderOf } from "./paths.ts";
import type { CheckedDefaults, CheckedServer } from "./server-fields.ts";

/** What a declaration says for servers that say nothing themselves. */
export type ServerDefaults = Pick<
  DeclaredServer,
  "era" | "start" | "idleStopMs" | "limits" | "descriptionPrefix"
>;

export interface ServerContext {
  readonly alias: string;
  readonly origin: Origin;
  readonly node: ObjectNode;
  readonly problems: Problems;
  readonly enabled: boolean;
}

/** Nothing when it cannot be used; the reasons are among the problems. */
export function toDeclaredServer(server: CheckedServer, context: ServerContext): DeclaredServer | undefined {
  const { alias, origin, node, problems } = context;
  const transport = server.transport ?? inferTransport(server);
  if (transport === undefined) return undefined;
  const endpoint = toEndpoint(server, transport, node, problems);
  // What is reached at an address runs elsewhere.
  const isProgram = endpoint.transport === "stdio" || endpoint.program !== undefined;
  const launch = isProgram ? toLaunchSettings(server, node, folderOf(origin.file), problems) : undefined;
  if (problems.within(node)) return undefined;
  return {
    alias,
    origin,
    endpoint,
    enabled: context.enabled && server.enabled !== false,
    ...toDefaults(server),
    ...optional("allowTools", server.tool_allowlist),
    ...optional("blockTools", server.tool_blocklist),
    ...optional("resourceTools", server.resources_as_tools),
    ...optional("promptTools", server.prompts_as_tools),
    ...optional(
      "context",
      server.context?.map(({ uri, max_bytes }) => ({ uri, maxBytes: max_bytes })),
    ),
    ...optional("tags", server.tags),
    ...optional("maxResultBytes", server.max_result_bytes),
    ...optional("lanes", server.lanes),
    ...optional("launch", launch),
  };
}

export function toDefaults(
  fields: CheckedDefaults & Pick<CheckedServer, "description_prefix" | "max_message_bytes">,
): ServerDefaults {
  const limits: Partial<Limits> = {
    ...optional("startTimeoutMs", fields.timeouts?.start),
    ...optional("requestTimeoutMs", fields.timeouts?.request),
    ...optional("maxRequestMs", fields.timeouts?.max),
    ...optional("maxMessageBytes", fields.max_message_bytes),
  };
  return {
    ...optional("era", fields.era),
    ...optional("start", fields.start),
    ...optional("idleStopMs", fields.idle_stop),
    ...optional("descriptionPrefix", fields.description_prefix),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}

/** The server with what it leaves open filled in; limits one by one. */
export function withDefaults(server: DeclaredServer, defaults: ServerDefaults): DeclaredServer {
  const limits = { ...defaults.limits, ...server.limits };
  return { ...defaults, ...server, ...(Object.keys(limits).length === 0 ? {} : { limits }) };
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: V });
}
