// Progress of a server that a running gateway starts with a changed config: its state and its last line of stderr.

import type { GatewayClient, RunningGateway } from "../../control/index.ts";
import type { ServerHealth } from "../../hub/index.ts";
import type { Cli } from "../context.ts";
import { showsSpinner } from "../output/progress.ts";
import type { Spinner } from "../terminal/spinner.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { withGateway } from "./find.ts";

/** A start that takes longer than this is explained. */
const SLOW_MS = 4_000;
const INTERVAL_MS = 1_000;

interface WatchedServer {
  readonly alias: string;
  readonly gateways: readonly RunningGateway[];
}

/** Runs the work. If it takes long, a note says that the person need not wait, and the spinner shows the state of the server. */
export async function withServerProgress<T>(
  cli: Pick<Cli, "io" | "output">,
  spinner: Spinner,
  { alias, gateways }: WatchedServer,
  work: () => Promise<T>,
): Promise<T> {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  let isNoted = false;
  const show = async (): Promise<void> => {
    for (const gateway of gateways) {
      const text = await withGateway(gateway, (client) => readProgress(client, alias)).catch(() => undefined);
      if (text === undefined || isOver) continue;
      const fact = showsSpinner(cli) ? "" : `${text}. `;
      if (!isNoted)
        cli.output.note(`${fact}The file is written. Ctrl-C ends the waiting, and the change stays.`);
      isNoted = true;
      spinner.rename(text);
      break;
    }
    if (!isOver) timer = setTimeout(() => void show(), INTERVAL_MS);
  };
  timer = setTimeout(() => void show(), SLOW_MS);
  try {
    return await work();
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

async function readProgress(client: GatewayClient, alias: string): Promise<string | undefined> {
  const { health } = await client.snapshot({});
  const server = health.find((one) => one.alias === alias);
  if (server === undefined) return undefined;
  const [line] = server.transport === "stdio" ? await client.logs(alias, 1) : [];
  return progressText(server, line?.text);
}

export function progressText(
  { alias, state, transport, program }: Pick<ServerHealth, "alias" | "state" | "transport" | "program">,
  line: string | undefined,
): string {
  const name = plainLine(alias, 40);
  const fact =
    state !== "starting"
      ? `${name} does not use the change yet`
      : transport === "stdio" && program === undefined
        ? `${name} is starting`
        : `${name} has not answered yet`;
  const last =
    line === undefined || line.trim() === "" ? "" : `; its last line: ${plainLine(line.trim(), 300)}`;
  return `${fact}${last}`;
}
