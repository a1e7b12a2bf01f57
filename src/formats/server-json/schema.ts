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
  description: text("What the value is for.", { empty: true }),
  isRequired: flag("Whether a value must be given."),
  isSecret: flag("Whether the value is a secret."),
  format: oneOf("The kind of value.", ["string", "number", "boolean", "filepath"]),
  value: text("The value, which the user does not change. {name} stands for a variable.", ANY_TEXT),
  default: text("The value when none is given.", ANY_TEXT),
  placeholder: text("An example.", ANY_TEXT),
  choices: list("The possible values.", text("", ANY_TEXT)),
};

const INPUT = object("A value that the user gives.", INPUT_FIELDS, OPEN);

const VARIABLES = map("The variables of the value, by name.", INPUT);

const NAMED_VALUE = object(
  "An environment variable or a header.",
  { ...INPUT_FIELDS, variables: VARIABLES, name: text("Its name.").required() },
  OPEN,
);

const ARGUMENT = object(
  "A word of the command line.",
  {
    ...INPUT_FIELDS,
    variables: VARIABLES,
    type: oneOf("The kind of argument.", ["positional", "named"]).required(),
    name: text("The name of a named argument, with its dashes."),
    valueHint: text("The name of a positional argument, for people."),
    isRepeated: flag("Whether it may be given several times."),
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
  "How clients talk to the server.",
  {
    type: oneOf("The transport.", ["stdio", "streamable-http", "sse"]).required(),
    url: text("The URL. {name} stands for a variable."),
    headers: list("Headers of each request.", NAMED_VALUE),
  },
  OPEN,
);

const PACKAGE = object(
  "A package that contains the server.",
  {
    registryType: text("npm, pypi, oci, nuget or mcpb.").required(),
    identifier: text("The name of the package, or the URL of a file.", { maxLength: 2_000 }).required(),
    version: text("The exact version.", { scalars: true, maxLength: 255 }),
    registryBaseUrl: text("The registry of the package."),
    fileSha256: text("The hash of the file.", {
      pattern: "^[0-9a-fA-F]{64}$",
      patternHint: "Write the 64 hexadecimal digits of the SHA-256.",
    }),
    runtimeHint: text("The program that runs it, such as npx."),
    transport: TRANSPORT.required(),
    runtimeArguments: list("Arguments of the program that runs it.", ARGUMENT),
    packageArguments: list("Arguments of the server.", ARGUMENT),
    environmentVariables: list("Environment variables of the server.", NAMED_VALUE),
  },
  OPEN,
);

const REMOTE = object(
  "A server at a URL.",
  {
    type: oneOf("The transport.", ["streamable-http", "sse"]).required(),
    url: text("The URL. {name} stands for a variable.").required(),
    headers: list("Headers of each request.", NAMED_VALUE),
    variables: VARIABLES,
  },
  OPEN,
);

export const SERVER_JSON = partialObject(
  "An MCP server as the official registry lists it.",
  {
    $schema: text("The JSON Schema of this file."),
    name: text("The server's name: a reversed domain, a slash, and a name.", {
      pattern: "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$",
      patternHint: "Write it as io.github.alice/notes.",
      maxLength: 200,
    }).required(),
    description: text("What the server is for, in at most 100 characters.").required(),
    title: text("The name that is shown.", { empty: true }),
    version: text("The exact version.", { scalars: true, maxLength: 255 }).required(),
    websiteUrl: text("A web page.", { empty: true }),
    icons: list("Icons.", anyValue()),
    repository: object(
      "The source code.",
      {
        url: text("The URL of the repository.", { empty: true }),
        source: text("The service that hosts it.", { empty: true }),
        id: text("The id of the repository at that service.", ANY_TEXT),
        subfolder: text("The folder of the server.", { empty: true }),
      },
      OPEN,
    ),
    packages: list("Packages; each of them contains the whole server.", PACKAGE),
    remotes: list("URLs; each of them is the whole server.", REMOTE),
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
