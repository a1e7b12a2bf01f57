// `portolan events`: prints the events of the workspace's servers as they happen.

import type { HubEvent } from "../../hub/index.ts";
import type { Cli } from "../context.ts";
import { describeEvent } from "../output/event.ts";
import { aborted } from "../terminal/interrupt.ts";
import { wrap } from "../terminal/layout.ts";
import { toJsonText } from "../terminal/safe-text.ts";
import { withWorkspace } from "../workspace/open.ts";
import { loadSource } from "../workspace/source.ts";

export async function events(
  cli: Cli,
  aliases: readonly string[],
  options: { follow?: boolean },
): Promise<number> {
  const { output, interrupt, options: server } = cli;
  const source = await loadSource(cli);
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
  const waitMs = follow ? 1 : (server.waitMs ?? server.limits.requestTimeoutMs);
  return withWorkspace(cli, source, { only, onEvent, watch: follow, waitMs }, async () => {
    if (follow) await aborted(interrupt.signal);
    closing = true;
    return 0;
  });
}
