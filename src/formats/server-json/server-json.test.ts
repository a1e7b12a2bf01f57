// server.json: every field, the ways to install, settings and arguments, invalid documents, hostile texts.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fillOption } from "./fill.ts";
import { type InstallableOption, preferredOption, type ServerOption, toServerOptions } from "./options.ts";
import { looksLikeServerJson, parseServerJson, type ServerJsonResult } from "./read.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- tests change documents of any shape
type Loose = Record<string, any>;

const HASH = "fe333e598595000ae021bd27117db32ec69af6987f507ba7a63c90638ff633ce";
const LINUX = { os: "linux", arch: "x64" };

function document(change: (value: Loose) => void = () => {}): Loose {
  const value: Loose = {
    $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    name: "io.github.alice/notes",
    title: "Notes",
    description: "Reads and writes notes.",
    version: "1.2.0",
    websiteUrl: "https://alice.example/notes",
    icons: [{ src: "https://alice.example/icon.png", mimeType: "image/png", sizes: ["48x48"] }],
    repository: { url: "https://github.com/alice/notes", source: "github", id: "42", subfolder: "server" },
    packages: [
      {
        registryType: "npm",
        identifier: "@alice/notes-mcp",
        version: "1.2.0",
        runtimeHint: "npx",
        transport: { type: "stdio" },
        packageArguments: [
          { type: "positional", value: "serve" },
          { type: "named", name: "--stdio" },
          { type: "named", name: "--port", description: "A port.", format: "number", default: "8080" },
          { type: "named", name: "--verbose", format: "boolean" },
          {
            ...{ type: "positional", valueHint: "folder", description: "A folder.", isRequired: true },
            ...{ isRepeated: true, format: "filepath" },
          },
        ],
        environmentVariables: [
          { name: "NOTES_TOKEN", description: "A token.", isRequired: true, isSecret: true },
          { name: "NOTES_MODE", choices: ["a", "b"], default: "a" },
          {
            name: "NOTES_URL",
            value: "https://{host}/api?x={other}",
            variables: { host: { description: "A host.", isRequired: true, placeholder: "example.com" } },
          },
        ],
      },
    ],
    remotes: [
      {
        type: "streamable-http",
        url: "https://{tenant}.example.com/mcp",
        variables: { tenant: { description: "The tenant.", choices: ["us", "eu"] } },
        headers: [
          {
            name: "Authorization",
            value: "Bearer {token}",
            isSecret: true,
            isRequired: true,
            variables: { token: { description: "A token." } },
          },
          { name: "X-Region", default: "us" },
        ],
      },
    ],
    _meta: { "io.modelcontextprotocol.registry/publisher-provided": { tool: "x" } },
  };
  change(value);
  return value;
}

const parse = (value: unknown): ServerJsonResult =>
  parseServerJson(JSON.stringify(value, undefined, 2), "server.json");

function options(value: Loose): ServerOption[] {
  const { document: read, diagnostics } = parse(value);
  if (read === undefined) throw new Error(JSON.stringify(diagnostics));
  return toServerOptions(read);
}

function onlyPackage(entry: Loose): ServerOption {
  const [option] = options(
    document((value) => (value["packages"] = [{ transport: { type: "stdio" }, ...entry }])),
  );
  if (option === undefined) throw new Error("no option");
  return option;
}

const installable = (option: ServerOption | undefined): InstallableOption => {
  if (option === undefined || option.kind === "unsupported") throw new Error("not installable");
  return option;
};

