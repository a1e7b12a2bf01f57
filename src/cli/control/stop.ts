// `portolan stop` and `portolan reload`: ends the running gateway of the workspace, or lets it read its files again.

import { setTimeout as delay } from "node:timers/promises";
import { forgetEnded, type RunningGateway } from "../../control/index.ts";
import { PortolanError } from "../../errors/index.ts";
import type { Cli } from "../context.ts";
import { formatTime } from "../output/event.ts";
import { hasFailed, nextCommand, serverLine } from "../output/server-state.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { workspaceFolder } from "../workspace/folder.ts";
import { gatewayLabel, toGatewayField } from "../workspace/running.ts";
import { AS_A_WHOLE } from "./apply.ts";
import {
  describeElsewhere,
  findControlled,
  type RawControlOptions,
  requireGateway,
  withGateway,
} from "./find.ts";

/** The fields that an older gateway leaves out. */
const NOTHING_RELOADED = {
  ...{ restarted: [], changed: [], removed: [], servers: [], serverProblems: [], warnings: [] },
  ...{ applied: [], restart: [] },
};

export interface RawStopOptions extends RawControlOptions {
  all?: boolean;
}

const POLL_MS = 50;
/** A gateway stops in less than five seconds. */
const STOP_MS = 15_000;

export async function stop(cli: Cli, raw: RawStopOptions): Promise<number> {
  const { output } = cli;
  const found = await findControlled(cli, raw);
  // The user wants no gateway here, so that a crashed one is no failure any more.
  const ended = raw.pid === undefined ? await forgetEnded(workspaceFolder(cli.io, cli.options)) : [];
  if (found.length === 0) {
    const elsewhere = await describeElsewhere(cli);
    if (output.form === "json") output.json({ stopped: [], elsewhere });
    else
      output.print(
        [
          ...ended.map(
            (gateway) => `The gateway ${gatewayLabel(gateway)} had already crashed, or was killed.`,
          ),
          `No gateway runs for this workspace.${raw.all === true ? " --all stops only the gateways of this workspace." : ""}${elsewhere.length === 0 ? "" : " To stop a gateway of another workspace:"}`,
          ...elsewhere.map((one) => `  portolan stop ${one}`),
        ].join("\n"),
      );
    return 0;
  }
  const gateways = raw.all === true ? found : [await requireGateway(cli, raw)];
  await Promise.all(gateways.map((gateway) => stopOne(gateway)));
  if (output.form === "json") output.json({ stopped: gateways.map((gateway) => toGatewayField(gateway)) });
  else for (const gateway of gateways) output.print(`Stopped the gateway ${gatewayLabel(gateway)}.`);
  return 0;
}

async function stopOne(gateway: RunningGateway): Promise<void> {
  await withGateway(gateway, (client) => client.stop());
  const deadline = performance.now() + STOP_MS;
  while (await gateway.isAlive()) {
    if (performance.now() > deadline)
      throw new PortolanError("TIMEOUT", `The gateway ${gatewayLabel(gateway)} did not stop in time.`, {
        hint: `To end the process of the gateway at once: kill -9 ${gateway.pid}`,
      });
    await delay(POLL_MS);
  }
}

export async function reload(cli: Cli, raw: RawControlOptions): Promise<number> {
  const { output } = cli;
  const gateway = await requireGateway(cli, raw);
  const result = await withGateway(gateway, async (client) => ({
    ...NOTHING_RELOADED,
    ...(await client.reload()),
  }));
  const { hasFiles, problems, serverProblems, restarted, changed, removed, servers, applied, restart } =
    result;
  const { certificateValidUntil } = result;
  const done = hasFiles
    ? `The gateway ${gatewayLabel(gateway)} has read its config files again.`
    : "This gateway serves the servers of MCP clients. It reads the config files of the clients only when it starts. To use changes, restart the gateway.";
  const names = (aliases: readonly string[]): string =>
    aliases.map((alias) => plainLine(alias, 80)).join(", ");
  const isSame =
    certificateValidUntil === undefined &&
    [changed, restarted, removed, applied, restart, serverProblems].every((list) => list.length === 0);
  // The state of a server has its problem too.
  const ofStates = new Set(servers.map(({ failedReplacement }) => failedReplacement?.message));
  if (output.form === "json")
    output.json({
      gateway: toGatewayField(gateway),
      hasFiles,
      problems,
      warnings: result.warnings,
      serverProblems,
      restarted,
      changed,
      removed,
      servers,
      applied,
      restart,
      certificateValidUntil,
    });
  else
    output.print(
      [
        ...(problems.length === 0
          ? [hasFiles && isSame ? `${done} No server and no setting changed since the last reload.` : done]
          : [`The gateway ${gatewayLabel(gateway)} has not applied all changes:`]),
        ...problems.map((problem) => `- ${plainLine(problem, 1_000)}`),
        ...(problems.length === 0 ? [] : [AS_A_WHOLE]),
        ...serverProblems.filter((one) => !ofStates.has(one)).map((problem) => plainLine(problem, 1_000)),
        // With problems, only earlier changes of the files can have been applied.
        ...(applied.length === 0
          ? []
          : [
              `${problems.length === 0 ? "Settings applied" : "Settings applied earlier, since the last reload"}: ${names(applied)}`,
            ]),
        ...(certificateValidUntil === undefined
          ? []
          : [`TLS certificate replaced, valid until ${formatTime(certificateValidUntil)}`]),
        ...(restart.length === 0
          ? []
          : [`Changed settings that need a restart of the gateway: ${names(restart)}`]),
        ...(restarted.length === 0
          ? []
          : [`Servers restarted, because their secrets changed: ${names(restarted)}`]),
        ...(removed.length === 0 ? [] : [`Servers removed: ${names(removed)}`]),
        ...servers.flatMap((health) => [
          serverLine(health, output.colors),
          ...[nextCommand(health) ?? []].flat().map((line) => `  ${line}`),
        ]),
        ...result.warnings.map((one) => `${output.colors.yellow("warning")} ${plainLine(one, 1_000)}`),
      ].join("\n"),
    );
  if (problems.length > 0) return 2;
  return serverProblems.length > 0 || servers.some(hasFailed) ? 3 : 0;
}
