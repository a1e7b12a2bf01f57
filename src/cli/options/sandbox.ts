// Sandbox options: their values checked, and what they mean for a command and for servers of the workspace.

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { didYouMean } from "../../errors/index.ts";
import {
  type InvokedServer,
  type Invocation,
  parseNetworkRule,
  type SandboxConfig,
  type SandboxMode,
  type ServerConfig,
} from "../../model/index.ts";
import { requireServer, type Source } from "../workspace/source.ts";
import { notAllowed, throwUsageErrors } from "./usage-error.ts";

export interface RawSandboxOptions {
  sandbox?: string[];
  allowNet?: string[];
  allowRead?: string[];
  allowWrite?: string[];
}

export interface SandboxOptions {
  /** The mode given without a server: for the command on the command line. */
  readonly mode?: SandboxMode;
  /** Modes for servers of the workspace, by name. */
  readonly modes: Readonly<Record<string, SandboxMode>>;
  /** Hosts and paths as the user wrote them. */
  readonly network: readonly string[];
  readonly read: readonly string[];
  readonly write: readonly string[];
}

const MODES: readonly SandboxMode[] = ["enforce", "warn", "off"];

export function parseSandboxOptions(raw: RawSandboxOptions, problems: string[]): SandboxOptions {
  const modes = new Map<string, SandboxMode>();
  let own: SandboxMode | undefined;
  for (const text of raw.sandbox ?? []) {
    const equals = text.lastIndexOf("=");
    const server = equals < 0 ? undefined : text.slice(0, equals);
    const written = text.slice(equals + 1);
    const mode = MODES.find((known) => known === written);
    const before = server === undefined ? own : modes.get(server);
    if (server === "" || mode === undefined) problems.push(wrongMode(text, written, server));
    else if (before !== undefined && before !== mode)
      problems.push(
        `--sandbox is given as both ${before} and ${mode}${server === undefined ? "" : ` for ${server}`}`,
      );
    else if (server === undefined) own = mode;
    else modes.set(server, mode);
  }
  return {
    ...(own === undefined ? {} : { mode: own }),
    modes: Object.fromEntries(modes),
    network: raw.allowNet ?? [],
    read: raw.allowRead ?? [],
    write: raw.allowWrite ?? [],
  };
}

function wrongMode(text: string, written: string, server: string | undefined): string {
  if (server === "") return `--sandbox ${JSON.stringify(text)} names no server before =`;
  const hint = didYouMean(written, MODES);
  return `${notAllowed("--sandbox", written, MODES)}${hint === undefined ? "" : ` ${hint}`}`;
}

/** The flags that are given. */
export function givenSandboxFlags(options: SandboxOptions): string[] {
  const { mode, modes, network, read, write } = options;
  const given: readonly (readonly [string, boolean])[] = [
    ["--sandbox", mode !== undefined || Object.keys(modes).length > 0],
    ["--allow-net", network.length > 0],
    ["--allow-read", read.length > 0],
    ["--allow-write", write.length > 0],
  ];
  return given.filter(([, isGiven]) => isGiven).map(([flag]) => flag);
}

/** The sandbox of a command given on the command line; undefined when no option sets anything. */
export function sandboxOfCommand(
  { mode, modes, network, read, write }: SandboxOptions,
  cwd: string,
  problems: string[],
): SandboxConfig | undefined {
  for (const [server, own] of Object.entries(modes))
    problems.push(
      `--sandbox ${server}=${own} is only for servers of the workspace. For this command, write --sandbox ${own}`,
    );
  const hosts = networkOf(network, problems);
  const paths = (flag: string, written: readonly string[]): string[] =>
    written.map((path) => {
      const found = resolve(cwd, path);
      if (statSync(found, { throwIfNoEntry: false }) === undefined)
        problems.push(`${flag} ${path} does not exist`);
      return found;
    });
  const [readable, writable] = [paths("--allow-read", read), paths("--allow-write", write)];
  const sandbox: SandboxConfig = {
    ...(mode === undefined ? {} : { mode }),
    ...(hosts.length === 0 ? {} : { network: hosts }),
    ...(readable.length + writable.length === 0
      ? {}
      : {
          fs: {
            ...(readable.length === 0 ? {} : { read: readable }),
            ...(writable.length === 0 ? {} : { write: writable }),
          },
        }),
  };
  return Object.keys(sandbox).length === 0 ? undefined : sandbox;
}

