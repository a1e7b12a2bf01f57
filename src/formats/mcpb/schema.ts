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
  "The author.",
  {
    name: text("The name of a person or organisation.").required(),
    email: text("An e-mail address.", {
      pattern: "^[^\\s@]+@[^\\s@]+$",
      patternHint: "Write an e-mail address, such as alice@example.com.",
    }),
    url: text("A web page."),
  },
  OPEN,
);

const REPOSITORY = object(
  "The source code.",
  {
    type: text("The kind of repository, such as git."),
    url: text("The URL of the repository.").required(),
  },
  OPEN,
);

const WORDS = list("Arguments of the program.", text("", { empty: true }));
const VARIABLES = map("Environment variables of the program.", text("", { empty: true }));

export const MCP_CONFIG = object(
  "How the server is started.",
  {
    command: text("The program: a name, or a path inside of the bundle.").required(),
    args: WORDS,
    env: VARIABLES,
    platformOverrides: map(
      "Other values on single platforms.",
      object(
        "The values of a platform.",
        { command: text("The program."), args: WORDS, env: VARIABLES },
        OPEN,
      ),
    ),
  },
  OPEN,
);

export const SERVER = object(
  "The MCP server in this bundle.",
  {
    type: oneOf("The program that runs it.", ["node", "python", "binary", "uv"]).required(),
    entryPoint: text("The file that is started, as a path inside of the bundle.").required(),
    mcpConfig: MCP_CONFIG,
  },
  OPEN,
);

const TOOL = object(
  "A tool of the server.",
  {
    name: text("The tool's name.").required(),
    description: text("What the tool does.", { empty: true }),
  },
  OPEN,
);

const PROMPT = object(
  "A prompt of the server.",
  {
    name: text("The prompt's name.").required(),
    description: text("What the prompt is for.", { empty: true }),
    arguments: list("The names of its arguments.", text()),
    text: text("The text of the prompt.", { empty: true }),
  },
  OPEN,
);

const ICON = object(
  "An icon.",
  {
    src: text("A path inside of the bundle, or an https URL.").required(),
    size: text("Width and height in pixels.", {
      pattern: "^\\d+x\\d+$",
      patternHint: "Write width x height: 16x16.",
    }).required(),
    theme: text("The theme that the icon is for."),
  },
  OPEN,
);

const SETTING = object(
  "A setting that the user gives.",
  {
    type: oneOf("The kind of value.", ["string", "number", "boolean", "directory", "file"]).required(),
    title: text("The name that is shown."),
    description: text("What the setting is for.", { empty: true }),
    required: flag("Whether a value must be given."),
    default: union("The value when none is given.", [
      text("", { empty: true }),
      number(),
      flag(),
      list("", text("", { empty: true })),
    ]),
    multiple: flag("Whether several values may be given."),
    sensitive: flag("Whether the value is a secret."),
    min: number("The smallest number."),
    max: number("The largest number."),
  },
  OPEN,
);

/** Clients add constraints under their own names. */
const COMPATIBILITY = object(
  "What the server needs of the machine.",
  {
    platforms: list("Operating systems.", oneOf("", SYSTEMS), { unique: true }),
    runtimes: object(
      "Ranges of versions.",
      {
        node: text("A range of versions of Node.js."),
        python: text("A range of versions of Python."),
      },
      OPEN,
    ),
  },
  OPEN,
);

export const MANIFEST = partialObject(
  "An MCPB bundle: a server with its files in one archive.",
  {
    $schema: text("The JSON Schema of this file, for editors."),
    manifestVersion: oneOf("The version of this format.", MANIFEST_VERSIONS),
    dxtVersion: oneOf("The version of this format, as early bundles wrote it.", MANIFEST_VERSIONS),
    name: text("The bundle's name.", { maxLength: 214 }).required(),
    displayName: text("The name that is shown.", { maxLength: 500 }),
    version: text("The version, by semantic versioning: 1.2.3.", { maxLength: 255 }).required(),
    description: text("What the server is for.").required(),
    longDescription: text("A longer description.", { empty: true }),
    author: AUTHOR.required(),
    repository: REPOSITORY,
    homepage: text("A URL."),
    documentation: text("A URL."),
    support: text("A URL."),
    icon: text("A path inside of the bundle, or an https URL."),
    icons: list("Icons in several sizes.", ICON),
    screenshots: list("Paths inside of the bundle.", text()),
    localization: object(
      "Where translated texts are.",
      {
        resources: text("A path inside of the bundle with ${locale} in it."),
        defaultLocale: text("The language of this file."),
      },
      OPEN,
    ),
    server: SERVER.required(),
    tools: list("The tools.", TOOL),
    toolsGenerated: flag("Whether the server has further tools."),
    prompts: list("The prompts.", PROMPT),
    promptsGenerated: flag("Whether the server has further prompts."),
    keywords: list("Words to find it by.", text()),
    license: text("The licence, as an SPDX expression."),
    privacyPolicies: list("URLs of privacy policies.", text()),
    compatibility: COMPATIBILITY,
    userConfig: map("The settings that a user gives before the first start.", SETTING),
    _meta: map("Data of single clients.", anyValue()).key("_meta"),
  },
  OPEN,
);

export type ManifestValue = Value<typeof MANIFEST>;
export type McpbSetting = Value<typeof SETTING>;
