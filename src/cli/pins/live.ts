// Live tools of servers and drivers for the commands about pins: compared with the lock file, and linted.

import { type Diagnostic, PortolanError, unknownServer } from "../../errors/index.ts";
import { driverKey, type LivePin, type ServerPins } from "../../hub/index.ts";
import type { PinMode } from "../../model/index.ts";
import { type LintFinding, lintDefinition, lockFileOf } from "../../packages/index.ts";
import type { Cli } from "../context.ts";
import { contractsOf } from "../workspace/contracts.ts";
import { healthError } from "../workspace/open.ts";
import { type GatewayField, withServers } from "../workspace/running.ts";
import { loadSource } from "../workspace/source.ts";

export interface LintedTool extends LivePin {
  readonly findings: readonly LintFinding[];
}

export interface LiveServer extends Omit<ServerPins, "tools"> {
  readonly tools: readonly LintedTool[];
}

export interface LiveTools {
  readonly lockFile: string;
  /** The running gateway whose servers these are; undefined for servers of this process. */
  readonly gateway: GatewayField | undefined;
  readonly servers: readonly LiveServer[];
  /** Servers whose tools could not be read. */
  readonly failed: readonly FailedServer[];
  readonly diagnostics: readonly Diagnostic[];
}

export interface FailedServer {
  readonly server: string;
  /** Its name in the lock file. */
  readonly key: string;
  /** The setting `pins` of the server; undefined if it is not set. */
  readonly mode: PinMode | undefined;
  readonly error: PortolanError;
}

const WAIT_MS = 60_000;

/** Reads the tools of the named servers, or of all. Starts the servers unless a running gateway has them. */
export async function readLiveTools(cli: Cli, names: readonly string[]): Promise<LiveTools> {
  const source = await loadSource(cli);
  const contracts = contractsOf(source);
  const drivers = contracts?.endpoint.drivers.map(({ driver }) => driver.id) ?? [];
  const servers = source.config.servers.filter(({ endpoint }) => endpoint.transport !== "contracts");
  for (const name of names) requireKnown(name, [...servers.map(({ alias }) => alias), ...drivers]);
  const modeOf = (name: string | undefined): PinMode | undefined =>
    source.config.servers.find(({ alias }) => alias === name)?.pins;
  const wanted = new Set(names);
  const isWanted = (name: string): boolean => wanted.size === 0 || wanted.has(name);
  const only = servers
    .filter(({ alias, enabled }) => isWanted(alias) && (enabled || wanted.has(alias)))
    .map(({ alias }) => alias);
  const hasDrivers = contracts !== undefined && drivers.some(isWanted);
  if (hasDrivers) only.push(contracts.alias);
  const waitMs = cli.options.waitMs ?? WAIT_MS;
  const open = {
    only,
    start: "eager",
    showsSource: true,
    hashesTools: true,
    asGateway: true,
    waitMs,
  } as const;
  return withServers(cli, source, open, async ({ workspace, gateway, diagnostics, ...opened }) => {
    const isServer = ({ alias }: { alias: string }): boolean => alias !== contracts?.alias;
    if (hasDrivers) await opened.drivers(waitMs);
    const all = await workspace.pins();
    // To list its tools, the gateway has started the servers that nobody used so far, which may have failed.
    if (gateway !== undefined) await workspace.settled();
    const failed = workspace
      .health()
      .filter(isServer)
      .flatMap((health) => {
        const error = healthError(health);
        const mode = modeOf(health.alias);
        return error === undefined ? [] : [{ server: health.alias, key: health.alias, mode, error }];
      });
    const failedNames = new Set(failed.map(({ server }) => server));
    const pins = all.filter(({ server }) => isWanted(server) && !failedNames.has(server));
    const missing = drivers.filter((id) => isWanted(id) && !pins.some(({ server }) => server === id));
    return {
      gateway,
      lockFile: lockFileOf(source.config.folder ?? cli.io.cwd),
      servers: pins.map((server) => withFindings(server, pins)),
      failed: [
        ...failed,
        ...missing.map((id) => ({
          server: id,
          key: driverKey(id),
          mode: modeOf(contracts?.alias),
          error: notRunning(id),
        })),
      ],
      diagnostics: diagnostics(),
    };
  });
}

/** A definition that mentions a tool of another server may try to change its use. */
export function withFindings(server: ServerPins, all: readonly ServerPins[]): LiveServer {
  const own = new Set(server.tools.map(({ name }) => name));
  const others = new Set(
    all.flatMap(({ tools }) => tools.map(({ name }) => name)).filter((name) => !own.has(name)),
  );
  const tools = server.tools.map((tool) => ({ ...tool, findings: lintDefinition(tool.definition, others) }));
  return { ...server, tools };
}

function requireKnown(name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  throw unknownServer(name, known);
}

function notRunning(id: string): PortolanError {
  return new PortolanError("SERVER_UNAVAILABLE", `The server of the driver ${id} could not be started.`, {
    server: id,
    hint: `See why: portolan why ${id}`,
  });
}

/** Findings that keep a tool from being pinned unless a person allows it. */
export function criticalFindings({ findings }: LintedTool): readonly LintFinding[] {
  return findings.filter(isCritical);
}

export function isCritical({ severity }: LintFinding): boolean {
  return severity === "error";
}

/** True when the definition is not the approved one. */
export function isDifferent({ verdict }: LivePin): boolean {
  return verdict !== "same";
}
