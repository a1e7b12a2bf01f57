// Session with a resolved target: a direct connection, one server of the workspace, or the whole workspace.

import { changedError, isPortolanError, PortolanError } from "../../errors/index.ts";
import type { OwnName, ServerHealth } from "../../hub/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { hasProgram } from "../options/sandbox.ts";
import { healthError, type OpenOptions, refuseTargetOptions } from "../workspace/open.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { type UsedWorkspace, withServers } from "../workspace/running.ts";
import { namesInFile, type Source } from "../workspace/source.ts";
import { type Session, type SessionOptions, type UsedConnection, withServer } from "./connect.ts";
import { findNamed, type OtherNames } from "./find-named.ts";
import type { ResolvedTarget } from "./resolve.ts";

export interface TargetSessionOptions extends SessionOptions, Pick<OpenOptions, "start" | "concerns"> {
  /** Gets the servers that cannot be used, before the session begins. */
  readonly onUnusable?: (problems: readonly PortolanError[]) => void;
}

/** Connects to a resolved target, runs `use`, and closes the connection in any case. */
export function withTarget<T>(
  cli: Cli,
  target: ResolvedTarget,
  use: (session: Session) => Promise<T>,
  options: TargetSessionOptions = {},
): Promise<T> {
  if (target.kind === "direct") return withServer(cli, target.direct, use, options);
  const started = performance.now();
  const alias = target.kind === "server" ? target.alias : undefined;
  const config = target.source.config.servers.find((server) => server.alias === alias);
  refuseTargetOptions(cli, config !== undefined && hasProgram(config));
  const only = target.kind === "server" ? [target.alias] : target.only;
  const open: OpenOptions = {
    only,
    // The user named these servers, so they start now.
    start: only === undefined ? options.start : "eager",
    stdinTaken: options.stdinTaken,
    showsSource: options.showsDiagnostics,
    concerns: options.concerns,
  };
  return withServers(cli, target.source, open, async ({ workspace, gateway, request, diagnostics }) => {
    const health = workspace.health();
    // Commands that reach this wait for named servers without a limit.
    const problems = health.flatMap((one) => healthError(one, { waits: false }) ?? []);
    const [first] = problems;
    const names = namesIn(workspace, target.source, config);
    options.onUnusable?.(problems);
    // None of the named servers can be used.
    if (first !== undefined && only !== undefined && problems.length === health.length)
      throw target.program === undefined
        ? first
        : await withKnownTool(first, target.rest[0], workspace, names);
    const connectMs = Math.round(performance.now() - started);
    const showsInfo = cli.options.verbose || cli.output.form === "json";
    const connection = {
      ...toConnection(workspace, config, health, names),
      // Read again after a call, which may add some.
      get diagnostics() {
        return diagnostics().filter(({ severity }) => showsInfo || severity !== "info");
      },
    };
    return use({
      connection,
      label: alias ?? "this workspace",
      connectMs,
      gateway,
      otherNames: names.others,
      pins: () => workspace.health().find((server) => server.alias === alias)?.pins,
      withheld: (name) => withheldIn(workspace.health(), name),
      request,
    });
  });
}

/** `name` is the server's own name of the tool, `<server>.<name>`, or ends with the own name, as a full name does. */
function withheldIn(health: readonly ServerHealth[], name: string): PortolanError | undefined {
  for (const { alias, pins } of health) {
    if (pins?.mode !== "enforce") continue;
    const isMeant = (tool: string): boolean =>
      [tool, `${alias}.${tool}`].includes(name) || (name.includes(alias) && name.endsWith(`_${tool}`));
    const found = pins.differences.find(({ tool }) => isMeant(tool));
    const why = found === undefined ? pins.problem : { message: found.reason, hint: found.hint };
    if (why === undefined) continue;
    const tool = found?.tool ?? name;
    const text = `Portolan withholds the tool ${JSON.stringify(tool.slice(0, 200))}: ${why.message}`;
    return new PortolanError("TOOL_WITHHELD", text, { server: alias, tool, hint: why.hint });
  }
  return undefined;
}

/** The error of a server that did not start; it names the tool if the stored list of a server that failed has this tool. */
async function withKnownTool(
  failure: PortolanError,
  name = "",
  workspace: UsedWorkspace,
  { listed, others }: Names,
): Promise<PortolanError> {
  const definitions = await workspace.toolDefinitions().catch(() => []);
  const tools = definitions.map((tool) => ({ name: listed("tool", tool.name) }));
  return findNamed(name, "tool", tools, others) === undefined
    ? failure
    : changedError(failure, { tool: name });
}

/** Errors before a call. `USAGE`: an option is given that a workspace does not have. */
const NO_TOOL = new Set(["TOOL_NOT_FOUND", "SERVER_START_FAILED", "USAGE"]);

/**
 * Runs `work` with the servers of the workspace; if they have no tool of this name, with the program on PATH that has it. A program never
 * replaces a tool whose server does not start.
 */
