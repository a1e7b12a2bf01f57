// `portolan audit calls`: calls and refusals in the audit log of the workspace's gateway, and the check that nobody changed them.

import { basename } from "node:path";
import {
  type AuditEntry,
  type AuditFolders,
  auditFolders,
  neighbouringLogs,
  readCalls,
  type VerifiedChain,
  verifyAudit,
} from "../../audit/index.ts";
import { PortolanError } from "../../errors/index.ts";
import type { Cli, CliIo } from "../context.ts";
import { parseTime, type RawOptions } from "../options/parse.ts";
import { notAllowed, throwUsageErrors } from "../options/usage-error.ts";
import { formatTime } from "../output/event.ts";
import type { Colors, Paint } from "../terminal/colors.ts";
import { count, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { optionFor } from "../workspace/elsewhere.ts";
import { loadSource, type Source } from "../workspace/source.ts";

export interface RawCallsOptions extends RawOptions {
  verify?: boolean;
  since?: string;
  id?: string;
  caller?: string;
  tool?: string;
  outcome?: string;
  limit?: string;
}

const OUTCOMES = ["ok", "tool_error", "error", "cancelled", "input_required", "refused"] as const;
const DEFAULT_LIMIT = 100;
/** The largest number of other logs in a hint. */
const MAX_LOGS = 3;

export async function auditCalls(cli: Cli, raw: RawCallsOptions): Promise<number> {
  const { since, limit } = parseOptions(raw);
  const source = await loadSource(cli);
  const { config } = source;
  const settings = config.gateway?.audit;
  const folders = await auditFolders(config.folder ?? ".", settings ?? {});
  if (raw.verify === true) return report(cli, await verifyAudit(folders), folders, settings !== undefined);
  const filter = { since, id: raw.id, caller: raw.caller, tool: raw.tool, outcome: raw.outcome };
  const { calls, matched } = await readCalls(folders, filter, limit);
  if (calls.length === 0 && settings === undefined)
    throw new PortolanError(
      "CONFIG_INVALID",
      "The audit log of this workspace is off, and no recorded call matches the options.",
      { hint: turnOnHint(source, cli.io) },
    );
  const { output } = cli;
  if (output.form === "json") output.json({ folder: folders.log, matched, calls });
  else output.print(describe(calls, matched, cli));
  return 0;
}

function turnOnHint({ kind, path, config, files }: Source, io: CliIo): string {
  // A new portolan.yaml would take the place of the files of the clients.
  if (kind === "clients" && config.servers.length > 0)
    return `Only a workspace with a portolan.yaml can have an audit log. Copy the servers into it: portolan import --write${optionFor(path, io)}. Then set audit: true at the top level of portolan.yaml, and start the gateway again.`;
  const own = files.find(({ format }) => format === "workspace");
  if (own === undefined && path !== config.folder)
    return "Only portolan.yaml can turn the audit log on. Add the file to sources in a portolan.yaml, set audit: true there, and serve that folder.";
  const name = own === undefined ? "portolan.yaml" : basename(own.file);
  return `To turn the audit log on, set audit: true at the top level of ${name}, and restart the gateway.`;
}

function parseOptions(raw: RawCallsOptions): { readonly since: Date | undefined; readonly limit: number } {
  const problems: string[] = [];
  const since = raw.since === undefined ? undefined : parseSince(raw.since);
  if (raw.since !== undefined && since === undefined)
    problems.push(
      `--since must be a date or a duration such as 30m or 24h, not ${JSON.stringify(raw.since)}`,
    );
  if (raw.outcome !== undefined && !(OUTCOMES as readonly string[]).includes(raw.outcome))
    problems.push(notAllowed("--outcome", raw.outcome, OUTCOMES));
  const limit = raw.limit === undefined ? DEFAULT_LIMIT : Number(raw.limit);
  if (!Number.isInteger(limit) || limit < 1)
    problems.push(`--limit must be a whole number of at least 1, not ${JSON.stringify(raw.limit)}`);
  const filters = (["since", "id", "caller", "tool", "outcome", "limit"] as const).filter(
    (name) => raw[name] !== undefined,
  );
  if (raw.verify === true && filters.length > 0)
    problems.push(`--verify checks the whole log. Leave out --${filters.join(" and --")}`);
  throwUsageErrors(problems);
  return { since, limit };
}

/** A date, or how long ago. */
function parseSince(text: string): Date | undefined {
  const days = /^(\d{1,4})d$/.exec(text)?.[1];
  const ms = days === undefined ? parseTime(text) : Number(days) * 86_400_000;
  if (ms !== undefined) return new Date(Date.now() - ms);
  const date = /^\d{4}-\d{2}-\d{2}/.test(text) ? new Date(text) : undefined;
  return date === undefined || Number.isNaN(date.getTime()) ? undefined : date;
}

function describe(calls: readonly AuditEntry[], matched: number, { output }: Cli): string {
  if (calls.length === 0) return "No recorded call matches the options.";
  const { colors } = output;
  const lines = calls.map((entry) => line(entry, colors));
  const left = matched - calls.length;
  return [
    ...lines,
    ...(left > 0
      ? [colors.dim(`not shown: ${count(left, "older call")}. To show more calls, use a higher --limit`)]
      : []),
  ].join("\n");
}

function line(entry: AuditEntry, colors: Colors): string {
  const text = (name: string, width: number): string | undefined => {
    const value = entry[name];
    return typeof value === "string" ? plainLine(value, width) : undefined;
  };
  if (entry.type === "gateway.refused") {
    const more =
      typeof entry.more === "number"
        ? `(also refused since the previous record, without a record of their own: ${count(entry.more, "request")})`
        : undefined;
    const from = text("address", 80);
    return [
      ...[colors.dim(formatTime(String(entry.time))), text("caller", 60) ?? (from && `from ${from}`)],
      ...[text("path", 200), colors.red("refused"), text("code", 40), text("reason", 300), more],
    ]
      .filter((part) => part !== undefined)
      .join("  ");
  }
  const outcome = text("outcome", 20) ?? "";
  const paint: Paint =
    outcome === "ok" ? colors.green : outcome === "input_required" ? colors.cyan : colors.red;
  const { kind, by, rule } = (entry.decision ?? {}) as { kind?: string; by?: string; rule?: string };
  const who = `${by === undefined ? "" : ` by ${by}`}${rule === undefined ? "" : ` (${rule})`}`;
  const waited =
    typeof entry.waitedMs === "number"
      ? ` (${Math.round(entry.waitedMs)} ms of them waiting for approval)`
      : "";
  return [
    colors.dim(formatTime(String(entry.time))),
    text("caller", 60),
    entry.method === "tools/call" ? undefined : text("method", 40),
    colors.bold(text("target", 200) ?? ""),
    paint(outcome),
    text("code", 40),
    `${Math.round(Number(entry.durationMs))} ms${waited}`,
    kind === undefined || kind === "allowed" ? undefined : plainLine(`${kind}${who}`, 200),
  ]
    .filter((part) => part !== undefined)
    .join("  ");
}

async function report(
  cli: Cli,
  chains: readonly VerifiedChain[],
  folders: AuditFolders,
  isOn: boolean,
): Promise<number> {
  const { output, io } = cli;
  const { log: folder } = folders;
  const problems = chains.flatMap((chain) => chain.problems);
  const records = chains.reduce((sum, chain) => sum + chain.records, 0);
  const isMissing = records === 0 && problems.length === 0;
  // After a restore to another path, for example, nothing was verified.
  const isIntact = problems.length === 0 && !(isMissing && isOn);
  if (output.form === "json") {
    output.json({ folder, intact: isIntact, records, chains });
    return isIntact ? 0 : 1;
  }
  const { colors, width } = output;
  const lines = problems.map(({ chain, file, line: at, message }) => {
    const place = file === undefined ? `The log ${chain}` : `${file}:${at}`;
    return wrap(`${colors.red("error")} ${plainLine(place, 200)}: ${plainLine(message, 500)}`, width, 2);
  });
  const label = pathLabeller(io);
  const where = label(folder);
  const others = isMissing && isOn ? await neighbouringLogs(folders) : [];
  if (isMissing)
    lines.push(
      isOn
        ? `${colors.red("error")} The audit log is on, but ${where} contains no log to verify.`
        : `There is no audit log in ${where}.`,
    );
  else if (isIntact) lines.push(`${colors.green("intact")} ${count(records, "record")} in ${where}`);
  else lines.push(`${count(problems.length, "problem")} in ${count(records, "record")} in ${where}`);
  if (others.length > 0)
    lines.push(wrap(`  ${colors.cyan("hint")} ${otherLogsHint(others.map(label))}`, width, 7));
  for (const { chain, last, anchoredAt } of chains)
    if (anchoredAt !== undefined)
      lines.push(
        colors.dim(`  ${chain}: last record ${last.n}, hash ${last.h}, anchored ${formatTime(anchoredAt)}`),
      );
  output.print(lines.join("\n"));
  return isIntact ? 0 : 1;
}

/** After a restore to another path, the log is beside the folder in which this workspace looks for it. */
function otherLogsHint(logs: readonly string[]): string {
  const shown = logs.slice(0, MAX_LOGS).map((log) => plainLine(log, 300));
  const more = logs.length > MAX_LOGS ? ` and ${logs.length - MAX_LOGS} more` : "";
  return `These folders beside it contain audit logs: ${shown.join(", ")}${more}. If one of them is the log of this workspace, for example from another path, set audit.folder to this folder and audit.anchors to the folder of its anchors. Then verify again: portolan audit calls --verify`;
}
