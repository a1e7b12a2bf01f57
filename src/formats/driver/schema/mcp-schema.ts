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
const MCP_BINDING = object("The MCP tool that serves the contract.", {
  toolName: text("the name of the MCP tool").required(),
  argumentMapping: map(
    "Inputs of the contract that have another name as arguments of the tool.",
    text(),
  ).transform((mapping, node, context) => {
    checkTargets(node, "argument", context);
    return mapping;
  }),
  resultExtract: text("Where in the result the output of the contract is, such as $.contents.")
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
        `${toLabel(node.path)}.metadata.mcp is missing: nothing says which MCP tool serves the contract`,
        "Write metadata: { mcp: { tool_name: <the tool's name> } }.",
      );
    },
  },
).withJsonSchema((schema) => ({ ...schema, required: ["tool", "version", "metadata"] }));

const REVISIONS: readonly string[] = [MODERN_REVISION, ...LEGACY_REVISIONS];

/** A published revision, or the beginning of exactly one. */
const PROTOCOL_VERSION = text(
  "The version of the protocol, such as 2025-06-18; whichever both know when absent.",
  { scalars: true },
).transform((written, node, { diagnostics }) => {
  const matching = REVISIONS.filter((known) => known === written || known.startsWith(`${written}-`));
  const [revision] = matching;
  if (revision !== undefined && matching.length === 1) return revision;
  if (revision === undefined)
    diagnostics.add(
      node,
      `protocol_version ${quoted(written)} is not a published version of the protocol`,
      `Known are ${REVISIONS.join(", ")}, and the beginning of one, such as 2025-03.`,
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

const EXEC = object("Which programs it may run.", {
  allow: PROGRAMS.describe("false: none beside itself; or the only ones that it may run."),
  spawn: PROGRAMS.describe("The only programs that it may run; or false: none."),
}).transform(({ allow, spawn }): SandboxConfig["exec"] => {
  const programs = [allow, spawn].filter((one) => typeof one === "object").flat();
  const none = allow === false || spawn === false;
  if (none || (typeof spawn === "object" && programs.length === 0)) return { spawn: false };
  const named = typeof allow === "object" || typeof spawn === "object";
  return definedOnly({ allow: named ? programs : undefined, spawn: spawn === true ? true : undefined });
});

const { env, home, limits, pathArguments } = SHARED_SANDBOX_FIELDS;

/** The sandbox rules that a driver requests. The workspace decides how strictly they are enforced. */
const SANDBOX = object(
  "What the program may touch.",
  {
    mode: oneOf(
      "Asks that the server starts although something of this is not enforced; the workspace has to say the same.",
      ["enforce", "warn"],
    ),
    network: object("The same as network beside sandbox.", {
      egress: list("Hosts that may be reached.", HOST),
      ingress: texts("Not used here."),
    }),
    // A folder stands for everything in it, so that `/**` at the end of a path changes nothing.
    fs: createFsSchema((written, node, context) =>
      toAbsolutePath(written.replace(/(?<=.)\/\*\*$/, ""), node, context),
    ),
    exec: EXEC,
    env,
    tty: object("Not used here: a server has no terminal.", { required: flag("It needs a terminal.") }),
    home,
    limits,
    pathArguments,
  },
  {
    check({ tty }, at) {
      if (tty?.required === true) at.error("tty", "a server has no terminal", "Remove tty.");
    },
  },
);

export const MCP_FIELDS = {
  ...DRIVER_FIELDS,
  kind: oneOf("what kind of driver it is", ["mcp"]).required(),
  implements: list(IMPLEMENTS_DESCRIPTION, BINDING, { minItems: 1 }).required(),
  server: SERVER.describe("Where the MCP server is; may also stand in a server.json beside this file."),
  transport: oneOf("how the server is reached", ["stdio", "sse", "http"], {
    synonyms: { "streamable-http": "http" },
  }).required(),
  protocolVersion: PROTOCOL_VERSION,
  prompts: PROMPTS,
  resources: RESOURCES,
  connection: object("How the connection is kept.", {
    timeoutMs: integer("How long a request may take.", { minimum: 100 }),
    maxRetries: integer("How often a connection is tried again.", { minimum: 0, maximum: 10 }),
    keepalive: flag("Whether the connection is kept between calls."),
  }).key("connection_options"),
  sandbox: SANDBOX,
};

export const MCP_DRIVER = partialObject(ANY_DRIVER.rules.description, MCP_FIELDS, { open: true });

export type McpDriverValue = Value<typeof MCP_DRIVER>;
export type BindingValue = Value<typeof BINDING>;
