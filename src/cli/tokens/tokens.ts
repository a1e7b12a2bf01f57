// `portolan tokens`: what the tool lists of servers cost in a model's context, and what could be dropped.

import { auditFolders, type CalledTools, readCalledTools } from "../../audit/index.ts";
import { PortolanError } from "../../errors/index.ts";
import type { WorkspaceConfig } from "../../hub/index.ts";
import type { Cli, Words } from "../context.ts";
import { refuseBothSides } from "../options/usage-error.ts";
import { resolveServer } from "../target/resolve.ts";
import { withTarget } from "../target/session.ts";
import { refuseTargetOptions } from "../workspace/open.ts";
import { type GatewayField, withServers } from "../workspace/running.ts";
import type { Source } from "../workspace/source.ts";
import { createTokenCounter } from "./counter.ts";
import { createReport, MIN_CALLS, type OfferedTool } from "./report.ts";
import { describeReport, type TokensOptions } from "./view.ts";

const WAIT_MS = 30_000;

export async function tokens(cli: Cli, words: Words, options: TokensOptions): Promise<number> {
  refuseBothSides(words.words, words.server, "target");
  const target = await resolveServer(words, cli);
  if (target.kind === "workspace") return ofWorkspace(cli, target.source, options);
  const [extra] = target.rest;
  if (extra !== undefined)
    throw new PortolanError(
      "USAGE",
      `portolan tokens takes one target; unexpected argument ${JSON.stringify(extra)}.`,
      {
        hint: "Name one server, or none for all servers of the workspace. If the arguments are the command of a server, write the command after --: portolan tokens -- <command...>",
      },
    );
  const source = target.kind === "server" ? target.source : undefined;
  return withTarget(cli, target, async ({ connection, label, gateway, request }) => {
    const definitions = await connection.listToolDefinitions(request("listing the tools"));
    const server = target.kind === "server" ? target.alias : label;
    const offered = definitions.map((definition) => ({ server, own: definition.name, definition }));
    // Of one server, the tools matter.
    return print(cli, { offered, gateway, config: source?.config }, { ...options, tools: true });
  });
}

function ofWorkspace(cli: Cli, source: Source, options: TokensOptions): Promise<number> {
  refuseTargetOptions(cli);
  const waitMs = cli.options.waitMs ?? WAIT_MS;
  return withServers(cli, source, { showsSource: true, waitMs }, async ({ workspace, gateway }) => {
    const definitions = await workspace.toolDefinitions();
    const names = workspace.toolNames();
    const offered = definitions.map((definition): OfferedTool => {
      const { server = "workspace", name: own = definition.name } = names.get(definition.name) ?? {};
      return { server, own, definition };
    });
    return print(cli, { offered, gateway, config: source.config }, options);
  });
}

interface Listed {
  readonly offered: readonly OfferedTool[];
  readonly gateway: GatewayField | undefined;
  readonly config: WorkspaceConfig | undefined;
}

async function print(
  cli: Cli,
  { offered, gateway, config }: Listed,
  options: TokensOptions,
): Promise<number> {
  const called = config === undefined ? undefined : await readCalled(config);
  const report = createReport(offered, await createTokenCounter(), called, config?.servers ?? []);
  const { output } = cli;
  if (output.form === "json") output.json({ gateway, ...report });
  else output.print(describeReport(report, options, { ...output, note: describeCalls(config, called) }));
  return 0;
}

/** Why the report has no tools that are never called; undefined if it can have them, and for a target without a workspace. */
function describeCalls(
  config: WorkspaceConfig | undefined,
  called: CalledTools | undefined,
): string | undefined {
  const calls = called?.calls ?? 0;
  if (config?.folder === undefined || calls >= MIN_CALLS) return undefined;
  return config.gateway?.audit === undefined
    ? "With audit: true in portolan.yaml, the gateway records calls, and this command also finds tools that are never called."
    : `The audit log has ${calls} tool ${calls === 1 ? "call" : "calls"}. With ${MIN_CALLS} or more, this command also finds tools that are never called.`;
}

/** The calls in the audit log; undefined without one. */
export async function readCalled({
  gateway,
  folder,
}: Pick<WorkspaceConfig, "gateway" | "folder">): Promise<CalledTools | undefined> {
  if (gateway?.audit === undefined || folder === undefined) return undefined;
  return readCalledTools(await auditFolders(folder, gateway.audit));
}
