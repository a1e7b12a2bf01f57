// A target and the options that go with it, as the library wants to be asked.

import { statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { PortolanError } from "../errors/index.ts";
import type { Root } from "../model/index.ts";
import type { McpConfig, McpOptions } from "../client/index.ts";
import { maskedWords } from "./endpoint-label.ts";
import type { ServerOptions } from "./options.ts";
import { plainLine } from "./plain-text.ts";
import { sandboxOfCommand } from "./sandbox-of-command.ts";
import { givenSandboxFlags } from "./sandbox-options.ts";
import type { Target } from "./target.ts";

/** Throws one USAGE error for all options that do not fit the target. */
export function toConfig(
  target: Target,
  options: ServerOptions,
  cwd: string,
  given: Required<Pick<McpOptions, "handlers" | "signal" | "onDiagnostic">>,
): McpConfig {
  const problems: string[] = [];
  const roots = rootsOf(options.roots, cwd, problems);
  const common: McpOptions = {
    ...given,
    name: plainLine(nameOf(target), 120),
    limits: options.limits,
    watch: false,
    ...(roots.length === 0 ? {} : { handlers: { ...given.handlers, roots } }),
    ...(options.era === undefined ? {} : { era: options.era }),
    ...(options.verbose ? { logLevel: "info" } : {}),
  };
  const config =
    target.kind === "command"
      ? { ...common, ...stdioConfig(target, options, cwd, problems) }
      : { ...common, ...urlConfig(target, options, problems) };
  if (problems.length > 0) throw new PortolanError("USAGE", problems.join("\n"), { data: { problems } });
  return config;
}

/** The command line without what may be secret in it: it is in every error. */
function nameOf(target: Target): string {
  return target.kind === "url" ? target.label : maskedWords([target.command, ...target.args]).join(" ");
}

type Stdio = Pick<
  McpConfig & { transport: "stdio" },
  "transport" | "command" | "args" | "env" | "cwd" | "sandbox"
>;
type Url = Pick<Exclude<McpConfig, { transport: "stdio" }>, "transport" | "url" | "headers">;

function stdioConfig(
  target: Target & { kind: "command" },
  options: ServerOptions,
  cwd: string,
  problems: string[],
): Stdio {
  if (Object.keys(options.headers).length > 0) problems.push("--header is for URLs; a command takes --env");
  if (options.transport !== undefined)
    problems.push("--transport is for URLs; a command is spoken to by stdio");
  const folder = options.cwd === undefined ? undefined : resolve(cwd, options.cwd);
  if (folder !== undefined && !isDirectory(folder)) problems.push(`--cwd ${options.cwd} is not a directory`);
  const sandbox = sandboxOfCommand(options.sandbox, cwd, problems);
  return {
    transport: "stdio",
    command: target.command,
    args: [...target.args],
    env: { ...options.env },
    ...(folder === undefined ? {} : { cwd: folder }),
    ...(sandbox === undefined ? {} : { sandbox }),
  };
}

function urlConfig(target: Target & { kind: "url" }, options: ServerOptions, problems: string[]): Url {
  if (Object.keys(options.env).length > 0) problems.push("--env is for commands; a URL takes --header");
  if (options.cwd !== undefined) problems.push("--cwd is for commands");
  for (const flag of givenSandboxFlags(options.sandbox))
    problems.push(`${flag} is for commands; what a URL reaches runs elsewhere`);
  const transport = options.transport ?? target.transport;
  if ((transport === "websocket") !== (target.transport === "websocket")) {
    const scheme = `${new URL(target.url).protocol}//`;
    problems.push(
      `--transport ${transport} does not fit ${scheme}; use ${transport === "websocket" ? "ws:// or wss://" : "http:// or https://"}`,
    );
  }
  return { transport, url: target.url, headers: { ...options.headers } };
}

/** Absolute paths; throws for what is no folder. */
export function rootFolders(folders: readonly string[], cwd: string): string[] {
  const problems: string[] = [];
  const roots = rootsOf(folders, cwd, problems).map(({ uri }) => fileURLToPath(uri));
  if (problems.length > 0) throw new PortolanError("USAGE", problems.join("\n"), { data: { problems } });
  return roots;
}

function rootsOf(folders: readonly string[], cwd: string, problems: string[]): Root[] {
  return folders.map((folder) => {
    const path = resolve(cwd, folder);
    if (!isDirectory(path)) problems.push(`--root ${folder} is not a directory`);
    return { uri: pathToFileURL(path).href, name: basename(path) };
  });
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
