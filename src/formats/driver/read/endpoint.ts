// How the server of a driver is reached: the command line that starts it, or the address that it has.

import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Driver, DriverServer, Endpoint, OAuthSettings, UrlEndpoint } from "../../../model/index.ts";
import { definedOnly, filled, fixedHeaders, toOAuthSettings } from "../../manifest/index.ts";

const DEFAULT_PORT = 8_080;
const DEFAULT_PATH = "/mcp";

/** `file` is the DRIVER.md. A program without a slash in its name is looked up in PATH. */
export function toEndpoint(
  server: DriverServer,
  transport: Driver["transport"],
  auth: Driver["auth"],
  file: string,
): Endpoint {
  switch (server.kind) {
    case "binary": {
      const command = isRelative(server.path) ? findProgram(server.path, file) : server.path;
      return { transport: "stdio", command, ...words(server.args), ...environment(server) };
    }
    case "npm":
      return {
        transport: "stdio",
        kind: "npm",
        package: server.package,
        ...words(server.args),
        ...environment(server),
      };
    case "docker":
      return dockerEndpoint(server, transport);
    case "remote":
      return remoteEndpoint(server, transport, auth);
  }
}

function dockerEndpoint(server: DriverServer & { kind: "docker" }, transport: Driver["transport"]): Endpoint {
  const program = {
    kind: "image" as const,
    image: server.image,
    ...words(server.args),
    ...environment(server),
  };
  if (transport === "stdio") return { transport: "stdio", ...program };
  const port = server.port ?? DEFAULT_PORT;
  const url = `http://127.0.0.1:${port}${server.path ?? DEFAULT_PATH}`;
  return { transport: transport === "sse" ? "sse" : "http", url, program: { ...program, port } };
}

/** The only secret that the driver keeps is sent as a bearer token, unless it says how itself. */
function remoteEndpoint(
  server: DriverServer & { kind: "remote" },
  transport: Driver["transport"],
  auth: Driver["auth"],
): UrlEndpoint {
  const said = Object.keys(server.headers ?? {}).some((name) => name.toLowerCase() === "authorization");
  const [only, ...others] = auth?.state?.env ?? [];
  const isOnly = only !== undefined && others.length === 0 && !said;
  const sent = server.auth ?? (isOnly ? { token: `\${secrets.${only}}` } : undefined);
  const headers = filled({ ...server.headers, ...fixedHeaders(sent) });
  const settings = filled(definedOnly<OAuthSettings>({ ...toOAuthSettings(sent) }));
  return {
    transport: transport === "sse" ? "sse" : "http",
    url: server.url,
    ...(headers === undefined ? {} : { headers }),
    ...(settings === undefined ? {} : { auth: settings }),
  };
}

/** From the workspace, as everything that a driver names; a program that is only beside the driver is found there. */
function findProgram(path: string, file: string): string {
  const own = resolve(dirname(file), path);
  const workspace = /^(.*?)[\\/]\.drivers[\\/][^\\/]+[\\/][^\\/]+$/.exec(resolve(file))?.[1];
  if (workspace === undefined) return own;
  const shared = resolve(workspace, path);
  return existsSync(shared) || (!existsSync(own) && !path.startsWith("..")) ? shared : own;
}

function isRelative(path: string): boolean {
  return /[\\/]/.test(path) && !/^(?:[\\/~]|[A-Za-z]:[\\/])/.test(path);
}

function words(args: readonly string[]): { args?: readonly string[] } {
  return args.length === 0 ? {} : { args };
}

function environment({ env }: { readonly env: Readonly<Record<string, string>> }): {
  env?: Readonly<Record<string, string>>;
} {
  return Object.keys(env).length === 0 ? {} : { env };
}
