// `portolan logs`: the stderr of a server, from the running gateway, or from the log file of the last one.

import { readFile } from "node:fs/promises";
import { didYouMean, PortolanError, unknownServer } from "../../errors/index.ts";
import type { LogLine } from "../../hub/index.ts";
import type { Cli } from "../context.ts";
import { takeOneWord } from "../options/usage-error.ts";
import { formatTime } from "../output/event.ts";
import { serverLogFile } from "../serve/control.ts";
import { plainLine, plainText, toJsonText } from "../terminal/safe-text.ts";
import { elsewhereHint, optionFor, withElsewhere } from "../workspace/elsewhere.ts";
import { pathLabeller, workspaceFolder } from "../workspace/folder.ts";
import { loadSource } from "../workspace/source.ts";
import {
  findControlled,
  type RawControlOptions,
  requireGateway,
  requireServed,
  withGateway,
} from "./find.ts";

export interface RawLogsOptions extends RawControlOptions {
  follow?: boolean;
  lines?: string;
}

const DEFAULT_LINES = 100;
const MAX_LINES = 2_000;

export async function logs(cli: Cli, words: readonly string[], raw: RawLogsOptions): Promise<number> {
  const { output, interrupt } = cli;
  const hint = "portolan logs <server>. To see the names of the servers: portolan status";
  const alias = takeOneWord(words, { command: "logs", noun: "server", hint });
  const lines = raw.lines === undefined ? DEFAULT_LINES : Number(raw.lines);
  if (!Number.isInteger(lines) || lines < 0 || lines > MAX_LINES)
    throw new PortolanError(
      "USAGE",
      `--lines must be a number from 0 to ${MAX_LINES}, not ${JSON.stringify(raw.lines)}.`,
    );
  const print = (line: LogLine): void =>
    output.print(
      output.form === "json"
        ? toJsonText({ server: alias, ...line })
        : `${output.colors.dim(formatTime(line.time))} ${plainText(line.text)}`,
    );
  const isFollowed = raw.follow === true;
  if (!isFollowed && (await findControlled(cli, raw)).length === 0) return fromFile(cli, alias, lines, print);
  await withGateway(await requireGateway(cli, raw), async (client) => {
    requireServed(client, alias);
    if (isFollowed) return client.followLogs(alias, lines, print, interrupt.signal);
    const found = await client.logs(alias, lines);
    for (const line of found) print(line);
    if (found.length === 0 && lines > 0)
      output.note(`${plainLine(alias, 80)} has written nothing to stderr.`);
  });
  return 0;
}

async function fromFile(
  cli: Cli,
  alias: string,
  lines: number,
  print: (line: LogLine) => void,
): Promise<number> {
  const { io, output } = cli;
  const path = workspaceFolder(io, cli.options);
  const file = await serverLogFile(path, alias);
  const parts = await Promise.all(
    [`${file}.1`, file].map((part) => readFile(part, "utf8").catch(() => undefined)),
  );
  if (parts.every((part) => part === undefined)) {
    const source = await loadSource(cli).catch(() => undefined);
    const known = source?.config.servers.map((server) => server.alias) ?? [];
    if (!known.includes(alias) && didYouMean(alias, known) !== undefined) throw unknownServer(alias, known);
    throw withElsewhere(
      new PortolanError(
        "SERVER_UNAVAILABLE",
        `No gateway runs for this workspace, and there is no log of ${alias}.`,
        {
          server: alias,
          hint: `To start a gateway: portolan serve${optionFor(path, io)} --daemon. To start only ${alias}, and see its state: portolan why ${alias}${optionFor(path, io)}`,
        },
      ),
      { elsewhere: await elsewhereHint(io, path) },
    );
  }
  if (io.stderr.isTTY === true)
    output.note(
      output.noteColors.dim(
        `No gateway runs for this workspace. These lines are from ${pathLabeller(io)(file)}:`,
      ),
    );
  const all = parts.join("").split("\n").filter(Boolean);
  for (const line of lines === 0 ? [] : all.slice(-lines)) {
    const [, time, text = ""] = /^(\S+) (.*)$/.exec(line) ?? [];
    if (time !== undefined && !Number.isNaN(Date.parse(time))) print({ time, text });
  }
  return 0;
}
