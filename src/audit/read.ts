// Reads the calls and refusals of an audit log, newest chain last, with filters.

import { type AuditFolders, chainFiles } from "./folders.ts";
import { parseLine } from "./line.ts";
import { eachLine } from "./verify.ts";

export interface AuditFilter {
  /** Calls and refusals of this time or later. */
  readonly since?: Date;
  /** The id of a call, as in `data.callId` of its error. */
  readonly id?: string;
  readonly caller?: string;
  /** The tool as the client named it, or `server.tool`. */
  readonly tool?: string;
  /** The outcome of a call; `refused` for refusals, and for calls that a decision has refused. */
  readonly outcome?: string;
}

export type AuditEntry = Readonly<Record<string, unknown>>;

/** The entries of kind `call` and `gateway.refused` that match, oldest first, at most `limit` of the newest ones. */
export async function readCalls(
  { log }: AuditFolders,
  filter: AuditFilter,
  limit: number,
): Promise<{ readonly calls: readonly AuditEntry[]; readonly matched: number }> {
  const calls: AuditEntry[] = [];
  let matched = 0;
  const since = filter.since?.toISOString();
  for (const files of (await chainFiles(log)).values())
    for (const file of files)
      await eachLine(file, (line) => {
        // Most lines of a long log do not match, so that they are not parsed.
        if (!line.includes('"type":"call"') && !line.includes('"type":"gateway.refused"')) return;
        if (filter.caller !== undefined && !line.includes(latin1(JSON.stringify(filter.caller)))) return;
        if (filter.id !== undefined && !line.includes(latin1(JSON.stringify(filter.id)))) return;
        const entry = parseLine(line);
        if (entry === undefined || !matches(entry, filter, since)) return;
        matched += 1;
        calls.push(entry);
        if (calls.length > 2 * limit) calls.splice(0, calls.length - limit);
      });
  const sorted = calls.toSorted((a, b) => (String(a.time) < String(b.time) ? -1 : 1));
  return { calls: sorted.slice(-limit), matched };
}

/** The tools that were called since the log began. */
export interface CalledTools {
  /** `server.tool`, with the server's own name of the tool. */
  readonly names: ReadonlySet<string>;
  readonly calls: number;
  /** ISO time of the first call. */
  readonly since: string;
}

/** Undefined if the log has no call of a tool. */
export async function readCalledTools({ log }: AuditFolders): Promise<CalledTools | undefined> {
  const names = new Set<string>();
  let calls = 0;
  let since: string | undefined;
  for (const files of (await chainFiles(log)).values())
    for (const file of files)
      await eachLine(file, (line) => {
        if (!line.includes('"method":"tools/call"')) return;
        const entry = parseLine(line);
        if (entry?.type !== "call" || typeof entry.server !== "string") return;
        calls += 1;
        names.add(`${entry.server}.${String(entry.tool)}`);
        const time = String(entry.time);
        if (since === undefined || time < since) since = time;
      });
  return since === undefined ? undefined : { names, calls, since };
}

function matches(entry: AuditEntry, filter: AuditFilter, since: string | undefined): boolean {
  if (entry.type !== "call" && entry.type !== "gateway.refused") return false;
  if (since !== undefined && String(entry.time) < since) return false;
  if (filter.caller !== undefined && entry.caller !== filter.caller) return false;
  if (filter.id !== undefined && entry.id !== filter.id) return false;
  if (filter.outcome !== undefined && entry.outcome !== filter.outcome)
    if (filter.outcome !== "refused" || !isRefused(entry)) return false;
  if (filter.tool === undefined) return true;
  return filter.tool === entry.target || filter.tool === `${String(entry.server)}.${String(entry.tool)}`;
}

/** True for a request that did not reach the gateway's tools, and for a call that a decision has stopped. */
function isRefused({ type, decision }: AuditEntry): boolean {
  const { kind = "allowed" } = (decision ?? {}) as { kind?: string };
  return type === "gateway.refused" || (kind !== "allowed" && kind !== "approved");
}

function latin1(text: string): string {
  return Buffer.from(text).toString("latin1");
}