describe("a server.json document", () => {
  test("with every field has one warning, about a placeholder without a variable", () => {
    const { document: read, diagnostics } = parse(document());
    expect(read?.repository?.id).toBe("42");
    expect(diagnostics.map(({ severity, message }) => `${severity} ${message}`)).toEqual([
      "warning packages[0].environmentVariables[2].value has {other}, which variables does not define, so it is not replaced",
    ]);
  });

  test("can be an entry of the registry API, and can have fields of its registry", () => {
    expect(parse({ server: document(), _meta: {} }).document?.name).toBe("io.github.alice/notes");
    expect(parse(document((value) => (value["status"] = "active"))).document).toBeDefined();
  });

  test.each<[string, (value: Loose) => void, string]>([
    ["no name", (value) => delete value["name"], ""],
    ["a name without a slash", (value) => (value["name"] = "notes"), "/name"],
    ["a long name", (value) => (value["name"] = `a/${"b".repeat(200)}`), "/name"],
    ["no description", (value) => delete value["description"], ""],
    ["no version", (value) => delete value["version"], ""],
    ["a range as version", (value) => (value["version"] = "^1.0.0"), "/version"],
    ["a range of a package", (value) => (value["packages"][0].version = "1.x"), "/packages/0/version"],
    ["the version latest", (value) => (value["packages"][0].version = "latest"), "/packages/0/version"],
    ["no identifier", (value) => delete value["packages"][0].identifier, "/packages/0"],
    ["no transport", (value) => delete value["packages"][0].transport, "/packages/0"],
    [
      "an unknown transport",
      (value) => (value["packages"][0].transport.type = "fax"),
      "/packages/0/transport/type",
    ],
    [
      "a transport without its URL",
      (value) => (value["packages"][0].transport = { type: "sse" }),
      "/packages/0/transport",
    ],
    ["a hash that is none", (value) => (value["packages"][0].fileSha256 = "abc"), "/packages/0/fileSha256"],
    [
      "an argument of no type",
      (value) => (value["packages"][0].packageArguments = [{ value: "x" }]),
      "/packages/0/packageArguments/0",
    ],
    [
      "a nameless argument",
      (value) => (value["packages"][0].packageArguments = [{ type: "named" }]),
      "/packages/0/packageArguments/0/type",
    ],
    [
      "an empty positional argument",
      (value) => (value["packages"][0].packageArguments = [{ type: "positional" }]),
      "/packages/0/packageArguments/0/type",
    ],
    [
      "a nameless variable",
      (value) => (value["packages"][0].environmentVariables = [{}]),
      "/packages/0/environmentVariables/0",
    ],
    [
      "a bundle that is no URL",
      (value) => Object.assign(value["packages"][0], { registryType: "mcpb", fileSha256: HASH }),
      "/packages/0/identifier",
    ],
    [
      "a bundle over http",
      (value) =>
        Object.assign(value["packages"][0], { registryType: "mcpb", identifier: "http://x.example/a.mcpb" }),
      "/packages/0/identifier",
    ],
    ["a remote that is no URL", (value) => (value["remotes"][0].url = "javascript:x"), "/remotes/0/url"],
    ["the form of 2025-07", (value) => (value["version_detail"] = { version: "1" }), ""],
  ])("is refused with %s", (_, change, path) => {
    const { document: read, diagnostics } = parse(document(change));
    expect(read).toBeUndefined();
    const errors = diagnostics.filter(({ severity }) => severity === "error");
    expect(errors.map(({ path: at }) => at)).toContain(path);
    expect(errors.every(({ line }) => line !== undefined)).toBe(true);
  });

  test("with a long description or a bundle without a hash has warnings", () => {
    const { document: read, diagnostics } = parse(
      document((value) => {
        value["description"] = "d".repeat(101);
        value["packages"] = [
          { registryType: "mcpb", identifier: "https://x.example/a.mcpb", transport: { type: "stdio" } },
        ];
      }),
    );
    expect(read).toBeDefined();
    expect(diagnostics).toHaveLength(2);
  });

  test("never makes the reader throw", () => {
    fc.assert(fc.property(fc.string(), (text) => void parseServerJson(text, "server.json")));
    fc.assert(
      fc.property(
        fc.constantFrom("packages", "remotes", "repository", "_meta", "icons"),
        fc.jsonValue(),
        (key, value) => {
          const { document: read, diagnostics } = parse(document((whole) => (whole[key] = value)));
          expect(read === undefined).toBe(diagnostics.some(({ severity }) => severity === "error"));
          if (read !== undefined) toServerOptions(read);
        },
      ),
    );
  });

  test("is recognized by looksLikeServerJson", () => {
    expect(looksLikeServerJson(document())).toBe(true);
    expect(looksLikeServerJson({ server: document() })).toBe(true);
    expect(looksLikeServerJson({ name: "@alice/x", source: {}, type: "mcp-server" })).toBe(false);
    expect(looksLikeServerJson([])).toBe(false);
  });
});

