// `portolan pins approve`: approves changed and new tools of one pinned server.

import { PortolanError, unknownTool } from "../../errors/index.ts";
import { readLock } from "../../packages/index.ts";
import type { Cli } from "../context.ts";
import { applyToGateways } from "../control/apply.ts";
import { count } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import {
  type ApprovalOptions,
  canAsk,
  chooseTools,
  confirm,
  describeRefused,
  lockLabel,
  toPins,
  usage,
  writePins,
} from "./approvals.ts";
import { isDifferent, type LintedTool, type LiveServer, readLiveTools } from "./live.ts";
import { changeReader } from "./state.ts";
import { describeDiff } from "./view.ts";

export interface ApproveOptions extends ApprovalOptions {
  /** The hash that the tool must have. */
  expect?: string;
}

export async function approve(cli: Cli, words: readonly string[], options: ApproveOptions): Promise<number> {
  const { output } = cli;
  const [name, ...tools] = words;
  if (name === undefined) throw usage("No server was given.", "portolan pins approve <server> [tools...]");
  if (options.expect !== undefined && tools.length !== 1)
    throw usage("--expect needs exactly one tool.", "portolan pins approve <server> <tool> --expect <hash>");
  const { servers, failed, lockFile } = await readLiveTools(cli, [name]);
  const [server] = servers;
  if (server === undefined)
    throw (
      failed[0]?.error ??
      new PortolanError("SERVER_UNAVAILABLE", `The tools of ${name} could not be read.`, {
        server: name,
        hint: `See why: portolan why ${name}`,
      })
    );
  const lock = await readLock(lockFile);
  if (lock.servers[server.key]?.tools === undefined)
    throw new PortolanError("CONFIG_INVALID", `The server ${name} has no pins yet.`, {
      server: name,
      hint: `Approve and pin all of its tools first: portolan pin ${name}`,
    });
  if (server.mode === undefined)
    throw new PortolanError(
      "CONFIG_INVALID",
      `The tools of ${name} were not compared with its pins, because the setting pins is off for this server.`,
      { server: name, hint: `To pin all of its tools as they are now: portolan pin ${name}` },
    );
  const { differing, removed } = select(server, tools);
  for (const tool of differing) requireHash(name, tool, options.expect);
  if (differing.length + removed.length === 0) {
    if (output.form === "json")
      output.json({ lockFile, server: name, approved: [], removed: [], refused: [] });
    else
      output.print(
        tools.length === 0
          ? `All tool definitions of ${plainLine(name, 60)} are approved already.`
          : `These tool definitions of ${plainLine(name, 60)} are approved already: ${plainLine(tools.join(", "), 300)}.`,
      );
    return 0;
  }
  if (output.form === "text") {
    const changesOf = await changeReader();
    const sections = await Promise.all(
      differing.map(async (tool) => describeDiff(name, tool, await changesOf(tool), output)),
    );
    for (const tool of removed)
      sections.push(
        `${output.colors.bold(plainLine(name, 60))} ${plainLine(tool, 100)} is no longer listed by the server`,
      );
    output.print(sections.join("\n\n"));
  }
  if (canAsk(cli) && options.yes !== true) {
    const total = differing.length + removed.length;
    const question = `Approve ${total === 1 ? "this change" : `these ${total} changes`} of ${plainLine(name, 60)}?`;
    if (!(await confirm(cli, question))) {
      output.print("No change was approved.");
      return 1;
    }
  }
  const { approved, refused } = await chooseTools(cli, name, differing, options);
  const written = await writePins(lockFile, server, approved, (pins) => ({
    ...Object.fromEntries(Object.entries(pins).filter(([tool]) => !removed.includes(tool))),
    ...toPins(approved),
  }));
  cli.changes.push(...written);
  const applied = approved.length + removed.length > 0 ? await applyToGateways(cli) : undefined;
  if (output.form === "json")
    output.json({
      lockFile,
      server: name,
      approved: approved.map((tool) => ({ name: tool.name, hash: tool.hash })),
      removed,
      refused: refused.map(({ tool, reason }) => ({ name: tool.name, reason, findings: tool.findings })),
      ...applied?.fields,
    });
  else {
    const parts = [
      ...(approved.length > 0 ? [`approved ${count(approved.length, "tool")}`] : []),
      ...(removed.length > 0 ? [`removed ${count(removed.length, "pin")}`] : []),
    ].join(", ");
    const summary =
      parts === ""
        ? "No change was approved."
        : `${capital(parts)} of ${plainLine(name, 60)} in ${lockLabel(lockFile)}.`;
    output.print([summary, ...describeRefused(refused, name, "pins approve", cli)].join("\n"));
    applied?.print();
  }
  if (applied !== undefined && applied.code !== 0) return applied.code;
  return refused.length === 0 ? 0 : 1;
}

/** The named tools, or all that differ. */
function select(
  server: LiveServer,
  names: readonly string[],
): { readonly differing: readonly LintedTool[]; readonly removed: readonly string[] } {
  const known = [...server.tools.map(({ name }) => name), ...server.removed];
  for (const name of names)
    if (!known.includes(name)) throw unknownTool({ server: server.server, name, known });
  const isMeant = (name: string): boolean => names.length === 0 || names.includes(name);
  return {
    differing: server.tools.filter((tool) => isDifferent(tool) && isMeant(tool.name)),
    removed: server.removed.filter(isMeant),
  };
}

/** The definition must be the one that a person or a program has looked at. */
function requireHash(server: string, { name, hash }: LintedTool, expected: string | undefined): void {
  if (expected === undefined || hash === expected) return;
  throw new PortolanError(
    "TOOL_WITHHELD",
    `The tool ${name} was not approved: the hash of its definition is ${hash ?? "unknown"}, not the hash after --expect.`,
    {
      server,
      tool: name,
      hint: `See the present definition: portolan pins diff ${server}`,
    },
  );
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
