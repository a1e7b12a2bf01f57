// Servers of a script: packages come from the servers of the workspace, commands and URLs from the script itself.

import { splitCommandLine } from "../../base/text/command-line.ts";
import { parseUrl } from "../../base/net/urls.ts";
import type { McpConnection, TransportConfig } from "../../client/index.ts";
import { changedError, disabledHint, isPortolanError, PortolanError } from "../../errors/index.ts";
import type { Workspace, WorkspaceConfig, WorkspaceOptions } from "../../hub/index.ts";
import { type ServerConfig, escapeReferences, formatReference, parsePackageSpec } from "../../model/index.ts";
import { findPackageServer } from "./find-package.ts";
import type { LockedServerPackage } from "./locked-packages.ts";
import type {
  FoundServer,
  OpenServerOptions,
  ScriptServer,
  ScriptServers,
  SettingParts,
} from "./script-servers.ts";

export interface WorkspaceServersOptions {
  /** The servers of the workspace; undefined if the script needs none of them. */
  readonly config: WorkspaceConfig | undefined;
  /** The packages of the workspace's servers by alias, from the lock file. */
  readonly locked?: ReadonlyMap<string, LockedServerPackage>;
  /** Opens a workspace that has one server. `name` is the server's name in the script. */
  readonly openWorkspace: (
    config: WorkspaceConfig,
    options: Pick<WorkspaceOptions, "only" | "waitMs" | "watchFiles" | "snapshots" | "signal">,
    name: string,
  ) => Promise<Workspace>;
  /** Connects to a command or a URL of the script. */
  readonly connect: (config: ScriptTarget, name: string) => Promise<McpConnection>;
}

/** The part of a connection's config that the script decides. */
export type ScriptTarget =
  | Pick<TransportConfig & { transport: "stdio" }, "transport" | "command" | "args" | "env">
  | Pick<Exclude<TransportConfig, { transport: "stdio" }>, "transport" | "url">;

export function createWorkspaceServers(options: WorkspaceServersOptions): ScriptServers {
  const { config, locked, openWorkspace, connect } = options;
  const serverOf = (packageName: string): ServerConfig =>
    findPackageServer(packageName, config?.servers ?? [], locked);
  const isPackage = (target: string): boolean => /^@[\w.-]+\/[\w.-]+$/.test(target);
  const find = (packageName: string): FoundServer => {
    const { alias, origin, endpoint } = serverOf(packageName);
    const runsHere =
      endpoint.transport === "stdio" || ("program" in endpoint && endpoint.program !== undefined);
    return {
      ...{ label: alias, origin: { file: origin.file, line: origin.line }, takesSettings: runsHere },
      variables: locked?.get(alias)?.variables,
    };
  };
  const open: ScriptServers["open"] = async (packageName, { name, env, signal }) => {
    const server = withEnv(serverOf(packageName), env);
    const only = [server.alias];
    // A typed secret is not known to the workspace, so that nothing about this server may be written to the disk.
    const isTyped = Object.values(env).some((parts) =>
      parts.some((part) => typeof part !== "string" && !part.isStored),
    );
    const workspace = await openWorkspace(
      { ...config, servers: [{ ...server, start: "eager" }] },
      { only, waitMs: 0, watchFiles: false, signal, ...(isTyped ? { snapshots: false } : {}) },
      name,
    );
    try {
      await untilStarted(workspace, signal);
      return workspaceServer(workspace, server.alias);
    } catch (error) {
      await workspace.close();
      throw error;
    }
  };
  return {
    find,
    open,
    findTarget: (target) => {
      if (isPackage(target)) return find(target);
      const parsed = parseTarget(target, {});
      const isCommand = parsed.transport === "stdio";
      return {
        label: isCommand ? [parsed.command, ...(parsed.args ?? [])].join(" ") : parsed.url,
        takesSettings: isCommand,
      };
    },
    openTarget: async (target, opening) => {
      if (isPackage(target)) return open(target, opening);
      const connection = await connect(parseTarget(target, opening.env), opening.name);
      return {
        listTools: (request) => connection.listToolDefinitions(request),
        callTool: (tool, input, request) => connection.callTool(tool, input, request),
        readResource: (uri, request) => connection.readResource(uri, request),
        close: () => connection.close(),
        [Symbol.asyncDispose]: () => connection.close(),
      };
    },
  };
}

