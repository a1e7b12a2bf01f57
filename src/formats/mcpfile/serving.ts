// How a file wants to be served, as far as the gateway goes along with it.

import type { GatewaySettings } from "../../model/index.ts";
import type { McpRuntime } from "./schema/runtime-schema.ts";

/** Where to listen. Its files are relative to the folder of the one that names them. */
export function toGateway(runtime: McpRuntime | undefined): GatewaySettings | undefined {
  const { port, tls } = runtime?.streamableHttpConfig ?? {};
  if (port === undefined && tls === undefined) return undefined;
  return {
    ...(port === undefined ? {} : { port }),
    ...(tls === undefined ? {} : { tls: { cert: tls.certFile, key: tls.keyFile } }),
  };
}

/** What the file asks for and does not get, by name; with `several` servers none can say where all are served. */
export function unusedSettings(runtime: McpRuntime | undefined, several: boolean): string[] {
  const { port, tls, basePath, stateless, auth, health } = runtime?.streamableHttpConfig ?? {};
  const usual =
    health?.enabled !== false &&
    (health?.livenessPath ?? "/healthz") === "/healthz" &&
    (health?.readinessPath ?? "/readyz") === "/readyz";
  const asked: readonly (readonly [string, boolean])[] = [
    ["transportProtocol stdio", runtime?.transportProtocol === "stdio"],
    ["port", several && port !== undefined],
    ["tls", several && tls !== undefined],
    ["basePath", basePath !== undefined && basePath.replace(/\/$/, "") !== "/mcp"],
    ["stateless", stateless !== undefined],
    ["auth", auth !== undefined],
    ["health", !usual],
    ["loggingConfig", runtime?.loggingConfig !== undefined],
  ];
  return asked.filter(([, isAsked]) => isAsked).map(([name]) => name);
}
