// A server given on the command line, as if a declaration had it.

import { basename } from "node:path";
import type { DeclaredServer, Endpoint, LaunchSettings } from "../model/index.ts";
import type { McpConfig } from "../client/index.ts";
import type { ServerOptions } from "./options.ts";
import { toConfig } from "./server-config.ts";
import type { Target } from "./target.ts";

const RUNNERS = /^(?:node|npx|bunx?|deno|python3?|uvx?|pipx|ruby|java|docker|podman|sh|bash|run|exec|tool)$/i;

/** Throws one USAGE error for all options that do not fit the target. */
export function targetServer(target: Target, options: ServerOptions, cwd: string): DeclaredServer {
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

/** A folder that nobody named is not granted. */
function launchOf({ cwd, sandbox }: McpConfig & { transport: "stdio" }): LaunchSettings {
  return {
    ...(cwd === undefined ? { cwdImplied: true } : {}),
    ...(sandbox === undefined ? {} : { sandbox: typeof sandbox === "string" ? { mode: sandbox } : sandbox }),
  };
}

/** A shell has put in what was to be put in: what is left of `${…}` is meant as it stands. */
function literally(endpoint: Endpoint): Endpoint {
  return JSON.parse(JSON.stringify(endpoint), (_key, value: unknown) =>
    typeof value === "string" ? value.replaceAll("${", "$${") : value,
  ) as Endpoint;
}

/** A short name for it, as in `/servers/<name>/mcp`. */
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
