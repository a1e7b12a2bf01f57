// Applies a changed config file to the running gateways of the workspace, and waits until they use it.

import { basename } from "node:path";
import { type FileChange, OWN_NAMES, USUAL_NAMES } from "../../catalog/index.ts";
import type { RunningGateway } from "../../control/index.ts";
import { toPortolanError } from "../../errors/index.ts";
import type { ServerHealth } from "../../hub/index.ts";
import type { Cli } from "../context.ts";
import { withSlowNote, withSpinner } from "../output/progress.ts";
import { describeHealth, hasFailed, replacementLine } from "../output/server-state.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { optionFor } from "../workspace/elsewhere.ts";
import { findWorkspace } from "../workspace/folder.ts";
import { type GatewayField, gatewayLabel, toGatewayField } from "../workspace/running.ts";
import { withServerProgress } from "./apply-progress.ts";
import { findControlled, withGateway } from "./find.ts";

/** The rule by which a gateway applies a changed file that has an error. */
export const AS_A_WHOLE =
  "A gateway applies a file completely or not at all. If a file has an error, or if a sandboxed server may have changed it, the gateway continues to use the earlier version of the file.";

/** The element of the field `gateways` in JSON output. */
interface AppliedGateway extends GatewayField {
  /** True if the gateway uses the changed file, and no server that the change concerns still uses the config or secrets from before. */
  readonly applied: boolean;
  /** Why single servers keep their earlier secrets or config. */
  readonly serverProblems?: readonly string[];
  /** The state of the server that was added or changed. */
  readonly health?: ServerHealth;
}

interface Outcome {
  readonly field: AppliedGateway;
  readonly text: string;
  /** The state of the added or changed server. */
  readonly state?: string;
  /** The exit code of the command. */
  readonly code: 0 | 2 | 3;
}

export interface AppliedChange {
  /** Fields of the JSON output; empty if no gateway runs. */
  readonly fields: { readonly gateways?: readonly AppliedGateway[] };
  /** 0 if all running gateways use the change, so that a command after `&&` can rely on it. */
  readonly code: number;
  /** Prints the outcome of each gateway. */
  print(): void;
}

/**
 * Lets the gateways read their files again. Resolves when the servers of the change have taken over or have failed. With the
 * alias of an added or changed server, its state is part of the outcome.
 */
export async function applyToGateways(cli: Cli, server?: string): Promise<AppliedChange> {
  const { output } = cli;
  const gateways = await findAffected(cli);
  const outcomes = await withSpinner(cli, async (spinner) => {
    const waiting = "waiting for the running gateway to apply the change";
    if (gateways.length > 0) spinner.start(waiting);
    const apply = (): Promise<Outcome[]> =>
      Promise.all(gateways.map((gateway) => applyTo(cli, gateway, server)));
    if (server === undefined) return apply();
    // A gateway installs a server that was added.
    const watched = { alias: server, gateways };
    return withSlowNote(
      cli,
      () => waiting,
      () => withServerProgress(cli, spinner, watched, apply),
    );
  });
  return {
    fields: outcomes.length === 0 ? {} : { gateways: outcomes.map(({ field }) => field) },
    code: Math.max(0, ...outcomes.map(({ code }) => code)),
    print: () => {
      for (const { text, code, state, field } of outcomes) {
        for (const problem of field.serverProblems ?? [])
          output.note(`${output.noteColors.yellow("warning")} ${plainLine(problem, 1_000)}`);
        if (state !== undefined) output.print(`${output.colors.dim(text)}\n${state}`);
        else if (code === 0) output.print(output.colors.dim(text));
        else output.note(`${output.noteColors.yellow("warning")} ${text}`);
      }
    },
  };
}

/** The gateways of the file that `-w` names, and those of its folder, which read the usual files in it. */
async function findAffected(cli: Cli): Promise<readonly RunningGateway[]> {
  const { path, folder } = await findWorkspace(cli.io, cli.options);
  const own = await findControlled(cli, {});
  const isUsual = path !== folder && [...OWN_NAMES, ...USUAL_NAMES].includes(basename(path));
  return isUsual ? [...own, ...(await cli.io.findGateways(folder)).gateways] : own;
}

