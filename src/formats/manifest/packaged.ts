// Endpoints of servers that are packages of npm or of a registry, or container images.

import {
  type Endpoint,
  PACKAGE_HINT,
  parsePackageReference,
  type StdioEndpoint,
  type UrlEndpoint,
  type HttpProgram,
} from "../../model/index.ts";
import { entryOf, type ObjectNode, type Diagnostics, quoted } from "../document/index.ts";
import { definedOnly } from "./defined.ts";
import type { FileTransport, ServerValue } from "./server-schema.ts";

const PACKAGE = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*(?:@[\w.^~<>=|* +-]+)?$/i;
/** A Docker image reference: a name with an optional registry, tag and digest. */
const IMAGE = /^[a-z0-9][a-z0-9._:/-]*?(?::[\w][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/i;
const HTTP_PATHS: Readonly<Partial<Record<FileTransport, string>>> = {
  "streamable-http": "/mcp",
  sse: "/sse",
};

/** Creates the endpoint. After an error it may be incomplete. */
export function toPackagedEndpoint(
  server: ServerValue,
  transport: FileTransport,
  node: ObjectNode,
  diagnostics: Diagnostics,
): Endpoint {
  return server.npm === undefined
    ? dockerEndpoint(server, transport, node, diagnostics)
    : npmEndpoint(server, transport, node, diagnostics);
}

function npmEndpoint(
  server: ServerValue,
  transport: FileTransport,
  node: ObjectNode,
  diagnostics: Diagnostics,
): StdioEndpoint {
  const { npm = "", bin, args, env, cwd } = server;
  if (transport !== "stdio") wrongTransport("npm", "stdio", node, diagnostics);
  if (!PACKAGE.test(npm))
    refuse(
      "npm",
      npm,
      "is not an npm package",
      "Write its name, with a version: @scope/server@^1.2.",
      node,
      diagnostics,
    );
  if (bin !== undefined && (bin.startsWith("-") || /[\s/\\]/.test(bin)))
    refuse(
      "bin",
      bin,
      "is not the name of a program",
      "Write the name of the program alone.",
      node,
      diagnostics,
    );
  warnIgnored(["headers", "auth", "port", "path"], "with npm", node, diagnostics);
  return definedOnly<StdioEndpoint>({ transport: "stdio", kind: "npm", package: npm, bin, args, env, cwd });
}

/** The entry of a server in the lock file of its workspace. */
export interface PackageLock {
  readonly file: string;
  readonly server: string;
}

/** The program and its arguments come from the package; the lock file says which version. */
export function toPackageEndpoint(
  server: ServerValue,
  transport: FileTransport,
  node: ObjectNode,
  diagnostics: Diagnostics,
  lock: PackageLock,
): StdioEndpoint {
  const { package: name = "", args, env, cwd } = server;
  if (transport !== "stdio") wrongTransport("package", "stdio", node, diagnostics);
  const problem = parsePackageReference(name);
  if (typeof problem === "string")
    diagnostics.add(entryOf(node, "package")?.value ?? node, problem, PACKAGE_HINT);
  warnIgnored(["headers", "auth", "port", "path", "bin"], "with package", node, diagnostics);
  return definedOnly<StdioEndpoint>({
    transport: "stdio",
    kind: "package",
    package: name,
    lock,
    args,
    env,
    cwd,
  });
}

function dockerEndpoint(
  server: ServerValue,
  transport: FileTransport,
  node: ObjectNode,
  diagnostics: Diagnostics,
): StdioEndpoint | UrlEndpoint {
  const { docker = "", args, env, headers, port } = server;
  if (!IMAGE.test(docker))
    refuse(
      "docker",
      docker,
      "is not a container image",
      "Write the name of the image, preferably with its digest: name@sha256:<digest>.",
      node,
      diagnostics,
    );
  warnIgnored(["bin", "cwd"], "with docker", node, diagnostics);
  if (transport === "stdio") {
    warnIgnored(["headers", "auth", "port", "path"], "with transport stdio", node, diagnostics);
    return definedOnly<StdioEndpoint>({
      transport: "stdio",
      kind: "image",
      image: docker,
      args,
      env,
    });
  }
  warnIgnored(["auth"], "with docker", node, diagnostics);
  const usual = HTTP_PATHS[transport];
  if (usual === undefined) wrongTransport("docker", "stdio, streamable-http or sse", node, diagnostics);
  else if (port === undefined && entryOf(node, "port") === undefined)
    diagnostics.add(
      entryOf(node, "docker") ?? node,
      `port is missing: with transport ${transport}, Portolan connects to this port of the container`,
      "Write the port of the server inside the container, such as port: 8080.",
    );
  const path = server.path ?? usual ?? "/";
  if (!/^\/[^\s?#]*$/.test(path))
    refuse(
      "path",
      path,
      "is not a path",
      "Write a path that begins with /, such as path: /mcp.",
      node,
      diagnostics,
    );
  return definedOnly<UrlEndpoint>({
    transport: transport === "sse" ? "sse" : "http",
    // The launcher chooses the port of this machine when the container starts.
    url: `http://127.0.0.1:0${path}`,
    headers,
    program: definedOnly<HttpProgram>({
      kind: "image",
      image: docker,
      args,
      env,
      port: port ?? 0,
    }),
  });
}

function wrongTransport(what: string, fitting: string, node: ObjectNode, diagnostics: Diagnostics): void {
  diagnostics.add(
    entryOf(node, "transport") ?? node,
    `this transport cannot be used with ${what}`,
    `Write transport: ${fitting}.`,
  );
}

function refuse(
  name: string,
  value: string,
  what: string,
  hint: string,
  node: ObjectNode,
  diagnostics: Diagnostics,
): void {
  diagnostics.add(entryOf(node, name)?.value ?? node, `${quoted(value)} ${what}`, hint);
}

/** Warns of fields without an effect. `why` continues the sentence "has no effect". */
export function warnIgnored(
  names: readonly string[],
  why: string,
  node: ObjectNode,
  diagnostics: Diagnostics,
): void {
  for (const name of names) {
    const entry = entryOf(node, name);
    if (entry !== undefined && entry.value.kind !== "null")
      diagnostics.warn(entry, `${name} has no effect ${why}`, `Remove ${name}.`);
  }
}
