// `portolan install`: installs the programs of the servers now, and repairs broken ones.

import { PortolanError, toPortolanError } from "../../errors/index.ts";
import type { InstallReport } from "../../launch/index.ts";
import type { HttpProgram, PackagePolicy, ServerConfig, StdioEndpoint } from "../../model/index.ts";
import type { Cli, Words } from "../context.ts";
import { noteOutdated } from "../control/outdated.ts";
import { refuseBothSides } from "../options/usage-error.ts";
import { noteDiagnostic } from "../output/diagnostic.ts";
import { exitCodeOf } from "../output/output.ts";
import { withSpinner } from "../output/progress.ts";
import { takeTarget } from "../target/connect.ts";
import { targetServer } from "../target/server-config.ts";
import { orInterrupted } from "../terminal/interrupt.ts";
import { formatDownload, renderRows } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import type { Spinner } from "../terminal/spinner.ts";
import { driverServers, findDriverServer, noProgram, programOf } from "../workspace/programs.ts";
import { loadSource, requireServer, type Source, sourceNote } from "../workspace/source.ts";

/** Any difference from the lock file, for CI. */
const FROZEN_EXIT = 1;

interface Line {
  readonly server: string;
  readonly report?: InstallReport;
  /** Why there is nothing to install. */
  readonly none?: string;
  readonly error?: PortolanError;
}

interface RawInstallOptions {
  readonly update?: boolean;
  readonly frozen?: boolean;
}

export function installServers(cli: Cli, words: Words, raw: RawInstallOptions): Promise<number> {
  const left = {
    message: "Packages that were already installed completely stay. No other package was installed.",
    hint: "Run the command again to continue.",
  };
  return orInterrupted(
    cli,
    () => left,
    () => installChosen(cli, words, raw),
  );
}

/** Installs one server after the other, since each may use the whole network and shows its progress. */
async function installChosen(
  cli: Cli,
  words: Words,
  { update = false, frozen = false }: RawInstallOptions,
): Promise<number> {
  const { output, interrupt } = cli;
  if (frozen && update)
    throw new PortolanError("USAGE", "--frozen cannot be used with --update.", {
      hint: "--frozen installs exactly the versions in portolan.lock; --update changes versions.",
    });
  const { servers, source } = await chosen(cli, words);
  const lines: Line[] = [];
  if (frozen) lines.push(...(await differences(servers, words.words.length === 0 ? source : undefined)));
  // If one package differs from the lock file, no package is installed.
  const isSame = lines.length === 0;
  if (isSame)
    await withSpinner(cli, async (spinner) => {
      for (const server of servers) {
        interrupt.signal.throwIfAborted();
        const program = programOf(server);
        lines.push(
          program === undefined
            ? { server: server.alias, none: noProgram(server) }
            : await installOne(cli, server, program, { update, spinner, policy: source?.config.packages }),
        );
      }
    });
  interrupt.signal.throwIfAborted();
  if (output.form === "json") output.json({ servers: lines.map(toJson) });
  else if (lines.length === 0) output.print("No servers were found.");
  else output.print(describe(lines, cli, update));
  // Servers that run keep the version that they were started with.
  const changed = lines.filter(({ report }) => report?.state === "updated" || report?.state === "mended");
  if (source !== undefined)
    for (const { server } of changed) {
      const name = plainLine(server, 60);
      await noteOutdated(
        cli,
        `still runs the earlier files of ${name}. Restart the server`,
        `restart ${name}`,
      );
    }
  const failed = lines.find(({ error }) => error !== undefined)?.error;
  return failed === undefined ? 0 : frozen ? FROZEN_EXIT : exitCodeOf(failed);
}

/** The differences from the lock file, as failed servers. With `source`, entries of servers that it does not have count too. */
async function differences(servers: readonly ServerConfig[], source: Source | undefined): Promise<Line[]> {
  const { compareWithLock, lockFileOf, readLock } = await import("../../packages/index.ts");
  const { packagesOf } = await import("../workspace/packages.ts");
  const files = packagesOf(source?.config.servers ?? servers);
  const own = source?.config.folder === undefined ? undefined : lockFileOf(source.config.folder);
  if (own !== undefined && !files.has(own)) files.set(own, new Map());
  const found = await Promise.all(
    [...files].map(async ([file, references]) =>
      compareWithLock(references, await readLock(file), { isAll: source !== undefined }),
    ),
  );
  return found.flat().map(({ server, message, hint }) => ({
    server,
    error: new PortolanError("VERSION_MISMATCH", message, {
      server,
      hint,
      data: { reason: "LOCK_MISMATCH" },
    }),
  }));
}

interface Chosen {
  readonly servers: readonly ServerConfig[];
  /** Absent for a command that is given in place of a workspace. */
  readonly source?: Source;
}

async function chosen(cli: Cli, { words, server }: Words): Promise<Chosen> {
  refuseBothSides(words, server, "server");
  if (server !== undefined)
    return {
      servers: [targetServer(takeTarget({ words: [], server }, cli).target, cli.options, cli.io.cwd)],
    };
  const source = await loadSource(cli);
  const note = sourceNote(source, cli.io);
  if (note !== undefined) cli.output.note(cli.output.noteColors.dim(note));
  if (words.length > 0) {
    const named = [...new Set(words)];
    return {
      source,
      servers: named.map((name) => findDriverServer(source, name) ?? requireServer(source, name)),
    };
  }
  const { servers } = source.config;
  const own = servers.filter(({ enabled, endpoint }) => enabled && endpoint.transport !== "contracts");
  return { source, servers: [...own, ...driverServers(source)] };
}

interface InstallOptions {
  readonly update: boolean;
  readonly spinner: Spinner;
  readonly policy: PackagePolicy | undefined;
}

async function installOne(
  cli: Cli,
  { alias, launch: settings }: ServerConfig,
  endpoint: StdioEndpoint | HttpProgram,
  { update, spinner, policy }: InstallOptions,
): Promise<Line> {
  const { interrupt } = cli;
  const { createLaunchContext, installNow } = await import("../../launch/index.ts");
  const context = { ...createLaunchContext(), packagePolicy: policy };
  context.registryToken = (registry) => registryTokenOf(cli, registry);
  spinner.start(alias);
  try {
    const report = await installNow(
      {
        ...{ server: alias, endpoint, settings, context, signal: interrupt.signal },
        report: (diagnostic) => noteDiagnostic(diagnostic, cli),
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

async function registryTokenOf(cli: Cli, registry: string): Promise<string | undefined> {
  const { tokenOfRegistry } = await import("../../registry/index.ts");
  const { readPackageSettings, tokenResolver } = await import("../registry/settings.ts");
  const settings = await readPackageSettings(cli);
  const { registries } = settings;
  return tokenOfRegistry(registry, { registries, env: cli.io.env, resolve: tokenResolver(cli, settings) });
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
      return `nothing to install: ${source} is a program of this machine`;
    case "there":
      return kind === "docker" && update
        ? `${source} is installed; to update the image: docker pull ${source}`
        : `${source} is ${update ? "up to date" : "installed"}`;
    case "installed":
      return `${source} was installed`;
    case "mended":
      return `${source} was damaged (${plainLine(broken.join(", "), 300)}), and was installed again`;
    case "updated":
      return `${source} was installed; the earlier version was ${plainLine(before ?? "", 60)}`;
  }
}