/** Parses the text of `import tools from mcp "…"`: a URL, a command, or one word, which is an npm package as in the language. */
function parseTarget(target: string, env: OpenServerOptions["env"]): ScriptTarget {
  const url = parseUrl(target.trim());
  if (url !== undefined && /^(?:https?|wss?):$/.test(url.protocol))
    return { transport: url.protocol.startsWith("ws") ? "websocket" : "http", url: url.href };
  const words = splitCommandLine(target);
  if ("problem" in words)
    throw new PortolanError("TARGET_INVALID", `The command cannot be split into words: ${words.problem}.`, {
      hint: "Write a program and its arguments; no shell runs them.",
    });
  const [command = "", ...args] = words;
  const values = Object.fromEntries(Object.entries(env).map(([name, parts]) => [name, reveal(parts)]));
  const isSpec = args.length === 0 && typeof parsePackageSpec(command) !== "string";
  return isSpec
    ? { transport: "stdio", command: "npx", args: ["-y", command], env: values }
    : { transport: "stdio", command, args, env: values };
}

function reveal(parts: SettingParts): string {
  return parts.map((part) => (typeof part === "string" ? part : part.secret.reveal())).join("");
}

/** Adds the variables to a server config. Stored secrets stay references, which the hub resolves and redacts. */
function withEnv(server: ServerConfig, env: OpenServerOptions["env"]): ServerConfig {
  if (Object.keys(env).length === 0) return server;
  const texts = Object.fromEntries(
    Object.entries(env).map(([name, parts]) => [name, parts.map(toReferenceText).join("")]),
  );
  const { endpoint } = server;
  if (endpoint.transport === "stdio")
    return { ...server, endpoint: { ...endpoint, env: { ...endpoint.env, ...texts } } };
  if ("program" in endpoint && endpoint.program !== undefined) {
    const program = { ...endpoint.program, env: { ...endpoint.program.env, ...texts } };
    return { ...server, endpoint: { ...endpoint, program } };
  }
  return server;
}

function toReferenceText(part: SettingParts[number]): string {
  if (typeof part === "string") return escapeReferences(part);
  return part.isStored
    ? formatReference({ kind: "secret", name: part.name })
    : escapeReferences(part.secret.reveal());
}

/** Waits until the server is ready. Throws its error if it cannot be used. */
async function untilStarted(workspace: Workspace, signal: AbortSignal): Promise<void> {
  let stop: (() => void) | undefined;
  const aborted = new Promise<void>((resolve) => {
    stop = () => resolve();
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    await Promise.race([workspace.settled(), aborted]);
  } finally {
    if (stop !== undefined) signal.removeEventListener("abort", stop);
  }
  signal.throwIfAborted();
  const [health] = workspace.health();
  if (health === undefined || health.state === "ready" || health.state === "idle") return;
  const { alias, state, error, stderr } = health;
  if (error !== undefined)
    throw new PortolanError(error.code, error.message, { server: alias, hint: error.hint, stderr });
  const isDisabled = state === "disabled";
  throw new PortolanError(
    isDisabled ? "SERVER_DISABLED" : "SERVER_UNAVAILABLE",
    `${alias} is ${isDisabled ? "disabled" : `not ready (${state})`}.`,
    {
      server: alias,
      stderr,
      hint: isDisabled
        ? disabledHint(health)
        : `Run the script again in a few seconds. If the server is still ${state}: portolan why ${alias}`,
    },
  );
}

function workspaceServer(workspace: Workspace, alias: string): ScriptServer {
  return {
    listTools: async () => {
      const tools = await workspace.tools();
      const names = workspace.toolNames();
      return tools.flatMap(({ definition }) => {
        const own = names.get(definition.name);
        return own?.server === alias ? [{ ...definition, name: own.name }] : [];
      });
    },
    callTool: async (name, input, request) => {
      const full = workspace.fullName(`${alias}.${name}`);
      try {
        return await workspace.callTool(full, input, request);
      } catch (thrown) {
        if (!isPortolanError(thrown)) throw thrown;
        // The script knows neither the full name nor the workspace.
        const message = thrown.message.replaceAll(full, () => `${alias}.${name}`);
        throw changedError(thrown, { message, server: alias, tool: name });
      }
    },
    readResource: (uri, request) => workspace.readResource(uri, request),
    close: () => workspace.close(),
    [Symbol.asyncDispose]: () => workspace.close(),
  };
}
