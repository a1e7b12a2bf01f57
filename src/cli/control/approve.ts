// `portolan approve`: lists the calls that wait for approval in the running gateways of the workspace, and decides about one.

import type { RunningGateway } from "../../control/index.ts";
import { PortolanError, toPortolanError } from "../../errors/index.ts";
import type { ShownApproval, WaitingCall } from "../../gateway/index.ts";
import type { Cli } from "../context.ts";
import { parseTime } from "../options/parse.ts";
import { approvalPlaces } from "../output/event.ts";
import { formatDuration } from "../terminal/layout.ts";
import { plainLine, toJsonText } from "../terminal/safe-text.ts";
import { optionFor } from "../workspace/elsewhere.ts";
import { toGatewayField } from "../workspace/running.ts";
import { followApprovals } from "./approve-follow.ts";
import { findControlled, type RawControlOptions, requireGateway, withGateway } from "./find.ts";

export interface RawApproveOptions extends RawControlOptions {
  for?: string;
  deny?: boolean;
  reason?: string;
  follow?: boolean;
}

const MAX_ARGUMENTS = 8_000;

/** Without an id, lists what waits; with `--follow`, continues to do so. */
export async function approve(cli: Cli, words: readonly string[], raw: RawApproveOptions): Promise<number> {
  const [id, ...more] = words;
  checkUsage(id, more, raw);
  if (raw.follow === true)
    return followApprovals(cli, await gatewaysOf(cli, raw), (call, gateway) =>
      cli.output.print(
        cli.output.form === "json"
          ? toJsonText(toJson({ call, gateway }))
          : `${block(cli, { call, gateway })}\n`,
      ),
    );
  if (id === undefined) return list(cli, await waitingOf(cli, raw));
  const forMs = raw.for === undefined ? undefined : readTime(raw.for);
  const all = await waitingOf(cli, raw);
  const found = all.find(({ call }) => call.id === id);
  if (found === undefined) throw await unknownCall(cli, id, raw, all);
  const decision = raw.deny === true ? "deny" : "approve";
  const call = await withGateway(found.gateway, (client) =>
    client.decide({ id, decision, forMs, reason: raw.reason }),
  );
  if (cli.output.form === "json") {
    cli.output.json({ decision, call, gateway: toGatewayField(found.gateway), forMs });
    return 0;
  }
  cli.output.print(`${describeDecision(raw, forMs)}: ${nameOf(call)}.`);
  if (decision === "approve" && !found.call.isConnected)
    cli.output.note(
      "The client no longer waits for this call. The approval applies to the next call of the client with the same tool and arguments.",
    );
  return 0;
}

/** The error for an id that no waiting call has. A gateway that had the call says how its waiting ended. */
async function unknownCall(
  cli: Cli,
  id: string,
  raw: RawApproveOptions,
  waiting: readonly FoundCall[],
): Promise<PortolanError> {
  const decision = raw.deny === true ? "deny" : "approve";
  const gateways = await findControlled(cli, raw);
  const refused = await Promise.all(
    gateways.map((gateway) =>
      withGateway(gateway, (client) => client.decide({ id, decision })).then(
        () => undefined,
        toPortolanError,
      ),
    ),
  );
  const known = refused.find((error) => typeof error?.data["end"] === "string");
  const others =
    waiting.length === 0
      ? "No call is waiting."
      : `Waiting calls: ${waiting.map(({ call }) => call.id).join(", ")}. To see them: portolan approve`;
  return known === undefined
    ? new PortolanError(
        "APPROVAL_UNKNOWN",
        `No call with the id ${JSON.stringify(id)} is waiting for approval.`,
        {
          hint: `The call was approved or denied already, its time has expired, its client has disconnected, or the id is wrong. ${others}`,
        },
      )
    : new PortolanError("APPROVAL_UNKNOWN", known.message, { hint: others });
}

