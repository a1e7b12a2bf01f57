// Schema of a DRIVER.md of kind mcp: the fields of every driver, and those about its MCP server.

import {
  LEGACY_REVISIONS,
  MODERN_REVISION,
  parseJsonPath,
  type SandboxConfig,
} from "../../../model/index.ts";
import { nodeAt, quoted, toLabel, toPlain } from "../../document/index.ts";
import {
  createFsSchema,
  definedOnly,
  HOST,
  SHARED_SANDBOX_FIELDS,
  toAbsolutePath,
} from "../../manifest/index.ts";
import {
  flag,
  integer,
  list,
  map,
  object,
  oneOf,
  partialObject,
  text,
  union,
  type Value,
} from "../../schema-builder/index.ts";
import {
  ANY_DRIVER,
  BINDING_FIELDS,
  checkTargets,
  DRIVER_FIELDS,
  IMPLEMENTS_DESCRIPTION,
} from "./driver-schema.ts";
import { SERVER } from "./server-schema.ts";
import { METADATA_DESCRIPTION, texts } from "./shared-fields.ts";
import { PROMPTS, RESOURCES } from "./surfaces-schema.ts";

/** `implements[].metadata.mcp`. */
const MCP_BINDING = object("MCP tool that serves the contract.", {
  toolName: text("Name of the tool at the MCP server.").required(),
  argumentMapping: map(
    "Names of tool arguments by names of contract inputs, if they differ. Other inputs keep their names.",
    text(),
  ).transform((mapping, node, context) => {
    checkTargets(node, "argument", context);
    return mapping;
  }),
  resultExtract: text(
    "JSONPath of the contract's output in the output of the tool, such as $.contents. $ is the whole output.",
  )
    .default("$")
    .transform((written, node, { diagnostics }) => {
      const parsed = parseJsonPath(written);
      if (!parsed.ok)
        diagnostics.add(
          node,
          `${toLabel(node.path)} ${quoted(written)} is not a path: ${parsed.message}`,
          parsed.hint,
        );
      return written;
    }),
});

const METADATA = object(METADATA_DESCRIPTION, { mcp: MCP_BINDING }, { open: true })
  .withJsonSchema((schema) => ({ ...schema, required: ["mcp"] }))
  .transform(({ mcp }, node) => {
    const { mcp: _mcp, ...others } = toPlain(node) as Readonly<Record<string, unknown>>;
    return { mcp, others };
  });

const BINDING = partialObject(
  "",
  { ...BINDING_FIELDS, metadata: METADATA },
  {
    check(_, { entry, node, diagnostics }) {
      const metadata = entry("metadata")?.value;
      const mcp = nodeAt(metadata, "mcp");
      if (mcp !== undefined && mcp.kind !== "null") return;
      diagnostics.add(
        mcp ?? node,
        `${toLabel(node.path)}.metadata.mcp is missing: it must name the MCP tool that serves the contract`,
        "Write metadata: { mcp: { tool_name: <the tool's name> } }.",
      );
    },
  },
).withJsonSchema((schema) => ({ ...schema, required: ["tool", "version", "metadata"] }));

const REVISIONS: readonly string[] = [MODERN_REVISION, ...LEGACY_REVISIONS];

/** A published revision, or the beginning of exactly one. */
const PROTOCOL_VERSION = text(
  "MCP revision to offer to the server, such as 2025-06-18. Default: the newest revision that both support.",
  { scalars: true },
).transform((written, node, { diagnostics }) => {
  const matching = REVISIONS.filter((known) => known === written || known.startsWith(`${written}-`));
  const [revision] = matching;
  if (revision !== undefined && matching.length === 1) return revision;
  if (revision === undefined)
    diagnostics.add(
      node,
      `protocol_version ${quoted(written)} is not a published version of the protocol`,
      `Write one of ${REVISIONS.join(", ")}, or the beginning of one, such as 2025-03.`,
    );
  else
    diagnostics.add(
      node,
      `protocol_version ${quoted(written)} is the beginning of several published versions`,
      `Write one of ${matching.join(", ")}.`,
    );
  return undefined;
});

