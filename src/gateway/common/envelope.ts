// Request metadata (`_meta`) of the modern protocol: parsed, checked, and removed before the request goes to a server.

import {
  isObject,
  META,
  MODERN_REVISION,
  RPC,
  type Implementation,
  type JsonObject,
  type LogLevel,
} from "../../model/index.ts";
import { isLogLevel } from "./log-levels.ts";
import { RpcRefusal } from "./messages.ts";

export interface Envelope {
  readonly capabilities: JsonObject;
  readonly clientInfo: Implementation | undefined;
  readonly logLevel: LogLevel | undefined;
  readonly progressToken: string | number | undefined;
}

const CLIENT_KEYS = new Set<string>([
  META.PROTOCOL_VERSION,
  META.CLIENT_INFO,
  META.CLIENT_CAPABILITIES,
  META.LOG_LEVEL,
  "progressToken",
]);

/** True if a message declares its protocol revision, as only modern messages do. */
export function declaresRevision(params: JsonObject | undefined): boolean {
  return isObject(params?._meta) && params._meta[META.PROTOCOL_VERSION] !== undefined;
}

export function readEnvelope(params: JsonObject | undefined): Envelope {
  const meta = params?._meta;
  if (!isObject(meta)) throw invalidMeta("_meta is missing");
  const revision = meta[META.PROTOCOL_VERSION];
  if (typeof revision !== "string") throw invalidMeta(`_meta has no ${META.PROTOCOL_VERSION}`);
  if (revision !== MODERN_REVISION) {
    throw new RpcRefusal(RPC.UNSUPPORTED_VERSION, `Unsupported protocol version: ${revision.slice(0, 100)}`, {
      data: { supported: [MODERN_REVISION], requested: revision },
    });
  }
  const capabilities = meta[META.CLIENT_CAPABILITIES];
  if (!isObject(capabilities)) throw invalidMeta(`_meta has no ${META.CLIENT_CAPABILITIES}`);
  const clientInfo = meta[META.CLIENT_INFO];
  const logLevel = meta[META.LOG_LEVEL];
  if (logLevel !== undefined && !isLogLevel(logLevel))
    throw invalidMeta(`${META.LOG_LEVEL} is not a log level`);
  return {
    capabilities,
    clientInfo: readClientInfo(clientInfo),
    logLevel,
    progressToken: progressTokenOf(meta),
  };
}

/** Name, title and version of a client are texts of at most 200 characters, because logs and the console show them. */
export function readClientInfo(value: unknown): Implementation | undefined {
  if (!isObject(value)) return undefined;
  const { name, title, version } = value;
  if (isShort(name) && isShort(version) && (title === undefined || isShort(title)))
    return value as Implementation;
  return {
    ...value,
    name: shorten(name) ?? UNNAMED.name,
    title: shorten(title),
    version: shorten(version) ?? UNNAMED.version,
  };
}

/** A client that does not say who it is. */
export const UNNAMED = { name: "unnamed", version: "unknown" } as const;

const MAX_CLIENT_CHARS = 200;

function isShort(value: unknown): boolean {
  return typeof value === "string" && value.length <= MAX_CLIENT_CHARS;
}

function shorten(value: unknown): string | undefined {
  return typeof value === "string" ? value.slice(0, MAX_CLIENT_CHARS) : undefined;
}

export function progressTokenOf(meta: unknown): string | number | undefined {
  const token = isObject(meta) ? meta.progressToken : undefined;
  return typeof token === "string" || typeof token === "number" ? token : undefined;
}

/** The params without the metadata between client and gateway; the rest of `_meta`, such as trace context, goes to the server. */
export function withoutEnvelope(params: JsonObject | undefined): JsonObject {
  if (params?._meta === undefined) return params ?? {};
  const { _meta, ...others } = params;
  if (!isObject(_meta)) return others;
  let kept: JsonObject | undefined;
  for (const key in _meta) if (!CLIENT_KEYS.has(key)) (kept ??= {})[key] = _meta[key];
  return kept === undefined ? others : { ...others, _meta: kept };
}

function invalidMeta(reason: string): RpcRefusal {
  return new RpcRefusal(RPC.INVALID_PARAMS, `Invalid request: ${reason}`, { status: 400 });
}
