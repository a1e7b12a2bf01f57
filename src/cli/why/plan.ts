// `portolan why --plan`: shows the launch plan of a server without starting it.

import { fileURLToPath } from "node:url";
import { type Diagnostic, isPortolanError } from "../../errors/index.ts";
import type { WorkspaceConfig } from "../../hub/index.ts";
import type { PlannedCommand } from "../../invoke/index.ts";
import type { LaunchContext } from "../../launch/index.ts";
import { grantCommand, type ServerConfig } from "../../model/index.ts";
import type { Cli, Words } from "../context.ts";
import { rootsOf } from "../options/roots.ts";
import { hasProgram, withGrantsOnce, workspaceSandbox } from "../options/sandbox.ts";
import { refuseBothSides, takeOneWord } from "../options/usage-error.ts";
import { describeDiagnostic } from "../output/diagnostic.ts";
import { takeTarget } from "../target/connect.ts";
import { targetServer } from "../target/server-config.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { findDriverServer, noProgram, programOf } from "../workspace/programs.ts";
import { loadSource, requireServer } from "../workspace/source.ts";
import {
  allWouldStart,
  commandsJson,
  describeCommands,
  describePlan,
  planJson,
  type PlanView,
  wouldStart,
} from "./plan-view.ts";

/** The exit code of a server that cannot be started. */
const NOT_ENFORCED = 3;

/** A server of the workspace by its name, or a command after `--`. */
export async function plan(cli: Cli, { words, server }: Words): Promise<number> {
  const { io, output, options } = cli;
  const { config: written, servers, usedPaths } = await chosen(cli, { words, server });
  const roots = rootsOf(options.roots, io.cwd).map(({ uri }) => fileURLToPath(uri));
  const { createLaunchContext, planLaunch } = await import("../../launch/index.ts");
  const context = createLaunchContext();
  context.servers = servers;
  if (usedPaths !== undefined) context.configFiles.add(usedPaths);
  const config = await withMcpfile(written, context);
  const { checkStart } = await import("../../sandbox/index.ts");
  const diagnostics = await checkStart(config, { servers, roots });
  const refused = diagnostics.some(({ severity }) => severity === "error");
  const program = programOf(config);
  const view = {
    colors: output.colors,
    width: output.width,
    label: pathLabeller(io),
    grantCommand: grantCommand(config, io.cwd),
  };
  const commands = await commandsOf(config, context);
  if (commands.length > 0) {
    if (output.form === "json") output.json({ ...commandsJson(config.alias, commands), diagnostics });
    else output.print(withDiagnostics(describeCommands(config.alias, commands, view), diagnostics, view));
    return allWouldStart(commands) && !refused ? 0 : NOT_ENFORCED;
  }
  if (program === undefined) {
    const reason = noProgram(config);
    if (output.form === "json") output.json({ server: config.alias, kind: "none", reason, diagnostics });
    else output.print(withDiagnostics(`${plainLine(config.alias, 100)} ${reason}.`, diagnostics, view));
    return refused ? NOT_ENFORCED : 0;
  }
  const found = await planLaunch({
    server: config.alias,
    endpoint: program,
    settings: config.launch,
    roots,
    context,
  });
  if (output.form === "json") output.json({ ...planJson(found), diagnostics });
  else output.print(withDiagnostics(describePlan(found, view), diagnostics, view));
  return wouldStart(found) && !refused ? 0 : NOT_ENFORCED;
}

function withDiagnostics(text: string, diagnostics: readonly Diagnostic[], view: PlanView): string {
  if (diagnostics.length === 0) return text;
  const shown = diagnostics.map((diagnostic) => describeDiagnostic(diagnostic, view));
  return `${text}\n\n${view.colors.bold("Problems found before the start")}\n${shown.join("\n")}`;
}

/** A package whose program is an mcpfile is shown as the mcpfile, if it is installed. */
async function withMcpfile(config: ServerConfig, context: LaunchContext): Promise<ServerConfig> {
  const { endpoint } = config;
  if (endpoint.transport !== "stdio" || endpoint.kind !== "package") return config;
  const { readPackagedServer } = await import("../../hub/index.ts");
  const found = await readPackagedServer(config, endpoint, { context, dryRun: true }).catch(
    (error: unknown) => {
      // The plan of the package itself says that it is not installed.
      if (isPortolanError(error) && error.code === "INSTALL_FAILED") return undefined;
      throw error;
    },
  );
  return found === undefined
    ? config
    : { ...config, endpoint: { transport: "invoke", server: found.server } };
}

/** The commands of an mcpfile: Portolan runs them as programs. */
async function commandsOf(
  { alias, endpoint }: ServerConfig,
  context: LaunchContext,
): Promise<PlannedCommand[]> {
  if (endpoint.transport !== "invoke") return [];
  const { planCommands } = await import("../../invoke/index.ts");
  return planCommands(endpoint.server, alias, context);
}

interface Chosen {
  readonly config: ServerConfig;
  /** All servers of its workspace. */
  readonly servers: readonly ServerConfig[];
  readonly usedPaths?: WorkspaceConfig["usedPaths"];
}

async function chosen(cli: Cli, { words, server }: Words): Promise<Chosen> {
  refuseBothSides(words, server, "server");
  if (server !== undefined) {
    const { target } = takeTarget({ words: [], server }, cli);
    const config = targetServer(target, cli.options, cli.io.cwd);
    return { config, servers: [config] };
  }
  const hint = "portolan why --plan <server>, or portolan why --plan -- <command...>";
  const alias = takeOneWord(words, { command: "why", noun: "server", hint });
  const source = await loadSource(cli);
  const driver = findDriverServer(source, alias);
  const { servers, usedPaths } = source.config;
  if (driver !== undefined) return { config: driver, servers, usedPaths };
  const declared = requireServer(source, alias);
  const isOne = hasProgram(declared);
  const modes = workspaceSandbox(cli.options.sandbox, source, isOne);
  const config = isOne ? withGrantsOnce(declared, cli.options.sandbox, cli.io.cwd) : declared;
  if (modes?.[alias] === undefined) return { config, servers, usedPaths };
  const launch = { ...config.launch, sandboxOverride: modes[alias] };
  return { config: { ...config, launch }, servers, usedPaths };
}