describe("a package", () => {
  test("has settings in the same form as the configuration of a package", () => {
    const [option] = options(document());
    expect(installable(option).configuration).toEqual({
      schema: {
        type: "object",
        properties: {
          NOTES_TOKEN: { type: "string", description: "A token.", secret: true },
          NOTES_MODE: { type: "string", enum: ["a", "b"], default: "a" },
          host: { type: "string", description: "A host.", examples: ["example.com"] },
          port: { type: "number", description: "A port.", default: 8080 },
          verbose: { type: "boolean" },
          folder: { type: "array", items: { type: "string", format: "file" }, description: "A folder." },
        },
        required: ["NOTES_TOKEN", "host", "folder"],
        additionalProperties: false,
      },
      env: {
        ...{ NOTES_TOKEN: "NOTES_TOKEN", NOTES_MODE: "NOTES_MODE" },
        ...{ host: "HOST", port: "PORT", verbose: "VERBOSE", folder: "FOLDER" },
      },
    });
  });

  test("becomes command arguments and environment variables", () => {
    const [option] = options(document());
    const env = { NOTES_TOKEN: "{host}", HOST: "h.example", FOLDER: '["/a","/b"]', VERBOSE: "true" };
    expect(fillOption(installable(option), env)).toMatchObject({
      args: ["serve", "--stdio", "--port", "8080", "--verbose", "/a", "/b"],
      env: { NOTES_TOKEN: "{host}", NOTES_MODE: "a", NOTES_URL: "https://h.example/api?x={other}" },
      missing: [],
    });
  });

  test("reports the settings that have no value", () => {
    const [option] = options(document());
    expect(fillOption(installable(option), { VERBOSE: "false" })).toMatchObject({
      args: ["serve", "--stdio", "--port", "8080"],
      env: { NOTES_MODE: "a" },
      missing: [
        { setting: "NOTES_TOKEN", variable: "NOTES_TOKEN" },
        { setting: "host", variable: "HOST" },
        { setting: "folder", variable: "FOLDER" },
      ],
    });
  });

  test.each<[Loose, Loose]>([
    [
      { registryType: "pypi", identifier: "notes-mcp", version: "1.0" },
      { kind: "pypi", name: "notes-mcp", version: "1.0" },
    ],
    [
      { registryType: "oci", identifier: "ghcr.io/alice/notes:1.0" },
      { kind: "oci", image: "ghcr.io/alice/notes:1.0" },
    ],
    [
      {
        registryType: "oci",
        identifier: "alice/notes",
        version: "1.0",
        registryBaseUrl: "https://images.example/",
      },
      { kind: "oci", image: "images.example/alice/notes:1.0" },
    ],
    [
      { registryType: "oci", identifier: `ghcr.io/alice/notes@sha256:${HASH}`, version: "1.0" },
      { kind: "oci", image: `ghcr.io/alice/notes@sha256:${HASH}` },
    ],
    [
      { registryType: "mcpb", identifier: "https://x.example/notes.mcpb", fileSha256: HASH },
      {
        kind: "mcpb",
        source: "https://x.example/notes.mcpb",
        integrity: "sha256-/jM+WYWVAArgIb0nEX2zLsaa9ph/UHunpjyQY4/2M84=",
      },
    ],
    [
      { registryType: "nuget", identifier: "Alice.Notes", version: "1.0.0" },
      { kind: "unsupported", name: "Alice.Notes" },
    ],
    [
      { registryType: "cargo", identifier: "notes" },
      { kind: "unsupported", registryType: "cargo" },
    ],
    [
      { registryType: "npm", identifier: "notes" },
      { kind: "unsupported", reason: "it names no version" },
    ],
    [{ registryType: "npm", identifier: "--global", version: "1.0.0" }, { kind: "unsupported" }],
    [{ registryType: "npm", identifier: "../x", version: "1.0.0" }, { kind: "unsupported" }],
    [{ registryType: "npm", identifier: "a b", version: "1.0.0" }, { kind: "unsupported" }],
    [{ registryType: "pypi", identifier: "--index-url=x", version: "1" }, { kind: "unsupported" }],
    [{ registryType: "oci", identifier: "--privileged", version: "1" }, { kind: "unsupported" }],
  ])("is read from %j", (entry, expected) => {
    expect(onlyPackage(entry)).toMatchObject(expected);
  });

  test("on HTTP has a URL with the values of its arguments", () => {
    const option = onlyPackage({
      ...{ registryType: "npm", identifier: "x", version: "1.0.0" },
      transport: { type: "streamable-http", url: "http://localhost:{port}/{path}?t={TOKEN}&z={z}" },
      packageArguments: [
        { type: "named", name: "--port", default: "3000" },
        { type: "positional", valueHint: "path", default: "mcp" },
      ],
      environmentVariables: [{ name: "TOKEN" }],
    });
    expect(fillOption(installable(option), { TOKEN: "t" })).toMatchObject({
      url: "http://localhost:3000/mcp?t=t&z={z}",
      args: ["--port", "3000", "mcp"],
    });
  });

  test("has runtime arguments with variables", () => {
    const option = onlyPackage({
      ...{ registryType: "oci", identifier: "alice/notes:1" },
      runtimeArguments: [
        {
          ...{ type: "named", name: "--mount", value: "type=bind,src={from},dst={to}" },
          variables: { from: { isRequired: true, format: "filepath" }, to: { default: "/data" } },
        },
      ],
    });
    expect(fillOption(installable(option), { FROM: "/home" }).runtimeArgs).toEqual([
      ...["--mount", "type=bind,src=/home,dst=/data"],
    ]);
    expect(fillOption(installable(option), {})).toMatchObject({
      runtimeArgs: [],
      missing: [{ setting: "from" }],
    });
  });

  test("gives a setting another variable if the server already uses its name", () => {
    const option = onlyPackage({
      ...{ registryType: "npm", identifier: "x", version: "1.0.0" },
      packageArguments: [{ type: "named", name: "--port", description: "p", isRequired: true }],
      environmentVariables: [{ name: "PORT", value: "1" }],
    });
    expect(installable(option).configuration?.env).toEqual({ port: "PORT_2" });
    expect(fillOption(installable(option), { PORT: "9", PORT_2: "2" })).toMatchObject({
      ...{ args: ["--port", "2"], env: { PORT: "1" } },
    });
  });
});

