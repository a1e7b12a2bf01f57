// A server of the workspace, or the whole of it, as the connection that commands work with.

import type { ServerHealth, Workspace } from "../hub/index.ts";
import type { DeclaredServer } from "../model/index.ts";
import type { Aim } from "./aim.ts";
import { type Cli, type Session, type SessionOptions, type UsedConnection, withServer } from "./connect.ts";
import { healthError, type OpenOptions, refuseTargetOptions, withWorkspace } from "./with-workspace.ts";

export interface AimOptions extends SessionOptions, Pick<OpenOptions, "start" | "concerns"> {}

/** Connects to whatever the words meant, lets `use` work, and closes again. */
export function withAim<T>(
  cli: Cli,
  aim: Aim,
  use: (session: Session) => Promise<T>,
  options: AimOptions = {},
): Promise<T> {
  if (aim.kind === "target") return withServer(cli, aim.target, use, options);
  refuseTargetOptions(cli);
  const started = performance.now();
  const alias = aim.kind === "server" ? aim.alias : undefined;
  const declared = aim.source.config.servers.find((server) => server.alias === alias);
  const only = aim.kind === "server" ? [aim.alias] : aim.only;
  const open: OpenOptions = {
    only,
    // What was named is wanted now.
    start: only === undefined ? options.start : "eager",
    stdinTaken: options.stdinTaken,
    showsSource: options.showsDiagnostics,
    concerns: options.concerns,
  };
  return withWorkspace(cli, aim.source, open, async ({ workspace, request, diagnostics }) => {
    const health = workspace.health();
    const problems = health.map(healthError).filter((problem) => problem !== undefined);
    const [first] = problems;
    // Nothing of what was asked for can be there.
    if (first !== undefined && only !== undefined && problems.length === health.length) throw first;
    const connectMs = Math.round(performance.now() - started);
    const tells = cli.options.verbose || cli.output.form === "json";
    const connection = {
      ...toConnection(workspace, declared, health),
      diagnostics: diagnostics().filter(({ severity }) => tells || severity !== "info"),
    };
    return use({ connection, label: alias ?? "this workspace", connectMs, request });
  });
}

function toConnection(
  workspace: Workspace,
  declared: DeclaredServer | undefined,
  health: readonly ServerHealth[],
): UsedConnection {
  const alias = declared?.alias;
  // What is carried out here is known from its declaration.
  const known = declared?.endpoint.transport === "invoke" ? declared.endpoint.server : undefined;
  const prefix = alias === undefined ? "" : workspace.fullName(`${alias}.`);
  const shorten = <T extends { name: string }>(item: T): T =>
    item.name.startsWith(prefix) ? { ...item, name: item.name.slice(prefix.length) } : item;
  const lengthen = (name: string): string =>
    workspace.fullName(alias === undefined ? name : `${alias}.${name}`);
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
    listToolDefinitions: async () => (await workspace.tools()).map(({ definition }) => shorten(definition)),
    callTool: (name, input, request) => workspace.callTool(lengthen(name), input, request),
    listResources: () => workspace.resources(),
    listResourceTemplates: () => workspace.resourceTemplates(),
    readResource: (uri, request) => workspace.readResource(uri, request),
    listPrompts: async () => (await workspace.prompts()).map(shorten),
    getPrompt: (name, args, request) =>
      workspace.getPrompt(alias === undefined ? name : `${alias}.${name}`, args, request),
  };
}
