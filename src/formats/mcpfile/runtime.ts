// How a file wants to be served: settings of 0.0.1 and 0.1 files, and of the `MCPServerConfig` files that came with 0.2.

import { resolve } from "node:path";
import type { ClientTls } from "../../model/index.ts";
import { checkShape, entryOf, nodeAt, type ObjectNode, type TextNode, toPlain } from "../document/index.ts";
import type { Context } from "./context.ts";
import { RUNTIME_SHAPE } from "./shapes-runtime.ts";

/** As written: nothing is filled in, and paths are relative to the file's folder. */
export interface McpRuntime {
  readonly transportProtocol: "streamablehttp" | "stdio";
  readonly streamableHttpConfig?: StreamableHttpConfig;
  readonly stdioConfig?: Readonly<Record<string, never>>;
  readonly loggingConfig?: LoggingConfig;
  readonly clientTlsConfig?: ClientTlsConfig;
}

export interface StreamableHttpConfig {
  readonly port?: number;
  readonly basePath?: string;
  readonly stateless?: boolean;
  readonly auth?: { readonly authorizationServers?: readonly string[]; readonly jwksUri?: string };
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  readonly health?: {
    readonly enabled?: boolean;
    readonly livenessPath?: string;
    readonly readinessPath?: string;
  };
}

export interface LoggingConfig {
  readonly level?: string;
  readonly development?: boolean;
  readonly disableCaller?: boolean;
  readonly disableStacktrace?: boolean;
  readonly encoding?: "json" | "console";
  readonly outputPaths?: readonly string[];
  readonly errorOutputPaths?: readonly string[];
  readonly initialFields?: Readonly<Record<string, unknown>>;
  readonly enableMcpLogs?: boolean;
}

export interface ClientTlsConfig {
  readonly caCertFiles?: readonly string[];
  readonly caCertDir?: string;
  readonly insecureSkipVerify?: boolean;
}

/** An `mcpserver.yaml`. */
export interface McpServerConfig {
  readonly runtime?: McpRuntime | undefined;
}

/** Nothing when there is none, or when it is broken. */
export function readRuntime(node: TextNode | undefined, { diagnostics }: Context): McpRuntime | undefined {
  if (node === undefined || node.kind === "null") return undefined;
  const checked = checkShape(RUNTIME_SHAPE, withoutFree(node), diagnostics) as McpRuntime | undefined;
  const port = nodeAt(node, "streamableHttpConfig", "port");
  if (port?.kind === "number" && Number(port.value) > 65_535)
    diagnostics.add(port, `port ${port.source} is not a port`, "Ports end at 65535.");
  const insecure = nodeAt(node, "clientTlsConfig", "insecureSkipVerify");
  if (insecure?.kind === "boolean" && insecure.value === true)
    diagnostics.warn(
      insecure,
      "certificates are not checked: anybody on the way can read and change requests",
    );
  if (diagnostics.hasErrorIn(node) || checked === undefined) return undefined;
  const free = nodeAt(node, "loggingConfig", "initialFields");
  if (free?.kind !== "object") return checked;
  const initialFields = toPlain(free) as Record<string, unknown>;
  return { ...checked, loggingConfig: { ...checked.loggingConfig, initialFields } };
}

/** Whom the requests of a file's servers trust. */
export function toClientTls(runtime: McpRuntime | undefined, folder: string): ClientTls | undefined {
  const config = runtime?.clientTlsConfig;
  if (config === undefined) return undefined;
  return {
    caCertFiles: (config.caCertFiles ?? []).map((file) => resolve(folder, file)),
    ...(config.caCertDir === undefined ? {} : { caCertDir: resolve(folder, config.caCertDir) }),
    insecureSkipVerify: config.insecureSkipVerify === true,
  };
}

/** `initialFields` may hold anything, which a shape cannot say. */
function withoutFree(node: TextNode): TextNode {
  const logging = entryOf(node, "loggingConfig");
  const free = entryOf(logging?.value, "initialFields");
  if (node.kind !== "object" || logging?.value.kind !== "object" || free?.value.kind !== "object")
    return node;
  const inner: ObjectNode = {
    ...logging.value,
    entries: logging.value.entries.filter((entry) => entry !== free),
  };
  return {
    ...node,
    entries: node.entries.map((entry) => (entry === logging ? { ...logging, value: inner } : entry)),
  };
}
