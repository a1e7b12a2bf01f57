// Converts a target and its options to the config of a connection, and to a server config.

import { basename, resolve } from "node:path";
import { type McpOptions, toSandbox, type TransportConfig } from "../../client/index.ts";
import type { ServerConfig, Endpoint, LaunchSettings } from "../../model/index.ts";
import type { ServerOptions } from "../options/parse.ts";
import { isDirectory, rootsOf } from "../options/roots.ts";
import { givenSandboxFlags, sandboxOfCommand } from "../options/sandbox.ts";
import { throwUsageErrors } from "../options/usage-error.ts";
import { maskedWords } from "../output/endpoint-label.ts";
import { plainLine } from "../terminal/safe-text.ts";
import type { Target } from "./target.ts";

const RUNNERS = /^(?:node|npx|bunx?|deno|python3?|uvx?|pipx|ruby|java|docker|podman|sh|bash|run|exec|tool)$/i;

/** Throws one USAGE error that lists all options that do not fit the target. */
export function toConfig(
  target: Target,
  options: ServerOptions,
  cwd: string,
  given: Required<Pick<McpOptions, "handlers" | "signal" | "onDiagnostic">>,
): TransportConfig {
  const problems: string[] = [];
  const roots = rootsOf(options.roots, cwd, problems);
  const common: McpOptions = {
    ...given,
    name: plainLine(nameOf(target), 120),
    limits: options.limits,
    watch: false,
    ...(roots.length === 0 ? {} : { handlers: { ...given.handlers, roots } }),
    era: options.era,
    logLevel: options.verbose ? "info" : undefined,
  };
  const config =
    target.kind === "command"
      ? { ...common, ...stdioConfig(target, options, cwd, problems) }
      : { ...common, ...urlConfig(target, options, problems) };
  throwUsageErrors(problems);
  return config;
}

/** The command line without secrets, since every error shows it. */
function nameOf(target: Target): string {
  return target.kind === "url" ? target.label : maskedWords([target.command, ...target.args]).join(" ");
}

type Stdio = Pick<
  TransportConfig & { transport: "stdio" },
  "transport" | "command" | "args" | "env" | "cwd" | "sandbox"
>;
type Url = Pick<Exclude<TransportConfig, { transport: "stdio" }>, "transport" | "url" | "headers">;

function stdioConfig(
  target: Target & { kind: "command" },
  options: ServerOptions,
  cwd: string,
  problems: string[],
): Stdio {
  if (Object.keys(options.headers).length > 0)
    problems.push("--header is only for URLs. For a command, use --env");
  if (options.transport !== undefined)
    problems.push("--transport is only for URLs. A command always uses stdio");
  const folder = options.cwd === undefined ? undefined : resolve(cwd, options.cwd);
  if (folder !== undefined && !isDirectory(folder)) problems.push(`--cwd ${options.cwd} is not a directory`);
  const sandbox = sandboxOfCommand(options.sandbox, cwd, problems);
  return {
    transport: "stdio",
    command: target.command,
    args: [...target.args],
    env: { ...options.env },
    cwd: folder,
    sandbox,
  };
}

function urlConfig(target: Target & { kind: "url" }, options: ServerOptions, problems: string[]): Url {
  if (Object.keys(options.env).length > 0)
    problems.push("--env is only for commands. For a URL, use --header");
  if (options.cwd !== undefined) problems.push("--cwd is only for commands");
  for (const flag of givenSandboxFlags(options.sandbox))
    problems.push(`${flag} is only for commands. A server behind a URL does not run on this machine`);
  const transport = options.transport ?? target.transport;
  if ((transport === "websocket") !== (target.transport === "websocket")) {
    const scheme = `${new URL(target.url).protocol}//`;
    problems.push(
      `--transport ${transport} cannot be used with ${scheme}; use ${transport === "websocket" ? "ws:// or wss://" : "http:// or https://"}`,
    );
  }
  return { transport, url: target.url, headers: { ...options.headers } };
}

/** Throws one USAGE error that lists all options that do not fit the target. */
export function targetServer(target: Target, options: ServerOptions, cwd: string): ServerConfig {
  const { signal } = new AbortController();
  const config = toConfig(target, options, cwd, { handlers: {}, signal, onDiagnostic: () => {} });
  return {
    alias: aliasOf(target),
    origin: { file: cwd, line: 1, column: 1, format: "command line" },
    enabled: true,
    endpoint: literally(
      config.transport === "stdio"
        ? {
            transport: "stdio",
            command: config.command,
            args: config.args ?? [],
            env: config.env ?? {},
            cwd: config.cwd ?? cwd,
          }
        : { transport: config.transport, url: config.url, headers: config.headers ?? {} },
    ),
    ...(options.era === undefined ? {} : { era: options.era }),
    ...(Object.keys(options.limits).length === 0 ? {} : { limits: options.limits }),
    ...(config.transport === "stdio" ? { launch: launchOf(config) } : {}),
  };
}

/** The sandbox grants the working directory only if the user named it. */
function launchOf({ cwd, sandbox }: TransportConfig & { transport: "stdio" }): LaunchSettings {
  return {
    ...(cwd === undefined ? { cwdImplied: true } : {}),
    ...(sandbox === undefined ? {} : { sandbox: toSandbox(sandbox) }),
  };
}

/** The shell has expanded variables already, so any `${…}` that is left is literal text. */
function literally(endpoint: Endpoint): Endpoint {
  return JSON.parse(JSON.stringify(endpoint), (_key, value: unknown) =>
    typeof value === "string" ? value.replaceAll("${", "$${") : value,
  ) as Endpoint;
}

/** A short name for the server, as in `/servers/<name>/mcp`. */
export function aliasOf(target: Target): string {
  const named =
    target.kind === "url"
      ? new URL(target.url).hostname.replace(/^(?:www|mcp|api)\./, "").split(".")[0]
      : [target.command, ...target.args].find(
          (word) => !word.startsWith("-") && !RUNNERS.test(basename(word).replace(/\.(?:exe|cmd)$/i, "")),
        );
  const short = basename(named ?? "")
    .replace(/(?<=.)@.*$/, "")
    .replace(/\.\w{1,4}$/, "")
    .replace(/^(?:mcp-server|server|mcp)-/, "")
    .replace(/[^A-Za-z0-9_-]+/g, "_")
    .replace(/^[-_]+|[-_]+$/g, "")
    .slice(0, 32);
  return short === "" ? "server" : short;
}
