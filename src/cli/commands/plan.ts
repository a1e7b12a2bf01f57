// `portolan why --plan`: how a server would be started, without starting it.

import { PortolanError } from "../../errors/index.ts";
import type { DeclaredServer, Driver, HttpProgram, StdioEndpoint } from "../../model/index.ts";
import { type Cli, takeTarget, type Words } from "../connect.ts";
import { type ContractsSource, contractsOf } from "../contracts-source.ts";
import { describePlan, planJson, wouldStart } from "../plan-view.ts";
import { plainLine } from "../plain-text.ts";
import { workspaceSandbox } from "../sandbox-modes.ts";
import { rootFolders } from "../server-config.ts";
import { targetServer } from "../target-server.ts";
import { computerOf, pathLabel } from "../workspace-folder.ts";
import { loadSource, serverNamed } from "../workspace-source.ts";

/** As for a server that cannot be started. */
const NOT_HELD = 3;

/** A server of the workspace by its name, or a command after `--`. */
export async function plan(cli: Cli, { words, server }: Words): Promise<number> {
  const { io, output, options } = cli;
  const declared = await chosen(cli, { words, server });
  const program = programOf(declared);
  if (program === undefined) {
    const reason =
      declared.endpoint.transport === "invoke"
        ? "is carried out by portolan itself: there is no program to start"
        : "is reached at an address: nothing is started here";
    if (output.form === "json") output.json({ server: declared.alias, kind: "none", reason });
    else output.print(`${plainLine(declared.alias, 100)} ${reason}.`);
    return 0;
  }
  const { planLaunch } = await import("../../launch/index.ts");
  const found = await planLaunch({
    server: declared.alias,
    endpoint: program,
    settings: declared.launch,
    roots: rootFolders(options.roots, io.cwd),
    dryRun: true,
  });
  const computer = computerOf(io, io.cwd);
  const view = {
    colors: output.colors,
    width: output.width,
    label: (path: string) => pathLabel(path, computer),
  };
  if (output.form === "json") output.json(planJson(found));
  else output.print(describePlan(found, view));
  return wouldStart(found) ? 0 : NOT_HELD;
}

async function chosen(cli: Cli, { words, server }: Words): Promise<DeclaredServer> {
  const [alias, extra] = words;
  if (server !== undefined && alias !== undefined)
    throw new PortolanError("USAGE", "A server is given both before and after --.", {
      hint: "Leave out one of them.",
    });
  if (server !== undefined)
    return targetServer(takeTarget({ words: [], server }, cli).target, cli.options, cli.io.cwd);
  if (alias === undefined || extra !== undefined)
    throw new PortolanError("USAGE", alias === undefined ? "No server is given." : "why takes one server.", {
      hint: "portolan why --plan <server>, or portolan why --plan -- <command...>",
    });
  const source = await loadSource(cli);
  const own = contractsOf(source);
  const driver = own?.endpoint.drivers.find((one) => one.driver.id === alias)?.driver;
  const isServer = source.config.servers.some((server) => server.alias === alias);
  if (own !== undefined && driver !== undefined && !isServer) return serverOf(driver, own);
  const declared = serverNamed(source, alias);
  const modes = workspaceSandbox(cli.options.sandbox, source);
  return modes?.[alias] === undefined
    ? declared
    : { ...declared, launch: { ...declared.launch, sandboxOverride: modes[alias] } };
}

/** The server behind a driver, as if it were declared by itself. */
function serverOf(
  { id, endpoint, launch, origin }: Driver,
  { endpoint: { root } }: ContractsSource,
): DeclaredServer {
  const started = endpoint.transport === "stdio" ? { cwd: root, ...endpoint } : endpoint;
  return { alias: id, origin, enabled: true, endpoint: started, launch: { ...launch, cwdImplied: true } };
}

function programOf({ endpoint }: DeclaredServer): StdioEndpoint | HttpProgram | undefined {
  if (endpoint.transport === "stdio") return endpoint;
  return endpoint.transport === "invoke" || endpoint.transport === "contracts" ? undefined : endpoint.program;
}
