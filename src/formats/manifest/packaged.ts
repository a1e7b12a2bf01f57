// Servers that are packages: `npm` and `docker` as the commands that run them.

import type { Endpoint, StdioEndpoint, UrlEndpoint } from "../../model/index.ts";
import { entryOf, type ObjectNode, type Problems, quoted } from "../text/index.ts";
import { definedOnly } from "./defined.ts";
import { ignored } from "./ignored.ts";
import type { CheckedServer } from "./server-fields.ts";

const PACKAGE = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*(?:@[\w.^~<>=|* +-]+)?$/i;
/** As Docker writes references: a name with a registry, a tag, a digest. */
const IMAGE = /^[a-z0-9][a-z0-9._:/-]*?(?::[\w][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/i;
const HTTP_PATHS: Readonly<Record<string, string>> = { "streamable-http": "/mcp", sse: "/sse" };

/** The endpoint; with problems reported it may be half right. */
export function toPackagedEndpoint(
  server: CheckedServer,
  transport: string,
  node: ObjectNode,
  problems: Problems,
): Endpoint {
  return server.npm === undefined
    ? dockerEndpoint(server, transport, node, problems)
    : npmEndpoint(server, transport, node, problems);
}

function npmEndpoint(
  server: CheckedServer,
  transport: string,
  node: ObjectNode,
  problems: Problems,
): StdioEndpoint {
  const { npm = "", bin, args = [], env, cwd } = server;
  if (transport !== "stdio") wrongTransport("npm", "stdio", node, problems);
  if (!PACKAGE.test(npm))
    refuse(
      "npm",
      npm,
      "is no package of npm",
      "Write its name, with a version: @scope/server@^1.2.",
      node,
      problems,
    );
  if (bin !== undefined && (bin.startsWith("-") || /[\s/\\]/.test(bin)))
    refuse("bin", bin, "is no program of a package", "Write the name of the program alone.", node, problems);
  ignored(["headers", "port", "path"], "with npm", node, problems);
  const words = bin === undefined ? ["-y", npm, ...args] : ["-y", "-p", npm, bin, ...args];
  return definedOnly<StdioEndpoint>({ transport: "stdio", command: "npx", args: words, env, cwd });
}

function dockerEndpoint(
  server: CheckedServer,
  transport: string,
  node: ObjectNode,
  problems: Problems,
): StdioEndpoint | UrlEndpoint {
  const { docker = "", args = [], env, headers, port } = server;
  if (!IMAGE.test(docker))
    refuse(
      "docker",
      docker,
      "is no image",
      "Write its name, best with its digest: name@sha256:….",
      node,
      problems,
    );
  ignored(["bin", "cwd"], "with docker", node, problems);
  const names = Object.keys(env ?? {}).flatMap((name) => ["-e", name]);
  if (transport === "stdio") {
    ignored(["headers", "port", "path"], "with transport stdio", node, problems);
    return definedOnly<StdioEndpoint>({
      transport: "stdio",
      command: "docker",
      args: ["run", "-i", "--rm", ...names, docker, ...args],
      env,
    });
  }
  const usual = HTTP_PATHS[transport];
  if (usual === undefined) wrongTransport("docker", "stdio, streamable-http or sse", node, problems);
  else if (port === undefined && entryOf(node, "port") === undefined)
    problems.add(
      entryOf(node, "docker") ?? node,
      `port is missing: transport ${transport} reaches the image by it`,
      "Write the port that it serves inside of its container: port: 8080.",
    );
  const path = server.path ?? usual ?? "/";
  if (!/^\/[^\s?#]*$/.test(path))
    refuse("path", path, "is no path", "Write it from the slash on: path: /mcp.", node, problems);
  return definedOnly<UrlEndpoint>({
    transport: transport === "sse" ? "sse" : "http",
    // The port of this machine is chosen when it starts.
    url: `http://127.0.0.1:0${path}`,
    headers,
    program: definedOnly({
      command: "docker",
      args: ["run", "--rm", ...names, docker, ...args],
      env,
      port: port ?? 0,
    }),
  });
}

function wrongTransport(what: string, fitting: string, node: ObjectNode, problems: Problems): void {
  problems.add(
    entryOf(node, "transport") ?? node,
    `this transport does not fit ${what}`,
    `Write transport: ${fitting}.`,
  );
}

function refuse(
  name: string,
  value: string,
  what: string,
  hint: string,
  node: ObjectNode,
  problems: Problems,
): void {
  problems.add(entryOf(node, name)?.value ?? node, `${quoted(value)} ${what}`, hint);
}
