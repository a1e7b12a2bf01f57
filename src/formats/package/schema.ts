// Schema of a package's metadata document: an MCP server as a registry lists it.

import {
  anyValue,
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
} from "../schema-builder/index.ts";

const CAMEL = { keys: "camelCase" } as const;

const NAME_PATTERN = "^@[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*$";

const AUTHOR = object(
  "The author.",
  {
    name: text("The name of a person or organisation.").required(),
    email: text("An e-mail address.", {
      pattern: "^[^\\s@]+@[^\\s@]+$",
      patternHint: "Write an e-mail address, such as alice@example.com.",
    }),
    github: text("A user name at GitHub.", {
      pattern: "^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})$",
      patternHint: "Write the user name alone, without a URL.",
    }),
    url: text("A web page."),
  },
  CAMEL,
);

const TOOL = object(
  "A tool of the server.",
  {
    name: text("The tool's name, unique in this list.").required(),
    description: text("What the tool does."),
    parameters: anyValue("The JSON Schema of the arguments: an object."),
  },
  CAMEL,
);

const RESOURCE = object(
  "A resource of the server, or a pattern of resources.",
  {
    uri: text("A URI. * stands for any text, also with slashes.").required(),
    description: text("What the resource is."),
    mimeType: text("The type of its content."),
  },
  CAMEL,
);

const PROMPT = object(
  "A prompt of the server.",
  {
    name: text("The prompt's name, unique in this list.").required(),
    description: text("What the prompt is for."),
    arguments: list(
      "The prompt's arguments.",
      object(
        "An argument.",
        {
          name: text("The argument's name.").required(),
          description: text("What it is."),
          required: flag("Whether a value must be given."),
        },
        CAMEL,
      ),
    ),
  },
  CAMEL,
);

/** The files of a packaged driver. */
export const DRIVER_FILE = "^(?:DRIVER\\.md|\\.?tools/[A-Za-z0-9][A-Za-z0-9._@-]*/TOOL\\.md)$";

export const TRANSPORTS = ["stdio", "websocket", "streamable-http", "sse"] as const;

const MCP = partialObject(
  "How the server speaks MCP.",
  {
    version: text("The MCP revision that the server was made for; 0.1.0 means: negotiate.").required(),
    transport: list("The transports, the preferred one first.", oneOf("", TRANSPORTS), {
      unique: true,
      minItems: 1,
    }).required(),
    executable: text("The program: a name, or a path inside of the package.").required(),
    args: list("Arguments of the program.", text("", { empty: true })),
    capabilities: partialObject(
      "What the server offers. A tool that is not listed here is denied until a person approves it.",
      {
        tools: list("The tools.", TOOL),
        resources: list("The resources.", RESOURCE),
        prompts: list("The prompts.", PROMPT),
      },
      CAMEL,
    ),
    driver: map(
      "The driver of the server and its contracts: the text of DRIVER.md, and of each tools/<id>/TOOL.md.",
      text("", { maxLength: 512 * 1024 }),
      { keyPattern: DRIVER_FILE },
    ),
    configuration: partialObject(
      "The settings that a user gives before the first start.",
      {
        schema: anyValue(
          "A JSON Schema of the settings: an object. `secret: true` marks a property as secret; `default` applies.",
        ),
        env: map(
          "The environment variable of each setting. By default it is the setting's name in capitals.",
          text("", {
            pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
            patternHint: "Write the name of an environment variable.",
          }),
        ),
      },
      CAMEL,
    ),
  },
  CAMEL,
);

const HASH = text("The hash of the file: sha256-<base64>, sha256:<hex>, or 64 hexadecimal digits.");