export async function orProgram<T>(
  { interrupt, output }: Pick<Cli, "interrupt" | "output">,
  target: ResolvedTarget,
  work: (target: ResolvedTarget, options?: Pick<TargetSessionOptions, "onUnusable">) => Promise<T>,
): Promise<T> {
  if (target.kind === "direct" || target.program === undefined) return work(target);
  const unusable: PortolanError[] = [];
  try {
    return await work(target, { onUnusable: (problems) => unusable.push(...problems) });
  } catch (thrown) {
    interrupt.signal.throwIfAborted();
    if (!isPortolanError(thrown) || !NO_TOOL.has(thrown.code)) throw thrown;
    if (thrown.code === "SERVER_START_FAILED" && thrown.tool !== undefined) throw thrown;
    const { program } = target;
    const word = JSON.stringify(target.rest[0]);
    for (const { server, message } of unusable)
      output.note(
        `${output.noteColors.yellow("warning")} ${plainLine(`Server "${server}" cannot be used (${message.replace(/\.$/, "")}). It may have a tool ${word}, but Portolan starts the program ${word} instead.`, 1_000)}`,
      );
    return work(program).catch((failure: unknown) => {
      if (thrown.code !== "TOOL_NOT_FOUND" || !isPortolanError(failure)) throw failure;
      if (failure.code !== "SERVER_START_FAILED") throw failure;
      const name = JSON.stringify(thrown.tool);
      const hint = `No server of this workspace has a tool ${name}, so Portolan started the program ${name}. ${thrown.hint}`;
      throw changedError(failure, { hint });
    });
  }
}

type Kind = "tool" | "prompt";

/** Converts between the names of tools and prompts. */
interface Names {
  /** The listed name for a full name: the server's own name for one server, the full name for several. */
  readonly listed: (kind: Kind, full: string) => string;
  readonly full: (kind: Kind, listed: string) => string;
  readonly others: (kind: Kind, listed: string) => OtherNames;
}

interface Table {
  readonly byFull: ReadonlyMap<string, OwnName>;
  /** The full name for each server's own name; of a single server they are unique. */
  readonly byOwn: ReadonlyMap<string, string>;
}

function toTable(byFull: ReadonlyMap<string, OwnName>): Table {
  return { byFull, byOwn: new Map(Array.from(byFull, ([full, { name }]) => [name, full])) };
}

/** Contracts are always listed by their full names, which do not contain a server. */
function namesIn(workspace: UsedWorkspace, source: Source, config: ServerConfig | undefined): Names {
  const isOneServer = config !== undefined && config.endpoint.transport !== "contracts";
  // The tables are read after the first list has arrived; a command lists once.
  const tables = new Map<Kind, Table>();
  const table = (kind: Kind): Table => {
    const read =
      tables.get(kind) ?? toTable(kind === "tool" ? workspace.toolNames() : workspace.promptNames());
    tables.set(kind, read);
    return read;
  };
  const full = (kind: Kind, listed: string): string =>
    (isOneServer ? table(kind).byOwn.get(listed) : undefined) ?? listed;
  return {
    full,
    listed: (kind, name) => (isOneServer ? (table(kind).byFull.get(name)?.name ?? name) : name),
    others(kind, listed) {
      const name = full(kind, listed);
      const own = table(kind).byFull.get(name);
      if (own === undefined) return {};
      const server = source.config.servers.find(({ alias }) => alias === own.server);
      const servers = [own.server, ...(server === undefined ? [] : namesInFile(server))];
      // The listed name of a contract may differ from the name in its file.
      return { also: [name, ...servers.flatMap((one) => [`${one}.${own.name}`, `${one}.${listed}`])], own };
    },
  };
}

function toConnection(
  workspace: UsedWorkspace,
  config: ServerConfig | undefined,
  health: readonly ServerHealth[],
  { listed, full }: Names,
): UsedConnection {
  const alias = config?.alias;
  // Portolan itself runs an mcpfile's tools, so their description comes from the file.
  const known = config?.endpoint.transport === "invoke" ? config.endpoint.server : undefined;
  const named = <T extends { name: string }>(kind: Kind, item: T): T => ({
    ...item,
    name: listed(kind, item.name),
  });
  const [first] = health;
  return {
    server: {
      name: alias ?? "workspace",
      info: known?.info,
      era: first?.era ?? "modern",
      revision: first?.revision ?? "",
      transport: (first?.transport ?? "memory") as UsedConnection["server"]["transport"],
      capabilities: {},
      instructions: known?.instructions,
    },
    diagnostics: workspace.diagnostics,
    listToolDefinitions: async () =>
      (await workspace.toolDefinitions()).map((definition) => named("tool", definition)),
    callTool: (name, input, request) => {
      const fullName = full("tool", name);
      return workspace.callTool(fullName, input, request).catch((thrown: unknown) => {
        // The user knows the tool by its listed name.
        if (!isPortolanError(thrown) || thrown.tool !== fullName || name === fullName) throw thrown;
        const message = thrown.message.replaceAll(fullName, () => name);
        throw changedError(thrown, { message, tool: name });
      });
    },
    listResources: () => workspace.resources(),
    listResourceTemplates: () => workspace.resourceTemplates(),
    readResource: (uri, request) => workspace.readResource(uri, request),
    listPrompts: async () => (await workspace.prompts()).map((prompt) => named("prompt", prompt)),
    getPrompt: (name, args, request) => workspace.getPrompt(full("prompt", name), args, request),
  };
}