describe("a remote server", () => {
  test("has a URL and headers with placeholders, and marks its secrets", () => {
    const remote = installable(options(document()).at(-1));
    expect(remote).toMatchObject({
      kind: "remote",
      url: ["https://", { setting: "tenant" }, ".example.com/mcp"],
      headers: { Authorization: ["Bearer ", { setting: "token" }], "X-Region": [{ setting: "X-Region" }] },
    });
    expect(remote.configuration?.schema).toMatchObject({
      properties: { token: { secret: true }, tenant: { enum: ["us", "eu"] } },
      required: ["tenant", "token"],
    });
    expect(fillOption(remote, { TENANT: "eu", TOKEN: "t" })).toMatchObject({
      url: "https://eu.example.com/mcp",
      headers: { Authorization: "Bearer t", "X-Region": "us" },
    });
    expect(fillOption(remote, {}).url).toBeUndefined();
  });

  test("gets header values unchanged", () => {
    const remote = installable(options(document()).at(-1));
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (value) => {
        expect(fillOption(remote, { TENANT: "x", TOKEN: value }).headers["Authorization"]).toBe(
          `Bearer ${value}`,
        );
      }),
    );
  });
});

describe("the preferred way to install", () => {
  const bundle = (file: string): Loose => ({
    ...{
      registryType: "mcpb",
      identifier: `https://x.example/${file}`,
      fileSha256: HASH,
      transport: { type: "stdio" },
    },
  });

  test("is a package on stdio before other packages, and a package before a URL", () => {
    expect(preferredOption(options(document()), LINUX)?.kind).toBe("npm");
    const http = {
      registryType: "npm",
      identifier: "x",
      version: "1.0.0",
      transport: { type: "sse", url: "http://localhost" },
    };
    const both = document((value) => (value["packages"] = [http, bundle("notes.mcpb")]));
    expect(preferredOption(options(both), LINUX)?.kind).toBe("mcpb");
    const remotes = document((value) => {
      value["packages"] = [{ registryType: "nuget", identifier: "x", transport: { type: "stdio" } }];
      value["remotes"] = [
        { type: "sse", url: "https://a.example" },
        { type: "streamable-http", url: "https://b.example" },
      ];
    });
    expect(preferredOption(options(remotes), LINUX)).toMatchObject({ url: ["https://b.example"] });
    expect(preferredOption([], LINUX)).toBeUndefined();
  });

  test.each([
    ["linux", "x64", "notes-linux-amd64.mcpb"],
    ["linux", "arm64", "notes-linux-arm64.mcpb"],
    ["darwin", "arm64", "notes_macos_arm64.mcpb"],
    ["win32", "x64", "notes-windows-x64.mcpb"],
  ])("for a bundle on %s %s is the file of this platform", (os, arch, expected) => {
    const files = [
      "notes_macos_arm64.mcpb",
      "notes-windows-x64.mcpb",
      "notes-linux-arm64.mcpb",
      "notes-linux-amd64.mcpb",
    ];
    const all = options(document((value) => (value["packages"] = files.map(bundle))));
    expect(preferredOption(all, { os, arch })).toMatchObject({ source: `https://x.example/${expected}` });
    expect(preferredOption(all, { os: "linux", arch: "s390x" })?.kind).toBe("remote");
  });
});
