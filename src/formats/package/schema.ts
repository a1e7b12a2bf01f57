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
  "Author of the package.",
  {
    name: text("Name of a person or organisation.").required(),
    email: text("E-mail address of the author.", {
      pattern: "^[^\\s@]+@[^\\s@]+$",
      patternHint: "Write an e-mail address, such as alice@example.com.",
    }),
    github: text("GitHub user name of the author.", {
      pattern: "^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})$",
      patternHint: "Write the user name alone, without a URL.",
    }),
    url: text("Web page of the author."),
  },
  CAMEL,
);

const TOOL = object(
  "Tool of the server.",
  {
    name: text("Name of the tool, unique in this list.").required(),
    description: text("Description of the tool."),
    parameters: anyValue("JSON Schema of the arguments. Its type must be object."),
  },
  CAMEL,
);

const RESOURCE = object(
  "Resource of the server, or a pattern of resources.",
  {
    uri: text("URI of the resource. * matches any text, including slashes.").required(),
    description: text("Description of the resource."),
    mimeType: text("MIME type of the content."),
  },
  CAMEL,
);

const PROMPT = object(
  "Prompt of the server.",
  {
    name: text("Name of the prompt, unique in this list.").required(),
    description: text("Description of the prompt."),
    arguments: list(
      "Arguments of the prompt.",
      object(
        "Argument of the prompt.",
        {
          name: text("Name of the argument.").required(),
          description: text("Description of the argument."),
          required: flag("Whether the argument is required."),
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
  "MCP interface of the server: transports, program, capabilities and configuration.",
  {
    version: text(
      "MCP revision that the server supports, such as 2025-06-18. 0.1.0: negotiate the revision.",
    ).required(),
    transport: list("Transports of the server, in order of preference.", oneOf("", TRANSPORTS), {
      unique: true,
      minItems: 1,
    }).required(),
    executable: text("Program of the server: a name on the PATH, or a path inside the package.").required(),
    args: list("Command-line arguments of the program.", text("", { empty: true })),
    capabilities: partialObject(
      "Tools, resources and prompts of the server. Portolan denies a tool that is not listed here until a person approves it.",
      {
        tools: list("Tools of the server.", TOOL),
        resources: list("Resources of the server.", RESOURCE),
        prompts: list("Prompts of the server.", PROMPT),
      },
      CAMEL,
    ),
    driver: map(
      "Driver of the server and its contracts, as texts by file name: DRIVER.md, and tools/<id>/TOOL.md for each contract.",
      text("", { maxLength: 512 * 1024 }),
      { keyPattern: DRIVER_FILE },
    ),
    configuration: partialObject(
      "Settings that the user enters before the first start.",
      {
        schema: anyValue(
          "JSON Schema of the settings. Its type must be object. secret: true marks a property as secret; default sets its default value.",
        ),
        env: map(
          "Name of the environment variable of each setting. Default: the name of the setting in capitals.",
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

const HASH = text("SHA-256 of the file: sha256-<base64>, sha256:<hex>, or 64 hexadecimal digits.");

const SOURCE = partialObject(
  "Source of the server's files.",
  {
    type: oneOf("Kind of source.", ["gist", "github", "npm", "binary"]).required(),
    url: text("https URL of the file, or npm:<package>@<version>."),
    hash: HASH,
    size: integer("Size of the file in bytes.", { minimum: 1 }),
    platforms: map(
      "Files for specific platforms, by <os>-<arch> as in Node.js, such as linux-x64.",
      object("File for one platform.", { url: text("https URL of the file.").required(), hash: HASH }, CAMEL),
      { keyPattern: "^(darwin|linux|win32)-(x64|arm64|ia32|arm)$" },
    ),
  },
  CAMEL,
);

export const SANDBOX_TYPES = ["process", "wasm", "docker"] as const;

const SECURITY = partialObject(
  "Permissions of the server, and its security reviews.",
  {
    permissions: list(
      "Permissions that the server needs: network, filesystem, process, or the permission of a service, such as github-api.",
      text("", {
        pattern: "^[a-z][a-z0-9-]*(:[a-z0-9-]+)?$",
        patternHint: "Write lower-case words joined by hyphens: network, filesystem, process, github-api.",
      }),
      { unique: true },
    ).required(),
    sandbox: object(
      "Sandbox of the server.",
      {
        required: flag("If true, the server never runs without a sandbox."),
        type: oneOf("Kind of sandbox.", SANDBOX_TYPES),
      },
      CAMEL,
    ),
    audit: partialObject(
      "Last security review of the server.",
      {
        lastReviewed: text("Date and time of the review, such as 2026-01-15T10:00:00Z."),
        reviewer: text("Name of the reviewer."),
        report: text("https URL of the review report."),
      },
      CAMEL,
    ),
    vulnerabilities: list(
      "Known security advisories for the server.",
      union("", [text("ID of an advisory."), map("Advisory.", anyValue())]),
    ),
  },
  CAMEL,
);

const REQUIREMENTS = partialObject(
  "Requirements of the server on the machine.",
  {
    mlldVersion: text("Version range of mlld, for mlld users."),
    runtime: partialObject(
      "Runtime that the server needs.",
      {
        node: text("Version range of Node.js, such as >=20."),
        python: text("Version range of Python, such as >=3.10."),
        binary: flag("If true, the server is a native executable and needs no runtime."),
      },
      CAMEL,
    ),
    os: list("Supported operating systems. Default: all.", oneOf("", ["darwin", "linux", "win32"]), {
      unique: true,
      minItems: 1,
    }),
    arch: list(
      "Supported processor architectures. Default: all.",
      oneOf("", ["x64", "arm64", "ia32", "arm"]),
      {
        unique: true,
        minItems: 1,
      },
    ),
  },
  CAMEL,
);

const METADATA = partialObject(
  "Information for users and registries.",
  {
    publishedAt: text("Publication time of this version. Set by the registry."),
    updatedAt: text("Time of the last change of this document. Set by the registry."),
    downloads: integer("Number of downloads. Set by the registry.", { minimum: 0 }),
    stars: integer("Number of stars. Set by the registry.", { minimum: 0 }),
    keywords: list("Keywords for the search in registries.", text("", { maxLength: 50 }), { unique: true }),
    license: text("Licence, as an SPDX expression such as MIT."),
    homepage: text("https URL of the home page."),
    bugs: text("https URL of the bug tracker."),
    repository: text("https URL of the source repository."),
  },
  CAMEL,
);

export const PACKAGE = partialObject(
  "Metadata document of an MCP server package: its interface, source and permissions.",
  {
    $schema: text("URL or path of the JSON Schema of this file, for editors."),
    name: text("Name of the package: @user/name.", {
      pattern: NAME_PATTERN,
      patternHint: "Write @user/name in lower case, such as @alice/github-mcp.",
      maxLength: 214,
    }).required(),
    type: oneOf("Type of the package. Always mcp-server.", ["mcp-server"]).required(),
    version: text("Version of the package, as a semantic version such as 1.2.3.").required(),
    description: text("Description of the server, in fewer than 200 characters.", {
      maxLength: 199,
    }).required(),
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