async function applyTo(
  { io, interrupt, output, changes }: Cli,
  gateway: RunningGateway,
  server: string | undefined,
): Promise<Outcome> {
  const label = gatewayLabel(gateway);
  const failed = (code: 2 | 3, problems: readonly string[], text: string): Outcome => ({
    field: { ...toGatewayField(gateway, { problems }), applied: false },
    text,
    code,
  });
  try {
    const {
      hasFiles,
      problems,
      serverProblems: ofSecrets = [],
      servers = [],
      changed = [],
    } = await withGateway(gateway, (client) =>
      client.reload({ changes: mergeChanges(changes) }, interrupt.signal),
    );
    if (!hasFiles) {
      const reason = "it reads the config files of MCP clients only when it starts";
      // A client starts its gateway on stdio itself.
      const restart =
        gateway.kind === "stdio"
          ? "Restart the MCP client that started the gateway."
          : `Restart the gateway: portolan stop --pid ${gateway.pid}, then portolan serve${optionFor(gateway.path, io)} --daemon`;
      return failed(2, [reason], `The gateway ${label} does not use the change: ${reason}. ${restart}`);
    }
    if (problems.length > 0)
      return failed(
        2,
        problems,
        `The gateway ${label} has not applied all changes:\n${problems.map((one) => `- ${plainLine(one, 1_000)}`).join("\n")}\n${AS_A_WHOLE}`,
      );
    // A replacement that failed because of an earlier change does not concern this one. Unread secrets are in `ofSecrets`.
    const kept = servers.flatMap(({ alias, failedReplacement: failed }) =>
      failed !== undefined &&
      failed.change !== "secrets" &&
      (server === undefined ? changed.includes(alias) : alias === server)
        ? [replacementLine(failed)]
        : [],
    );
    const isDown = (health: ServerHealth): boolean =>
      changed.includes(health.alias) && health.failedReplacement === undefined && !isUsable(health);
    const down = server === undefined ? servers.filter(isDown) : [];
    const downLines = down.map(({ alias, error }) => `${alias}: ${error?.message ?? "it does not run"}`);
    // The secrets of other servers do not concern the change of one server. The state of this server shows its failed replacement.
    const serverProblems = server === undefined ? [...ofSecrets, ...kept, ...downLines] : ofSecrets;
    const isBehind = kept.length > 0 || (server === undefined && ofSecrets.length > 0);
    const text = isBehind
      ? `The running gateway ${label} has read the change, but ${server === undefined ? "not all servers use it" : `${server} does not use it`}.`
      : `The running gateway ${label} has applied the change${down.length > 0 ? ", but not all changed servers could start" : ""}.`;
    const field = {
      ...{ ...toGatewayField(gateway), applied: !isBehind },
      ...(serverProblems.length === 0 ? {} : { serverProblems }),
    };
    const health = server === undefined ? undefined : await healthOf(gateway, server);
    if (health === undefined) return { field, text, code: isBehind || down.length > 0 ? 3 : 0 };
    return {
      field: { ...field, health },
      text,
      state: describeHealth(health, output.colors),
      code: isUsable(health) ? 0 : 3,
    };
  } catch (thrown) {
    const { message } = toPortolanError(thrown);
    if (interrupt.signal.aborted) {
      const state = `To see the state of ${server === undefined ? "the servers" : "the server"}: portolan status${server === undefined ? "" : ` ${server}`}${optionFor(gateway.path, io)}`;
      return failed(3, [message], `The gateway ${label} continues to apply the change. ${state}`);
    }
    const text = `The gateway ${label} did not confirm the change (${plainLine(message, 300)}). The gateway may still use the old config. Try again: portolan reload --pid ${gateway.pid}`;
    return failed(3, [message], text);
  }
}

/** A file that was written more than once has one change: from its first text to its last. */
function mergeChanges(changes: readonly FileChange[]): FileChange[] {
  const merged = new Map<string, FileChange>();
  for (const change of changes)
    merged.set(change.file, { ...change, before: merged.get(change.file)?.before ?? change.before });
  return [...merged.values()];
}

async function healthOf(gateway: RunningGateway, alias: string): Promise<ServerHealth | undefined> {
  const { health } = await withGateway(gateway, (client) => client.snapshot({}));
  return health.find((one) => one.alias === alias);
}

/** A missing secret or login is the next step of the person, not a failure of the command. */
function isUsable(health: ServerHealth): boolean {
  const isNext = health.error?.code === "AUTH_REQUIRED" || health.error?.code === "SECRET_MISSING";
  return isNext || !hasFailed(health);
}