const SOURCE = partialObject(
  "Where the server's files come from.",
  {
    type: oneOf("The kind of source.", ["gist", "github", "npm", "binary"]).required(),
    url: text("An https URL of the file, or npm:<package>@<version>."),
    hash: HASH,
    size: integer("The size of the file in bytes.", { minimum: 1 }),
    platforms: map(
      "Files for single platforms, by <os>-<arch> as Node.js names them.",
      object("The file of a platform.", { url: text().required(), hash: HASH }, CAMEL),
      { keyPattern: "^(darwin|linux|win32)-(x64|arm64|ia32|arm)$" },
    ),
  },
  CAMEL,
);

export const SANDBOX_TYPES = ["process", "wasm", "docker"] as const;

const SECURITY = partialObject(
  "What the server may do, and who reviewed it.",
  {
    permissions: list(
      "network, filesystem, process, or the permission of a service, such as github-api.",
      text("", {
        pattern: "^[a-z][a-z0-9-]*(:[a-z0-9-]+)?$",
        patternHint: "Write lower-case words joined by hyphens: network, filesystem, process, github-api.",
      }),
      { unique: true },
    ).required(),
    sandbox: object(
      "The sandbox that the server runs in.",
      {
        required: flag("Whether the server must not run without its sandbox."),
        type: oneOf("The kind of sandbox.", SANDBOX_TYPES),
      },
      CAMEL,
    ),
    audit: partialObject(
      "The last review of the server by a person.",
      {
        lastReviewed: text("The date and time of the review, as in 2026-01-15T10:00:00Z."),
        reviewer: text("Who reviewed it."),
        report: text("The https URL of the report."),
      },
      CAMEL,
    ),
    vulnerabilities: list(
      "Known advisories.",
      union("", [text("The id of an advisory."), map("An advisory.", anyValue())]),
    ),
  },
  CAMEL,
);

const REQUIREMENTS = partialObject(
  "What the server needs of the machine.",
  {
    mlldVersion: text("A range of versions of mlld, for its users."),
    runtime: partialObject(
      "The program that runs it.",
      {
        node: text("A range of versions of Node.js."),
        python: text("A range of versions of Python."),
        binary: flag("The server is a program by itself."),
      },
      CAMEL,
    ),
    os: list("Operating systems.", oneOf("", ["darwin", "linux", "win32"]), { unique: true, minItems: 1 }),
    arch: list("Processor architectures.", oneOf("", ["x64", "arm64", "ia32", "arm"]), {
      unique: true,
      minItems: 1,
    }),
  },
  CAMEL,
);

const METADATA = partialObject(
  "Facts for people and registries.",
  {
    publishedAt: text("When this version was published. A registry sets it."),
    updatedAt: text("When these facts last changed. A registry sets it."),
    downloads: integer("How often it was downloaded. A registry counts it.", { minimum: 0 }),
    stars: integer("How many people like it. A registry counts it.", { minimum: 0 }),
    keywords: list("Words to find it by.", text("", { maxLength: 50 }), { unique: true }),
    license: text("The licence, as an SPDX expression."),
    homepage: text("An https URL."),
    bugs: text("An https URL."),
    repository: text("An https URL."),
  },
  CAMEL,
);

export const PACKAGE = partialObject(
  "An MCP server as a package: what it is, where it comes from, and what it may do.",
  {
    $schema: text("The JSON Schema of this file, for editors."),
    name: text("The package's name: @user/name.", {
      pattern: NAME_PATTERN,
      patternHint: "Write @user/name in lower case, such as @alice/github-mcp.",
      maxLength: 214,
    }).required(),
    type: oneOf("Always mcp-server.", ["mcp-server"]).required(),
    version: text("The version, by semantic versioning: 1.2.3.").required(),
    description: text("What the server is for, in fewer than 200 characters.", { maxLength: 199 }).required(),
    author: AUTHOR.required(),
    mcp: MCP.required(),
    source: SOURCE.required(),
    security: SECURITY.required(),
    requirements: REQUIREMENTS,
    metadata: METADATA.required(),
  },
  CAMEL,
);

export type PackageValue = Value<typeof PACKAGE>;