const PROGRAMS = union("", [flag(), texts("")]);

const EXEC = object("Rules for other programs that the server starts.", {
  allow: PROGRAMS.describe(
    "Programs that the server can run, besides itself. false: none. Default: all programs of the system.",
  ),
  spawn: PROGRAMS.describe(
    "Programs that the server can run, in addition to those in allow. false: the server cannot start other processes.",
  ),
}).transform(({ allow, spawn }): SandboxConfig["exec"] => {
  const programs = [allow, spawn].filter((one) => typeof one === "object").flat();
  const none = allow === false || spawn === false;
  if (none || (typeof spawn === "object" && programs.length === 0)) return { spawn: false };
  const named = typeof allow === "object" || typeof spawn === "object";
  return definedOnly({ allow: named ? programs : undefined, spawn: spawn === true ? true : undefined });
});

/** The sandbox rules that a driver requests. The workspace decides how strictly they are enforced. */
const SANDBOX = object(
  "Sandbox rules of the server, in addition to the default profile.",
  {
    mode: oneOf(
      "Sandbox mode that the driver requests. warn requests that the server starts even if a rule cannot be enforced. It has no effect until contracts.sandbox in portolan.yaml, or the option --sandbox, sets warn for the driver. Default: enforce.",
      ["enforce", "warn"],
    ),
    network: object("Same as the top-level field network.", {
      egress: list("Hosts that the server can reach. Without a port: ports 80 and 443.", HOST),
      ingress: texts("Ignored by Portolan."),
    }),
    // A folder stands for everything in it, so that `/**` at the end of a path changes nothing.
    fs: createFsSchema((written, node, context) =>
      toAbsolutePath(written.replace(/(?<=.)\/\*\*$/, ""), node, context),
    ),
    exec: EXEC,
    tty: object("Not supported: a server has no terminal.", {
      required: flag("Must not be true, because a server has no terminal."),
    }),
    ...SHARED_SANDBOX_FIELDS,
  },
  {
    check({ tty }, at) {
      if (tty?.required === true) at.error("tty", "a server has no terminal", "Remove tty.");
    },
  },
);

export const MCP_FIELDS = {
  ...DRIVER_FIELDS,
  kind: oneOf("Kind of driver: mcp, an MCP server.", ["mcp"]).required(),
  implements: list(IMPLEMENTS_DESCRIPTION, BINDING, { minItems: 1 }).required(),
  server: SERVER.describe(
    "MCP server of the driver. It can also be in a server.json in the folder of this file.",
  ),
  transport: oneOf(
    "MCP transport of the server. For kind binary and npm: stdio. For docker: stdio or http (Streamable HTTP). For remote: http or sse.",
    ["stdio", "sse", "http"],
    {
      synonyms: { "streamable-http": "http" },
    },
  ).required(),
  protocolVersion: PROTOCOL_VERSION,
  prompts: PROMPTS,
  resources: RESOURCES,
  connection: object("Options of the connection to the server.", {
    timeoutMs: integer("Maximum time of the start and of each call, in milliseconds.", { minimum: 100 }),
    maxRetries: integer("Number of retries if the server does not start. Default: 0.", {
      minimum: 0,
      maximum: 10,
    }),
    keepalive: flag(
      "Lifetime of the server. true: Portolan keeps the server running while it is idle. false: it stops the server after each call. Default: it stops the server after 5 minutes without a call.",
    ),
  }).key("connection_options"),
  sandbox: SANDBOX,
};

export const MCP_DRIVER = partialObject(ANY_DRIVER.rules.description, MCP_FIELDS, { open: true });

export type McpDriverValue = Value<typeof MCP_DRIVER>;
export type BindingValue = Value<typeof BINDING>;
