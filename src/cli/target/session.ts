// A server of the workspace, or the whole of it, as the connection that commands work with.

import type { OwnName, ServerHealth, Workspace } from "../../hub/index.ts";
import type { DeclaredServer } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { healthError, type OpenOptions, refuseTargetOptions, withWorkspace } from "../workspace/open.ts";
import { fileName, type Source } from "../workspace/source.ts";
import { type Session, type SessionOptions, type UsedConnection, withServer } from "./connect.ts";
import type { OtherNames } from "./find-named.ts";
import type { ResolvedTarget } from "./resolve.ts";

export interface TargetSessionOptions extends SessionOptions, Pick<OpenOptions, "start" | "concerns"> {}

/** Connects to whatever the words meant, lets `use` work, and closes again. */
export function withTarget<T>(
  cli: Cli,
  target: ResolvedTarget,
  use: (session: Session) => Promise<T>,
  options: TargetSessionOptions = {},
): Promise<T> {
  if (target.kind === "direct") return withServer(cli, target.direct, use, options);
  refuseTargetOptions(cli);
  const started = performance.now();
  const alias = target.kind === "server" ? target.alias : undefined;
  const declared = target.source.config.servers.find((server) => server.alias === alias);
  const only = target.kind === "server" ? [target.alias] : target.only;
  const open: OpenOptions = {
    only,
    // What was named is wanted now.
    start: only === undefined ? options.start : "eager",
    stdinTaken: options.stdinTaken,
    showsSource: options.showsDiagnostics,
    concerns: options.concerns,
  };
  return withWorkspace(cli, target.source, open, async ({ workspace, request, diagnostics }) => {
    const health = workspace.health();
    const problems = health.map(healthError).filter((problem) => problem !== undefined);
    const [first] = problems;
    // Nothing of what was asked for can be there.
    if (first !== undefined && only !== undefined && problems.length === health.length) throw first;
    const connectMs = Math.round(performance.now() - started);
    const tells = cli.options.verbose || cli.output.form === "json";
    const names = namesIn(workspace, target.source, declared);
    const connection = {
      ...toConnection(workspace, declared, health, names),
      diagnostics: diagnostics().filter(({ severity }) => tells || severity !== "info"),
    };
    return use({
      connection,
      label: alias ?? "this workspace",
      connectMs,
      otherNames: names.others,
      request,
    });
  });
}

type Kind = "tool" | "prompt";

interface Names {
  /** The listed name for a full name: the server's own name for one server, the full name for several. */
  readonly listed: (kind: Kind, full: string) => string;
  readonly full: (kind: Kind, listed: string) => string;
  readonly others: (kind: Kind, listed: string) => OtherNames;
}

interface Table {
  readonly byFull: ReadonlyMap<string, OwnName>;
  /** The full name for each server's own; of one server they are unique. */
  readonly byOwn: ReadonlyMap<string, string>;
}

function toTable(byFull: ReadonlyMap<string, OwnName>): Table {
  return { byFull, byOwn: new Map(Array.from(byFull, ([full, { name }]) => [name, full])) };
}

/** Contracts are listed by their full names, which have no part of a server in them. */
function namesIn(workspace: Workspace, source: Source, declared: DeclaredServer | undefined): Names {
  const isAlone = declared !== undefined && declared.endpoint.transport !== "contracts";
  // Read after the first list arrived; a command lists once.
  const tables = new Map<Kind, Table>();
  const table = (kind: Kind): Table => {
    const read =
      tables.get(kind) ?? toTable(kind === "tool" ? workspace.toolNames() : workspace.promptNames());
    tables.set(kind, read);
    return read;
  };
  const full = (kind: Kind, listed: string): string =>
    (isAlone ? table(kind).byOwn.get(listed) : undefined) ?? listed;
  return {
    full,
    listed: (kind, name) => (isAlone ? (table(kind).byFull.get(name)?.name ?? name) : name),
    others(kind, listed) {
      const name = full(kind, listed);
      const own = table(kind).byFull.get(name);
      if (own === undefined) return {};
      const server = source.config.servers.find(({ alias }) => alias === own.server);
      const servers = [own.server, ...(server === undefined ? [] : fileName(server))];
      // Contracts are listed by a name that is not always the one in their file.
      return { also: [name, ...servers.flatMap((one) => [`${one}.${own.name}`, `${one}.${listed}`])], own };
    },
  };
}

function toConnection(
  workspace: Workspace,
  declared: DeclaredServer | undefined,
  health: readonly ServerHealth[],
  { listed, full }: Names,
): UsedConnection {
  const alias = declared?.alias;
  // What is carried out here is known from its declaration.
  const known = declared?.endpoint.transport === "invoke" ? declared.endpoint.server : undefined;
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
      (await workspace.tools()).map(({ definition }) => named("tool", definition)),
    callTool: (name, input, request) => workspace.callTool(full("tool", name), input, request),
    listResources: () => workspace.resources(),
    listResourceTemplates: () => workspace.resourceTemplates(),
    readResource: (uri, request) => workspace.readResource(uri, request),
    listPrompts: async () => (await workspace.prompts()).map((prompt) => named("prompt", prompt)),
    getPrompt: (name, args, request) => workspace.getPrompt(full("prompt", name), args, request),
  };
}
