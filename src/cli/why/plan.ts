// `portolan why --plan`: how a server would be started, without starting it.

import { fileURLToPath } from "node:url";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import type { WorkspaceConfig } from "../../hub/index.ts";
import type { PlannedCommand } from "../../invoke/index.ts";
import type { LaunchContext } from "../../launch/index.ts";
import type { DeclaredServer } from "../../model/index.ts";
import type { Cli, Words } from "../context.ts";
import { rootsOf } from "../options/roots.ts";
import { workspaceSandbox } from "../options/sandbox.ts";
import { describeDiagnostic } from "../output/diagnostic.ts";
import { takeTarget } from "../target/connect.ts";
import { targetServer } from "../target/server-config.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { driverNamed, noProgram, programOf } from "../workspace/programs.ts";
import { loadSource, serverNamed } from "../workspace/source.ts";
import {
  allWouldStart,
  commandsJson,
  describeCommands,
  describePlan,
  planJson,
  type PlanView,
  wouldStart,
} from "./plan-view.ts";

/** As for a server that cannot be started. */
const NOT_HELD = 3;

/** A server of the workspace by its name, or a command after `--`. */
export async function plan(cli: Cli, { words, server }: Words): Promise<number> {
  const { io, output, options } = cli;
  const { declared, servers, usedPaths } = await chosen(cli, { words, server });
  const roots = rootsOf(options.roots, io.cwd).map(({ uri }) => fileURLToPath(uri));
  const { createLaunchContext, planLaunch } = await import("../../launch/index.ts");
  const context = createLaunchContext();
  if (usedPaths !== undefined) context.configFiles.add(usedPaths);
  const { checkStart } = await import("../../sandbox/index.ts");
  const findings = await checkStart(declared, { servers, roots });
  const refused = findings.some(({ severity }) => severity === "error");
  const program = programOf(declared);
  const view = { colors: output.colors, width: output.width, label: pathLabeller(io) };
  const commands = await commandsOf(declared, context);
  if (commands.length > 0) {
    if (output.form === "json")
      output.json({ ...commandsJson(declared.alias, commands), diagnostics: findings });
    else output.print(withFindings(describeCommands(declared.alias, commands, view), findings, view));
    return allWouldStart(commands) && !refused ? 0 : NOT_HELD;
  }
  if (program === undefined) {
    const reason = noProgram(declared);
    if (output.form === "json")
      output.json({ server: declared.alias, kind: "none", reason, diagnostics: findings });
    else output.print(withFindings(`${plainLine(declared.alias, 100)} ${reason}.`, findings, view));
    return refused ? NOT_HELD : 0;
  }
  const found = await planLaunch({
    server: declared.alias,
    endpoint: program,
    settings: declared.launch,
    roots,
    context,
  });
  if (output.form === "json") output.json({ ...planJson(found), diagnostics: findings });
  else output.print(withFindings(describePlan(found, view), findings, view));
  return wouldStart(found) && !refused ? 0 : NOT_HELD;
}

function withFindings(text: string, findings: readonly Diagnostic[], view: PlanView): string {
  if (findings.length === 0) return text;
  const shown = findings.map((finding) => describeDiagnostic(finding, view));
  return `${text}\n\n${view.colors.bold("Before it starts")}\n${shown.join("\n")}`;
}

/** Of a server that is carried out here: its commands are programs all the same. */
async function commandsOf(
  { alias, endpoint }: DeclaredServer,
  context: LaunchContext,
): Promise<PlannedCommand[]> {
  if (endpoint.transport !== "invoke") return [];
  const { planCommands } = await import("../../invoke/index.ts");
  return planCommands(endpoint.server, alias, context);
}

interface Chosen {
  readonly declared: DeclaredServer;
  /** All servers of its workspace. */
  readonly servers: readonly DeclaredServer[];
  readonly usedPaths?: WorkspaceConfig["usedPaths"];
}

async function chosen(cli: Cli, { words, server }: Words): Promise<Chosen> {
  const [alias, extra] = words;
  if (server !== undefined && alias !== undefined)
    throw new PortolanError("USAGE", "A server is given both before and after --.", {
      hint: "Leave out one of them.",
    });
  if (server !== undefined) {
    const { target } = takeTarget({ words: [], server }, cli);
    const declared = targetServer(target, cli.options, cli.io.cwd);
    return { declared, servers: [declared] };
  }
  if (alias === undefined || extra !== undefined)
    throw new PortolanError("USAGE", alias === undefined ? "No server is given." : "why takes one server.", {
      hint: "portolan why --plan <server>, or portolan why --plan -- <command...>",
    });
  const source = await loadSource(cli);
  const driver = driverNamed(source, alias);
  const { servers, usedPaths } = source.config;
  if (driver !== undefined) return { declared: driver, servers, usedPaths };
  const declared = serverNamed(source, alias);
  const modes = workspaceSandbox(cli.options.sandbox, source);
  if (modes?.[alias] === undefined) return { declared, servers, usedPaths };
  const launch = { ...declared.launch, sandboxOverride: modes[alias] };
  return { declared: { ...declared, launch }, servers, usedPaths };
}
