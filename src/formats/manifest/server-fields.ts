// The fields of one server, as a bridge manifest and portolan.yaml both write them.

import type { EraPin } from "../../model/index.ts";
import type { ObjectShape, Shape } from "../text/index.ts";
import { type CheckedLaunch, LAUNCH_FIELDS } from "./launch-shape.ts";
import { type CheckedSandbox, SANDBOX_SHAPE } from "./sandbox-shape.ts";

export const TRANSPORTS: readonly string[] = ["stdio", "sse", "streamable-http", "websocket"];

const REFERENCES = "may hold ${NAME} references, resolved when the server starts";

const TIMEOUTS: ObjectShape = {
  type: "object",
  description: "How long this server may take.",
  fields: {
    start: { type: "duration", description: "From start until it answers." },
    request: { type: "duration", description: "A request without answer or progress for this long fails." },
    max: { type: "duration", description: "A request fails after this long, whatever progress it reports." },
  },
};

const PATTERNS: Shape = { type: "list", items: { type: "string" } };

/** What can be said once for many servers. */
export const DEFAULT_FIELDS: Readonly<Record<string, Shape>> = {
  era: {
    type: "string",
    enum: ["auto", "legacy", "modern"],
    description:
      "The protocol era of the connection. auto (the default) prefers the modern era, and uses the era of each gateway client where the server speaks both.",
  },
  start: {
    type: "string",
    enum: ["eager", "lazy"],
    description: "eager: started with the workspace; lazy: started by the first call.",
  },
  idle_stop: {
    type: "duration",
    zero: true,
    description: "A server that nobody used for this long is stopped; 0 means never.",
  },
  timeouts: TIMEOUTS,
};

export const DESCRIPTION_PREFIX: Shape = {
  type: "union",
  options: [{ type: "boolean" }, { type: "string" }],
  description: "true puts [MCP: alias] before descriptions of tools, a text puts that text there.",
};

export const SERVER_FIELDS: Readonly<Record<string, Shape>> = {
  transport: {
    type: "string",
    enum: TRANSPORTS,
    synonyms: { http: "streamable-http" },
    description: "How the server is reached.",
  },
  command: { type: "string", description: "The program to run, for stdio." },
  npm: {
    type: "string",
    description: "A package of npm to run in place of a command, such as @scope/server@^1.2.",
  },
  bin: { type: "string", description: "For npm: which program of the package, when it has several." },
  docker: {
    type: "string",
    description: "A container image to run in place of a command, such as name@sha256:….",
  },
  port: {
    type: "number",
    integer: true,
    minimum: 1,
    maximum: 65_535,
    description: "For docker with transport http or sse: the port that it serves inside of its container.",
  },
  path: {
    type: "string",
    description: "For docker with transport http or sse: the path of its endpoint (default /mcp, or /sse).",
  },
  args: {
    type: "list",
    items: { type: "string", scalars: true, empty: true },
    description: `Its arguments, one per word; ${REFERENCES}.`,
  },
  url: { type: "string", description: `The address, for the other transports; ${REFERENCES}.` },
  headers: {
    type: "map",
    values: { type: "string", scalars: true, empty: true },
    description: `HTTP headers; ${REFERENCES}.`,
  },
  env: {
    type: "map",
    values: { type: "string", scalars: true, empty: true },
    description: `Environment of the program, added to a minimal one; ${REFERENCES}.`,
  },
  cwd: { type: "string", description: "The folder to run in; relative to this file." },
  enabled: { type: "boolean", description: "false leaves the server out." },
  sandbox: SANDBOX_SHAPE,
  ...LAUNCH_FIELDS,
  ...DEFAULT_FIELDS,
  tool_allowlist: {
    ...PATTERNS,
    description: "Only these tools are offered, by the server's own names; * stands for anything.",
  },
  tool_blocklist: { ...PATTERNS, description: "These tools are left out, even when allowed." },
  description_prefix: DESCRIPTION_PREFIX,
  resources_as_tools: { type: "boolean", description: "Offer its resources as tools." },
  prompts_as_tools: { type: "boolean", description: "Offer its prompts as tools." },
  context: {
    type: "list",
    description: "Resources that are read before a turn.",
    items: {
      type: "object",
      fields: {
        uri: {
          type: "string",
          required: true,
          description: "the URI of a resource, or a pattern with *",
        },
        max_bytes: {
          type: "number",
          integer: true,
          minimum: 1,
          default: 65_536,
          description: "How much of it is read.",
        },
      },
    },
  },
  tags: { type: "list", items: { type: "string", scalars: true }, description: "Words to find it by." },
  max_message_bytes: {
    type: "number",
    integer: true,
    minimum: 1,
    description: "The largest message accepted from the server.",
  },
  max_result_bytes: {
    type: "number",
    integer: true,
    minimum: 0,
    description: "The largest result that the gateway passes on whole; 0 is any.",
  },
  lanes: {
    type: "number",
    integer: true,
    minimum: 0,
    description:
      "How many more processes of this server (over HTTP: sessions) the gateway may use at once for clients that answer server requests (default 15; over HTTP 256).",
  },
};

export interface CheckedDefaults {
  readonly era?: EraPin;
  readonly start?: "eager" | "lazy";
  readonly idle_stop?: number;
  readonly timeouts?: { readonly start?: number; readonly request?: number; readonly max?: number };
}

/** The fields after the check: durations in milliseconds, `http` already called by its own name. */
export interface CheckedServer extends CheckedDefaults, CheckedLaunch {
  readonly transport?: string;
  readonly command?: string;
  readonly npm?: string;
  readonly bin?: string;
  readonly docker?: string;
  readonly port?: number;
  readonly path?: string;
  readonly sandbox?: CheckedSandbox;
  readonly args?: readonly string[];
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly enabled?: boolean;
  readonly tool_allowlist?: readonly string[];
  readonly tool_blocklist?: readonly string[];
  readonly description_prefix?: boolean | string;
  readonly resources_as_tools?: boolean;
  readonly prompts_as_tools?: boolean;
  readonly context?: readonly { readonly uri: string; readonly max_bytes: number }[];
  readonly tags?: readonly string[];
  readonly max_message_bytes?: number;
  readonly max_result_bytes?: number;
  readonly lanes?: number;
}
