// `portolan install`: installs the programs of the servers now, and repairs broken ones.

import { type PortolanError, toPortolanError } from "../../errors/index.ts";
import type { InstallReport } from "../../launch/index.ts";
import type { ServerConfig, HttpProgram, StdioEndpoint } from "../../model/index.ts";
import type { Cli, Words } from "../context.ts";
import { refuseBothSides } from "../options/usage-error.ts";
import { exitCodeOf } from "../output/output.ts";
import { withSpinner } from "../output/progress.ts";
import { takeTarget } from "../target/connect.ts";
import { targetServer } from "../target/server-config.ts";
import { formatDownload, renderRows } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import type { Spinner } from "../terminal/spinner.ts";
import { driverServers, findDriverServer, noProgram, programOf } from "../workspace/programs.ts";
import { loadSource, requireServer, sourceNote } from "../workspace/source.ts";

interface Line {
  readonly server: string;
  readonly report?: InstallReport;
  /** Why there is nothing to install. */
  readonly none?: string;
  readonly error?: PortolanError;
}

/** Installs one server after the other, since each may use the whole network and shows its progress. */
export async function installServers(
  cli: Cli,
  words: Words,
  { update = false }: { update?: boolean },
): Promise<number> {
  const { output, interrupt } = cli;
  const servers = await chosen(cli, words);
  const lines: Line[] = [];
  await withSpinner(cli, async (spinner) => {
    for (const server of servers) {
      interrupt.signal.throwIfAborted();
      const program = programOf(server);
      lines.push(
        program === undefined
          ? { server: server.alias, none: noProgram(server) }
          : await installOne(cli, server, program, update, spinner),
      );
    }
  });
  interrupt.signal.throwIfAborted();
  if (output.form === "json") output.json({ servers: lines.map(toJson) });
  else if (lines.length === 0) output.print("There are no servers here.");
  else output.print(describe(lines, cli, update));
  const failed = lines.find(({ error }) => error !== undefined)?.error;
  return failed === undefined ? 0 : exitCodeOf(failed);
}

async function chosen(cli: Cli, { words, server }: Words): Promise<ServerConfig[]> {
  refuseBothSides(words, server, "server");
  if (server !== undefined)
    return [targetServer(takeTarget({ words: [], server }, cli).target, cli.options, cli.io.cwd)];
  const source = await loadSource(cli);
  const note = sourceNote(source, cli.io);
  if (note !== undefined) cli.output.note(cli.output.noteColors.dim(note));
  if (words.length > 0)
    return [...new Set(words)].map((name) => findDriverServer(source, name) ?? requireServer(source, name));
  return [
    ...source.config.servers.filter(({ enabled, endpoint }) => enabled && endpoint.transport !== "contracts"),
    ...driverServers(source),
  ];
}

async function installOne(
  { interrupt }: Cli,
  { alias, launch: settings }: ServerConfig,
  endpoint: StdioEndpoint | HttpProgram,
  update: boolean,
  spinner: Spinner,
): Promise<Line> {
  const { installNow } = await import("../../launch/index.ts");
  spinner.start(alias);
  try {
    const report = await installNow(
      {
        ...{ server: alias, endpoint, settings, signal: interrupt.signal },
        onLaunch: (event) => {
          if (event.type !== "progress") return;
          if (event.bytes !== undefined) spinner.update(formatDownload(event.bytes));
          else spinner.start(`${alias}: ${plainLine(event.what, 200)}`);
        },
      },
      { update },
    );
    return { server: alias, report };
  } catch (thrown) {
    interrupt.signal.throwIfAborted();
    return { server: alias, error: toPortolanError(thrown, { server: alias }) };
  }
}

function toJson({ server, report, none, error }: Line): Record<string, unknown> {
  if (report !== undefined) return { server, ...report };
  if (error !== undefined) return { server, state: "failed", error: error.toJSON() };
  return { server, state: "none", reason: none };
}

function describe(lines: readonly Line[], { output }: Cli, update: boolean): string {
  const { colors, width } = output;
  const rows = lines.map((line) => ({ name: plainLine(line.server, 60), value: textOf(line, update) }));
  const text = renderRows(rows, { colors, width });
  const hints = lines.flatMap(({ server, error }) =>
    error === undefined || error.hint === ""
      ? []
      : [`${plainLine(server, 60)}: ${plainLine(error.hint, 500)}`],
  );
  return [text, ...new Set(hints)].join("\n");
}

function textOf({ report, none, error }: Line, update: boolean): string {
  if (error !== undefined) return `failed: ${plainLine(error.message, 1_000)} [${error.code}]`;
  if (report === undefined) return none ?? "";
  const { state, kind, before, broken = [] } = report;
  const source = plainLine(report.source, 300);
  switch (state) {
    case "none":
      return `is a program of this machine: ${source}`;
    case "there":
      return kind === "docker" && update
        ? `${source} is installed; to update the image: docker pull ${source}`
        : `${source} is installed`;
    case "installed":
      return `${source} was installed`;
    case "mended":
      return `${source} was broken and was installed again: ${plainLine(broken.join(", "), 300)}`;
    case "updated":
      return `${source} was installed; before it was ${plainLine(before ?? "", 60)}`;
  }
}
