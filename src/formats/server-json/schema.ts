// Schema of server.json, the document of the official MCP registry (2025-12-11, and the earlier ones with the same spelling).
// Registries add fields of their own, so unknown keys are ignored.

import {
  anyValue,
  flag,
  list,
  map,
  object,
  oneOf,
  partialObject,
  text,
  type Value,
} from "../schema-builder/index.ts";

const OPEN = { keys: "camelCase", open: true } as const;

const ANY_TEXT = { scalars: true, empty: true } as const;

const INPUT_FIELDS = {
  description: text("Description of the value.", { empty: true }),
  isRequired: flag("Whether a value is required."),
  isSecret: flag("Whether the value is a secret."),
  format: oneOf("Type of the value.", ["string", "number", "boolean", "filepath"]),
  value: text(
    "Fixed value, which the user cannot change. {name} is replaced by the variable name.",
    ANY_TEXT,
  ),
  default: text("Default value.", ANY_TEXT),
  placeholder: text("Example value.", ANY_TEXT),
  choices: list("Possible values.", text("", ANY_TEXT)),
};

const INPUT = object("Value that the user enters.", INPUT_FIELDS, OPEN);

const VARIABLES = map("Variables of the value, by name.", INPUT);

const NAMED_VALUE = object(
  "Environment variable or HTTP header.",
  {
    ...INPUT_FIELDS,
    variables: VARIABLES,
    name: text("Name of the environment variable or header.").required(),
  },
  OPEN,
);

const ARGUMENT = object(
  "Command-line argument.",
  {
    ...INPUT_FIELDS,
    variables: VARIABLES,
    type: oneOf("Kind of argument: positional, or named (an option).", ["positional", "named"]).required(),
    name: text("Name of a named argument with its dashes, such as --port."),
    valueHint: text("Display name of a positional argument."),
    isRepeated: flag("Whether the argument can be repeated."),
  },
  {
    ...OPEN,
    check({ type, name, value, valueHint, default: preset }, at) {
      if (type === "named" && name === undefined)
        at.error("type", "a named argument has no name", 'Write "name": "--port".');
      if (type === "positional" && value === undefined && valueHint === undefined && preset === undefined)
        at.error("type", "a positional argument has neither value nor valueHint", 'Write "value".');
    },
  },
);

const TRANSPORT = object(
  "MCP transport of the server.",
  {
    type: oneOf("MCP transport.", ["stdio", "streamable-http", "sse"]).required(),
    url: text("URL of the server. {name} is replaced by the variable name."),
    headers: list("HTTP headers of each request.", NAMED_VALUE),
  },
  OPEN,
);

const PACKAGE = object(
  "Package that contains the server.",
  {
    registryType: text("Kind of package: npm, pypi, oci, nuget or mcpb.").required(),
    identifier: text("Name of the package, or URL of a file.", { maxLength: 2_000 }).required(),
    version: text("Exact version of the package.", { scalars: true, maxLength: 255 }),
    registryBaseUrl: text("URL of the package registry."),
    fileSha256: text("SHA-256 of the file, as 64 hexadecimal digits.", {
      pattern: "^[0-9a-fA-F]{64}$",
      patternHint: "Write the 64 hexadecimal digits of the SHA-256.",
    }),
    runtimeHint: text("Program that runs the package, such as npx."),
    transport: TRANSPORT.required(),
    runtimeArguments: list("Arguments of the program that runs the package.", ARGUMENT),
    packageArguments: list("Arguments of the server.", ARGUMENT),
    environmentVariables: list("Environment variables of the server.", NAMED_VALUE),
  },
  OPEN,
);

const REMOTE = object(
  "Remote server at a URL.",
  {
    type: oneOf("MCP transport.", ["streamable-http", "sse"]).required(),
    url: text("URL of the server. {name} is replaced by the variable name.").required(),
    headers: list("HTTP headers of each request.", NAMED_VALUE),
    variables: VARIABLES,
  },
  OPEN,
);

export const SERVER_JSON = partialObject(
  "Document of an MCP server in the official registry.",
  {
    $schema: text("URL of the JSON Schema of this file."),
    name: text("Name of the server: a reversed domain, a slash, and a name, such as io.github.alice/notes.", {
      pattern: "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$",
      patternHint: "Write it as io.github.alice/notes.",
      maxLength: 200,
    }).required(),
    description: text("Description of the server, in at most 100 characters.").required(),
    title: text("Display name.", { empty: true }),
    version: text("Exact version of the server.", { scalars: true, maxLength: 255 }).required(),
    websiteUrl: text("URL of the server's web page.", { empty: true }),
    icons: list("Icons of the server.", anyValue()),
    repository: object(
      "Source repository.",
      {
        url: text("URL of the repository.", { empty: true }),
        source: text("Service that hosts the repository, such as github.", { empty: true }),
        id: text("ID of the repository at this service.", ANY_TEXT),
        subfolder: text("Folder of the server in the repository.", { empty: true }),
      },
      OPEN,
    ),
    packages: list("Packages of the server. Each of them contains the whole server.", PACKAGE),
    remotes: list("Remote endpoints of the server. Each of them offers the whole server.", REMOTE),
    _meta: map("Data of registries and publishers.", anyValue()).key("_meta"),
  },
  OPEN,
);

export type ServerJsonValue = Value<typeof SERVER_JSON>;
export type InputValue = Value<typeof INPUT>;
export type NamedInput = Value<typeof NAMED_VALUE>;
export type ArgumentValue = Value<typeof ARGUMENT>;
export type PackageEntry = Value<typeof PACKAGE>;
export type RemoteEntry = Value<typeof REMOTE>;
