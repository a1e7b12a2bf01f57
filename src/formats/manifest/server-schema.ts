// Schema of one server, as a bridge manifest and portolan.yaml both write it.

import { didYouMean } from "../../errors/index.ts";
import { quoted } from "../document/index.ts";
import {
  duration,
  flag,
  type Input,
  integer,
  list,
  map,
  object,
  oneOf,
  partialObject,
  text,
  union,
  type Value,
} from "../schema-builder/index.ts";
import { AUTH } from "./auth-schema.ts";
import { LAUNCH_FIELDS } from "./launch-schema.ts";
import { SANDBOX } from "./sandbox-schema.ts";

const REFERENCES = "Can contain ${NAME} references, which Portolan resolves when the server starts.";

/** A text in which `5` and `true` may stand without quotes. */
const WORD = text("", { scalars: true, empty: true });

export const TRANSPORT = oneOf(
  "MCP transport of the server. http is another name for streamable-http.",
  ["stdio", "sse", "streamable-http", "websocket"],
  { synonyms: { http: "streamable-http" } },
);
export type FileTransport = Value<typeof TRANSPORT>;

/** Settings that a file can make once for many servers. */
export const DEFAULT_FIELDS = {
  era: oneOf(
    "MCP protocol era: legacy (revisions up to 2025-11-25), modern (2026-07-28), or auto (default). With auto, Portolan prefers modern; if the server supports both, a gateway uses the era of each client.",
    ["auto", "legacy", "modern"],
  ),
  start: oneOf(
    "When the server starts. eager (default): with the workspace. lazy: with the first call; if Portolan does not know its tools yet, it also starts once to list them.",
    ["eager", "lazy"],
  ),
  idleStopMs: duration(
    "Portolan stops the server after this time without use, such as 10m. Default: 0, never.",
    {
      zero: true,
    },
  ).key("idle_stop"),
  timeouts: partialObject("Time limits for the server. A number without a unit is in seconds.", {
    startTimeoutMs: duration(
      "Maximum time from the start of the server to the end of the MCP handshake. Default: 60s.",
    ).key("start"),
    requestTimeoutMs: duration(
      "Maximum time that a request waits without a response or a progress notification. Default: 60s.",
    ).key("request"),
    maxRequestMs: duration("Maximum total time of a request, even if it reports progress. Default: 1h.").key(
      "max",
    ),
  }),
};

export const DESCRIPTION_PREFIX = union(
  "Prefix of tool descriptions. true: [MCP: <alias>]. Text: this text. Default: no prefix.",
  [flag(), text()],
);

export const NAMING = text(
  "Template for tool names, with the placeholders {alias} and {tool}. Default: mcp_{alias}_{tool}.",
  {
    pattern: "^(?:[A-Za-z0-9_-]|\\{alias\\}|\\{tool\\})*\\{tool\\}(?:[A-Za-z0-9_-]|\\{alias\\}|\\{tool\\})*$",
  },
).transform((template, node, { diagnostics }) => {
  const placeholders = [...template.matchAll(/\{([^{}]*)\}/g)].map(([, name = ""]) => name);
  const unknown = placeholders.find((name) => name !== "alias" && name !== "tool");
  const forbidden = template.replace(/\{[^{}]*\}/g, "").match(/[^A-Za-z0-9_-]/u)?.[0];
  if (unknown !== undefined)
    diagnostics.add(
      node,
      `naming has an unknown placeholder ${quoted(`{${unknown}}`)}`,
      didYouMean(unknown, ["alias", "tool"]) ?? "The placeholders are {alias} and {tool}.",
    );
  else if (!placeholders.includes("tool"))
    diagnostics.add(node, "naming must contain {tool}", "Write for example mcp_{alias}_{tool}.");
  if (forbidden !== undefined)
    diagnostics.add(
      node,
      `naming contains ${quoted(forbidden)}, which tool names cannot have`,
      'Use letters, digits, "_" and "-" around {alias} and {tool}.',
    );
  return template;
});

export const PINS = oneOf(
  "Comparison of tool definitions with the approved ones in portolan.lock. enforce: hide tools that differ or are not approved. warn: only report them. off: no comparison. Default: enforce for servers that have pins in portolan.lock, otherwise off.",
  ["enforce", "warn", "off"],
);