/** The hosts of --allow-net in their canonical spelling. */
export function networkOf(written: readonly string[], problems: string[]): string[] {
  return written.flatMap((host) => {
    const parsed = parseNetworkRule(host);
    if (parsed.ok) return [parsed.rule.text];
    problems.push(`--allow-net ${JSON.stringify(host)}: ${parsed.problem} ${parsed.hint}`);
    return [];
  });
}

/**
 * Reports options that do not fit servers of the workspace. A mode must name its server; grants are for this run, and
 * for one server that has a program (`isOne`).
 */
export function workspaceSandboxProblems(
  { mode, network, read, write }: SandboxOptions,
  isOne = false,
): string[] {
  return [
    ...(mode === undefined
      ? []
      : [`--sandbox ${mode} does not name a server; write --sandbox <server>=${mode}`]),
    ...(isOne ? [] : givenSandboxFlags({ modes: {}, network, read, write })).map(
      (flag) =>
        `${flag} works only with a command, or with one server that is a program on this machine. To grant the access permanently: portolan grant <server> ${flag.replace("--allow-", "--")} ${flag === "--allow-net" ? "<host>" : "<path>"}`,
    ),
  ];
}

/** The modes for servers of the workspace. Throws for a name that no server has. */
export function workspaceSandbox(
  options: SandboxOptions,
  source: Source,
  isOne = false,
): Readonly<Record<string, SandboxMode>> | undefined {
  throwUsageErrors(workspaceSandboxProblems(options, isOne));
  const names = Object.keys(options.modes);
  for (const name of names) requireServer(source, name);
  return names.length === 0 ? undefined : options.modes;
}

/** Grants of the command line for one server of the workspace, for this run only. */
export function withGrantsOnce(
  server: ServerConfig,
  { network, read, write }: SandboxOptions,
  cwd: string,
): ServerConfig {
  const problems: string[] = [];
  const added = sandboxOfCommand({ modes: {}, network, read, write }, cwd, problems);
  throwUsageErrors(problems);
  if (added === undefined) return server;
  const joined = (a: readonly string[] = [], b: readonly string[] = []): readonly string[] | undefined =>
    a.length + b.length === 0 ? undefined : [...new Set([...a, ...b])];
  const add = (old: SandboxConfig | undefined): SandboxConfig => ({
    ...old,
    fs: {
      ...old?.fs,
      read: joined(old?.fs?.read, added.fs?.read),
      write: joined(old?.fs?.write, added.fs?.write),
    },
    network: joined(old?.network, added.network),
  });
  const { endpoint } = server;
  if (endpoint.transport === "invoke")
    return { ...server, endpoint: { ...endpoint, server: withGrantedCommands(endpoint.server, add) } };
  return { ...server, launch: { ...server.launch, sandbox: add(server.launch?.sandbox) } };
}

/** Whether a sandbox of this machine runs the server, or the commands of its mcpfile. */
export function hasProgram({ endpoint }: ServerConfig): boolean {
  if (endpoint.transport === "invoke") return sandboxesOf(endpoint.server).length > 0;
  return endpoint.transport === "stdio" || ("program" in endpoint && endpoint.program !== undefined);
}

function sandboxesOf({ tools, prompts, resources }: InvokedServer): SandboxConfig[] {
  return [...tools, ...prompts, ...resources].flatMap(({ invocation }) =>
    invocation.kind === "cli" && invocation.sandbox !== undefined ? [invocation.sandbox] : [],
  );
}

/** The commands of an mcpfile with more granted. Commands without a sandbox have all rights already. */
function withGrantedCommands(
  server: InvokedServer,
  add: (old: SandboxConfig) => SandboxConfig,
): InvokedServer {
  const grant = <T extends { readonly invocation: Invocation }>(items: readonly T[]): T[] =>
    items.map((item) => {
      const { invocation } = item;
      if (invocation.kind !== "cli" || invocation.sandbox === undefined) return item;
      return { ...item, invocation: { ...invocation, sandbox: add(invocation.sandbox) } };
    });
  const { tools, prompts, resources, resourceTemplates } = server;
  return {
    ...server,
    ...{ tools: grant(tools), prompts: grant(prompts) },
    ...{ resources: grant(resources), resourceTemplates: grant(resourceTemplates) },
  };
}
