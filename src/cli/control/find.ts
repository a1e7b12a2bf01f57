// The running gateway that a command controls: the only one of the workspace, or the one with the given process id.

import { connectGateway, type GatewayClient, type RunningGateway } from "../../control/index.ts";
import { PortolanError, unknownServer } from "../../errors/index.ts";
import type { Cli } from "../context.ts";
import type { RawOptions } from "../options/parse.ts";
import { diagnosticLine } from "../output/diagnostic.ts";
import { elsewhereHint, optionFor, workspaceOption } from "../workspace/elsewhere.ts";
import { pathLabeller, workspaceFolder } from "../workspace/folder.ts";
import { gatewayLabel } from "../workspace/running.ts";

export interface RawControlOptions extends RawOptions {
  pid?: string;
}

/** All running gateways of the workspace, or the one with `--pid`. */
export async function findControlled(
  cli: Cli,
  { pid }: RawControlOptions,
): Promise<readonly RunningGateway[]> {
  const { gateways, problems } = await cli.io.findGateways(workspaceFolder(cli.io, cli.options));
  for (const problem of problems) cli.output.note(diagnosticLine(problem, cli.output.noteColors.yellow));
  if (pid === undefined) return gateways;
  const all = await cli.io.findAllGateways();
  const found = [...gateways, ...all].filter((gateway) => String(gateway.pid) === pid).slice(0, 1);
  if (found.length > 0) return found;
  throw new PortolanError("USAGE", `No gateway has the process id ${JSON.stringify(pid)}.`, {
    hint:
      all.length === 0
        ? "No gateway is running."
        : `Running gateways of all workspaces: ${all.map(gatewayLabel).join(", ")}.`,
  });
}

/** The gateways of other workspaces, each with the option that names its workspace. */
export async function describeElsewhere({ io }: Pick<Cli, "io">): Promise<readonly string[]> {
  return (await io.findAllGateways()).map(
    (gateway) => `${workspaceOption(gateway.path, io)}  ${gatewayLabel(gateway)}`,
  );
}

/** The error of a command that needs a running gateway of the workspace. */
export async function noGateway({ io, options }: Cli): Promise<PortolanError> {
  const path = workspaceFolder(io, options);
  const elsewhere = (await elsewhereHint(io, path)) ?? "For another workspace, use -w <path>.";
  return new PortolanError("SERVER_UNAVAILABLE", `No gateway runs for ${pathLabeller(io)(path)}.`, {
    hint: `${elsewhere} To start a gateway: portolan serve${optionFor(path, io)} --daemon`,
  });
}

/** Throws when no gateway runs, or several do. */
export async function requireGateway(cli: Cli, options: RawControlOptions): Promise<RunningGateway> {
  const gateways = await findControlled(cli, options);
  const [first] = gateways;
  if (first === undefined) throw await noGateway(cli);
  if (gateways.length === 1) return first;
  throw new PortolanError(
    "NAME_AMBIGUOUS",
    `${gateways.length} gateways run for this workspace: ${gateways.map(gatewayLabel).join(", ")}.`,
    { hint: `Choose one: --pid ${first.pid}` },
  );
}

/** Connects to the gateway, runs `use`, and disconnects. */
export async function withGateway<T>(
  gateway: RunningGateway,
  use: (client: GatewayClient) => Promise<T>,
): Promise<T> {
  const client = await connectGateway(gateway);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

/** Throws for a server that the gateway does not serve. */
export function requireServed(client: GatewayClient, server: string): void {
  const { servers } = client.facts;
  if (servers.includes(server)) return;
  throw unknownServer(server, servers);
}