export const SERVER_FIELDS = {
  transport: TRANSPORT,
  command: text("Program to run for the transport stdio: a name on the PATH, or a path."),
  npm: text("npm package to run in place of command, such as @scope/server@^1.2."),
  bin: text("Executable of the npm package to run. Needed if the package has several executables."),
  docker: text("Container image to run in place of command, such as name@sha256:<digest>."),
  port: integer(
    "Port of the server inside the container. Only for docker with the transport streamable-http or sse.",
    {
      minimum: 1,
      maximum: 65_535,
    },
  ),
  path: text(
    "URL path of the MCP endpoint. Only for docker with the transport streamable-http or sse. Default: /mcp, or /sse for sse.",
  ),
  args: list(`Command-line arguments of the program, one list item for each argument. ${REFERENCES}`, WORD),
  url: text(`URL of the server, for all transports except stdio. ${REFERENCES}`),
  headers: map(`HTTP headers that Portolan sends with each request to the server. ${REFERENCES}`, WORD),
  auth: AUTH,
  env: map(
    `Environment variables of the program. Portolan adds them to a minimal environment, and does not pass on its own variables. ${REFERENCES}`,
    WORD,
  ),
  cwd: text("Working folder of the program, relative to this file. Default: the folder of the workspace."),
  enabled: flag("If false, Portolan ignores the server. Default: true."),
  sandbox: SANDBOX,
  ...LAUNCH_FIELDS,
  ...DEFAULT_FIELDS,
  allowTools: list(
    "Tools to offer, by the server's own tool names. * matches any text. Default: all tools.",
    text(),
  ).key("tool_allowlist"),
  blockTools: list(
    "Tools to hide, by the server's own tool names. * matches any text. Takes precedence over tool_allowlist.",
    text(),
  ).key("tool_blocklist"),
  pins: PINS,
  descriptionPrefix: DESCRIPTION_PREFIX,
  resourceTools: flag("If true, Portolan also offers the server's resources as tools. Default: false.").key(
    "resources_as_tools",
  ),
  promptTools: flag("If true, Portolan also offers the server's prompts as tools. Default: false.").key(
    "prompts_as_tools",
  ),
  context: list(
    "Resources that workspace.context() of the library reads, for the context of a model.",
    object("", {
      uri: text("URI of a resource, or a pattern with *.").required(),
      maxBytes: integer("Maximum number of bytes to read from each resource.", { minimum: 1 }).default(
        65_536,
      ),
    }),
  ),
  tags: list(
    "Labels of the server, for rules of gateway callers and for gateway addresses.",
    text("", { scalars: true }),
  ),
  maxMessageBytes: integer(
    "Maximum size of a message from the server, in bytes. Default: 10485760 (10 MiB).",
    { minimum: 1 },
  ),
  maxResultBytes: integer(
    "Maximum size of a tool result that the gateway passes on completely, in bytes. 0: no limit. Default: gateway.max_result_bytes.",
    { minimum: 0 },
  ),
  shared: flag(
    "If false, the server has its own process or connection. Default: true, servers with the same command or URL, environment, sandbox and timeouts share one process or connection.",
  ),
  lanes: integer(
    "Maximum number of additional processes that the gateway opens for one caller that supports server requests, such as elicitation. All callers together get a quarter more. Default: 15. For Streamable HTTP servers: the maximum number of additional sessions for all callers together. Default: 256.",
    { minimum: 0 },
  ),
};

const MCPFILE_HINT =
  "Remove this server: Portolan reads the mcpfile.yaml in the folder of portolan.yaml as a server of its own. For an mcpfile of another name, list it below the key sources. In a program, open the folder: openWorkspace(folder).";

/** A bridge manifest has no lock file beside it, so only portolan.yaml names packages of registries. */
export const SERVER = partialObject(
  "",
  {
    package: text(
      "Package of a registry to run in place of command, such as @user/name@^1.0.0, or mcpb: with the path or URL of a bundle. portolan.lock pins its version and hash.",
    ),
    ...SERVER_FIELDS,
  },
  { unknownKeys: { mcpfile: MCPFILE_HINT } },
);

/** The fields of one server that could be read. */
export type ServerValue = Value<typeof SERVER>;
/** One server of `openWorkspace({ servers })`, with the fields of portolan.yaml. */
export interface ServerFields extends Input<typeof SERVER> {}
