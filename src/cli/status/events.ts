// `portolan events`: prints the events of the workspace's servers as they happen.

import { unknownServer } from "../../errors/index.ts";
import type { RunningGateway } from "../../control/index.ts";
import type { HubEvent } from "../../hub/index.ts";
import type { Cli } from "../context.ts";
import { describeEvent } from "../output/event.ts";
import { aborted } from "../terminal/interrupt.ts";
import { wrap } from "../terminal/layout.ts";
import { toJsonText } from "../terminal/safe-text.ts";
import { pathLabeller, workspaceFolder } from "../workspace/folder.ts";
import { withWorkspace } from "../workspace/open.ts";
import { findRunning, noteOnTerminal } from "../workspace/running.ts";
import { loadSource } from "../workspace/source.ts";

export async function events(
  cli: Cli,
  aliases: readonly string[],
  options: { follow?: boolean },
): Promise<number> {
  const { output, interrupt, options: server } = cli;
  const follow = options.follow === true;
  const only = aliases.length === 0 ? undefined : [...new Set(aliases)];
  let closing = false;
  const onEvent = (event: HubEvent): void => {
    // The stop events at the end are not printed.
    if (closing) return;
    output.print(
      output.form === "json" ? toJsonText(event) : wrap(describeEvent(event, output.colors), output.width, 2),
    );
  };
  const gateway = await findRunning(cli, workspaceFolder(cli.io, server));
  if (gateway !== undefined) return ofGateway(cli, gateway, only, follow, onEvent);
  const source = await loadSource(cli);
  const what = only === undefined ? `the servers of ${pathLabeller(cli.io)(source.path)}` : only.join(", ");
  if (source.config.servers.length > 0)
    noteOnTerminal(cli, `No gateway runs for this workspace; this command starts ${what}.`);
  const waitMs = follow ? 1 : (server.waitMs ?? server.limits.requestTimeoutMs);
  return withWorkspace(cli, source, { only, onEvent, watch: follow, waitMs }, async () => {
    if (follow) await aborted(interrupt.signal);
    closing = true;
    return 0;
  });
}

/** The last events of a running gateway, and with `follow` all later ones. */
async function ofGateway(
  { interrupt }: Cli,
  gateway: RunningGateway,
  only: readonly string[] | undefined,
  follow: boolean,
  onEvent: (event: HubEvent) => void,
): Promise<number> {
  const { connectGateway } = await import("../../control/index.ts");
  const client = await connectGateway(gateway, only);
  try {
    const unknown = only?.find((alias) => !client.facts.servers.includes(alias));
    if (unknown !== undefined) throw unknownServer(unknown, client.facts.servers);
    if (follow) await client.followEvents(onEvent, interrupt.signal, true);
    else for (const event of await client.recentEvents()) onEvent(event);
    return 0;
  } finally {
    await client.close();
  }
}