function checkUsage(id: string | undefined, more: readonly string[], raw: RawApproveOptions): void {
  const hint = "portolan approve [id] [--for 10m | --deny [--reason <text>]], or portolan approve -f";
  if (raw.follow === true && id !== undefined)
    throw new PortolanError("USAGE", "--follow shows all waiting calls; it cannot be used with an id.", {
      hint,
    });
  if (more.length > 0) throw new PortolanError("USAGE", "approve takes one id.", { hint });
  if (id === undefined && (raw.for !== undefined || raw.deny === true || raw.reason !== undefined))
    throw new PortolanError(
      "USAGE",
      "No call was given. To see the ids of the waiting calls: portolan approve",
      {
        hint,
      },
    );
  if (raw.deny === true && raw.for !== undefined)
    throw new PortolanError("USAGE", "--for cannot be used with --deny.", { hint });
  if (raw.deny !== true && raw.reason !== undefined)
    throw new PortolanError("USAGE", "--reason can only be used with --deny.", { hint });
}

function readTime(text: string): number {
  const ms = parseTime(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new PortolanError("USAGE", `--for must be a time such as 10m or 1h, not ${JSON.stringify(text)}.`);
}

interface FoundCall {
  readonly call: ShownApproval;
  readonly gateway: RunningGateway;
}

/** Throws if no gateway runs. */
async function gatewaysOf(cli: Cli, raw: RawApproveOptions): Promise<readonly RunningGateway[]> {
  const gateways = await findControlled(cli, raw);
  return gateways.length > 0 ? gateways : [await requireGateway(cli, raw)];
}

/** The calls of every gateway of the workspace: clients on stdio may each have one. */
async function waitingOf(cli: Cli, raw: RawApproveOptions): Promise<readonly FoundCall[]> {
  const gateways = await gatewaysOf(cli, raw);
  const found = await Promise.all(
    gateways.map(async (gateway) => {
      const waiting = await withGateway(gateway, (client) => client.approvals());
      return waiting.map((call) => ({ call, gateway }));
    }),
  );
  return found.flat().toSorted((a, b) => (a.call.time < b.call.time ? -1 : 1));
}

function list(cli: Cli, all: readonly FoundCall[]): number {
  const { output } = cli;
  if (output.form === "json") output.json({ waiting: all.map(toJson) });
  else if (all.length === 0) output.print("No call is waiting for approval.");
  else output.print(all.map((found) => block(cli, found)).join("\n\n"));
  return 0;
}

function toJson({ call, gateway }: FoundCall): object {
  return { ...call, gateway: toGatewayField(gateway) };
}

/** A waiting call as text. */
function block({ io, output: { colors } }: Cli, { call, gateway }: FoundCall): string {
  const command = `portolan approve ${call.id}${optionFor(gateway.path, io)}`;
  // A rule without a reason of its own describes itself.
  const rule = call.reason.includes(call.rule) ? "" : ` (${plainLine(call.rule, 200)})`;
  const left = Math.max(0, Math.round((Date.parse(call.expires) - Date.now()) / 1_000));
  const cut = call.cut === 0 ? "" : ` (and ${call.cut} more characters)`;
  const gone = call.isConnected
    ? ""
    : "\n  The client no longer waits for this call. An approval applies to the next call of the client with the same tool and arguments.";
  const times =
    call.maxForMs === undefined ? "" : ` [--for <time>, at most ${formatDuration(call.maxForMs)}]`;
  return [
    `${colors.bold(call.id)}  ${nameOf(call)}  ${colors.dim(`${left} s left`)}`,
    `  ${plainLine(call.reason, 500)}${rule}.${gone}`,
    `  Arguments: ${plainLine(call.arguments, MAX_ARGUMENTS)}${cut}`,
    colors.dim(`  To approve: ${approvalPlaces(call.by, command + times)}. To deny: ${command} --deny`),
  ].join("\n");
}

function nameOf({ server, tool, caller, client }: WaitingCall): string {
  const who = client === undefined ? caller : `${caller} · ${client}`;
  return `${plainLine(server, 60)}.${plainLine(tool, 80)} for ${plainLine(who, 160)}`;
}

function describeDecision({ deny }: RawApproveOptions, forMs: number | undefined): string {
  if (deny === true) return "Denied";
  return forMs === undefined ? "Approved once" : `Approved for ${formatDuration(forMs)}`;
}
