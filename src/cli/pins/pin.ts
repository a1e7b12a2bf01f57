// `portolan pin`: approves the present tool definitions of servers, and writes their pins into the lock file.

import { readLock } from "../../packages/index.ts";
import type { Cli } from "../context.ts";
import { applyToGateways } from "../control/apply.ts";
import { exitCodeOf } from "../output/output.ts";
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
import { type LiveServer, readLiveTools } from "./live.ts";
import { describeTool } from "./view.ts";

interface Pinned {
  readonly server: string;
  readonly pinned: readonly { readonly name: string; readonly hash?: string }[];
  readonly refused: readonly {
    readonly name: string;
    readonly reason: string;
    readonly findings: readonly object[];
  }[];
}

export async function pin(cli: Cli, words: readonly string[], options: ApprovalOptions): Promise<number> {
  const { output } = cli;
  const names = [...new Set(words)];
  if (names.length === 0 && !canAsk(cli))
    throw usage(
      "No server was given.",
      "Without a terminal, or with --json, name the servers whose tools you approve: portolan pin <server...>. portolan pins shows the servers.",
    );
  const live = await readLiveTools(cli, names);
  const { lockFile, failed } = live;
  const lock = await readLock(lockFile);
  // Changes of pinned servers are approved one by one; only a server that was named is pinned again as a whole.
  const isPinned = ({ key }: LiveServer): boolean => lock.servers[key]?.tools !== undefined;
  const servers = names.length > 0 ? live.servers : live.servers.filter((server) => !isPinned(server));
  const done: Pinned[] = [];
  for (const server of servers) {
    const result = await pinServer(cli, lockFile, server, options);
    if (result !== undefined) done.push(result);
  }
  const applied = done.length > 0 ? await applyToGateways(cli) : undefined;
  for (const { error } of failed) output.error(error);
  if (output.form === "json") output.json({ lockFile, servers: done, ...applied?.fields });
  else if (servers.length === 0 && failed.length === 0)
    output.print(
      live.servers.length === 0
        ? "This workspace has no enabled servers."
        : "All servers are pinned already. See their state: portolan pins",
    );
  if (output.form !== "json") applied?.print();
  if (applied !== undefined && applied.code !== 0) return applied.code;
  const refused = done.some((one) => one.refused.length > 0);
  return failed[0] === undefined ? (refused ? 1 : 0) : exitCodeOf(failed[0].error);
}

async function pinServer(
  cli: Cli,
  lockFile: string,
  server: LiveServer,
  options: ApprovalOptions,
): Promise<Pinned | undefined> {
  const { output } = cli;
  const name = plainLine(server.server, 60);
  if (output.form === "text") {
    const { colors } = output;
    const head = `${colors.bold(name)} ${colors.dim("·")} ${count(server.tools.length, "tool")}`;
    output.print([head, ...server.tools.map((tool) => describeTool(tool, output))].join("\n"));
  }
  if (canAsk(cli) && options.yes !== true) {
    const isOne = server.tools.length === 1;
    const question = `Approve ${isOne ? "this tool" : `these ${server.tools.length} tools`} of ${name} as ${isOne ? "it is" : "they are"} now?`;
    if (!(await confirm(cli, question))) {
      output.print(`The pins of ${name} were not changed.`);
      return undefined;
    }
  }
  const { approved, refused } = await chooseTools(cli, server.server, server.tools, options);
  cli.changes.push(...(await writePins(lockFile, server, approved, () => toPins(approved))));
  if (output.form === "text")
    output.print(
      [
        `Pinned ${count(approved.length, "tool")} of ${name} in ${lockLabel(lockFile)}.`,
        ...describeRefused(refused, server.server, "pin", cli),
      ].join("\n"),
    );
  return {
    server: server.server,
    pinned: approved.map((tool) => ({ name: tool.name, hash: tool.hash })),
    refused: refused.map(({ tool, reason }) => ({ name: tool.name, reason, findings: tool.findings })),
  };
}
