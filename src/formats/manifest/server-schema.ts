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

const REFERENCES = "may hold ${NAME} references, resolved when the server starts";

/** A text in which `5` and `true` may stand without quotes. */
const WORD = text("", { scalars: true, empty: true });

export const TRANSPORT = oneOf(
  "How the server is reached.",
  ["stdio", "sse", "streamable-http", "websocket"],
  { synonyms: { http: "streamable-http" } },
);
export type FileTransport = Value<typeof TRANSPORT>;

/** Settings that a file can make once for many servers. */
export const DEFAULT_FIELDS = {
  era: oneOf(
    "The protocol era of the connection. auto (the default) prefers the modern era, and uses the era of each gateway client where the server speaks both.",
    ["auto", "legacy", "modern"],
  ),
  start: oneOf("eager: started with the workspace; lazy: started by the first call.", ["eager", "lazy"]),
  idleStopMs: duration("A server that nobody used for this long is stopped; 0 means never.", {
    zero: true,
  }).key("idle_stop"),
  timeouts: partialObject("How long this server may take.", {
    startTimeoutMs: duration("From start until it answers.").key("start"),
    requestTimeoutMs: duration("A request without answer or progress for this long fails.").key("request"),
    maxRequestMs: duration("A request fails after this long, whatever progress it reports.").key("max"),
  }),
};

export const DESCRIPTION_PREFIX = union(
  "true puts [MCP: alias] before descriptions of tools, a text puts that text there.",
  [flag(), text()],
);

export const NAMING = text("How tools are named, for example mcp_{alias}_{tool}.", {
  pattern: "^(?:[A-Za-z0-9_-]|\\{alias\\}|\\{tool\\})*\\{tool\\}(?:[A-Za-z0-9_-]|\\{alias\\}|\\{tool\\})*$",
}).transform((template, node, { diagnostics }) => {
  const placeholders = [...template.matchAll(/\{([^{}]*)\}/g)].map(([, name = ""]) => name);
  const unknown = placeholders.find((name) => name !== "alias" && name !== "tool");
  const forbidden = template.replace(/\{[^{}]*\}/g, "").match(/[^A-Za-z0-9_-]/u)?.[0];
  if (unknown !== undefined)
    diagnostics.add(
      node,
      `naming has an unknown placeholder ${quoted(`{${unknown}}`)}`,
      didYouMean(unknown, ["alias", "tool"]) ?? "There are {alias} and {tool}.",
    );
  else if (!placeholders.includes("tool"))
    diagnostics.add(node, "naming must hold {tool}", "Write for example mcp_{alias}_{tool}.");
  if (forbidden !== undefined)
    diagnostics.add(
      node,
      `naming contains ${quoted(forbidden)}, which tool names cannot have`,
      'Use letters, digits, "_" and "-" around {alias} and {tool}.',
    );
  return template;
});

export const PINS = oneOf(
  "Whether tools are compared with the approved definitions in portolan.lock. enforce withholds other tools, warn reports them, off compares nothing. Default: a server with pins is enforced.",
  ["enforce", "warn", "off"],
);

export const SERVER_FIELDS = {
  transport: TRANSPORT,
  command: text("The program to run, for stdio."),
  npm: text("A package of npm to run in place of a command, such as @scope/server@^1.2."),
  bin: text("For npm: which program of the package, when it has several."),
  docker: text("A container image to run in place of a command, such as name@sha256:…."),
  port: integer("For docker with transport http or sse: the port that it serves inside of its container.", {
    minimum: 1,
    maximum: 65_535,
  }),
  path: text("For docker with transport http or sse: the path of its endpoint (default /mcp, or /sse)."),
  args: list(`Its arguments, one per word; ${REFERENCES}.`, WORD),
  url: text(`The address, for the other transports; ${REFERENCES}.`),
  headers: map(`HTTP headers; ${REFERENCES}.`, WORD),
  auth: AUTH,
  env: map(`Environment of the program, added to a minimal one; ${REFERENCES}.`, WORD),
  cwd: text("The folder to run in; relative to this file."),
  enabled: flag("false leaves the server out."),
  sandbox: SANDBOX,
  ...LAUNCH_FIELDS,
  ...DEFAULT_FIELDS,
  allowTools: list(
    "Only these tools are offered, by the server's own names; * stands for anything.",
    text(),
  ).key("tool_allowlist"),
  blockTools: list("These tools are left out, even when allowed.", text()).key("tool_blocklist"),
  pins: PINS,
  descriptionPrefix: DESCRIPTION_PREFIX,
  resourceTools: flag("Offer its resources as tools.").key("resources_as_tools"),
  promptTools: flag("Offer its prompts as tools.").key("prompts_as_tools"),
  context: list(
    "Resources that are read before a turn.",
    object("", {
      uri: text("the URI of a resource, or a pattern with *").required(),
      maxBytes: integer("How much of it is read.", { minimum: 1 }).default(65_536),
    }),
  ),
  tags: list("Words to find it by.", text("", { scalars: true })),
  maxMessageBytes: integer("The largest message accepted from the server.", { minimum: 1 }),
  maxResultBytes: integer("The largest result that the gateway passes on whole; 0 is any.", { minimum: 0 }),
  shared: flag(
    "false: a process or connection of its own. By default, servers with the same command or URL, environment, sandbox and timeouts share one.",
  ),
  lanes: integer(
    "How many more processes of this server (over HTTP: sessions) the gateway may use at once for clients that answer server requests (default 15; over HTTP 256).",
    { minimum: 0 },
  ),
};

/** A bridge manifest has no lock file beside it, so only portolan.yaml names packages of registries. */
export const SERVER = partialObject("", {
  package: text(
    "A package of a registry to run in place of a command, such as @user/name@^1.0.0; or mcpb: and a bundle. portolan.lock has its version and hash.",
  ),
  ...SERVER_FIELDS,
});

/** The fields of one server that could be read. */
export type ServerValue = Value<typeof SERVER>;
/** One server as portolan.yaml writes it. */
export type ServerFields = Input<typeof SERVER>;
