// Schema of the manifest.json of an MCPB bundle (versions 0.1 to 0.4; early bundles were named DXT).

import {
  anyValue,
  flag,
  list,
  map,
  number,
  object,
  oneOf,
  partialObject,
  text,
  union,
  type Value,
} from "../schema-builder/index.ts";

/** Bundles in use have further keys, even the format's own examples; `check.ts` warns about those that matter. */
const OPEN = { open: true } as const;

export const MANIFEST_VERSIONS = ["0.1", "0.2", "0.3", "0.4"] as const;

export const SYSTEMS = ["darwin", "linux", "win32"] as const;

const AUTHOR = object(
  "Author of the bundle.",
  {
    name: text("Name of a person or organisation.").required(),
    email: text("E-mail address of the author.", {
      pattern: "^[^\\s@]+@[^\\s@]+$",
      patternHint: "Write an e-mail address, such as alice@example.com.",
    }),
    url: text("Web page of the author."),
  },
  OPEN,
);

const REPOSITORY = object(
  "Source repository.",
  {
    type: text("Kind of repository, such as git."),
    url: text("URL of the repository.").required(),
  },
  OPEN,
);

const WORDS = list("Command-line arguments of the program.", text("", { empty: true }));
const VARIABLES = map("Environment variables of the program.", text("", { empty: true }));

export const MCP_CONFIG = object(
  "Command that starts the server.",
  {
    command: text("Program: a name on the PATH, or a path inside the bundle.").required(),
    args: WORDS,
    env: VARIABLES,
    platformOverrides: map(
      "Values that replace the others on specific platforms, by platform.",
      object("Values for one platform.", { command: text("Program."), args: WORDS, env: VARIABLES }, OPEN),
    ),
  },
  OPEN,
);

export const SERVER = object(
  "MCP server of this bundle.",
  {
    type: oneOf("Runtime of the server.", ["node", "python", "binary", "uv"]).required(),
    entryPoint: text("File to start, as a path inside the bundle.").required(),
    mcpConfig: MCP_CONFIG,
  },
  OPEN,
);

const TOOL = object(
  "Tool of the server.",
  {
    name: text("Name of the tool.").required(),
    description: text("Description of the tool.", { empty: true }),
  },
  OPEN,
);

const PROMPT = object(
  "Prompt of the server.",
  {
    name: text("Name of the prompt.").required(),
    description: text("Description of the prompt.", { empty: true }),
    arguments: list("Names of the prompt's arguments.", text()),
    text: text("Text of the prompt.", { empty: true }),
  },
  OPEN,
);

const ICON = object(
  "Icon of the bundle.",
  {
    src: text("Path of the icon inside the bundle, or its https URL.").required(),
    size: text("Width and height in pixels, such as 16x16.", {
      pattern: "^\\d+x\\d+$",
      patternHint: "Write width x height: 16x16.",
    }).required(),
    theme: text("Theme that the icon is for, such as dark."),
  },
  OPEN,
);

const SETTING = object(
  "Setting that the user enters.",
  {
    type: oneOf("Type of the value.", ["string", "number", "boolean", "directory", "file"]).required(),
    title: text("Display name."),
    description: text("Description of the setting.", { empty: true }),
    required: flag("Whether a value is required."),
    default: union("Default value.", [
      text("", { empty: true }),
      number(),
      flag(),
      list("", text("", { empty: true })),
    ]),
    multiple: flag("Whether the setting can have several values."),
    sensitive: flag("Whether the value is a secret."),
    min: number("Minimum value of a number."),
    max: number("Maximum value of a number."),
  },
  OPEN,
);

/** Clients add constraints under their own names. */
const COMPATIBILITY = object(
  "Requirements of the server on the machine.",
  {
    platforms: list("Supported operating systems. Default: all.", oneOf("", SYSTEMS), { unique: true }),
    runtimes: object(
      "Version ranges of runtimes.",
      {
        node: text("Version range of Node.js, such as >=20."),
        python: text("Version range of Python, such as >=3.10."),
      },
      OPEN,
    ),
  },
  OPEN,
);

export const MANIFEST = partialObject(
  "Manifest of an MCPB bundle: an MCP server with its files in one archive.",
  {
    $schema: text("URL or path of the JSON Schema of this file, for editors."),
    manifestVersion: oneOf("Version of the manifest format.", MANIFEST_VERSIONS),
    dxtVersion: oneOf("Version of the manifest format, in early bundles (DXT).", MANIFEST_VERSIONS),
    name: text("Name of the bundle.", { maxLength: 214 }).required(),
    displayName: text("Display name.", { maxLength: 500 }),
    version: text("Version of the bundle, as a semantic version such as 1.2.3.", {
      maxLength: 255,
    }).required(),
    description: text("Short description of the server.").required(),
    longDescription: text("Long description of the server.", { empty: true }),
    author: AUTHOR.required(),
    repository: REPOSITORY,
    homepage: text("URL of the home page."),
    documentation: text("URL of the documentation."),
    support: text("URL of the support page."),
    icon: text("Path of the icon inside the bundle, or its https URL."),
    icons: list("Icons in several sizes.", ICON),
    screenshots: list("Paths of screenshots inside the bundle.", text()),
    localization: object(
      "Translations of the manifest.",
      {
        resources: text("Path of the translation files inside the bundle, with the placeholder ${locale}."),
        defaultLocale: text("Locale of this file, such as en-US."),
      },
      OPEN,
    ),
    server: SERVER.required(),
    tools: list("Tools of the server.", TOOL),
    toolsGenerated: flag("Whether the server has tools that are not listed."),
    prompts: list("Prompts of the server.", PROMPT),
    promptsGenerated: flag("Whether the server has prompts that are not listed."),
    keywords: list("Keywords for the search.", text()),
    license: text("Licence, as an SPDX expression such as MIT."),
    privacyPolicies: list("URLs of privacy policies.", text()),
    compatibility: COMPATIBILITY,
    userConfig: map("Settings that the user enters before the first start, by name.", SETTING),
    _meta: map("Data of specific clients.", anyValue()).key("_meta"),
  },
  OPEN,
);

export type ManifestValue = Value<typeof MANIFEST>;
export type McpbSetting = Value<typeof SETTING>;
