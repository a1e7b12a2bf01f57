// Server config from the fields of one server in a file.

import { join } from "node:path";
import type { ServerConfig, LaunchSettings, Limits, Origin } from "../../model/index.ts";
import { nodeAt, type ObjectNode } from "../document/index.ts";
import type { ReadContext } from "../schema-builder/index.ts";
import { definedOnly, filled } from "./defined.ts";
import { inferTransport, toEndpoint } from "./endpoint.ts";
import { noteRelaxedSandbox } from "./sandbox-schema.ts";
import type { ServerValue } from "./server-schema.ts";

/** The lock file stands beside the config file. */
export const LOCK_NAME = "portolan.lock";

/** Settings that apply to servers without settings of their own. */
export type ServerDefaults = Pick<
  ServerConfig,
  "era" | "start" | "idleStopMs" | "limits" | "descriptionPrefix"
>;

export interface ServerContext extends ReadContext {
  readonly alias: string;
  readonly origin: Origin;
  readonly node: ObjectNode;
  readonly enabled: boolean;
}

/** Returns undefined when the server cannot be used; the reasons are among the diagnostics. */
export function toServerConfig(server: ServerValue, context: ServerContext): ServerConfig | undefined {
  const { alias, origin, node, diagnostics } = context;
  const transport = server.transport ?? inferTransport(server);
  if (transport === undefined) return undefined;
  const endpoint = toEndpoint(server, transport, node, diagnostics, {
    file: join(context.folder, LOCK_NAME),
    server: alias,
  });
  const runsHere = endpoint.transport === "stdio" || endpoint.program !== undefined;
  const launch = runsHere ? toLaunchSettings(server, context) : undefined;
  if (diagnostics.hasErrorIn(node)) return undefined;
  const { allowTools, blockTools, resourceTools, promptTools, tags, maxResultBytes, shared, lanes, pins } =
    server;
  return definedOnly<ServerConfig>({
    alias,
    origin,
    endpoint,
    enabled: context.enabled && server.enabled !== false,
    ...toDefaults(server),
    ...{ allowTools, blockTools, resourceTools, promptTools, tags, maxResultBytes },
    ...{ shared, lanes, launch, pins },
    context: server.context,
  });
}

function toLaunchSettings(server: ServerValue, context: ServerContext): LaunchSettings | undefined {
  const { sandbox, install, versionCheck, requires } = server;
  if (sandbox !== undefined) noteRelaxedSandbox(sandbox, nodeAt(context.node, "sandbox"), context);
  return filled(definedOnly<LaunchSettings>({ sandbox, install, versionCheck, requires }));
}

type DefaultFields = Pick<
  ServerValue,
  "era" | "start" | "idleStopMs" | "timeouts" | "descriptionPrefix" | "maxMessageBytes"
>;

export function toDefaults(fields: DefaultFields): ServerDefaults {
  const { era, start, idleStopMs, descriptionPrefix, timeouts, maxMessageBytes } = fields;
  const limits: Partial<Limits> = definedOnly<Partial<Limits>>({ ...timeouts, maxMessageBytes });
  return definedOnly<ServerDefaults>({ era, start, idleStopMs, descriptionPrefix, limits: filled(limits) });
}

/** Fills in the settings that the server leaves open; limits one by one. */
export function withDefaults(server: ServerConfig, defaults: ServerDefaults): ServerConfig {
  const limits = filled({ ...defaults.limits, ...server.limits });
  return { ...defaults, ...server, ...(limits === undefined ? {} : { limits }) };
}
